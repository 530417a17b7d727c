"""Incast beside flows to other ports of the same memory: buffer pressure."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run

from .base import paper, query_times

PRESSURE_WHY = """Not yet explained. The background leaves the 95th percentile of TCP's queries as it is: SACK repairs most
losses without a
timeout, and the link stays busy meanwhile. Tried: minimum timeouts of 10 and 300 ms."""


@paper.experiment("buffer-pressure")
def buffer_pressure(run: Run) -> dict[str, Result]:
    sets = {"duration": run.pick("2s", "4s")}
    quiet = {"workload.1.stop-after": "1us"}
    seeds = run.pick(1, 3)
    return {
        "with": run("buffer-pressure.toml", sets, seeds=seeds),
        "without": run("buffer-pressure.toml", {**sets, **quiet}, seeds=seeds),
    }


def slowdown(by: dict[str, Result], name: str) -> list[float]:
    """95th percentile of query completion time with background over that without, of each seed."""
    p = {w: [float(np.quantile(q, 0.95)) for q in query_times(r, name)] for w, r in by.items()}
    return [a / b for a, b in zip(p["with"], p["without"], strict=True)]


@paper.claim("dctcp-buffer-pressure", uses=["buffer-pressure"], explanation=PRESSURE_WHY)
def _(x: dict[str, Any]) -> Measured:
    return Measured.over({"dctcp": slowdown(x["buffer-pressure"], "dctcp"), "reno": slowdown(x["buffer-pressure"], "newreno")})
