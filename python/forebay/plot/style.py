"""The house style of forebay's figures.

Every plot draws in this style without touching matplotlib's global settings. Widths are those of papers, so that a
figure is included at its natural size and its text keeps the size it was made with::

    with fb.plot.style.context(width="page", dark=True):
        ax = fb.plot.queue_cdf(result)
    ax.figure.savefig("queue.pdf")      # the same bytes every time: no dates, no random ids

A compared subject (a transport, a variant of a scenario) keeps its color, dashes and marker through all plots of a session, in
the order in which names first appear; :func:`names` fixes the order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

#: Widths in inches: one column and both columns of a two-column paper (ACM, IEEE, USENIX).
WIDTHS = {"column": 3.35, "page": 7.0}


@dataclass(frozen=True)
class Theme:
    """Settings of subsequent figures."""

    #: Width in inches; `None`: chosen by the plot.
    width: float | None = None
    #: Height in inches; `None`: chosen by the plot.
    height: float | None = None
    #: Light lines on a dark ground.
    dark: bool = False
    #: Size of the text in points.
    size: float = 8.0
    #: True for a small note on averages under a plot.
    notes: bool = True

    @property
    def ground(self) -> str:
        """Color behind everything."""
        return "#15181d" if self.dark else "#ffffff"

    @property
    def ink(self) -> str:
        """Color of text and axes."""
        return "#e4e7eb" if self.dark else "#1c1f23"

    @property
    def quiet(self) -> str:
        """Color of secondary items: notes, reference lines."""
        return "#9aa3ad" if self.dark else "#69707a"

    @property
    def grid(self) -> str:
        """Color of the grid."""
        return "#323840" if self.dark else "#e3e6ea"


@dataclass(frozen=True)
class Look:
    """Look of a compared subject: never color alone."""

    #: Color of lines and areas.
    color: str
    #: Dashes, as matplotlib's `linestyle` takes them.
    dash: Any
    #: Marker of single points.
    marker: str
    #: Hatching of faces.
    hatch: str


# The palette of Okabe and Ito ("Color Universal Design", 2008) without its yellow, which is hardly visible on paper. On a dark
# background its blue, black and vermillion are lightened.
_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DARK = ("#3D9BE0", "#F0762B", "#1DBF92", "#DB93BC", "#F2B632", "#8FD0F7", "#F2F2F2")
# 7 colors and markers but 6 dashes: the eighth subject has the first color with other dashes.
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.6)),
    (0, (1.6, 1.2)),
    (0, (5, 1.4, 1.3, 1.4)),
    (0, (8, 2)),
    (0, (3, 1.2, 1.2, 1.2, 1.2, 1.2)),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----")

_default = Theme()
_theme: ContextVar[Theme | None] = ContextVar("forebay.plot.theme", default=None)
_names: list[str] = []


def current() -> Theme:
    """Return the settings in force."""
    return _theme.get() or _default


def _changed(width: str | float | None, height: float | None, dark: bool | None, size: float | None, notes: bool | None) -> Theme:
    new: dict[str, Any] = {"height": height, "dark": dark, "size": size, "notes": notes}
    if isinstance(width, str):
        if width not in WIDTHS:
            raise ValueError(f"no width is called {width!r}: one of {', '.join(WIDTHS)}, or inches")
        width = WIDTHS[width]
    new["width"] = width
    return dataclasses.replace(current(), **{key: value for key, value in new.items() if value is not None})


@contextmanager
def context(
    *,
    width: str | float | None = None,
    height: float | None = None,
    dark: bool | None = None,
    size: float | None = None,
    notes: bool | None = None,
) -> Iterator[Theme]:
    """Draw the plots inside it with other settings.

    Parameters
    ----------
    width
        `"column"` (3.35 in), `"page"` (7 in) or inches. Left out: what suits the plot.
    height
        Inches. Default: the height that suits the plot.
    dark
        Light lines on a dark ground.
    size
        Size of the text in points; 8 unless set.
    notes
        True for a small line under a plot that describes the averages.

    Examples
    --------
    >>> from forebay.plot import style
    >>> with style.context(width="page", dark=True) as theme:
    ...     theme.width
    7.0
    """
    token = _theme.set(_changed(width, height, dark, size, notes))
    try:
        yield current()
    finally:
        _theme.reset(token)


def use(
    *,
    width: str | float | None = None,
    height: float | None = None,
    dark: bool | None = None,
    size: float | None = None,
    notes: bool | None = None,
) -> None:
    """Change settings for the rest of the session, as :func:`context`. It affects forebay's plots only."""
    global _default
    _default = _changed(width, height, dark, size, notes)


def names(*labels: str) -> None:
    """Assign the first colors to these names, in this order, and discard all other assignments.

    Without it colors are assigned as names first appear in a plot. `names()` resets the assignment.

    Examples
    --------
    >>> from forebay.plot import style
    >>> style.names("newreno", "dctcp")
    >>> style.look("dctcp").color
    '#D55E00'
    >>> style.names()
    """
    _names[:] = dict.fromkeys(labels)


def look(label: str) -> Look:
    """Return the look of `label`, equal in all plots of a session."""
    if label not in _names:
        _names.append(label)
    i = _names.index(label)
    colors = _DARK if current().dark else _LIGHT
    return Look(colors[i % len(colors)], _DASHES[i % len(_DASHES)], _MARKERS[i % len(_MARKERS)], _HATCHES[i % len(_HATCHES)])


def neutral() -> Look:
    """Return the look of a single subject without comparison."""
    return Look(current().ink, "-", "o", "")


def rc() -> dict[str, Any]:
    """Return matplotlib's settings for the current theme."""
    theme = current()
    ink, size = theme.ink, theme.size
    return {
        # Comes with matplotlib, so that figures look the same everywhere; all its digits have equal width.
        "font.family": ["DejaVu Sans"],
        "font.size": size,
        "axes.titlesize": size,
        "axes.labelsize": size,
        "xtick.labelsize": size - 1,
        "ytick.labelsize": size - 1,
        "legend.fontsize": size - 0.5,
        "figure.titlesize": size + 1,
        "text.color": ink,
        "axes.labelcolor": ink,
        "axes.titlecolor": ink,
        "axes.edgecolor": ink,
        "xtick.color": ink,
        "ytick.color": ink,
        "figure.facecolor": theme.ground,
        "axes.facecolor": theme.ground,
        "savefig.facecolor": "auto",
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.unicode_minus": True,
        "lines.linewidth": 1.2,
        "lines.markersize": 3.8,
        "lines.solid_capstyle": "butt",
        "lines.dash_capstyle": "butt",
        "hatch.linewidth": 0.5,
        "figure.dpi": 150,
        "savefig.dpi": 300,
        "savefig.bbox": None,
        "legend.frameon": False,
        # Publishers refuse Type 3 fonts.
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": "forebay",
        "path.simplify": True,
    }
