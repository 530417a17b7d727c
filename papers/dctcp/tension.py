"""The slide "Tension Between Requirements": deep buffers, a reduced minimum RTO, and RED under incast."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run

from .base import DCTCP, STATIC, TCP, TCP_CLASSIC, paper, query_times, variant, with_timeout

#: Cisco Cat4948 by its name: 16 MB, no ECN. A port's own limit is out of reach.
DEEP: dict[str, Any] = {"topology.shared-buffer": {"switch": "cat4948"}, "topology.bottleneck.queue": "drop-tail"}
#: As in the scaled cluster benchmark: thresholds of one and three times K.
RED = {"kind": "red", "min": "20pkt", "max": "60pkt", "p-max": 0.1, "weight": 0.002}


@paper.experiment("queue-buildup-deep")
def deep(run: Run) -> dict[str, Result]:
    sets = {"duration": run.pick("4s", "8s"), "transport.cc": TCP}
    return {
        name: run("queue-buildup.toml", {**sets, **more}, seeds=run.pick(2, 10, of="seeds"))
        for name, more in (("shallow", STATIC), ("deep", DEEP), ("deep, 10 ms", {**DEEP, "transport.rto-min": "10ms"}))
    }


@paper.experiment("queue-buildup-rto")
def rto(run: Run) -> dict[str, Result]:
    sets = {"duration": run.pick("4s", "8s"), "transport.cc": [TCP, DCTCP]}
    return {
        least: run("queue-buildup.toml", {**sets, "transport.rto-min": least}, seeds=run.pick(2, 10, of="seeds"))
        for least in ("300ms", "10ms")
    }


@paper.experiment("incast-red")
def incast_red(run: Run) -> dict[str, Result]:
    sets = {"workload.0.rounds": run.pick(200, 1000, of="queries")}
    ccs: dict[str, dict[str, Any]] = {
        "reno_red": {"transport.cc": TCP_CLASSIC, "topology.bottleneck.queue": RED},
        "dctcp": {"transport.cc": DCTCP},
    }
    return {name: run("incast.toml", {**sets, **more}, seeds=run.pick(2, 3, 10, of="seeds")) for name, more in ccs.items()}


def medians(r: Result, cc: str) -> list[float]:
    """Median time of the requests in ms, of each seed."""
    return [float(np.median(q)) for q in query_times(r, variant(r, cc))]


@paper.claim("dctcp-deep-buffers-latency", uses=["queue-buildup-deep"])
def _(x: dict[str, Any]) -> Measured:
    by = x["queue-buildup-deep"]
    m = np.mean(medians(by["deep, 10 ms"], TCP))
    return Measured.over(
        {name: medians(by[name], TCP) for name in ("shallow", "deep")}, note=f"deep with a minimum RTO of 10 ms: {m:.1f} ms"
    )


@paper.claim("dctcp-rto-min-latency", uses=["queue-buildup-rto"])
def _(x: dict[str, Any]) -> Measured:
    long, short = (x["queue-buildup-rto"][least] for least in ("300ms", "10ms"))
    told = ", ".join(f"{name} {np.mean(medians(r, cc)):.2f}" for name, r, cc in (("TCP", short, TCP), ("DCTCP", short, DCTCP)))
    return Measured.over(
        [a / b for a, b in zip(medians(short, TCP), medians(long, TCP), strict=True)],
        note=f"dynamic buffer; medians with 10 ms: {told} ms",
    )


@paper.claim("dctcp-red-incast", uses=["incast-red"])
def _(x: dict[str, Any]) -> Measured:
    return Measured.over({name: with_timeout(r, r.variants[0]) for name, r in x["incast-red"].items()})
