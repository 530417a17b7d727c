"""Incast with jittered requests."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run, interval

from .base import paper, query_times

JITTER_WHY = """Not yet explained. Tried: 1 MB from 40, 20 and 10 servers. From 40 nearly every query has a timeout without
jitter, so the
median falls with jitter; from 20 and 10 the median rises as stated, but one query in a thousand has a timeout either way."""


@paper.experiment("jitter")
def jitter(run: Run) -> dict[str, dict[str, Result]]:
    sets = {"transport.cc": {"kind": "newreno", "rto-min": "300ms"}, "workload.0.rounds": run.pick(1000, 5000)}
    jitters = {"no jitter": "0s", "jitter 10 ms": "10ms"}
    readings: dict[str, dict[str, Any]] = {
        "40 servers": {},
        "20 servers": {"topology.senders": 20},
        "10 servers": {"topology.senders": 10},
    }
    made = {}
    for reading, more in readings.items():
        made[reading] = {
            j: run("incast.toml", {**sets, **more, "workload.0.jitter": t}, seeds=run.pick(1, 3)) for j, t in jitters.items()
        }
    return made


def quantiles(r: Result, q: float) -> list[float]:
    return [float(np.quantile(v, q)) for v in query_times(r, r.variants[0])]


def tradeoff(by: dict[str, Result], reading: str | None) -> Measured:
    m = Measured.over({j: quantiles(r, 0.999) for j, r in by.items()}, reading=reading)
    median = {j: interval(quantiles(r, 0.5))[0] for j, r in by.items()}
    m.checks[
        f"the median is higher with jitter ({median['jitter 10 ms']:.3g} ms) than without ({median['no jitter']:.3g} ms)"
    ] = median["jitter 10 ms"] > 1.1 * median["no jitter"]
    return m


@paper.claim("dctcp-jitter-tradeoff", uses=["jitter"], explanation=JITTER_WHY)
def _(x: dict[str, Any]) -> list[Measured]:
    return [
        tradeoff(x["jitter"]["40 servers"], None),
        *(tradeoff(x["jitter"][n], f"4.7: 1 MB from {n}") for n in ("20 servers", "10 servers")),
    ]
