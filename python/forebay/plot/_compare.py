"""One metric of all compared subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import _frame, style
from ._data import Floats, Source, Subject, groups, need, seeds
from ._metrics import TITLES, is_lower_bound, possible, title
from ._stats import Estimate, estimate
from ._units import interval, number, scale, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

# Most informative first: queries that collapse, then short flows, then long ones.
_TELLING = ("qct_p99_s", "fct_small_p99_s", "slowdown_p99", "long_goodput_bps", "goodput_bps")


def compare(source: Source, metric: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw one metric as a bar for each transport, with its 95 % confidence interval over the seeds and its number.

    `≥` marks lower bounds: messages that were running at the end count with their time so far, as in the printed table.

    Parameters
    ----------
    source
        A result, several by name, or a list of them.
    metric
        A column of the `summary` table; left out: the most telling one that every transport has a value of.
    ax
        Axes to draw into; default: a new figure.

    Returns
    -------
    The axes.

    Raises
    ------
    ValueError
        There is no such metric, or it has no value in these results.

    Examples
    --------
    >>> import forebay as fb
    >>> s = fb.Scenario.load("scenarios/incast.toml").with_({"workload.0.rounds": 3}, runs=2)
    >>> r = s.run()
    >>> ax = fb.plot.compare(r, "rtos_per_query")
    >>> ax.get_xlabel()
    'Timeouts per query, less is better'
    """
    subjects = groups(source)
    if metric is None:
        metric = next((m for m in _TELLING if all(of_metric(s, m).n for s in subjects)), _TELLING[-1])
    rows = {s: e for s in subjects if (e := of_metric(s, metric)).n}
    need(list(rows), f"`{metric}` has no value in these results", "choose another column of the summary table")
    with _frame.canvas(ax, aspect=0.16 + 0.085 * len(rows)) as ax:
        mean = np.array([e.mean for e in rows.values()])
        down, up = np.array([e.reach for e in rows.values()]).T
        s = scale(unit_of(metric), mean)
        at = np.arange(len(rows), dtype=float)
        for y, (subject, e) in zip(at, rows.items(), strict=True):
            look = style.look(subject.label) if len(rows) > 1 else style.neutral()
            ax.barh(
                y,
                e.mean / s.factor,
                height=0.62,
                color=look.color,
                edgecolor=style.current().ground,
                hatch=look.hatch,
                linewidth=0,
            )
        if np.any(down + up > 0):
            ax.errorbar(
                mean / s.factor,
                at,
                xerr=np.vstack([down, up]) / s.factor,
                fmt="none",
                ecolor=style.current().ink,
                elinewidth=0.9,
                capsize=2.5,
                capthick=0.9,
            )
        reach = float(np.max(mean + up)) / s.factor or 1.0
        several = np.any(np.isfinite([e.half_width for e in rows.values()]))
        bounds = [is_lower_bound(metric, _column(subject)) for subject in rows]
        for y, m, low, high, bound in zip(at, mean / s.factor, down / s.factor, up / s.factor, bounds, strict=True):
            text = ("≥ " if bound else "") + (interval(m, low, high) if several else number(m, 4))
            ax.annotate(
                text,
                (m + high, y),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=style.current().size - 1,
            )
        ax.set_xlim(0, reach * 1.28)
        ax.set_yticks(at, [subject.label for subject in rows])
        ax.invert_yaxis()
        ax.grid(False, axis="y")
        ax.tick_params(axis="y", length=0)
        better = TITLES.get(metric, ("", ""))[1]
        ax.set_xlabel(s.title(title(metric)) + (f", {better} is better" if better else ""))
        over = seeds(list(rows))
        least = ", ≥ at least: some were running at the end" if any(bounds) else ""
        _frame.note(ax, ("1 seed" if over == "1 seed" else f"mean and 95 % CI over {over}") + least)
    return ax


def of_metric(subject: Subject, metric: str) -> Estimate:
    """Estimate a column of the summary over the seeds.

    Raises
    ------
    ValueError
        There is no such column.
    """
    table = subject.result.table("summary")
    if metric not in table.columns:
        keys = ("variant", "run", "seed", "world", "transport", "port")
        known = ", ".join(c for c in table.columns if c not in keys)
        raise ValueError(f"the summary has no column `{metric}`: {known}")
    values = _column(subject)
    least, most = possible(metric, values)
    return estimate(values(metric), least=least, most=most)


def _column(subject: Subject) -> Callable[[str], Floats]:
    """Return a function that returns a column of the summary of a subject, empty if there is none."""
    table = subject.result.table("summary")
    rows = subject.rows(table)
    return lambda column: np.asarray(table[column], dtype=float)[rows] if column in table.columns else np.empty(0)
