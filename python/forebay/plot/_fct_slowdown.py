"""Completion times by size of the message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _bins, _frame, style
from ._data import Floats, Source, seeds
from ._messages import METRICS, Messages, Metric, Which, messages, running_note
from ._stats import Estimate, estimate, is_lower_bound
from ._units import Scale, scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._bins import Bin, Rule
    from ._data import Mask

# Up to this number of bins the subjects are drawn side by side; more bins are joined by lines.
_APART = 4
# Names of more bins do not fit side by side.
_LEVEL = 12


def fct_slowdown(
    source: Source,
    *,
    ax: Axes | None = None,
    bins: Rule = "auto",
    quantiles: tuple[float, ...] = (0.5, 0.99),
    metric: Metric = "slowdown",
    which: Which = "auto",
    classes: str | list[str] | None = None,
) -> Axes:
    """Draw the slowdown of messages by their size: median and tail.

    Quantiles are computed per seed; the plot shows their mean and, with several seeds, its 95 % confidence interval. Messages
    that were running at the end count with their time so far, as in the printed table. An arrow marks quantiles that are lower
    bounds for this reason.

    Parameters
    ----------
    source
        A result, several by name, or a list of them.
    ax
        Axes to draw into; default: a new figure.
    bins
        `"small-medium-large"` (limits 100 KB and 10 MB), `"equal-count"` (equally many messages in each),
        `"by-length"`, or `"auto"`, which chooses by the sizes there are.
    quantiles
        Up to two, 0 to 1: filled markers for the highest, open ones for the other.
    metric
        `"slowdown"`, completion time over that of the same bytes on an unloaded path; `"fct"`, seconds.
    which
        `"flows"`: messages of no query; `"queries"`: those of queries; `"all"`; `"auto"`: the first where there are
        any.
    classes
        Names of workloads; left out: all.

    Returns
    -------
    The axes.

    Raises
    ------
    ValueError
        No message completed.

    Examples
    --------
    >>> import forebay as fb
    >>> r = fb.Scenario.load("scenarios/quickstart.toml").with_(duration="1s", runs=2).run()
    >>> ax = fb.plot.fct_slowdown(r, bins="small-medium-large")
    >>> [t.get_text() for t in ax.get_xticklabels()]
    ['≤ 100 KB', '100 KB–10 MB', '≥ 10 MB']
    """
    if not 1 <= len(quantiles) <= 2 or not all(0 <= q <= 1 for q in quantiles):
        raise ValueError("one or two quantiles from 0 to 1 can be drawn")
    found = messages(source, metric, which, classes)
    made = _bins.bins(bins, np.concatenate([m.size for m in found]))
    _, unit, title = METRICS[metric]
    heights = {
        (i, q): [_of_bin(m, b, q, float(metric == "slowdown")) for b in made] for i, m in enumerate(found) for q in quantiles
    }
    bounds = {(i, q): np.array([_is_bound(m, b, q) for b in made]) for i, m in enumerate(found) for q in quantiles}
    drawn = np.array([e.mean for row in heights.values() for e in row])
    drawn = drawn[np.isfinite(drawn)]
    log = bool(drawn.max() > 8 * drawn.min() > 0)
    s = scale(unit, drawn, log=log)
    wide = len(made) > 6
    with _frame.canvas(ax, width="page" if wide else "column", aspect=0.42 if wide else 0.66) as ax:
        at = np.arange(len(made), dtype=float)
        apart = len(made) <= _APART
        if log:
            _frame.log(ax, "y", drawn.min(), drawn.max())
        for i, m in enumerate(found):
            shift = (i - (len(found) - 1) / 2) * min(0.24 if apart else 0.16, 0.8 / len(found))
            for q in quantiles:
                _line(ax, at + shift, heights[i, q], s, m.subject.label, tail=q == max(quantiles), joined=not apart)
                _arrows(ax, at + shift, heights[i, q], bounds[i, q], s, m.subject.label)
        if log:
            # Intervals of few seeds reach down to 0, which a logarithmic axis lacks, and far up: the axis covers the means.
            lowest = 0.9 if metric == "slowdown" else 0.5 * drawn.min() / s.factor
            ax.set_ylim(lowest, 3 * drawn.max() / s.factor)
        else:
            ax.set_ylim(bottom=0)
        ax.set_xticks(at, [b.label.replace("–", "–\n") if wide else b.label for b in made])
        ax.set_xlim(-0.5, len(made) - 0.5)
        if len(made) > _LEVEL:
            ax.tick_params(axis="x", labelrotation=45)
        ax.grid(False, axis="x")
        ax.set_xlabel("Message size")
        _frame.ylabel(ax, s.title(title))
        _frame.legend(ax, _handles(found, quantiles, joined=not apart), lines=not apart)
        n = sum(len(m.value) for m in found)
        interval = ", 95 % CI" if any(np.isfinite(e.half_width) for row in heights.values() for e in row) else ""
        arrow = ", ↑ at least" if any(np.any(b) for b in bounds.values()) else ""
        _frame.note(ax, f"{n} messages{running_note(found)}, {seeds([m.subject for m in found])}{interval}{arrow}")
    return ax


def _of_bin(m: Messages, b: Bin, q: float, least: float) -> Estimate:
    """Estimate the quantile of a bin from each seed that has messages in it."""
    inside = b.holds(m.size)
    values = (float(np.quantile(m.value[inside & (m.run == r)], q)) for r in np.unique(m.run[inside]))
    return estimate(values, least=least)


def _is_bound(m: Messages, b: Bin, q: float) -> bool:
    """Return true if the quantile of a bin is a lower bound in a seed: it depends on running messages."""
    inside = b.holds(m.size)
    runs = np.unique(m.run[inside & m.running])
    return any(is_lower_bound(m.value[inside & (m.run == r)], m.running[inside & (m.run == r)], q) for r in runs)


def _arrows(ax: Axes, at: Floats, row: list[Estimate], bound: Mask, s: Scale, label: str) -> None:
    """Draw an arrow up from each lower bound."""
    if not np.any(bound):
        return
    from matplotlib.path import Path

    shaft = Path(
        [(0, 0), (0, 1), (-0.3, 0.7), (0, 1), (0.3, 0.7)], [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO, Path.LINETO]
    )
    mean = np.array([e.mean for e in row]) / s.factor
    # Only the upper half of a marker is used: the arrow is half as long as its size.
    ax.plot(
        at[bound],
        mean[bound],
        linestyle="none",
        marker=shaft,
        markersize=20,
        markerfacecolor="none",
        markeredgecolor=style.look(label).color,
        markeredgewidth=0.9,
        gid="lower bound",
    )


def _line(ax: Axes, at: Floats, row: list[Estimate], s: Scale, label: str, *, tail: bool, joined: bool) -> None:
    look, theme = style.look(label), style.current()
    mean = np.array([e.mean for e in row]) / s.factor
    down, up = np.array([e.reach for e in row]).T / s.factor
    # A logarithmic axis has no 0.
    low = np.maximum(mean - down, mean * 1e-6)
    dash: Any = (look.dash if tail else ":") if joined else "none"
    if np.any(up > 0):
        ax.bar(at, mean + up - low, 0.13, bottom=low, color=look.color, alpha=0.22, linewidth=0)
    ax.plot(
        at,
        mean,
        color=look.color,
        linestyle=dash,
        linewidth=1.2 if tail else 0.8,
        marker=look.marker,
        markerfacecolor=look.color if tail else theme.ground,
        markeredgecolor=look.color,
    )


def _handles(found: list[Messages], quantiles: tuple[float, ...], *, joined: bool) -> list[object]:
    from matplotlib.lines import Line2D

    handles: list[object] = []
    for m in found:
        look = style.look(m.subject.label)
        dash: Any = look.dash if joined else "none"
        handles.append(Line2D([], [], color=look.color, linestyle=dash, marker=look.marker, label=m.subject.label))
    theme = style.current()
    for q in sorted(quantiles) if len(quantiles) > 1 else ():
        face = theme.quiet if q == max(quantiles) else theme.ground
        handles.append(
            Line2D([], [], color=theme.quiet, linestyle="none", marker="o", markerfacecolor=face, label=f"p{q * 100:g}")
        )
    return handles
