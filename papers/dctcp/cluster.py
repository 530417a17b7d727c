"""The cluster benchmark, as measured and scaled."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run, mean

from .base import paper, query_times, select, with_timeout
from .draw import bars

CC = {"dctcp": "dctcp", "reno": "newreno"}
TITLES = {"dctcp": "DCTCP", "reno": "TCP"}
LOOKS = {"DCTCP": "dctcp", "TCP": "newreno"}
#: The mixture dctcp-background with updates (large flows) ten times as large.
TENFOLD = {
    "mixture": [
        {"share": 0.5, "log-uniform": ["1KB", "10KB"]},
        {"share": 0.3, "log-uniform": ["10KB", "100KB"]},
        {"share": 0.15, "log-uniform": ["100KB", "1MB"]},
        {"share": 0.05, "log-uniform": ["10MB", "500MB"]},
    ]
}
#: Ten times a third of the baseline's load.
LOAD = 0.33
#: TCP's other switches [R 4.13].
OTHERS: dict[str, dict[str, Any]] = {
    "TCP, deep": {"transport.cc": "newreno", "topology.shared-buffer.total": "16MB"},
    "TCP, RED": {
        "transport.cc": {"kind": "newreno", "ecn": "classic"},
        "topology.access.queue": {"kind": "red", "min": "20pkt", "max": "60pkt", "p-max": 0.1, "weight": 0.002},
        "topology.bottleneck.queue": {"kind": "red", "min": "65pkt", "max": "195pkt", "p-max": 0.1, "weight": 0.002},
    },
}


def until(ms: int) -> dict[str, Any]:
    """Length of a run; what starts in its last 500 ms would be cut off."""
    return {"duration": f"{ms}ms", **{f"workload.{i}.stop": f"{ms - 500}ms" for i in range(3)}}


@paper.experiment("cluster")
def cluster(run: Run) -> Result:
    return run("cluster.toml", until(run.pick(2000, 8000)), seeds=run.pick(2, 4, 10, of="seeds"))


def tenfold(run: Run) -> dict[str, dict[str, Any]]:
    """Ten times the size, or ten times as often.

    Ten times the baseline would be 135 % of the links (background alone 100 %), so it is ten times a third of it. Size: a query
    is 1 MB in total and only updates grow (specification 4.13). Often: ten times the arrivals of the same sizes.
    """
    return {
        "size": {
            **until(run.pick(1300, 2500)),
            "workload.0.total": "1MB",
            "workload.0.rate": 17.0,
            "workload.1.sizes": TENFOLD,
            "workload.2.sizes": TENFOLD,
            "workload.1.load": LOAD,
            "workload.2.load": LOAD,
        },
        "rate": {**until(run.pick(800, 1500)), "workload.0.rate": 167.0, "workload.1.load": LOAD, "workload.2.load": LOAD},
    }


@paper.experiment("cluster-scaled")
def cluster_scaled(run: Run) -> dict[str, Result]:
    return {reading: run("cluster.toml", sets, seeds=run.pick(1, 3, 10, of="seeds")) for reading, sets in tenfold(run).items()}


@paper.experiment("cluster-scaled-others")
def cluster_scaled_others(run: Run) -> dict[str, dict[str, Result]]:
    return {
        reading: {name: run("cluster.toml", {**sets, **more}, seeds=2) for name, more in OTHERS.items()}
        for reading, sets in tenfold(run).items()
    }


@cache
def background(r: Result, variant: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sizes, and times in ms, of each seed's background flows. One that does not finish counts with the time until the end."""
    made = []
    tables = select(r, "flows", ["class", "size_bytes", "start_ns", "fct_ns", "completed"], variant=variant)
    for t, manifest in zip(tables, r.manifests, strict=True):
        ours = t.rows((t["class"] == "background") | (t["class"] == "external"))
        took = np.where(
            ours["completed"].astype(bool), ours["fct_ns"].astype(float), manifest["runs"][0]["end_ns"] - ours["start_ns"]
        )
        made.append((ours["size_bytes"], took / 1e6))
    return made


def times(r: Result, cc: str, low: float, high: float) -> list[np.ndarray]:
    """Completion times in ms of each seed's background flows with sizes in a range."""
    return [ms[(size >= low) & (size < high)] for size, ms in background(r, CC.get(cc, cc))]


