"""The paper, and what its modules share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from forebay.repro import Paper, Result, Table

paper = Paper(__file__, title="DCTCP: efficient packet transport for the commoditized data center (slides)")

QUEUE = "topology.bottleneck.queue"
#: A fixed limit of 100 packets a port, instead of dynamic thresholds on 4 MB [R 3].
STATIC: dict[str, Any] = {"topology.bottleneck.buffer": "100pkt", "topology.shared-buffer.alpha": 1000}
DYNAMIC: dict[str, Any] = {"topology.bottleneck.buffer": "3000pkt", "topology.shared-buffer": {"total": "4MB", "alpha": 0.2}}
BUFFERS = {"dynamic": "dynamic buffer", "static": "100 packets"}
#: TCP and DCTCP as the variants of most scenarios are called.
TCP, DCTCP = "newreno", "dctcp"
TCP_CLASSIC: dict[str, Any] = {"kind": "newreno", "ecn": "classic"}


def variant(r: Result, cc: str) -> str:
    """Name of the first variant with a congestion control."""
    return next(v for v in r.variants if v.split()[0] == cc)


def select(r: Result, table: str, columns: Sequence[str], **where: Any) -> list[Table]:
    """Columns of the rows that fulfill `where`, of each seed: only what is needed is read."""
    t = r.table(table, ["run", *where, *columns])
    kept = t.where(**where) if len(t) else t
    return [kept.where(run=run) if len(kept) else kept for run in range(r.seeds)]


def port(r: Result, column: str, cc: str) -> list[float]:
    """A total of the bottleneck, of each seed."""
    return [float(t[column][0]) for t in select(r, "ports", [column], port="bottleneck", variant=variant(r, cc))]


def queue(r: Result, cc: str, column: str = "pkts") -> list[np.ndarray]:
    """Samples of the bottleneck's queue after the warm-up, of each seed."""
    since = r.manifests[0]["runs"][0]["measured_from_ns"]
    return [
        t[column][t["time_ns"] >= since].astype(float) for t in select(r, "queue", ["time_ns", column], variant=variant(r, cc))
    ]


def goodput(r: Result, cc: str) -> list[float]:
    """Goodput of each seed after the warm-up, in bit/s."""
    return r.per_run(lambda t: float(t["goodput_bps"].sum()), "summary", variant=variant(r, cc))


def busy(r: Result) -> list[float]:
    """Share of the time after the warm-up in which the bottleneck sends, of each seed."""
    return [float(t["utilization"][0]) for t in select(r, "ports", ["utilization"], port="bottleneck")]


@cache
def completed(r: Result, name: str) -> list[Table]:
    """The completed queries of each seed, of a variant by its full name."""
    found = select(r, "queries", ["start_ns", "qct_ns", "rtos", "completed"], variant=name)
    return [t.rows(t["completed"].astype(bool)) for t in found]


def query_times(r: Result, name: str) -> list[np.ndarray]:
    """Completion times of each seed's queries in ms, of a variant by its full name."""
    return [t["qct_ns"].astype(float) / 1e6 for t in completed(r, name)]


def with_timeout(r: Result, name: str) -> list[float]:
    """Fraction of each seed's completed queries with a timeout."""
    return [float(np.mean(t["rtos"] > 0)) for t in completed(r, name)]
