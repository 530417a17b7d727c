"""Table I under TRIM by a second simulation, which shares nothing with forebay (table1.md).

`python papers/trim/second.py` prints Mbit/s per flow in A, B and C; `... second.py 100`: with buffers of 100 packets;
`... second.py 60 30 30`: with thresholds that tolerate so many us of queue. Long flows only: FIFO ports, an ACK for each
packet, cuts on every ACK (A1), no gap rule. Times in us. It takes some ten seconds.
"""

from __future__ import annotations

import heapq
import math
import random
import sys

PACKET, END, WARM = 1460 * 8, 1_000_000.0, 200_000.0  # bits, us
C = 10e3 / PACKET  # packets per us
LINK1, LINK2 = 100, 101
SEND, ARRIVE, ACK = range(3)


def main(buffer: float = 245, *tolerated: float) -> None:
    """Print Mbit/s per flow in A, B and C."""
    rng = random.Random(1)
    flows = range(40)  # 0 to 9 A, 10 to 19 B, the others C
    rate = {LINK1: 10e3, LINK2: 10e3}  # bits per us; all others 1 Gbps
    delay = {LINK1: 25.0, LINK2: 25.0}
    group = [0 if i < 10 else 1 if i < 20 else 2 for i in flows]
    path = [[i, LINK1, LINK2] if i < 10 else [i, LINK2] if i < 20 else [i, LINK1, i + 40] for i in flows]
    back = [sum(delay.get(p, 50.0) + 320 / rate.get(p, 1e3) for p in way) for way in path]
    empty = [b + sum(delay.get(p, 50.0) + PACKET / rate.get(p, 1e3) for p in way) for b, way in zip(back, path, strict=True)]

    def threshold(i: int) -> float:
        """Eq. 26, clamped."""
        if tolerated:
            return empty[i] + tolerated[group[i]]
        pipe = C * empty[i]
        low, high = max((math.sqrt(2 * pipe) - 1) ** 2, pipe), (buffer + pipe) / 2
        return max((low if low < high else high) / C, empty[i] + 3 / C)

    k = [threshold(i) for i in flows]
    window, slow, flight, last, acked = [2.0] * 40, [math.inf] * 40, [0] * 40, [0.0] * 40, [0] * 40
    free = dict.fromkeys([*range(80), LINK1, LINK2], 0.0)
    events = [(rng.uniform(0, 1000), SEND, i, 0, 0.0) for i in flows]
    heapq.heapify(events)
    while events:
        now, what, i, hop, sent = heapq.heappop(events)
        if now > END:
            break
        if what == ARRIVE:
            port = path[i][hop]
            bits = rate.get(port, 1e3)
            if port >= LINK1 and (free[port] - now) * bits / PACKET >= buffer:
                raise RuntimeError("a packet was lost: this simulation has no recovery")
            free[port] = max(free[port], now) + PACKET / bits
            there = free[port] + delay.get(port, 50.0)
            done = hop + 1 == len(path[i])
            heapq.heappush(events, (there + back[i], ACK, i, 0, sent) if done else (there, ARRIVE, i, hop + 1, sent))
            continue
        if what == ACK:
            flight[i] -= 1
            acked[i] += now > WARM
            rtt = now - sent
            if rtt > k[i]:
                slow[i] = window[i] = max(2.0, window[i] * (1 - (rtt - k[i]) / rtt / 2))
            else:
                window[i] += 1 if window[i] < slow[i] else 1 / window[i]
        while flight[i] < int(window[i]):
            last[i] = max(last[i], now + rng.uniform(0, 2))
            heapq.heappush(events, (last[i], ARRIVE, i, 0, now))
            flight[i] += 1
    for g, name in enumerate("ABC"):
        members = [i for i in flows if group[i] == g]
        print(name, round(sum(acked[i] for i in members) * PACKET / (END - WARM) / len(members)))


if __name__ == "__main__":
    numbers = [float(v) for v in sys.argv[1:]]
    main(*([245.0, *numbers] if len(numbers) == 3 else numbers))
