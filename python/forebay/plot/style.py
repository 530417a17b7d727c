"""The house style of forebay's figures.

Every plot draws in this style without touching matplotlib's global settings. Widths are those of papers, so that a
figure is included at its natural size and its text keeps the size it was made with::

    with fb.plot.style.context(width="page", dark=True):
        ax = fb.plot.queue_cdf(result)
    ax.figure.savefig("queue.pdf")      # the same bytes every time: no dates, no random ids

What is compared (a transport, a variant of a scenario) keeps its colour, dashes and marker through all plots of a
session, in the order in which names first appear; :func:`names` fixes the order.
"""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

#: Widths in inches: one column and both columns of a two-column paper (ACM, IEEE, USENIX).
WIDTHS = {"column": 3.35, "page": 7.0}


@dataclass(frozen=True)
class Theme:
    """Settings of the figures that are made next."""

    #: Width in inches; `None`: what suits the plot.
    width: float | None = None
    #: Height in inches; `None`: what suits the plot.
    height: float | None = None
    #: Light lines on a dark ground.
    dark: bool = False
    #: Size of the text in points.
    size: float = 8.0
    #: Whether a small line under a plot says what was averaged over what.
    notes: bool = True

    @property
    def ground(self) -> str:
        """Colour behind everything."""
        return "#15181d" if self.dark else "#ffffff"

    @property
    def ink(self) -> str:
        """Colour of text and axes."""
        return "#e4e7eb" if self.dark else "#1c1f23"

    @property
    def quiet(self) -> str:
        """Colour of what stands back: notes, reference lines."""
        return "#9aa3ad" if self.dark else "#69707a"

    @property
    def grid(self) -> str:
        """Colour of the grid."""
        return "#323840" if self.dark else "#e3e6ea"


@dataclass(frozen=True)
class Look:
    """How one of the things that are compared is drawn: never by colour alone."""

    #: Colour of lines and faces.
    color: str
    #: Dashes, as matplotlib's `linestyle` takes them.
    dash: Any
    #: Marker of single points.
    marker: str
    #: Hatching of faces.
    hatch: str


# The palette of Okabe and Ito ("Color Universal Design", 2008) without its yellow, which paper swallows. On a dark
# ground its blue and black would vanish: they are lightened, and vermillion with them.
_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DARK = ("#3D9BE0", "#F0762B", "#1DBF92", "#DB93BC", "#F2B632", "#8FD0F7", "#F2F2F2")
# 7 colours and markers but 6 dashes: the eighth thing has the first one's colour with other dashes.
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


def _changed(
    width: str | float | None, height: float | None, dark: bool | None, size: float | None, notes: bool | None
) -> Theme:
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
    """Draw what is plotted inside it with other settings.

    Parameters
    ----------
    width
        `"column"` (3.35 in), `"page"` (7 in) or inches. Left out: what suits the plot.
    height
        Inches. Left out: what suits the plot.
    dark
        Light lines on a dark ground.
    size
        Size of the text in points; 8 unless set.
    notes
        Whether a small line under a plot says what was averaged.

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
    """Do as :func:`context` does, for the rest of the session. Concerns forebay's plots only."""
    global _default
    _default = _changed(width, height, dark, size, notes)


