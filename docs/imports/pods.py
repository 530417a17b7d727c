#!/usr/bin/env python3
"""Writes a scenario with a large network of pods: racks, fabric switches, and planes of spine switches.

    docs/imports/pods.py big >big.toml                     8 pods of 48 racks of 16 hosts: 6 144 hosts
    docs/imports/pods.py small --pods 2 --racks 8 >small.toml

Each rack has one link to each fabric switch of its pod. Fabric switch `f` of each pod has links to the spines of plane `f`. The file `NAME.csv` has the
weights of flows between racks: log-normal, so that few pairs of racks carry most of the traffic. The load is that of the host links which leads to the
given load on the busiest link of a rack, for equal shares of its paths.
"""

import argparse
import math
import random
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--pods", type=int, default=8)
    parser.add_argument("--racks", type=int, default=48, help="of a pod (%(default)s)")
    parser.add_argument("--hosts", type=int, default=16, help="of a rack (%(default)s)")
    parser.add_argument("--fabric", type=int, default=4, help="fabric switches of a pod, and planes (%(default)s)")
    parser.add_argument("--spines", type=int, default=24, help="of a plane (%(default)s)")
    parser.add_argument("--load", type=float, default=0.5, help="of the busiest link of a rack (%(default)s)")
    parser.add_argument("--spread", type=float, default=1.0, help="sigma of the logarithm of the weights (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()

    rng = random.Random(a.seed)
    count = a.pods * a.racks
    weights = [[math.exp(rng.gauss(0, a.spread)) if x != y else 0.0 for y in range(count)] for x in range(count)]
    total = sum(map(sum, weights))
    busiest = max(*(sum(row) for row in weights), *(sum(column) for column in zip(*weights, strict=True)))
    # All hosts of the busiest rack send at its share of the traffic: both its host links and its links to the fabric have the same sum of rates.
    load = a.load / (busiest / total * count)
    Path(f"{a.name}.csv").write_text("\n".join(",".join(f"{w:.6g}" for w in row) for row in weights) + "\n")

    up = a.hosts * 10 / a.fabric
    links = []
    for rack in range(count):
        links.append((f"h{rack * a.hosts}..h{(rack + 1) * a.hosts - 1}", f"rack{rack}", 10, 65))
        links += [(f"rack{rack}", f"pod{rack // a.racks}f{f}", up, 200) for f in range(a.fabric)]
    for pod in range(a.pods):
        links += [(f"pod{pod}f{f}", f"plane{f}s{s}", 40, 200) for f in range(a.fabric) for s in range(a.spines)]
    names = [f"rack{r}" for r in range(count)]
    names += [f"pod{p}f{f}" for p in range(a.pods) for f in range(a.fabric)]
    names += [f"plane{f}s{s}" for f in range(a.fabric) for s in range(a.spines)]
    print(f'name = "{a.name}"\nduration = "5s"\n\n[topology]\nkind = "custom"\nhosts = ["h0..h{count * a.hosts - 1}"]')
    print("switches = [" + ", ".join(f'"{n}"' for n in names) + "]\nlinks = [")
    for one, other, rate, k in links:
        queue = f'{{ kind = "dctcp-step", k = "{k}pkt" }}'
        print(f'    {{ from = "{one}", to = "{other}", rate = "{rate:g}Gbps", delay = "1us", queue = {queue} }},')
    print(']\n\n[transport]\ncc = "dctcp"\n\n[[workload]]\nkind = "poisson"\nclass = "web"')
    print(f'sizes = {{ log-uniform = ["100B", "1MB"] }}\nload = {load:.4g}\nsigma = 2\nmatrix = "{a.name}.csv"\n')
    print('[observe]\noccupancy = "none"')


if __name__ == "__main__":
    main()
