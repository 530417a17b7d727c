"""Figs. 4 and 5: twenty short flows open beside a long one."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Reading, Result, Run, Table, look, mean

from .base import paper

N, WINDOW = 20, 10
#: The claim's own condition: "queue above the threshold when the probes pass".
QUEUED = Reading("every train finds a queue above the threshold", named="the claims file")
#: Packets between the threshold, where the shim holds the long flow, and the end of the buffer; relative to N windows.
ROOM = 80 / (N * WINDOW)
PLAIN, SHIM = "newreno", "newreno+proboscis"


#: The threshold in bytes, and how long probes travel to the bottleneck.
THRESHOLD, TO_PORT = 30_000, 50_000


@paper.experiment("trace")
def trace(run: Run) -> Result:
    return run("fig04.toml", seeds=run.pick(12, 30))


def injected(r: Result, variant: str) -> list[float]:
    """Segments that each seed's short flows send before the first ACK of data, relative to N initial windows."""

    def one(t: Table) -> float:
        first = [c["unacked_bytes"][0] // 1460 for _, c in t.by("conn_id")]
        return float(sum(first)) / (N * WINDOW)

    return r.per_run(one, "tcp", variant=variant)


def timeouts(r: Result, variant: str) -> list[float]:
    return r.per_run(lambda t: float((t["rtos"] + t["syn_rtos"]).sum()), variant=variant, **{"class": "short"})


def found(r: Result) -> list[float]:
    """Shortest queue, in bytes, that a train of each seed finds at the bottleneck."""
    queue = r.table("queue", ["variant", "run", "time_ns", "bytes"]).where(variant=SHIM)

    def one(run: int) -> float:
        q, t = queue.where(run=run), r.flows.where(run=run, variant=SHIM, **{"class": "short"})
        at = np.searchsorted(q["time_ns"], t["start_ns"] + TO_PORT, side="right") - 1
        return float(q["bytes"][at].min())

    return [one(run) for run in range(r.seeds)]


def queue_before(r: Result, variant: str) -> list[float]:
    """Mean queue from 100 to 200 ms."""

    def one(t: Table) -> float:
        return float(t["pkts"][(t["time_ns"] >= 100e6) & (t["time_ns"] < 200e6)].mean())

    return r.per_run(one, "queue", variant=variant)


@paper.claim(
    "prob-trace-burst",
    uses=["trace"],
    explanation="""Trains do not see each other. The claim is for a queue above the threshold when the probes pass. One long
    flow's queue moves around the threshold, and where it is below for a part of the trains, many flows are granted ten
    segments. Timeouts come only where grants add up to more than the 80 packets between threshold and buffer, 0.4 of all
    first windows.""",
)
def _(x: dict[str, Any]) -> list[Measured]:
    r = x["trace"]
    granted, late = injected(r, SHIM), timeouts(r, SHIM)
    plain, lost = injected(r, PLAIN), timeouts(r, PLAIN)
    above = [i for i, q in enumerate(found(r)) if q >= THRESHOLD]
    over = sum(t for g, t in zip(granted, late, strict=True) if g > ROOM)

    def of(seeds: Any, note: str, reading: Reading | None = None) -> Measured:
        value = {
            "tcp_injected": plain,
            "proboscis_injected": [granted[i] for i in seeds],
            "tcp_timeouts": lost,
            "proboscis_timeouts": [late[i] for i in seeds],
        }
        return Measured.over(value, note=note, reading=reading)

    some = sum(t > 0 for t in late)
    return [
        of(range(r.seeds), f"{some} of {r.seeds} seeds have timeouts; {over:g} of {sum(late):g} where grants exceed {ROOM:g}"),
        of(above, f"{len(above)} of {r.seeds} seeds", QUEUED),
    ]


@paper.claim("prob-trace-elephant", uses=["trace"])
def _(x: dict[str, Any]) -> Measured:
    return Measured.over({"proboscis": queue_before(x["trace"], SHIM), "tcp": queue_before(x["trace"], PLAIN)})


@paper.figure(
    "4",
    title="Twenty short flows open beside a long one (Figs. 4 and 5)",
    uses=["trace"],
    claims=["prob-trace-burst", "prob-trace-elephant"],
    caption="""Queue of the bottleneck in one run, in full packets, from 2 ms before the short flows open. The document draws
    this schematically. Plain TCP fills the buffer and loses; with the shim the long flow is held at the threshold of 20
    packets.""",
)
def _(fig: Any, x: dict[str, Any]) -> None:
    axes = fig.subplots(1, 2, sharey=True)
    t = x["trace"].table("queue", ["variant", "run", "time_ns", "bytes"]).where(run=0)
    for ax, variant, name in zip(axes, (PLAIN, SHIM), ("TCP (Fig. 4)", "ProBoSCIS (Fig. 5)"), strict=True):
        v = t.where(variant=variant)
        v = v.rows((v["time_ns"] >= 198e6) & (v["time_ns"] <= 208e6))
        ax.plot(v["time_ns"] / 1e6, v["bytes"] / 1500, color=look("reno" if variant == PLAIN else "proboscis").color)
        ax.axhline(20, color="0.4", lw=0.8, ls=(0, (3, 2)))
        ax.axhline(100, color="0.4", lw=0.8)
        ax.set(xlabel="time [ms]", title=f"{name}: {mean(timeouts(x['trace'], variant)):.1f} timeouts a run", ylim=(0, 110))
    axes[0].set_ylabel("queue [1500 B]")
