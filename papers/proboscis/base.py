"""The paper, its schemes, and measures that the modules share."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Paper, Result, Table

paper = Paper(__file__, title="ProBoSCIS: probes ahead of the SYN against non-recoverable losses")

#: A small flow has at most this many bytes, a large one more than that [32].
SMALL, LARGE = 100_000, 10_000_000
#: A small flow that takes longer misses its deadline, ms (8).
DEADLINE = 200.0
DATAMINING = {"cdf": "datamining-100mb.cdf"}


def fct(t: Table, end_ns: float = np.nan) -> Any:
    """Completion times in ms, from the first packet to the ACK of the last byte; of unfinished flows until `end_ns`."""
    acked = t["acked_ns"].astype(float)
    return (np.where(np.isnan(acked), end_ns, acked) - t["start_ns"]) / 1e6


def small(t: Table) -> Table:
    """The flows of at most 100 KB."""
    return t.rows(t["size_bytes"] <= SMALL)


def medium(t: Table) -> Table:
    """The flows above 100 KB and of at most 10 MB."""
    return t.rows((t["size_bytes"] > SMALL) & (t["size_bytes"] <= LARGE))


def large(t: Table) -> Table:
    """The flows above 10 MB."""
    return t.rows(t["size_bytes"] > LARGE)


def whole(t: Table) -> Table:
    """All flows."""
    return t


def rtos(t: Table) -> Any:
    """Timeouts of each flow, those of its SYN included."""
    return t["rtos"] + t["syn_rtos"]


def end_ns(r: Result, run: int) -> float:
    """End of a run."""
    return float(r.manifests[run]["runs"][0]["end_ns"])


def pooled(of: Any, *samples: list[float]) -> list[float]:
    """`of` sums over seeds, such as a ratio, as values whose mean it is and whose spread is that of the jackknife.

    A ratio of means has less noise than a mean of ratios, where a seed with little below the line counts most. Of samples of
    different length the seeds that all have.
    """
    n = min(len(s) for s in samples)
    samples = tuple(s[:n] for s in samples)
    sums = [sum(s) for s in samples]
    every = float(of(*sums))
    if n < 2:
        return [every]
    without = [float(of(*(t - s[i] for t, s in zip(sums, samples, strict=True)))) for i in range(n)]
    return [every + (n - 1) * (sum(without) / n - w) for w in without]


def average(r: Result, of: Any = small) -> list[float]:
    """Average completion time of each seed in ms, of the flows that are complete; the first tenth left out (7)."""

    def one(t: Table) -> float:
        v = fct(of(t.rows(t["flow_id"] >= 0.1 * len(t))))
        return float(np.nanmean(v)) if np.isfinite(v).any() else float("nan")

    return r.per_run(one)
