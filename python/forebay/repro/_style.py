"""The house style of :mod:`forebay.plot` for figures that a paper's own code draws."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from forebay.plot import style
from forebay.plot.style import Look

#: Schemes that papers compare, in the order of their looks: a scheme looks the same in every figure of every paper.
SCHEMES = ("newreno", "dctcp", "trim", "l2dct", "cubic", "proboscis", "pias", "prin", "pfabric", "red")
_SAME = {"tcp": "newreno", "reno": "newreno", "red_ecn": "red", "reno_red": "red"}


def look(name: str | int) -> Look:
    """Return the look of a scheme by its name (the same in every figure), or of the i-th series."""
    if isinstance(name, int):
        return style.look(SCHEMES[name % len(SCHEMES)])
    return style.look(_SAME.get(name, name))


@contextmanager
def looks() -> Iterator[None]:
    """Fix the looks of the schemes while a figure is drawn."""
    style.names(*SCHEMES)
    try:
        yield
    finally:
        style.names()


def rc() -> dict[str, Any]:
    """Return matplotlib's settings, with those that :mod:`forebay.plot` makes for each axes: a paper may change them again."""
    theme = style.current()
    return {
        **style.rc(),
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": theme.grid,
        "grid.linewidth": 0.6,
        "grid.linestyle": "-",
        "grid.alpha": 1.0,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "savefig.dpi": 150,
    }
