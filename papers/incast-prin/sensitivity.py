"""Sensitivity to parameters that the document does not state. Not in the document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay.repro import Run, look

from .base import SIZES, paper
from .experiments import EACH_PACKET, LT, alone, curve, senders, shorter
from .figures import MANY, band, legend
from .measure import Curve, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAR = {"topology.access.delay": "25us", "topology.bottleneck.delay": "25us"}
HEADERS = {"transport.header": 40, "transport.ack-size": 40}


@paper.experiment("sensitivity-incast")
def incast(run: Run) -> dict[str, Curve]:
    """Fig. 7 under other values of what is not stated."""
    ns = run.pick([6, 10, 13, 16, 24], [2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 24, 32])
    variants: dict[str, dict[str, Any]] = {
        "as Fig. 7": {},
        "start jitter 20 us": {"workload.0.jitter": "20us"},
        "start jitter 200 us": {"workload.0.jitter": "200us"},
        "limited transmit": LT,
        # With SACK limited transmit is always on.
        "SACK": {**LT, "transport.recovery": "sack"},
        "D = 116 us": FAR,
        "40-byte headers": HEADERS,
    }
    asked = {name: senders(run, "fig07.toml", ns, sets, seeds=run.pick(2, 5)) for name, sets in variants.items()}
    return {name: curve(a) for name, a in asked.items()}


@paper.experiment("sensitivity-prin")
def prin(run: Run) -> dict[int, dict[str, Curve]]:
    """PRIN of Fig. 17 with other buffers, ACKs for each packet and a capped threshold."""
    ns = run.pick([2, 4, 8, 12], [2, 3, 4, 6, 8, 10, 12, 15])
    cap = {"transport.cc": [{"kind": "newreno", "shim": {"kind": "prin", "floor": 2, "ssthresh": "cap"}}]}
    only = {"transport.cc": [{"kind": "newreno", "shim": {"kind": "prin", "floor": 2}}]}
    buffer = "topology.bottleneck.buffer"
    variants: dict[str, dict[str, Any]] = {
        "B = 96": only,
        "B = 64": {**only, buffer: "64pkt"},
        "B = 128": {**only, buffer: "128pkt"},
        "B = 192": {**only, buffer: "192pkt"},
        "an ACK for each packet": {**only, **EACH_PACKET},
        "ssthresh capped": cap,
    }
    base = shorter(run)
    asked = {
        (kb, name): [
            (n, run("fig17.toml", {**base, "workload.0.block": f"{kb}KB", **sets, **alone(n)}, seeds=run.pick(1, 5))) for n in ns
        ]
        for kb in SIZES
        for name, sets in variants.items()
    }
    out: dict[int, dict[str, Curve]] = {kb: {} for kb in SIZES}
    for (kb, name), results in asked.items():
        out[kb][name] = {n: next(iter(points(r).values())) for n, r in results}
    return out


@paper.figure(
    "sensitivity-incast",
    title="Fig. 7 under other values of what the document does not state",
    uses=["sensitivity-incast"],
    claims=["nstar-is-collapse-point", "model-matches-simulation-above-nstar", "collapse-exists"],
    caption="""B = 64, blocks of 256 KB. The collapse comes with 8 to 12 senders under all of them, and its depth is set by
    one timeout per block; how the senders' starts are spread decides how far the simulation follows the model beyond N* =
    13.""",
    width=6.0,
    height=3.0,
)
def _(fig: Figure, x: dict[str, Any]) -> None:
    left, right = fig.subplots(1, 2)
    for i, (name, c) in enumerate(x["sensitivity-incast"].items()):
        style = look(i)
        for ax, what in ((left, "goodput"), (right, "timeouts")):
            band(ax, c, what, name, color=style.color, marker=style.marker, ls=style.dash, ms=3, lw=1)
    left.set(xlabel=MANY, ylabel="normalised goodput", ylim=(0, 1.05), xlim=(0, 33))
    right.set(xlabel=MANY, ylabel="timeouts per block", ylim=(0, 3.2), xlim=(0, 33))
    legend(fig, [left], 4)


@paper.figure(
    "sensitivity-prin",
    title="PRIN of Fig. 17 under other values of what the document does not state",
    uses=["sensitivity-prin"],
    claims=["prin-about-90", "prin-timeouts-near-zero"],
    caption="""PRIN holds its goodput as long as windows stay large enough to recover from losses in the middle of blocks:
    the buffer decides up to how many senders.""",
    height=3.0,
)
def _(fig: Figure, x: dict[str, Any]) -> None:
    axes = list(fig.subplots(1, len(SIZES), sharey=True))
    for ax, kb in zip(axes, SIZES, strict=True):
        for i, (name, c) in enumerate(x["sensitivity-prin"][kb].items()):
            style = look(i)
            band(ax, c, "goodput", name, color=style.color, marker=style.marker, ls=style.dash, ms=3, lw=1)
        ax.set(xlabel=MANY, xlim=(0, 16), ylim=(0, 1.05), xticks=range(0, 16, 5))
        ax.set_title(f"{kb} KB", loc="left")
    axes[0].set_ylabel("normalised goodput of PRIN")
    legend(fig, axes)
