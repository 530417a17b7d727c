"""Incast, with static and dynamic buffers."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run, interval

from .base import BUFFERS, DYNAMIC, paper, query_times, with_timeout
from .draw import GIVEN, curve

SERVERS = [1, 2, 5, 10, 15, 20, 25, 30, 35, 40]
#: Full names of the variants.
DC, RENO_10, RENO_300 = "dctcp", "newreno rto-min=10ms", "newreno rto-min=300ms"
RENO = {"TCP, 10 ms": RENO_10, "TCP, 300 ms": RENO_300}


@paper.experiment("incast")
def incast(run: Run) -> dict[str, dict[int, Result]]:
    servers = run.pick([40], SERVERS)
    sets = {"workload.0.rounds": run.pick(200, 1000, of="queries")}
    points = [{"topology.senders": n} for n in servers]
    return {
        mode: dict(
            zip(
                servers,
                (r for _, r in run("incast.toml", {**sets, **more}, points=points, seeds=run.pick(2, 3, 10, of="seeds"))),
                strict=True,
            )
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


@paper.figure(
    "incast",
    title="Incast: 1 MB from n servers, with static and dynamic buffers",
    uses=["incast"],
    claims=["dctcp-incast", "dctcp-incast-dynamic-buffer"],
    caption="""Mean completion time of a query, and share of queries with a timeout; mean over seeds with 95 % confidence
    bands. Broken: 8 ms, what 1 MB needs at 1 Gbps. The slide shows one buffer; static against dynamic buffers is only listed.""",
    height=4.2,
    full_only=True,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    axes = fig.subplots(2, 2, sharex=True, sharey="row")
    names = {RENO_300: ("newreno", "TCP, 300 ms"), RENO_10: ("cubic", "TCP, 10 ms"), DC: ("dctcp", "DCTCP, 10 ms")}
    for (top, bottom), (mode, results) in zip(axes.T, x["incast"].items(), strict=True):
        for variant, (kind, label) in names.items():
            curve(top, {n: mean_time(r, variant) for n, r in results.items()}, kind, label)
            curve(bottom, {n: [100 * v for v in with_timeout(r, variant)] for n, r in results.items()}, kind, label)
        top.axhline(paper.expected["incast"]["ideal_ms"], **GIVEN)
        top.set(yscale="log", title=BUFFERS[mode])
        bottom.set(xlabel="servers", ylim=(-3, 103))
    axes[0, 0].set_ylabel("completion time [ms]")
    axes[1, 0].set_ylabel("with a timeout [%]")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
