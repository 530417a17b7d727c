"""Incast with jittered requests."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Reading, Result, Run, interval, look

from .base import BUFFERS, DYNAMIC, paper, query_times

JITTERS = {"no jitter": "0s", "jitter 10 ms": "10ms"}


@paper.experiment("jitter")
def jitter(run: Run) -> dict[str, dict[str, Result]]:
    sets = {"transport.cc": {"kind": "newreno", "rto-min": "300ms"}, "workload.0.rounds": run.pick(1000, 5000)}
    return {
        buffer: {
            j: run("incast.toml", {**sets, **more, "workload.0.jitter": t}, seeds=run.pick(1, 3, 10, of="seeds"))
            for j, t in JITTERS.items()
        }
        for buffer, more in (("static", {}), ("dynamic", DYNAMIC))
    }


@paper.experiment("jitter-readings")
def jitter_readings(run: Run) -> dict[str, dict[str, Result]]:
    """Smaller queries, fewer servers, windows that restart: median and tail of each, with both buffers."""
    sets = {"transport.cc": {"kind": "newreno", "rto-min": "300ms"}, "workload.0.rounds": 1000}
    more: dict[str, dict[str, Any]] = {
        "as read": {},
        "20 servers": {"topology.senders": 20},
        "10 servers": {"topology.senders": 10},
        "600 KB": {"workload.0.total": "600KB"},
        "200 KB": {"workload.0.total": "200KB"},
        "88 KB": {"workload.0.total": "88KB"},
        "restart": {"transport.slow-start-after-idle": "rfc5681", "workload.0.gap": "350ms"},
    }
    return {
        f"{name}, {BUFFERS[buffer]}": {
            j: run("incast.toml", {**sets, **b, **m, "workload.0.jitter": t}, seeds=2) for j, t in JITTERS.items()
        }
        for buffer, b in (("static", {}), ("dynamic", DYNAMIC))
        for name, m in more.items()
    }


def quantiles(r: Result, q: float) -> list[float]:
    return [float(np.quantile(v, q)) for v in query_times(r, r.variants[0])]


def tradeoff(by: dict[str, Result], reading: Reading | None) -> Measured:
    m = Measured.over({j: quantiles(r, 0.999) for j, r in by.items()}, reading=reading)
    median = {j: interval(quantiles(r, 0.5))[0] for j, r in by.items()}
    margin = paper.claims["dctcp-jitter-tradeoff"].tolerance["value"]
    m.checks[
        f"the median is higher with jitter ({median['jitter 10 ms']:.3g} ms) than without ({median['no jitter']:.3g} ms)"
    ] = median["jitter 10 ms"] - median["no jitter"] >= margin * median["jitter 10 ms"]
    return m


@paper.claim(
    "dctcp-jitter-tradeoff",
    uses=["jitter"],
    explanation="""Tested with both of the buffers of 4.6, with 1 MB from 5 to 40 servers, and with 88 to 600 KB from 40. With
    dynamic buffers it holds for every number of servers: without jitter 3 to 34 % of the queries have a timeout, with jitter
    none. With 100 packets it holds for none: up to 88 KB there are no timeouts at all, from 200 to 600 KB every query without
    jitter has one (the median is 300 ms), and at 1 MB jitter does not prevent them, because the answers take 8.2 ms of the
    link in a window of 10 ms and those that overlap need more than 100 packets: 4 to 22 % of the queries have a timeout. The
    measurement was of smaller queries beside other traffic. The static buffer was tried first.""",
)
def _(x: dict[str, Any]) -> list[Measured]:
    return [
        tradeoff(x["jitter"]["static"], None),
        tradeoff(x["jitter"]["dynamic"], Reading("dynamic buffers instead of 100 packets", named="specification 4.6")),
    ]


@paper.figure(
    "jitter",
    title="Jittered requests, and jitter switched off",
    uses=["jitter"],
    claims=["dctcp-jitter-tradeoff"],
    caption="""TCP, 1 MB from 40 servers, minimum timeout 300 ms. Completion times of queries: quantiles of each 500 of them,
    one run with requests jittered over 10 ms and, from the dotted line on, one without. In the slides' production data jitter
    trades a lower tail for a higher median.""",
    height=2.4,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    for ax, (buffer, by) in zip(fig.subplots(1, 2, sharey=True), x["jitter"].items(), strict=True):
        runs = [query_times(by[j], by[j].variants[0])[0] for j in ("jitter 10 ms", "no jitter")]
        n = 500
        blocks = [b for q in runs for b in np.split(q[: len(q) // n * n], len(q) // n)]
        at = (np.arange(len(blocks)) + 0.5) * n / 1000
        for i, (p, label) in enumerate(((0.5, "median"), (0.95, "95th percentile"), (0.999, "99.9th"))):
            ax.plot(at, [float(np.quantile(b, p)) for b in blocks], color=look(i).color, marker=look(i).marker, ms=3, label=label)
        ax.axvline(len(runs[0]) // n * n / 1000, color="#000000", lw=0.8, ls=(0, (1, 1)))
        ax.set(xlabel="thousands of queries", title=BUFFERS[buffer], yscale="log", ylim=(5, 1000))
    fig.axes[0].set_ylabel("completion time [ms]")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3)


@paper.figure(
    "jitter-readings",
    title="Jitter under other readings",
    uses=["jitter-readings"],
    claims=["dctcp-jitter-tradeoff"],
    caption="""Not in the document. Median (filled) and 99.9th percentile (open) of query completion time. As read: 1 MB from
    40 servers that keep their windows.""",
    height=3.4,
    full_only=True,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    rows = x["jitter-readings"]
    for ax, buffer in zip(fig.subplots(1, 2, sharey=True), ("static", "dynamic"), strict=True):
        mine = [n for n in rows if n.endswith(BUFFERS[buffer])]
        for i, j in enumerate(JITTERS):
            for q, face in ((0.5, look(i).color), (0.999, "none")):
                at = [interval(quantiles(rows[n][j], q))[0] for n in mine]
                y = [k + 0.22 * i - 0.11 for k in range(len(mine))]
                label = f"{j}, {'median' if q == 0.5 else '99.9th'}"
                ax.plot(at, y, ls="", marker="os"[i], ms=4 if q == 0.5 else 6.5, color=look(i).color, mfc=face, label=label)
        ax.set(
            xscale="log",
            xlabel="completion time [ms]",
            title=BUFFERS[buffer],
            yticks=range(len(mine)),
            yticklabels=[n.split(",")[0] for n in mine],
            ylim=(len(mine) - 0.5, -0.5),
        )
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=4)
