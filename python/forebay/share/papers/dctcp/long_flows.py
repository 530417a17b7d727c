"""Long flows: in action, convergence, several bottlenecks."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Reading, Result, Run, jain, look

from .base import BUFFERS, DCTCP, STATIC, TCP, goodput, paper, port, queue, variant
from .draw import CC, GIVEN, bars, cdf

# ------------------------------------------------------------------------------------------------------------ in action

#: The threshold in KB.
K = 1.5 * paper.expected["in_action"]["k"]


@paper.experiment("in-action")
def in_action(run: Run) -> dict[str, Result]:
    seeds = run.pick(3, 10, of="seeds")
    return {"dynamic": run("in-action.toml", seeds=seeds), "static": run("in-action.toml", STATIC, seeds=seeds)}


@paper.claim("dctcp-in-action-queue", uses=["in-action"])
def _(x: dict[str, Any]) -> Measured:
    return Measured.over(port(x["in-action"]["dynamic"], "queue_mean_pkts", DCTCP), note="time average, in service included")


@paper.claim("dctcp-in-action-vs-tcp", uses=["in-action"])
def _(x: dict[str, Any]) -> Measured:
    samples = {}
    for name, r in x["in-action"].items():
        cc = {"dctcp": DCTCP, "reno": TCP}
        samples[f"mean, {name}"] = {c: port(r, "queue_mean_pkts", v) for c, v in cc.items()}
        samples[f"deviation, {name}"] = {c: [float(np.std(q)) for q in queue(r, v)] for c, v in cc.items()}
    return Measured.over(samples)


@paper.claim("dctcp-in-action-throughput", uses=["in-action"])
def _(x: dict[str, Any]) -> Measured:
    samples = {
        name: [d / t for d, t in zip(goodput(r, DCTCP), goodput(r, TCP), strict=True)] for name, r in x["in-action"].items()
    }
    return Measured.over(samples, note="after the first slow start")


@paper.figure(
    "in-action",
    title="DCTCP in action: the queue of two long flows",
    uses=["in-action"],
    claims=["dctcp-in-action-queue", "dctcp-in-action-vs-tcp", "dctcp-in-action-throughput", "dctcp-instant-marking"],
    caption="""The port's queue, waiting and in service, at 1 Gbps with K = 30 KB (broken line; the slide gives no other
    number). Left and middle: one run, a port may take 0.2 of what is free of 4 MB, or 100 packets. Right: share of the time,
    all runs. DCTCP's lines fall together: its queue does not depend on the buffer.""",
    height=2.6,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    axes = fig.subplots(1, 3, width_ratios=[1.2, 1.2, 1])
    for ax, (buffer, r) in zip(axes, x["in-action"].items(), strict=False):
        for cc in (TCP, DCTCP):
            t = r.queue.where(run=0, variant=variant(r, cc))
            s = t["time_ns"] / 1e9
            shown = (s >= 2.5) & (s < 3.5)
            ax.plot(s[shown], t["bytes"][shown] / 1e3, color=look(cc).color, lw=0.8, label=CC[cc])
            style = {"ls": "-" if buffer == "dynamic" else (0, (4, 1.6)), "lw": 1.0 if buffer == "dynamic" else 1.6}
            cdf(axes[2], np.concatenate(queue(r, cc, "bytes")) / 1e3, cc, f"{CC[cc]}, {BUFFERS[buffer]}", **style)
        ax.axhline(K, **GIVEN)
        ax.set(xlabel="time [s]", ylabel="queue [KB]", ylim=(0, None), title=BUFFERS[buffer])
    axes[2].set(xlabel="queue [KB]", ylabel="share of the time", ylim=(0, 1.01), xlim=(0, None), title="distribution")
    axes[2].axvline(K, **GIVEN)
    fig.legend(*axes[2].get_legend_handles_labels(), loc="outside upper center", ncols=4)


# --------------------------------------------------------------------------------------------------------- convergence


@paper.experiment("convergence")
def convergence(run: Run) -> dict[str, Result]:
    fast = {"topology.access.rate": "10Gbps"}
    return {
        "1 Gbps": run("convergence.toml", seeds=run.pick(2, 10, of="seeds")),
        "10 Gbps": run("convergence.toml", fast, seeds=run.pick(1, 10)),
    }


