"""Tables of further measurements beside the coexistence document; `papers/evidence.py` runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from evidence_table import mean_text

if TYPE_CHECKING:
    from evidence_table import Rows

    from forebay.repro import Result, Run


def five_and_five(run: Run) -> Rows:
    """T_r of the sums of n DCTCP and n TCP flows under each queue."""
    files = {"step marking, K = 65": "fig03.toml", "RED": "fig04.toml", "CHOKe": "fig05.toml", "modified CHOKe": "fig06.toml"}
    asked = {
        (name, n): run(file, {"workload.0.per-pair": n, "workload.1.per-pair": n}, seeds=10)
        for name, file in files.items()
        for n in (1, 2, 5)
    }
    rows = [["queue", "1 + 1", "2 + 2", "5 + 5"]]
    for name in files:
        cells = []
        for n in (1, 2, 5):

            def ratio(t: Any) -> float:
                dctcp, tcp = (float(t.where(transport=cc)["bytes_measured"].sum()) for cc in ("dctcp", "tcp"))
                return dctcp / tcp

            cells.append(mean_text(asked[name, n].per_run(ratio)))
        rows.append([name, *cells])
    return rows


#: The queues of the coexistence document with its scenario files.
PAIRS = {
    "drop-tail": "fig02.toml",
    "step marking, K = 65": "fig03.toml",
    "RED": "fig04.toml",
    "CHOKe": "fig05.toml",
    "modified CHOKe": "fig06.toml",
}


def aggregate(run: Run) -> Rows:
    """T_a and T_r of one DCTCP and one TCP flow under each queue, after the first second of six."""
    asked = {name: run(file, seeds=5) for name, file in PAIRS.items()}

    def rate(ccs: tuple[str, ...], r: Result) -> list[float]:
        seconds = 1e-9 * (r.manifests[0]["runs"][0]["end_ns"] - r.manifests[0]["runs"][0]["measured_from_ns"])
        return r.per_run(lambda t: sum(float(t.where(transport=cc)["bytes_measured"].sum()) for cc in ccs) * 8e-6 / seconds)

    rows = [["queue", "T_a [Mbit/s of payload]", "DCTCP", "TCP", "busy"]]
    for name, r in asked.items():
        both, one, other = (mean_text(rate(ccs, r), 4) for ccs in (("dctcp", "tcp"), ("dctcp",), ("tcp",)))
        busy = mean_text(r.per_run(lambda t: 100 * float(t["utilization"][0]), "ports", port="bottleneck"), 4)
        rows.append([name, both, one, other, f"{busy} %"])
    return rows


def by_load(run: Run) -> Rows:
    """AFCT of short flows by their load (Fig. 8 has 20 %), min_th 50, without SYNs, whose losses would decide."""
    queues = {
        "RED": {"kind": "red", "p-max": 0.02, "weight": 0.002},
        "modified CHOKe": {"kind": "choke-multi", "p-max": 0.02, "weight": 0.002},
    }
    both = {"min": "50pkt", "max": "100pkt"}
    asked = {
        (name, load): run(
            "fig08.toml",
            {
                "transport.handshake": False,
                "topology.bottleneck.queue": {**queue, **both},
                "workload.2.load": load / 200,
                "workload.3.load": load / 200,
                "duration": "6s",
            },
            seeds=3,
        )
        for name, queue in queues.items()
        for load in (5, 10, 20, 40, 60)
    }

    def afct(r: Result, cc: str) -> str:
        of = {"transport": cc, "class": f"short-{cc}"}
        return mean_text(r.per_run(lambda t: float(np.nanmean(t["fct_ns"].astype(float))) / 1e6, **of))

    rows = [["queue", "load of short flows", "AFCT of DCTCP [ms]", "AFCT of TCP [ms]"]]
    rows += [[name, f"{load} %", afct(r, "dctcp"), afct(r, "tcp")] for (name, load), r in asked.items()]
    return rows
