"""Tables of further measurements beside the DCTCP slides; `papers/evidence.py` runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from evidence_table import CONGESTION_CONTROLS, STACKS, mean_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from evidence_table import Rows

    from forebay.repro import Run


def queries(run: Run) -> Rows:
    """1 MB from 40 servers, 100 packets (DCTCP's incast), on both stacks."""
    sets = {"transport.cc": CONGESTION_CONTROLS, "transport.rto-min": "200ms", "workload.0.rounds": 200}
    asked = {s: run("incast.toml", {**sets, "transport.stack": s, "transport.recovery": r}, seeds=3) for s, r in RECOVERY.items()}

    def quantile(q: float) -> Callable[[Any], float]:
        return lambda t: float(np.quantile(t["qct_ns"].astype(float), q)) / 1e6

    rows = [
        [
            "congestion control",
            *(f"{s}: {what}" for s in STACKS for what in ("median [ms]", "99th percentile [ms]", "with a timeout [%]")),
        ]
    ]
    for i, variant in enumerate(asked["ns2"].variants):
        cells = []
        for r in asked.values():
            of = {"table": "queries", "variant": r.variants[i]}
            cells += [mean_text(r.per_run(quantile(q), **of)) for q in (0.5, 0.99)]
            cells.append(mean_text(r.per_run(lambda t: 100 * float((t["rtos"] > 0).mean()), **of)))
        rows.append([variant, *cells])
    return rows


RECOVERY = {"ns2": "newreno", "linux": "rack"}
