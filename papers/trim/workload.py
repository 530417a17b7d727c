"""Fig. 1 and 2: the workload generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Measured, look

from .common import PACKET, paper

if TYPE_CHECKING:
    from forebay.repro import Result, Run, Table


@paper.experiment("workload")
def workload(run: Run) -> Result:
    return run("fig02.toml")


def gaps(flows: Table) -> Any:
    """Milliseconds between the acknowledgment of a train and the start of the next on the same connection."""
    found = []
    for _, t in flows.by("conn_id"):
        order = np.argsort(t["start_ns"], kind="stable")
        found.append((t["start_ns"][order][1:] - t["acked_ns"][order][:-1]) / 1e6)
    return np.concatenate(found)


@paper.claim("trim-fig2-size-cdf", uses=["workload"])
def _(x: Any) -> Any:
    kb = x["workload"].flows["size_bytes"] / 1024
    return Measured(
        {
            "min_kb": float(kb.min()),
            # To the resolution of the printed number: a sample ends a little below the end of its distribution.
            "max_kb": float(np.round(kb.max())),
            "frac_4_to_128": float(((kb > 4) & (kb <= 128)).mean()),
            "frac_up_to_4": float((kb <= 4).mean()),
            "frac_above_128": float((kb > 128).mean()),
        },
        n=len(kb),
        note=f"{len(kb)} trains; the generator's parameters are these numbers, so this checks the generator, not the trace",
        checks={"no train is outside 0.5 to 256 KB": bool(kb.min() >= 0.5 and kb.max() <= 256)},
    )


@paper.claim("trim-fig2-gap-range", uses=["workload"])
def _(x: Any) -> Any:
    g = gaps(x["workload"].flows)
    low, high = np.quantile(g, [0.05, 0.95])
    packets = np.ceil(x["workload"].flows["size_bytes"] / PACKET)
    return Measured(
        {"p05_ms": float(low), "p95_ms": float(high)},
        n=len(g),
        note="the generator's, as above",
        checks={
            "gaps from hundreds of us to several ms, all below an RTO of 200 ms": bool(g.min() > 0.1 and g.max() < 200),
            "most trains have some to dozens of packets, some a hundred or more": bool(
                (packets < 90).mean() > 0.5 and (packets >= 90).mean() > 0.05
            ),
        },
    )


@paper.figure(
    "1",
    title="Packet trains on persistent connections",
    uses=["workload"],
    claims=["trim-fig2-gap-range"],
    caption="""Packet sequence numbers of four connections over 60 ms, each from 0. A rising piece is a train, from its first
    byte to its last acknowledgment (thick: a hundred packets or more); between trains the connection is silent. The
    measured trace of the document is not available; this is the generator that stands for it.""",
    width=7.0,
    height=2.8,
)
def _(fig: Any, x: Any) -> None:
    ax = fig.subplots()
    flows = x["workload"].flows
    for i in range(4):
        t = flows.where(conn_id=i)
        order = np.argsort(t["start_ns"], kind="stable")
        start, end = (t[c][order] / 1e6 - 100 for c in ("start_ns", "acked_ns"))
        packets = np.ceil(t["size_bytes"][order] / PACKET)
        keep = (start < 60) & (end > 0)
        seq = np.concatenate([[0], np.cumsum(packets[keep])])
        s = look(i)
        for a, b, low, high in zip(start[keep], end[keep], seq[:-1], seq[1:], strict=True):
            ax.plot([a, b], [low, high], color=s.color, lw=3.0 if high - low >= 100 else 1.4, solid_capstyle="round")
        # The sequence number stands still between trains.
        ax.hlines(seq[1:-1], end[keep][:-1], start[keep][1:], color=s.color, lw=0.5, alpha=0.5)
        ax.annotate(
            f"connection {i + 1}",
            (60, seq[-1]),
            xytext=(3, 0),
            textcoords="offset points",
            color=s.color,
            va="center",
            fontsize=6.5,
        )
    ax.set(xlim=(0, 60), ylim=(0, None), xlabel="time (ms)", ylabel="packet sequence number")


@paper.figure(
    "2",
    title="Sizes of trains and gaps between them",
    uses=["workload"],
    claims=["trim-fig2-size-cdf", "trim-fig2-gap-range"],
    caption="""(a) Distribution of train sizes; crosses: the fractions that the text prints (fewer than 20 % up to 4 KB, 10 %
    above 128 KB). (b) Gaps; the text gives only "hundreds of microseconds to several milliseconds".""",
    width=7.0,
    height=2.4,
)
def _(fig: Any, x: Any) -> None:
    a, b = fig.subplots(1, 2)
    flows = x["workload"].flows
    kb = np.sort(flows["size_bytes"] / 1024)
    a.plot(kb, np.arange(1, len(kb) + 1) / len(kb), color=look("trim").color, label="generator")
    e = paper.expected["fig2"]
    a.plot([4, 128, e["max_kb"]], [e["frac_up_to_4"], 1 - e["frac_above_128"], 1.0], "x", color="k", label="printed")
    a.set_xscale("log", base=2)
    a.set_xticks([0.5, 4, 16, 64, 128, 256], ["0.5", "4", "16", "64", "128", "256"])
    a.set(xlabel="size of a train (KB)", ylabel="fraction", title="(a)", ylim=(0, 1.02))
    a.legend()
    g = np.sort(gaps(flows))
    b.plot(g, np.arange(1, len(g) + 1) / len(g), color=look("trim").color)
    b.set_xscale("log")
    b.set_xticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
    b.set_xticks([], minor=True)
    b.set_xlim(0.17, 6)
    b.set(xlabel="gap (ms)", ylabel="fraction", title="(b)", ylim=(0, 1.02))
