"""Short messages beside long flows: queue build-up, and the RTTs in production."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run

from .base import DCTCP, STATIC, TCP, paper, query_times, variant


@paper.experiment("queue-buildup")
def queue_buildup(run: Run) -> dict[str, Result]:
    seeds = run.pick(2, 10)
    sets = {"duration": run.pick("4s", "8s")}
    return {
        "dynamic": run("queue-buildup.toml", sets, seeds=seeds),
        "static": run("queue-buildup.toml", {**sets, **STATIC}, seeds=seeds),
    }


@paper.experiment("rtt")
def rtt(run: Run) -> Result:
    return run("rtt.toml", {"duration": run.pick("10s", "40s")}, seeds=run.pick(3, 10))


@paper.claim("dctcp-queue-buildup", uses=["queue-buildup"])
def _(x: dict[str, Any]) -> list[Measured]:
    def median(name: str, reading: str | None) -> Measured:
        r = x["queue-buildup"][name]
        cc = (("dctcp", DCTCP), ("reno", TCP))
        return Measured.over({c: [float(np.median(q)) for q in query_times(r, variant(r, v))] for c, v in cc}, reading=reading)

    return [median("dynamic", None), median("static", "4.2: 100 packets instead of dynamic buffers")]


def samples(r: Result, cc: str) -> list[np.ndarray]:
    """RTTs of the single packets, in ms, of each seed."""
    return r.per_run(
        lambda t: t["rtt_mean_ns"][~np.isnan(t["rtt_mean_ns"].astype(float))].astype(float) / 1e6,
        variant=variant(r, cc),
        **{"class": "probe"},
    )


@paper.claim("dctcp-rtt-distribution", uses=["rtt"])
def _(x: dict[str, Any]) -> Measured:
    of = samples(x["rtt"], TCP)
    m = Measured.over(
        {
            "below_1ms": [float(np.mean(s < 1)) for s in of],
            "between_1_and_15ms": [float(np.mean((s >= 1) & (s <= 15))) for s in of],
        },
        note="the share of long flows is set for the first; the second and the end of the tail are the result",
    )
    m.checks["none beyond 15 ms"] = all(bool(s.max() <= 15) for s in of)
    return m
