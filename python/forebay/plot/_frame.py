"""Figures and axes in the house style."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import style
from ._settings import settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextmanager
def canvas(ax: Axes | None, *, width: str = "column", aspect: float = 0.62) -> Iterator[Axes]:
    """Return axes in the house style: `ax` itself, or those of a new figure."""
    if ax is not None:
        need_matplotlib()
        with settings(style.rc()):
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
    """Return rows and columns of panels that share their x axes, and by row their y axes; `heights` are relative."""
    need_matplotlib()
    from matplotlib import pyplot as plt

    from ._figure import HouseFigure

    theme = style.current()
    inches = theme.width or style.WIDTHS[width]
    with settings(style.rc()):
        figure = plt.figure(figsize=(inches, theme.height or inches * aspect), layout="constrained", FigureClass=HouseFigure)
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
    """Apply the house style to axes, including that of ticks, which are created when a figure is drawn."""
    theme = style.current()
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


def ylabel(ax: Axes, text: str) -> None:
    """Label the y axis, in as many lines as needed: a figure clips longer labels."""
    theme = style.current()
    points = ax.get_window_extent().height * 72 / ax.figure.dpi
    # The mean width of a letter is 0.55 of the size.
    ax.set_ylabel("\n".join(textwrap.wrap(text, max(8, int(points / (0.55 * theme.size))))))


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
    """Put a legend in a row above the axes, outside the data; none for a single entry.

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
    """Estimate the number of legend entries that fit side by side over `ax`, by the width of their text."""
    size = style.current().size - 0.5
    room = ax.get_position().width * ax.figure.bbox.width / ax.figure.dpi * 72 * 1.12
    for columns in range(len(labels), 1, -1):
        # Handle, its distance, text of 0.6 em a character, distance to the next.
        each = [long + 0.5 + 0.6 * max(map(len, labels[c::columns])) + 1.2 for c in range(columns)]
        if sum(each) * size - 1.2 * size <= room:
            return columns
    return 1


def _by_rows(items: list[Any], columns: int) -> list[Any]:
    """Reorder entries: matplotlib fills a legend by columns, people read rows."""
    rows = -(-len(items) // columns)
    full = len(items) - (rows - 1) * columns
    order: list[Any] = []
    for c in range(columns):
        order += items[c::columns] if c < full else items[c : (rows - 1) * columns : columns]
    return order


def note(ax: Axes, text: str) -> None:
    """Note the averages in a small line at the foot of a new figure, unless the theme has no notes."""
    from ._figure import HouseFigure

    theme = style.current()
    figure = ax.figure
    if theme.notes and text and isinstance(figure, HouseFigure):
        figure.supxlabel(text, x=0.99, ha="right", fontsize=theme.size - 2, color=theme.quiet)


def need_matplotlib() -> None:
    """Raise an error without matplotlib.

    Raises
    ------
    ImportError
        It is not installed; the text says how to get it.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as e:
        raise ImportError("plots need matplotlib, which is not installed: pip install 'forebay[plot]'") from e
