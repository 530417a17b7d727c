"""Short messages beside long flows: queue build-up, and the RTTs in production."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from forebay.repro import Measured, Reading, Result, Run

from .base import BUFFERS, DCTCP, STATIC, TCP, paper, query_times, select, variant
from .draw import CC, cdf


@paper.experiment("queue-buildup")
def queue_buildup(run: Run) -> dict[str, Result]:
    seeds = run.pick(2, 10, of="seeds")
    sets = {"duration": run.pick("4s", "8s")}
    return {
        "dynamic": run("queue-buildup.toml", sets, seeds=seeds),
        "static": run("queue-buildup.toml", {**sets, **STATIC}, seeds=seeds),
    }


@paper.experiment("rtt")
def rtt(run: Run) -> Result:
    return run("rtt.toml", {"duration": run.pick("10s", "40s")}, seeds=run.pick(3, 10, of="seeds"))


@paper.claim("dctcp-queue-buildup", uses=["queue-buildup"])
def _(x: dict[str, Any]) -> list[Measured]:
    def median(name: str, reading: Reading | None) -> Measured:
        r = x["queue-buildup"][name]
        cc = (("dctcp", DCTCP), ("reno", TCP))
        return Measured.over({c: [float(np.median(q)) for q in query_times(r, variant(r, v))] for c, v in cc}, reading=reading)

    return [
        median("dynamic", None),
        median("static", Reading("100 packets instead of dynamic buffers", named="specification 4.2")),
    ]


@cache
def samples(r: Result, cc: str) -> list[np.ndarray]:
    """RTTs of the single packets, in ms, of each seed."""
    rtts = [
        t["rtt_mean_ns"].astype(float) / 1e6
        for t in select(r, "flows", ["rtt_mean_ns"], variant=variant(r, cc), **{"class": "probe"})
    ]
    return [s[~np.isnan(s)] for s in rtts]


@paper.claim("dctcp-rtt-distribution", uses=["rtt"])
def _(x: dict[str, Any]) -> Measured:
    of = samples(x["rtt"], TCP)
    m = Measured.over(
        {
            "below_1ms": [float(np.mean(s < 1)) for s in of],
            "between_1_and_15ms": [float(np.mean((s >= 1) & (s <= 15))) for s in of],
        },
        note="the share of long flows is set for the first; the second and the end of the tail are the result: "
        f"{max(s.max() for s in of):.1f} ms, a full port",
    )
    m.checks["none beyond 15 ms"] = all(bool(s.max() <= 15) for s in of)
    return m


@paper.figure(
    "latency",
    title="Latency: RTT to an aggregator with intermittent large flows",
    uses=["rtt"],
    claims=["dctcp-rtt-distribution"],
    caption="""Distribution of the RTT of single packets to an aggregator, all runs. Black: the slides' text on production
    with TCP, 90 % below 1 ms and the rest up to 15 ms. How often two large flows meet is set for the 90 %; the tail is the
    result.""",
    width=4.2,
    height=2.4,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    ax = fig.subplots()
    for cc in (TCP, DCTCP):
        cdf(ax, np.concatenate(samples(x["rtt"], cc)), cc, CC[cc])
    ax.plot([1], [paper.expected["rtt"]["below_1ms"]], ls="", marker="D", ms=5, color="#000000", label="slides")
    ax.plot([15], [1], ls="", marker="D", ms=5, color="#000000", clip_on=False)
    ax.set(xscale="log", xlabel="RTT [ms]", ylabel="share of the packets", ylim=(0, 1.0), xlim=(0.09, 20))
    ax.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    ax.legend(loc="lower right")


@paper.figure(
    "queue-buildup",
    title="Queue build-up: 20 KB beside two long flows",
    uses=["queue-buildup"],
    claims=["dctcp-queue-buildup"],
    caption="""Distribution of the time from request to last byte, all runs. The slides name the impairment; the experiment is
    only listed. On an idle path it takes 0.7 ms (initial window 2).""",
    width=4.2,
    height=2.4,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    ax = fig.subplots()
    for buffer, r in x["queue-buildup"].items():
        style = {"ls": "-" if buffer == "dynamic" else (0, (4, 1.6)), "lw": 1.0 if buffer == "dynamic" else 1.6}
        for cc in (TCP, DCTCP):
            cdf(ax, np.concatenate(query_times(r, variant(r, cc))), cc, f"{CC[cc]}, {BUFFERS[buffer]}", **style)
    ax.set(xscale="log", xlabel="completion time [ms]", ylabel="share of the transfers", ylim=(0, 1.01))
    ax.set_xticks([1, 3, 10, 30, 100, 300, 1000], ["1", "3", "10", "30", "100", "300", "1000"])
    ax.legend(loc="lower right", bbox_to_anchor=(1, 0.05))
