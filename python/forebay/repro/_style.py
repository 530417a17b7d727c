"""The house style of `forebay.plot`, for figures that a paper's own code draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, QUIET, GRID = "#1c1f23", "#69707a", "#e3e6ea"

# The palette of Okabe and Ito ("Color Universal Design", 2008) without its yellow, which paper swallows.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.6)),
    (0, (1.3, 1.3)),
    (0, (5, 1.4, 1.3, 1.4)),
    (0, (8, 2)),
    (0, (3, 1.2, 1.2, 1.2, 1.2, 1.2)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


@dataclass(frozen=True)
class Look:
    """How a series is drawn: never by colour alone."""

    color: str
    dash: Any
    marker: str


#: One look for each scheme over all papers.
_KNOWN = ("newreno", "dctcp", "trim", "l2dct", "cubic", "proboscis", "pias", "prin", "pfabric", "red")
_SAME = {"tcp": "newreno", "reno": "newreno", "red_ecn": "red", "reno_red": "red"}


def look(name: str | int) -> Look:
    """Return the look of a scheme by its name (the same in every figure), or of the i-th series."""
    if isinstance(name, str):
        name = _SAME.get(name, name)
        i = _KNOWN.index(name) if name in _KNOWN else sum(map(ord, name))
    else:
        i = name
    return Look(COLORS[i % len(COLORS)], DASHES[i % len(DASHES)], MARKERS[i % len(MARKERS)])


def rc() -> dict[str, Any]:
    """Return matplotlib's settings."""
    size = 8.0
    return {
        "font.family": ["DejaVu Sans"],
        "font.size": size,
        "axes.titlesize": size,
        "axes.labelsize": size,
        "xtick.labelsize": size - 1,
        "ytick.labelsize": size - 1,
        "legend.fontsize": size - 0.5,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.2,
        "lines.markersize": 3.8,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "legend.frameon": False,
        "savefig.dpi": 150,
        "svg.fonttype": "path",
        "svg.hashsalt": "forebay",
    }


def dress(ax: Axes) -> None:
    """Give an axes what settings alone cannot."""
    ax.set_axisbelow(True)