def ahead(by: dict[str, dict[str, list[float]]]) -> dict[str, bool]:
    """Seeds differ in their traffic, which both protocols have in common: DCTCP has to be ahead in each."""
    return {
        f"{name}: DCTCP is not behind in any seed": all(d <= t for d, t in zip(v["dctcp"], v["reno"], strict=True))
        for name, v in by.items()
    }


def both(measure: Any) -> dict[str, list[float]]:
    return {cc: measure(cc) for cc in CC}


@paper.claim("dctcp-cluster-short-latency", uses=["cluster"])
def _(x: dict[str, Any]) -> Measured:
    r = x["cluster"]
    by = {
        "mean": both(lambda cc: [float(np.mean(v)) for v in times(r, cc, 1e4, 1e6)]),
        "95th percentile": both(lambda cc: [float(np.quantile(v, 0.95)) for v in times(r, cc, 1e4, 1e6)]),
    }
    return Measured.over(by, checks=ahead(by))


@paper.claim("dctcp-cluster-long-throughput", uses=["cluster"])
def _(x: dict[str, Any]) -> Measured:
    r = x["cluster"]
    by = {cc: [float(np.mean(v)) for v in times(r, cc, 1e7, np.inf)] for cc in CC}
    return Measured.over([d / t for d, t in zip(by["dctcp"], by["reno"], strict=True)])


@paper.claim("dctcp-cluster-query-burst", uses=["cluster"])
def _(x: dict[str, Any]) -> Measured:
    r = x["cluster"]
    by = {
        "99.9th percentile": both(lambda cc: [float(np.quantile(v, 0.999)) for v in query_times(r, CC[cc])]),
        "with a timeout": both(lambda cc: with_timeout(r, CC[cc])),
    }
    return Measured.over(by, checks=ahead(by))


@paper.claim(
    "dctcp-cluster-scaled",
    uses=["cluster-scaled"],
    explanation="""Queries come out ahead where answers are small (rate) and level where they are large (size); messages
    of 50 KB to 1 MB are level or have a longer tail. Tested: both readings of the scaling; all sizes instead of updates
    only; background loads of 0.1, 0.3, 0.5; alpha(0) = 0; initial window 10; receive window 64 KB: none gives the order
    for messages. Two things decide. The 95th percentile is of messages near 1 MB, which need 8 ms of the link alone and
    share it with large flows, so that bandwidth counts and not the queue: messages of 10 to 50 KB and the means do
    gain. And a server's own interface is a FIFO without marks, where large flows wait up to their receive window: a
    short DCTCP flow that marks at the receiver's port have cut to 10 to 25 packets goes through it once a round trip of
    1 to 3 ms, while TCP's goes on to hundreds of packets. With servers' uplinks of 10 Gbps, which takes that queue
    away, DCTCP's 95th percentile falls from 30 to 18 ms (size) and from 35 to 23 ms (rate), against TCP's 18 and 25,
    and queries are ahead by 40 and 88 % (one seed). In a Linux guest at the same scale DCTCP's percentiles are the same
    within 1 % (26.7 and 34.4 ms), and Reno's are a quarter higher (31.0 and 46.2 ms), which gives the order. So Reno
    decides, by its timeouts, and not DCTCP's wait in its own host. An earlier comparison had set 18.7 ms of the kernel
    against 27.2 ms of the simulator: that was one seed of 1.3 s beside three of 2.5 s; one seed of 1.3 s in the
    simulator gives 17.4. Tested with two seeds of 1.3 s: the kernel's formula of the RTO, window validation,
    proportional rate reduction, a handshake and growth by acknowledged segments move Reno by 1.5 ms at most. With stack
    linux both agree for DCTCP, on bare hosts (19.0, guest 18.9) and with the default host and its queue (20.7, guest
    19.9; queries 23.9 and 24.8).""",
)
def _(x: dict[str, Any]) -> Measured:
    by = {}
    for reading, r in x["cluster-scaled"].items():
        by[f"short messages, {reading}"] = both(lambda cc, r=r: [float(np.quantile(v, 0.95)) for v in times(r, cc, 5e4, 1e6)])
        by[f"queries, {reading}"] = both(lambda cc, r=r: [float(np.quantile(v, 0.95)) for v in query_times(r, CC[cc])])
    return Measured.over(by)


