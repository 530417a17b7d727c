"""Queries: barrier rounds, and exchanges of request and response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from . import _frame, style
from ._data import Floats, Source, Subject, need, seeds, variants
from ._stats import above, ecdf, estimate
from ._units import scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Number of timeouts of one sender from which on queries are counted together.
_MANY = 4


class _Queries(NamedTuple):
    subject: Subject
    #: Completion time in seconds; NaN if unfinished.
    time: Floats
    #: Largest number of timeouts of one sender.
    timeouts: Floats
    run: Floats


def queries(
    source: Source,
    *,
    ax: Axes | None = None,
    show: Literal["times", "timeouts"] = "times",
    classes: str | list[str] | None = None,
    tail: bool = False,
) -> Axes:
    """Draw completion times of the queries, or their timeouts.

    Parameters
    ----------
    source
        A result, several by name, or a list of them.
    ax
        Axes to draw into; default: a new figure.
    show
        `"times"`: fraction of the queries that completed within a time, all seeds together (unfinished ones keep the line
        below 1). `"timeouts"`: distribution of the number of timeouts of a query, counted at the sender with most; mean
        over the seeds with its 95 % confidence interval.
    classes
        Names of workloads; left out: all.
    tail
        For times, the complement on logarithmic axes: the fraction that takes longer.

    Returns
    -------
    The axes.

    Raises
    ------
    ValueError
        There are no queries.

    Examples
    --------
    >>> import forebay as fb
    >>> s = fb.Scenario.load("scenarios/incast.toml").with_({"workload.0.rounds": 3}, runs=2)
    >>> r = s.run()
    >>> ax = fb.plot.queries(r)
    >>> ax = fb.plot.queries(r, show="timeouts")
    >>> ax.get_xlabel()
    'Most timeouts of one sender during a query'
    """
    if show not in ("times", "timeouts"):
        raise ValueError(f"show must be 'times' or 'timeouts', not {show!r}")
    found = [q for s in variants(source) if len((q := _of(s, classes)).time)]
    need(found, "there are no queries", "workloads of kind incast, requests and queries have some")
    with _frame.canvas(ax) as ax:
        if show == "times":
            _times(ax, found, tail=tail)
        else:
            _timeouts(ax, found)
        _frame.legend(ax)
        interval = ", 95 % CI" if show == "timeouts" and any(len(np.unique(q.run)) > 1 for q in found) else ""
        _frame.note(ax, f"{sum(len(q.time) for q in found)} queries, {seeds([q.subject for q in found])}{interval}")
    return ax


def _of(s: Subject, classes: str | list[str] | None) -> _Queries:
    table = s.result.table("queries")
    rows = s.rows(table)
    if classes is not None and len(table):
        rows &= np.isin(table["class"].astype(str), [classes] if isinstance(classes, str) else classes)
    time = np.asarray(table["qct_ns"], dtype=float)[rows] * 1e-9
    return _Queries(s, time, np.asarray(table["rtos_max"], dtype=float)[rows], np.asarray(table["run"])[rows])


def _times(ax: Axes, found: list[_Queries], *, tail: bool) -> None:
    done = np.concatenate([q.time for q in found])
    done = done[np.isfinite(done)]
    need(list(done), "no query completed", "let the run last longer")
    log = bool(done.max() > 20 * done.min())
    s = scale("s", done, log=log)
    for q in found:
        finished = q.time[np.isfinite(q.time)]
        if len(finished) == 0:
            continue
        x, y = ecdf(finished / s.factor)
        y = y * len(finished) / len(q.time)
        if tail:
            x, y = above(x, y)
        look = style.look(q.subject.label) if len(found) > 1 else style.neutral()
        ax.step(x, y, where="post", color=look.color, linestyle=look.dash, label=q.subject.label)
    if log:
        _frame.log(ax, "x", done.min(), done.max())
    else:
        ax.set_xlim(left=0)
    if tail:
        _frame.log(ax, "y", 1 / max(len(q.time) for q in found), 1)
    else:
        ax.set_ylim(0, 1.005)
    ax.set_xlabel(s.title("Query completion time"))
    _frame.ylabel(ax, "Fraction of queries above" if tail else "Fraction of queries")


def _timeouts(ax: Axes, found: list[_Queries]) -> None:
    top = int(min(_MANY, max(float(q.timeouts.max()) for q in found)))
    at = np.arange(top + 1, dtype=float)
    wide = 0.8 / len(found)
    theme = style.current()
    for i, q in enumerate(found):
        counts = [np.minimum(q.timeouts[q.run == r], top) for r in np.unique(q.run)]
        # A fraction is between 0 and 1, and so is its interval.
        share = [estimate((float(np.mean(c == k)) for c in counts), most=1.0) for k in range(top + 1)]
        mean, reach = np.array([e.mean for e in share]), np.array([e.reach for e in share]).T
        look = style.look(q.subject.label) if len(found) > 1 else style.neutral()
        x = at + (i - (len(found) - 1) / 2) * wide
        ax.bar(
            x,
            mean,
            wide * 0.92,
            color=look.color,
            hatch=look.hatch,
            edgecolor=theme.ground,
            linewidth=0,
            label=q.subject.label,
        )
        some = reach.sum(axis=0) > 0
        if np.any(some):
            ax.errorbar(
                x[some],
                mean[some],
                yerr=reach[:, some],
                fmt="none",
                ecolor=theme.ink,
                elinewidth=0.8,
                capsize=1.5,
                capthick=0.8,
            )
    ax.set_xticks(at, [f"{k}" if k < _MANY else f"≥ {k}" for k in range(top + 1)])
    ax.grid(False, axis="x")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("Most timeouts of one sender during a query")
    _frame.ylabel(ax, "Fraction of queries")
