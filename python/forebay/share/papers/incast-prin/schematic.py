"""Figs. 1, 16 and 20: networks, as the scenario files have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay.repro import look

from .base import paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, HOT = "#1c1f23", "#69707a", "#D55E00"


def canvas(fig: Figure) -> Axes:
    """Axes without axes, ten by four."""
    ax = fig.subplots()
    ax.set(xlim=(0, 10), ylim=(0, 4))
    ax.axis("off")
    return ax


def box(ax: Axes, x: float, y: float, text: str, *, wide: float = 1.15, round_: bool = False) -> None:
    """Draw a host, or a switch with round corners."""
    style = "round,pad=0.02,rounding_size=0.18" if round_ else "square,pad=0.02"
    from matplotlib.patches import FancyBboxPatch

    ax.add_patch(FancyBboxPatch((x - wide / 2, y - 0.3), wide, 0.6, boxstyle=style, fc="white", ec=INK, lw=0.9, zorder=2))
    ax.text(x, y, text, ha="center", va="center", fontsize=7.5, zorder=3)


def wire(ax: Axes, a: tuple[float, float], b: tuple[float, float], text: str = "", *, hot: bool = False) -> None:
    """Draw a link; hot: the bottleneck."""
    ax.plot([a[0], b[0]], [a[1], b[1]], color=HOT if hot else QUIET, lw=2.0 if hot else 0.9, zorder=1)
    if text:
        ax.text(
            (a[0] + b[0]) / 2, (a[1] + b[1]) / 2 + 0.12, text, ha="center", va="bottom", fontsize=6.8, color=HOT if hot else QUIET
        )


def senders(ax: Axes, to: tuple[float, float]) -> None:
    """Senders on the left, with dots between."""
    for y, name in ((3.4, "sender 1"), (2.5, "sender 2"), (0.7, "sender N")):
        box(ax, 1.1, y, name)
        wire(ax, (1.7, y), to)
    ax.text(1.1, 1.6, "⋮", ha="center", va="center", fontsize=11)


def register() -> None:
    """Add the figures to the paper."""

    @paper.figure(
        "1",
        title="A scenario of TCP Incast",
        caption="The network of Figs. 2 to 15: topology many-to-one.",
        width=4.6,
        height=1.9,
    )
    def _(fig: Figure, x: dict[str, Any]) -> None:
        ax = canvas(fig)
        senders(ax, (4.6, 2))
        wire(ax, (5.3, 2), (8.2, 2), "C, buffer of B packets", hot=True)
        box(ax, 4.8, 2, "switch", round_=True)
        box(ax, 8.8, 2, "receiver")
        ax.text(2.7, 3.5, "C", fontsize=6.8, color=QUIET)

    @paper.figure(
        "16",
        title="VLAN structure, and what carries the priority",
        uses=["vlan"],
        claims=["prin-last-three-high"],
        caption="""The document tags packets with a VLAN to carry 802.1p priorities. Here: which packets of a block of 20 get
        through a full port that lets priorities of 4 and above pass, until a timer fills the gap (fig16.toml).""",
        width=4.6,
        height=1.9,
    )
    def _(fig: Figure, x: dict[str, Any]) -> None:
        ax = fig.subplots()
        highs = list(range(1, 8))
        through = [int(x["vlan"][h].ports.where(port="bottleneck")["sent_pkts"][0]) for h in highs]
        style = look("prin")
        ax.bar(highs, [t - through[-1] for t in through], width=0.6, color=style.color)
        ax.set(
            xlabel="least 802.1p value that passes the full port", ylabel="packets\nof the block", ylim=(0, 4), yticks=range(5)
        )

    @paper.figure(
        "20",
        title="Multi-hop topology",
        caption="The network of Figs. 22 and 23: topology dumbbell. The UDP shares the link between the switches alone.",
        width=4.6,
        height=1.9,
    )
    def _(fig: Figure, x: dict[str, Any]) -> None:
        ax = canvas(fig)
        senders(ax, (4.0, 2))
        box(ax, 4.0, 0.5, "UDP source", wide=1.4)
        wire(ax, (4.0, 0.8), (4.0, 1.7))
        wire(ax, (4.5, 2), (6.5, 2), "1 Gbit/s", hot=True)
        box(ax, 4.1, 2, "switch 1", round_=True)
        box(ax, 6.7, 2, "switch 2", round_=True)
        wire(ax, (7.3, 2), (8.4, 2))
        box(ax, 8.9, 2, "receiver")
        wire(ax, (6.7, 1.7), (6.7, 0.8))
        box(ax, 6.7, 0.5, "UDP sink", wide=1.4)
