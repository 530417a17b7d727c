"""Queues and senders over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _frame, style
from ._data import Source, Subject, need, variants
from ._queue_cdf import default_port
from ._series import QUANTITIES, Line, events, lines
from ._units import Scale, scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

# Number of connections drawn by default: more cannot be distinguished.
_MOST = 4
_KINDS = ("marks", "drops", "timeouts")


def time_series(
    source: Source,
    what: Sequence[str] | None = None,
    *,
    axes: Sequence[Axes] | None = None,
    run: int = 0,
    span: tuple[float, float] | None = None,
    port: str | None = None,
    connections: list[int] | None = None,
    overlay: bool = False,
    rug: bool = True,
    sharey: bool = True,
) -> NDArray[Any]:
    """Draw panels over a common time axis: the queue, and the state of the senders.

    Long series are thinned to the extremes of short intervals. Marks, drops and timeouts of all senders stand as
    ticks under the panels; marks and drops are known to within a sample of the queue.

    Parameters
    ----------
    source
        A result, several by name, or a list of them; each variant has a column of panels.
    what
        From top to bottom: `queue` (packets), `queue_bytes`, `cwnd`, `ssthresh` (segments), `unacked`, `alpha`,
        `srtt`, `rto`, `rate` (goodput). Left out: those of queue, cwnd and alpha that were sampled.
    axes
        Where to draw, a panel each (and one more for the ticks, with `rug`); draws all variants over each other. Left
        out: a new figure.
    run
        Number of the repetition.
    span
        From and to, seconds; left out: the whole run.
    port
        Name of the port; left out: `bottleneck`, or the first that was sampled.
    connections
        Numbers of the senders; left out: the first four that were sampled.
    overlay
        All variants in the same panels, instead of beside each other.
    rug
        True to draw the ticks.
    sharey
        True if panels beside each other share their vertical axis.

    Returns
    -------
    The panels as an array of rows and columns, whatever was asked for: ``panels[0, 0]`` is at the top left. The last row
    is that of the ticks, if there is one.

    Raises
    ------
    ValueError
        Something was not sampled, or there is no such quantity.

    Examples
    --------
    >>> import forebay as fb
    >>> r = fb.Scenario.load("scenarios/two-flows.toml").with_(duration="600ms").run()
    >>> panels = fb.plot.time_series(r, ["queue", "cwnd"], span=(0.5, 0.6))
    >>> panels.shape  # queue, cwnd, ticks; three transports
    (3, 3)
    """
    subjects = variants(source)
    for name in what or ():
        if name not in QUANTITIES:
            raise ValueError(f"there is no `{name}`: one of {', '.join(QUANTITIES)}")
    ends = [end for s in subjects for number, end in s.runs() if number == run]
    need(ends, f"there is no repetition {run}", "they are counted from 0")
    span = span or (0.0, max(ends))
    names = list(what or ("queue", "cwnd", "alpha"))
    data = {
        (s.label, name): lines(s, name, run, span, port or default_port(s), connections)[: None if connections else _MOST]
        for s in subjects
        for name in names
    }
    if what is None:
        names = [name for name in names if any(data[s.label, name] for s in subjects)]
    for name in names or ["queue"]:
        if not any(data[s.label, name] for s in subjects):
            raise ValueError(f"`{name}` was not sampled; see queue and tcp under [observe] in docs/reference/scenario.md")
    ticks = {s.label: events(s, run, span, port or default_port(s)) if rug else {} for s in subjects}
    kinds = [k for k in _KINDS if any(k in t for t in ticks.values())]
    columns = [subjects] if overlay or axes is not None else [[s] for s in subjects]
    if axes is not None:
        if len(axes) != len(names) + bool(kinds):
            raise ValueError(f"{len(names) + bool(kinds)} axes are needed: {', '.join(names)}{', ticks' if kinds else ''}")
        made = np.array([[ax] for ax in axes], dtype=object)
        for ax in axes:
            with _frame.canvas(ax):
                pass
        _draw(made, columns, names, data, ticks, kinds, span)
        return made
    lanes = len(kinds) * (1 + 0.6 * (len(columns[0]) - 1))
    heights = [1.0] * len(names) + [0.13 * lanes] * bool(kinds)
    wide = "page" if len(columns) > 1 else "column"
    per_row = 1.05 if wide == "column" else 1.0
    inches = style.current().width or style.WIDTHS[wide]
    aspect = (sum(heights) * per_row + 0.55) / inches
    with _frame.panels(len(heights), len(columns), width=wide, aspect=aspect, heights=heights, sharey=sharey) as grid:
        made = np.array(grid, dtype=object)
        _draw(made, columns, names, data, ticks, kinds, span)
    return made


def _draw(
    made: NDArray[Any],
    columns: list[list[Subject]],
    names: list[str],
    data: dict[tuple[str, str], list[Line]],
    ticks: dict[str, dict[str, Any]],
    kinds: list[str],
    span: tuple[float, float],
) -> None:
    time = scale("s", span)
    several = sum(len(c) for c in columns) > 1
    for j, column in enumerate(columns):
        for i, name in enumerate(names):
            own = [(s, line) for s in column for line in data[s.label, name]]
            unit = scale(
                QUANTITIES[name].unit,
                [line.value[np.isfinite(line.value)].max() for row in data.items() if row[0][1] == name for line in row[1]],
            )
            _panel(made[i, j], name, own, unit, time, several=several, overlay=len(column) > 1)
            if j == 0:
                made[i, j].set_ylabel(unit.title(QUANTITIES[name].title).replace(" (", "\n("))
        if kinds:
            _rug(made[len(names), j], column, ticks, kinds, time, several=several)
            made[len(names), j].tick_params(axis="y", labelleft=j == 0)
        made[-1, j].set_xlabel(time.title("Time"))
        made[-1, j].set_xlim(span[0] / time.factor, span[1] / time.factor)
        if len(columns) > 1:
            made[0, j].set_title(column[0].label, color=style.look(column[0].label).color, fontweight="bold")
    if len(columns[0]) > 1:
        _legend(made[0, 0], [(s.label, style.look(s.label).color, style.look(s.label).dash) for s in columns[0]])
    elif text := _connections(columns, data):
        _frame.note(made[0, 0], text)
    made[0, 0].figure.align_ylabels()


def _panel(
    ax: Axes, name: str, own: list[tuple[Subject, Line]], unit: Scale, time: Scale, *, several: bool, overlay: bool
) -> None:
    if not own:
        ax.text(0.5, 0.5, "none", transform=ax.transAxes, ha="center", va="center", color=style.current().quiet)
    ranks: dict[str, int] = {}
    for s, line in own:
        rank = ranks[s.label] = ranks.get(s.label, -1) + 1
        look = style.look(s.label) if several else style.neutral() if name.startswith("queue") else style.look(s.label)
        ax.plot(
            line.time / time.factor,
            line.value / unit.factor,
            color=_shade(look.color, rank),
            linestyle=look.dash if overlay else "-",
            linewidth=0.7,
            drawstyle="default" if name == "rate" else "steps-post",
            zorder=3 - 0.1 * rank,
        )
    if name == "alpha":
        ax.set_ylim(0, 1.03)
    else:
        ax.set_ylim(bottom=0)
    ax.locator_params(axis="y", nbins=4)


def _rug(
    ax: Axes, column: list[Subject], ticks: dict[str, dict[str, Any]], kinds: list[str], time: Scale, *, several: bool
) -> None:
    """Draw a lane for each kind of event, and in it one for each variant."""
    for lane, kind in enumerate(kinds):
        for i, s in enumerate(column):
            at = ticks[s.label].get(kind)
            if at is None:
                continue
            color = style.look(s.label).color if several else style.current().ink
            high = 0.72 / len(column)
            low = lane - 0.36 + i * high
            ax.vlines(at / time.factor, low, low + high * 0.9, color=color, linewidth=0.6)
    ax.set_yticks(range(len(kinds)), kinds)
    ax.set_ylim(len(kinds) - 0.5, -0.5)
    ax.grid(False)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _shade(color: str, rank: int) -> Any:
    """Return the color of a connection: that of its transport, paler for later ones."""
    from matplotlib.colors import to_rgb

    share = (0.0, 0.45, 0.65, 0.78)[min(rank, _MOST - 1)]
    ground = to_rgb(style.current().ground)
    return tuple(c * (1 - share) + g * share for c, g in zip(to_rgb(color), ground, strict=True))


def _connections(columns: list[list[Subject]], data: dict[tuple[str, str], list[Line]]) -> str:
    """Return the labels of connections, if there are several."""
    drawn = {tuple(line.connection for line in own if line.connection >= 0) for own in data.values()}
    several = max(drawn, key=len)
    if len(several) < 2:
        return ""
    same = all(of in ((), several) for of in drawn)
    numbers = ", ".join(map(str, several)) if same else "by number"
    return f"connections {numbers}, strong to faint"


def _legend(ax: Axes, entries: list[tuple[str, Any, Any]]) -> None:
    from matplotlib.lines import Line2D

    _frame.legend(ax, [Line2D([], [], color=color, linestyle=dash, label=label) for label, color, dash in entries])