#: Size classes of the slides and between them, in bytes.
CLASSES = {"10 to\n50 KB": (1e4, 5e4), "50 KB\nto 1 MB": (5e4, 1e6), "1 to\n10 MB": (1e6, 1e7), "over\n10 MB": (1e7, np.inf)}


@paper.figure(
    "baseline-background",
    title="Cluster benchmark, baseline: background flows",
    uses=["cluster"],
    claims=["dctcp-cluster-short-latency", "dctcp-cluster-long-throughput"],
    caption="""Completion times by size, mean over seeds with 95 % confidence intervals. The slides call 50 KB to 1 MB short
    messages and flows of 1 MB and more large.""",
    height=2.4,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    r = x["cluster"]
    measures = {"mean": np.mean, "95th percentile": lambda v: np.quantile(v, 0.95)}
    axes = fig.subplots(1, 2, sharey=True)
    for ax, (name, of) in zip(axes, measures.items(), strict=True):
        series = {TITLES[cc]: [[float(of(v)) for v in times(r, cc, *c)] for c in CLASSES.values()] for cc in ("reno", "dctcp")}
        bars(ax, list(CLASSES), series, LOOKS)
        ax.set(yscale="log", title=name)
    axes[0].set_ylabel("completion time [ms]")
    axes[0].legend(loc="upper left")


@paper.figure(
    "baseline-query",
    title="Cluster benchmark, baseline: queries",
    uses=["cluster"],
    claims=["dctcp-cluster-query-burst"],
    caption="""Completion times of queries (44 answers of 2 KB) and share of queries with a timeout, mean over seeds with 95 %
    confidence intervals.""",
    height=2.2,
    width=5.6,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    r = x["cluster"]
    a, b = fig.subplots(1, 2, width_ratios=[2.6, 1])
    measures = {"mean": np.mean, **{f"{q:g}th": lambda v, q=q: np.quantile(v, q / 100) for q in (95, 99, 99.9)}}
    series = {
        TITLES[cc]: [[float(of(v)) for v in query_times(r, CC[cc])] for of in measures.values()] for cc in ("reno", "dctcp")
    }
    bars(a, list(measures), series, LOOKS)
    bars(b, [""], {TITLES[cc]: [[100 * v for v in with_timeout(r, CC[cc])]] for cc in ("reno", "dctcp")}, LOOKS)
    a.set(ylabel="completion time [ms]", xlabel="mean and percentiles")
    b.set(ylabel="with a timeout [%]", ylim=(0, None))
    a.legend(loc="upper left")


@paper.figure(
    "scaled",
    title="Cluster benchmark, ten times the background and ten times the queries",
    uses=["cluster-scaled", "cluster-scaled-others"],
    claims=["dctcp-cluster-scaled"],
    caption="""95th percentile, mean over seeds with 95 % confidence intervals; deep buffers (16 MB) and RED: mean of two
    seeds. Left: queries of 1 MB and updates ten times as large; right: ten times as often. A second under RED is a SYN's
    timeout: SYNs are not ECN-capable, and RED drops them. Logarithmic.""",
    height=2.6,
    full_only=True,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    def shown(values: list[float]) -> list[float]:
        """Two seeds give no interval worth showing."""
        return [mean(values)] if len(values) == 2 else values

    axes = fig.subplots(1, 2, sharey=True)
    looks = {**LOOKS, "TCP, deep": "cubic", "TCP, RED": "red"}
    for ax, (reading, r) in zip(axes, x["cluster-scaled"].items(), strict=True):
        others = x["cluster-scaled-others"][reading]
        of = {
            "DCTCP": (r, CC["dctcp"]),
            "TCP": (r, CC["reno"]),
            **{name: (o, o.variants[0]) for name, o in others.items()},
        }
        series = {
            name: [
                shown([float(np.quantile(v, 0.95)) for v in values])
                for values in (times(a, v, 1e4, 5e4), times(a, v, 5e4, 1e6), query_times(a, v))
            ]
            for name, (a, v) in of.items()
        }
        bars(ax, ["10 to 50 KB", "50 KB to 1 MB", "queries"], series, looks)
        ax.set(yscale="log", title="ten times the size" if reading == "size" else "ten times as often")
    axes[0].set_ylabel("95th percentile [ms]")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
