"""The paper, and what its modules share."""

from __future__ import annotations

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


def port(r: Result, column: str, cc: str) -> list[float]:
    """A total of the bottleneck, of each seed."""
    return r.per_run(lambda t: float(t[column][0]), "ports", port="bottleneck", variant=variant(r, cc))


def queue(r: Result, cc: str) -> list[np.ndarray]:
    """Samples of the bottleneck's queue after the warm-up, of each seed."""
    since = r.manifests[0]["runs"][0]["measured_from_ns"]
    return r.per_run(lambda t: t["pkts"][t["time_ns"] >= since].astype(float), "queue", variant=variant(r, cc))


def goodput(r: Result, cc: str) -> list[float]:
    """Goodput of each seed after the warm-up, in bit/s."""
    return r.per_run(lambda t: float(t["goodput_bps"].sum()), "summary", variant=variant(r, cc))


def quantile(values: np.ndarray, q: float) -> float:
    """Quantile of the values that are numbers."""
    good = values[~np.isnan(values.astype(float))].astype(float)
    return float(np.quantile(good, q)) if len(good) else np.nan


def query_times(r: Result, name: str) -> list[np.ndarray]:
    """Completion times of each seed's queries in ms, of a variant by its full name."""

    def one(t: Table) -> np.ndarray:
        done = t["completed"].astype(bool)
        return t["qct_ns"][done].astype(float) / 1e6

    return r.per_run(one, "queries", variant=name)


def with_timeout(r: Result, name: str) -> list[float]:
    """Fraction of each seed's completed queries with a timeout."""

    def one(t: Table) -> float:
        done = t["completed"].astype(bool)
        return float(np.mean(t["rtos"][done] > 0))

    return r.per_run(one, "queries", variant=name)