def names(*labels: str) -> None:
    """Give these names the first colours, in this order, and forget all others.

    Without it colours are given out as names first appear in a plot. `names()` begins anew.

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
    """Return how `label` is drawn: the same in all plots of a session."""
    if label not in _names:
        _names.append(label)
    i = _names.index(label)
    colors = _DARK if current().dark else _LIGHT
    return Look(
        colors[i % len(colors)], _DASHES[i % len(_DASHES)], _MARKERS[i % len(_MARKERS)], _HATCHES[i % len(_HATCHES)]
    )


def neutral() -> Look:
    """Return how a single thing that is not compared with anything is drawn."""
    return Look(current().ink, "-", "o", "")


def rc() -> dict[str, Any]:
    """Return matplotlib's settings for the theme in force."""
    theme = current()
    ink, size = theme.ink, theme.size
    return {
        # Comes with matplotlib, so that figures look the same everywhere; all its digits are of one width.
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


@contextmanager
def settings(values: dict[str, Any]) -> Iterator[None]:
    """Set some of matplotlib's settings for a while.

    Its own `rc_context` would also take back what changes meanwhile: a notebook becomes interactive with the first figure.
    """
    import matplotlib as mpl

    settings: dict[Any, Any] = mpl.rcParams
    before = {key: settings[key] for key in values}
    settings.update(values)
    try:
        yield
    finally:
        settings.update(before)


@contextmanager
def canvas(ax: Axes | None, *, width: str = "column", aspect: float = 0.62) -> Iterator[Axes]:
    """Give axes to draw into, in the house style: `ax` itself, or those of a new figure."""
    if ax is not None:
        need_matplotlib()
        with settings(rc()):
            dress(ax)
            yield ax
        return
    with panels(1, 1, width=width, aspect=aspect) as made:
        yield made[0][0]


@contextmanager
def panels(
    rows: int,
    columns: int,
    *,
    width: str = "page",
    aspect: float = 0.62,
    heights: list[float] | None = None,
    sharey: bool = True,
) -> Iterator[list[list[Axes]]]:
    """Give rows and columns of panels that share their x axes, and by row their y axes; `heights` are relative."""
    need_matplotlib()
    from matplotlib import pyplot as plt

    from ._figure import HouseFigure

    theme = current()
    inches = theme.width or WIDTHS[width]
    with settings(rc()):
        figure = plt.figure(
            figsize=(inches, theme.height or inches * aspect), layout="constrained", FigureClass=HouseFigure
        )
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.set(w_pad=0.03, h_pad=0.03, hspace=0.02, wspace=0.04)  # type: ignore[call-arg]
        made = figure.subplots(
            rows,
            columns,
            sharex="col",
            sharey="row" if sharey else False,
            squeeze=False,
            gridspec_kw={"height_ratios": heights or [1.0] * rows},
        )
        grid: list[list[Axes]] = [list(row) for row in made]
        for row in grid:
            for ax in row:
                dress(ax)
        yield grid


def dress(ax: Axes) -> None:
    """Put axes into the house style. Ticks are made when a figure is drawn, long after: all they need is set here."""
    theme = current()
    ax.set_axisbelow(True)
    ax.tick_params(
        which="major",
        length=2.5,
        width=0.6,
        labelsize=theme.size - 1,
        color=theme.ink,
        labelcolor=theme.ink,
        labelfontfamily="DejaVu Sans",
        grid_color=theme.grid,
        grid_linewidth=0.6,
        grid_linestyle="-",
        grid_alpha=1.0,
    )
    ax.tick_params(which="minor", length=1.4, width=0.4, color=theme.ink)
    ax.grid(True, which="major")
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(theme.ink)
        spine.set_linewidth(0.6)


def log(ax: Axes, which: str, lowest: float, highest: float) -> None:
    """Make the `"x"` or `"y"` axis logarithmic, with plain numbers at its ticks: decades, or 1, 2 and 5."""
    from matplotlib.ticker import LogLocator, NullFormatter

    from ._units import tick

    axis = ax.xaxis if which == "x" else ax.yaxis
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    axis.set_major_formatter(tick)
    axis.set_minor_formatter(NullFormatter())
    if highest < 150 * lowest:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))


def legend(ax: Axes, handles: list[Any] | None = None, *, lines: bool = True) -> None:
    """Put a legend in a row above the axes, where no data are; nothing when there is one entry only.

    `lines`: its entries have lines, not markers alone.
    """
    if handles is None:
        handles, labels = ax.get_legend_handles_labels()
    else:
        labels = [h.get_label() for h in handles]
    if len(handles) < 2:
        return
    long = 2.2 if lines else 1.0
    columns = _fitting(labels, ax, long)
    legend = ax.legend(
        _by_rows(handles, columns),
        _by_rows(labels, columns),
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        frameon=False,
        borderaxespad=0.2,
        handlelength=long,
        columnspacing=1.2,
        handletextpad=0.5,
        borderpad=0.1,
    )
    legend.set_in_layout(True)


def _fitting(labels: list[str], ax: Axes, long: float) -> int:
    """Say how many entries of a legend fit beside each other over `ax`: by the width of their text, roughly."""
    size = current().size - 0.5
    room = ax.get_position().width * ax.figure.bbox.width / ax.figure.dpi * 72 * 1.12
    for columns in range(len(labels), 1, -1):
        # Handle, its distance, text of 0.6 em a character, distance to the next.
        each = [long + 0.5 + 0.6 * max(map(len, labels[c::columns])) + 1.2 for c in range(columns)]
        if sum(each) * size - 1.2 * size <= room:
            return columns
    return 1


def _by_rows(items: list[Any], columns: int) -> list[Any]:
    """Reorder entries: matplotlib fills a legend's columns one after the other, people read rows."""
    rows = -(-len(items) // columns)
    full = len(items) - (rows - 1) * columns
    order: list[Any] = []
    for c in range(columns):
        order += items[c::columns] if c < full else items[c : (rows - 1) * columns : columns]
    return order


def note(ax: Axes, text: str) -> None:
    """Say in a small line at the foot of a figure of our own what was averaged, unless the theme has no notes."""
    from ._figure import HouseFigure

    theme = current()
    figure = ax.figure
    if theme.notes and text and isinstance(figure, HouseFigure):
        figure.supxlabel(text, x=0.99, ha="right", fontsize=theme.size - 2, color=theme.quiet)


def need_matplotlib() -> None:
    """Refuse to go on without matplotlib.

    Raises
    ------
    ImportError
        It is not installed; the text says how to get it.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as e:
        raise ImportError("plots need matplotlib, which is not installed: pip install 'forebay[plot]'") from e
