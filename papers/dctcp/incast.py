"""Incast, static and dynamic buffers, jitter, buffer pressure."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run, interval

from .base import DYNAMIC, paper, query_times, with_timeout

SERVERS = [1, 2, 5, 10, 15, 20, 25, 30, 35, 40]
#: Full names of the variants.
DC, RENO_10, RENO_300 = "dctcp", "newreno rto-min=10ms", "newreno rto-min=300ms"
RENO = {"TCP, 10 ms": RENO_10, "TCP, 300 ms": RENO_300}
JITTER_WHY = """Not yet explained. Tried: 1 MB from 40, 20 and 10 servers. From 40 nearly every query has a timeout without
jitter, so the
median falls with jitter; from 20 and 10 the median rises as stated, but one query in a thousand has a timeout either way."""
PRESSURE_WHY = """Not yet explained. The background leaves the 95th percentile of TCP's queries as it is: SACK repairs most
losses without a
timeout, and the link stays busy meanwhile. Tried: minimum timeouts of 10 and 300 ms."""


@paper.experiment("incast")
def incast(run: Run) -> dict[str, dict[int, Result]]:
    servers = run.pick([40], SERVERS)
    sets = {"workload.0.rounds": run.pick(200, 1000)}
    points = [{"topology.senders": n} for n in servers]
    return {
        mode: dict(
            zip(servers, (r for _, r in run("incast.toml", {**sets, **more}, points=points, seeds=run.pick(2, 3))), strict=True)
        )
        for mode, more in (("static", {}), ("dynamic", DYNAMIC))
    }


def mean_time(r: Result, name: str) -> list[float]:
    return [float(np.mean(q)) for q in query_times(r, name)]


@paper.claim("dctcp-incast", uses=["incast"])
def _(x: dict[str, Any]) -> Measured:
    by = {}
    for mode, results in x["incast"].items():
        r = results[40]
        for label, name in RENO.items():
            by[f"time, {mode}, {label}"] = {"dctcp": mean_time(r, DC), "reno": mean_time(r, name)}
            by[f"timeouts, {mode}, {label}"] = {"dctcp": with_timeout(r, DC), "reno": with_timeout(r, name)}
    return Measured.over(by)


@paper.claim("dctcp-incast-dynamic-buffer", uses=["incast"])
def _(x: dict[str, Any]) -> Measured:
    static, dynamic = x["incast"]["static"][40], x["incast"]["dynamic"][40]
    m = Measured.over(with_timeout(dynamic, DC))
    m.checks["TCP has fewer timeouts than with static buffers"] = (
        interval(with_timeout(dynamic, RENO_10))[0] < interval(with_timeout(static, RENO_10))[0]
    )
    return m


# -------------------------------------------------------------------------------------------------------------- jitter


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


# ----------------------------------------------------------------------------------------------------- buffer pressure


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
