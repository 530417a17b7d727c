"""Incast beside flows to other ports of the same memory: buffer pressure."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run, look, mean

from .base import paper, port, query_times, with_timeout
from .draw import GIVEN, bars

#: No background.
QUIET = {"workload.1.stop-after": "1us"}


@paper.experiment("buffer-pressure")
def buffer_pressure(run: Run) -> dict[str, Result]:
    sets = {"duration": run.pick("2s", "4s")}
    seeds = run.pick(1, 3, 10, of="seeds")
    return {
        "with": run("buffer-pressure.toml", sets, seeds=seeds),
        "without": run("buffer-pressure.toml", {**sets, **QUIET}, seeds=seeds),
    }


def flows(each: int) -> dict[str, list[str]]:
    """Flows from each of the 30 other servers to different others, drawn once."""
    draw = random.Random(1)
    others = range(10, 40)
    pairs = [(h, d) for h in others for d in draw.sample([o for o in others if o != h], each)]
    return {"workload.1.from": [f"s{h}" for h, _ in pairs], "workload.1.to": [f"s{d}" for _, d in pairs]}


@paper.experiment("pressure-readings")
def pressure_readings(run: Run) -> dict[str, dict[str, Result]]:
    """TCP under other readings of what the slide does not say."""
    window = {"transport.rcv-wnd": "1.46MB"}
    more: dict[str, dict[str, Any]] = {
        "as read": {},
        "among 30, 2 flows a server": flows(2),
        "among 30, 8 flows a server": flows(8),
        "receive window 1.46 MB": window,
        "both, 2 flows a server": {**flows(2), **window},
        "no SACK": {"transport.recovery": "newreno"},
        "a port may take 0.1": {"topology.shared-buffer.alpha": 0.1},
        "a port may take 1": {"topology.shared-buffer.alpha": 1.0},
        "windows restart": {"transport.slow-start-after-idle": "rfc5681", "workload.0.gap": "20ms", "duration": "6s"},
    }
    sets = {"duration": "2s", "transport.cc": "newreno"}
    return {
        name: {
            "with": run("buffer-pressure.toml", {**sets, **m}, seeds=2),
            "without": run("buffer-pressure.toml", {**sets, **m, **QUIET}, seeds=2),
        }
        for name, m in more.items()
    }


def percentile(r: Result, name: str, q: float) -> list[float]:
    """A quantile of query completion time of each seed, in ms."""
    return [float(np.quantile(v, q)) for v in query_times(r, name)]


def slowdown(by: dict[str, Result], name: str, q: float = 0.95) -> list[float]:
    """A quantile of query completion time with background over that without, of each seed."""
    pairs = zip(percentile(by["with"], name, q), percentile(by["without"], name, q), strict=True)
    return [a / b for a, b in pairs]


@paper.claim(
    "dctcp-buffer-pressure",
    uses=["buffer-pressure"],
    explanation="""Windows of 64 KB from each of ten servers fit into what a port may take alone, so that nothing is lost
    without background; with it the memory is taken, and a tenth of TCP's queries have a timeout. With receive windows of 1.46
    MB, which the slides' hosts did not have, queries have timeouts without background, too, and the 95th percentile is at
    their edge (figure pressure-readings).""",
)
def _(x: dict[str, Any]) -> Measured:
    by = x["buffer-pressure"]
    shares = [f"{100 * mean(with_timeout(by[w], 'newreno')):.1f} % {w}" for w in ("without", "with")]
    left = [f"{max(port(by[w], 'queue_max_pkts', 'newreno')):.0f} {w}" for w in ("without", "with")]
    return Measured.over(
        {"dctcp": slowdown(by, "dctcp"), "reno": slowdown(by, "newreno")},
        note=f"TCP's queries with a timeout: {', '.join(shares)}; longest queue of the port, packets: {', '.join(left)}",
    )


@paper.figure(
    "buffer-pressure",
    title="Buffer pressure: a 10-to-1 incast, alone and beside flows to other ports",
    uses=["buffer-pressure"],
    claims=["dctcp-buffer-pressure"],
    caption="""95th percentile of query completion time, mean over seeds with 95 % confidence intervals. Broken: 8 ms, what 1
    MB needs at 1 Gbps.""",
    width=4.2,
    height=2.4,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    ax = fig.subplots()
    by = x["buffer-pressure"]
    series = {
        label: [percentile(by[w], v, 0.95) for w in ("without", "with")] for label, v in (("TCP", "newreno"), ("DCTCP", "dctcp"))
    }
    bars(ax, ["without background", "with background"], series, {"TCP": "newreno", "DCTCP": "dctcp"})
    ax.axhline(paper.expected["incast"]["ideal_ms"], **GIVEN)
    ax.set(ylabel="95th percentile [ms]", ylim=(0, None))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2)


@paper.figure(
    "pressure-readings",
    title="Buffer pressure on TCP under other readings",
    uses=["pressure-readings"],
    claims=["dctcp-buffer-pressure"],
    caption="""Not in the document. Quantiles of TCP's query completion time with background over those without, mean of two
    seeds. As read: two flows from each of 15 servers to 15 others, a receive window of 64 KB, SACK, a port may take 0.2 of the
    free memory, windows are kept. Broken: 1.5, what the claim asks of the 95th percentile.""",
    width=4.6,
    height=2.8,
    full_only=True,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    ax = fig.subplots()
    rows = x["pressure-readings"]
    for i, q in enumerate((0.95, 0.99)):
        at = [mean(slowdown(by, "newreno", q)) for by in rows.values()]
        label = f"{100 * q:.0f}th percentile"
        y = [k + 0.2 * i - 0.1 for k in range(len(rows))]
        ax.plot(at, y, ls="", marker="os"[i], color=look(i).color, label=label)
    ax.axvline(1, color="#000000", lw=0.5)
    ax.axvline(1.5, **GIVEN)
    ax.set(xlabel="with background / without", yticks=range(len(rows)), yticklabels=list(rows), ylim=(len(rows) - 0.5, -0.5))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2)