def phases(r: Result, cc: str, run: int) -> list[tuple[float, np.ndarray]]:
    """Start of each phase of 2 s, and goodput of the flows active in it over its second half, in Mbps."""
    t = r.table("tcp", ["run", "variant", "conn_id", "time_ns", "bytes_acked"]).where(variant=variant(r, cc), run=run)
    found = []
    for start in range(0, 18, 2):
        rates = []
        for conn, rows in t.by("conn_id"):
            if not 2 * conn <= start < 2 * conn + 10:
                continue
            at = [np.searchsorted(rows["time_ns"], s * 1_000_000_000, side="right") - 1 for s in (start + 1, start + 1.98)]
            rates.append(float(rows["bytes_acked"][at[1]] - rows["bytes_acked"][at[0]]) * 8 / 0.98e6)
        found.append((float(start), np.array(rates)))
    return found


@paper.claim("dctcp-convergence-fairness", uses=["convergence"])
def _(x: dict[str, Any]) -> list[Measured]:
    def over(rate: str, reading: Reading | None) -> Measured:
        r = x["convergence"][rate]
        by: dict[str, list[float]] = {}
        for run in range(r.seeds):
            for start, rates in phases(r, DCTCP, run):
                if len(rates) > 1:
                    by.setdefault(f"{len(rates)} flows from {start:.0f} s", []).append(jain(rates))
        return Measured.over(by, reading=reading)

    return [over("1 Gbps", None), over("10 Gbps", Reading("servers' links of 10 Gbps", named="the readme"))]


@paper.figure(
    "convergence",
    title="Five flows that join and leave",
    uses=["convergence"],
    claims=["dctcp-convergence-fairness"],
    caption="""Goodput over 100 ms, one run. A flow starts every 2 s and stops after 10 s; 4 MB of shared memory. The slides
    only list the experiment.""",
    height=2.2,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    r = x["convergence"]["1 Gbps"]
    for ax, cc in zip(fig.subplots(1, 2, sharey=True), (TCP, DCTCP), strict=True):
        t = r.table("tcp", ["run", "variant", "conn_id", "time_ns", "bytes_acked"]).where(variant=variant(r, cc), run=0)
        for i, (_, rows) in enumerate(t.by("conn_id")):
            edges = np.arange(0, 18.01, 0.1)
            at = np.searchsorted(rows["time_ns"], edges * 1e9, side="right") - 1
            acked = np.where(at < 0, 0, rows["bytes_acked"][np.maximum(at, 0)])
            ax.plot(edges[1:], np.diff(acked) * 8 / 0.1e9, color=look(i).color, lw=0.9, label=f"flow {i + 1}")
        ax.set(xlabel="time [s]", title=CC[cc], ylim=(0, 1.02), xlim=(0, 18))
    ax.figure.axes[0].set_ylabel("goodput [Gbps]")
    ax.legend(loc="upper center", ncols=2, fontsize=6)


# ---------------------------------------------------------------------------------------------------- several bottlenecks


@paper.experiment("multihop")
def multihop(run: Run) -> Result:
    return run("multihop.toml", seeds=run.pick(1, 3, 10, of="seeds"))


#: Groups of senders, and the fair share of a flow in Mbps: 1 Gbps among 20, and what is left of 10 Gbps among 20.
FAIR = {"S1": 50.0, "S2": 475.0, "S3": 50.0}
HOSTS = {"S1": "a", "S2": "c", "S3": "b"}


@paper.figure(
    "multihop",
    title="Several hops and bottlenecks",
    uses=["multihop"],
    caption="""The slides only list the experiment. Ten servers (S1) and ten behind the second switch (S3) send to one host at
    1 Gbps, twenty (S2) to twenty others; S1 and S2 share a link of 10 Gbps. Mean goodput of a flow over its fair share.""",
    width=3.35,
    height=2.2,
    full_only=True,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    r = x["multihop"]
    seconds = (r.manifests[0]["runs"][0]["end_ns"] - r.manifests[0]["runs"][0]["measured_from_ns"]) / 1e9

    def share(group: str, cc: str) -> list[float]:
        def one(t: Any) -> float:
            of = np.array([s.startswith(HOSTS[group]) for s in t["src"]])
            return float(t["bytes_measured"][of].mean() * 8 / seconds / 1e6 * 1500 / 1460 / FAIR[group])

        return r.per_run(one, variant=variant(r, cc))

    ax = fig.subplots()
    bars(
        ax,
        [f"{g}\n{FAIR[g]:.0f} Mbps" for g in FAIR],
        {CC[cc]: [share(g, cc) for g in FAIR] for cc in (TCP, DCTCP)},
        {CC[cc]: cc for cc in (TCP, DCTCP)},
    )
    ax.axhline(1, **GIVEN)
    ax.set(ylabel="rate / fair share", ylim=(0, 1.65))
    ax.legend(loc="upper center", ncols=2)
