"""ICTCP's operating point (remark after Eq. 32)."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run

from .base import paper
from .experiments import senders
from .measure import WARMUP, point
from .model import Incast

NS = [2, 4, 6, 8]


@paper.experiment("ictcp")
def ictcp(run: Run) -> dict[int, Result]:
    return dict(senders(run, "ictcp.toml", NS, seeds=run.pick(2, 5)))


def outstanding(r: Result) -> list[float]:
    """90th percentile of a sender's outstanding segments within blocks after the warm-up, one for each seed."""
    found = []
    t, q = r.table("tcp", ["run", "time_ns", "unacked_bytes"]), r.table("queries", ["run", "query_id", "start_ns"])
    for seed in range(r.seeds):
        of = q.where(run=seed)
        since = of["start_ns"][of["query_id"] == WARMUP][0]
        rows = t.where(run=seed)
        inside = (rows["time_ns"] >= since) & (rows["unacked_bytes"] > 0)
        found.append(float(np.quantile(rows["unacked_bytes"][inside], 0.9)) / 1000)
    return found


@paper.claim("ictcp-operating-point", uses=["ictcp"])
def _(x: dict[str, Any]) -> Measured:
    model = Incast.base()
    samples: dict[str, dict[str, list[float]]] = {"over_share": {}, "over_wm": {}}
    told = []
    for n, r in x["ictcp"].items():
        windows, p = outstanding(r), point(r)
        share, limit = 12.5 / n, model.window(n)
        samples["over_share"][f"N = {n}"] = [w / share for w in windows]
        samples["over_wm"][f"N = {n}"] = [w / limit for w in windows]
        told.append(f"N = {n}: {np.mean(windows):.1f} segments, CD/N {share:.1f}, W_m {limit}, goodput {p.g:.2f}")
    return Measured.over(samples, note="; ".join(told))
