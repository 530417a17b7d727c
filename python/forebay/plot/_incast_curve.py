"""A metric against a number that a sweep varies: goodput against the number of senders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import _frame, _model, style
from ._data import ResultLike, SweepLike, TableLike, groups
from ._metrics import possible, title
from ._stats import Estimate, estimate
from ._units import scale, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

#: Values of all seeds at each x, for each line.
_Lines: TypeAlias = dict[str, dict[float, list[float]]]

_AXES = {
    "topology.senders": "Number of senders",
    "topology.bottleneck.buffer": "Buffer",
    "topology.bottleneck.rate": "Bottleneck",
    "topology.bottleneck.queue.k": "Marking threshold",
    "transport.rto-min": "Minimum RTO",
    "workload.0.block": "Block",
    "workload.0.load": "Load",
}


def incast_curve(
    sweep: SweepLike | Mapping[float, ResultLike],
    metric: str = "goodput_bps",
    *,
    ax: Axes | None = None,
    x: str | None = None,
    model: bool = False,
    beside: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    logx: bool | None = None,
) -> Axes:
    """Draw a metric against a number that was varied: a line for each transport, with bands of 95 % confidence.

    Parameters
    ----------
    sweep
        A sweep, or results by the number that they differ in (`{8: r8, 16: r16}`).
    metric
        A column of the summary: `goodput_bps`, `rtos_per_query`, `qct_p99_s`, ...
    ax
        Axes to draw into; default: a new figure.
    x
        Name of the axis of the sweep to the right; left out: the first one whose values are numbers or quantities.
        Every combination of the others is a line.
    model
        True draws the incast goodput model (:func:`forebay.model.incast`) beside the lines that it applies to, and N*, where
        it collapses. Where the model exceeds the capacity of the link it is cut, and the point is a triangle.
    beside
        Curves to compare with, such as measured ones: by name x and y, in the units of the columns.
    logx
        True for a logarithmic x axis; left out: where its values span more than a factor of 40.

    Returns
    -------
    The axes.

    Raises
    ------
    ValueError
        No axis of the sweep has numbers for values, or the metric has no value; or a model is asked for and none applies.
    TypeError
        There is neither a sweep nor results by number.

    Examples
    --------
    >>> import forebay as fb
    >>> s = fb.Scenario.load("scenarios/incast.toml").with_({"workload.0.rounds": 3}, runs=2)
    >>> senders = [2, 4, 8]
    >>> results = fb.run_many(s.with_({"topology.senders": n}) for n in senders)
    >>> ax = fb.plot.incast_curve(dict(zip(senders, results)), x="Number of senders")
    >>> ax.get_ylabel()
    'Goodput (Mbps)'
    """
    if model and metric != "goodput_bps":
        raise ValueError(f"the model is of `goodput_bps`, not of `{metric}`")
    if not isinstance(sweep, Mapping) and not hasattr(sweep, "axes"):
        raise TypeError(f"sweep is a {type(sweep).__name__}; legal: a Sweep, or results by the number that they differ in")
    if isinstance(sweep, Mapping):
        name, unit, lines = x or "", "1", _of_results(sweep, metric)
        results = sweep

        def limits(column: str) -> _Lines:
            return _of_results(results, column)

        curves = _model.of_results(sweep) if model else None
    else:
        name, unit, lines, labels = _of_sweep(sweep, metric, x)
        swept = sweep

        def limits(column: str) -> _Lines:
            return _of_sweep(swept, column, x)[2] if column in swept.table.columns else {}

        curves = _model.of_sweep(sweep, name, labels) if model else None
    lines = {label: line for label, line in lines.items() if any(np.isfinite(v).any() for v in line.values())}
    if not lines:
        raise ValueError(f"`{metric}` has no value in this sweep")

    def within(label: str, at: float) -> Estimate:
        least, most = possible(metric, lambda column: limits(column).get(label, {}).get(at, []))
        return estimate(lines[label][at], least=least, most=most)

    rows = {label: [(at, within(label, at)) for at in sorted(line)] for label, line in lines.items()}
    with _frame.canvas(ax) as ax:
        every = sorted({p for line in lines.values() for p in line})
        right = scale(unit, every, log=bool(logx))
        s = scale(unit_of(metric), [e.mean for row in rows.values() for _, e in row])
        for label, row in rows.items():
            look = style.look(label) if len(rows) > 1 else style.neutral()
            at = np.array([p for p, _ in row]) / right.factor
            mean = np.array([e.mean for _, e in row]) / s.factor
            down, up = np.array([e.reach for _, e in row]).T / s.factor
            if np.any(down + up > 0):
                ax.fill_between(at, mean - down, mean + up, color=look.color, alpha=0.2, linewidth=0)
            ax.plot(at, mean, color=look.color, linestyle=look.dash, marker=look.marker, label=label)
        for label, (px, py) in (beside or {}).items():
            ax.plot(
                np.asarray(px, dtype=float) / right.factor,
                np.asarray(py, dtype=float) / s.factor,
                color=style.current().quiet,
                linestyle=(0, (2, 1)),
                linewidth=1.0,
                label=label,
                zorder=1.5,
            )
        _right(ax, [p / right.factor for p in every], logx)
        if curves:
            curves.draw(ax, list(rows), right.factor, s.factor)
        ax.set_ylim(bottom=0)
        ax.set_xlabel(right.title(_AXES.get(name) or name.rpartition(".")[2] or name))
        _frame.ylabel(ax, s.title(title(metric)))
        _frame.legend(ax)
        counts = sorted({e.n for row in rows.values() for _, e in row if e.n})
        n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        _frame.note(ax, "1 seed" if counts == [1] else f"mean and 95 % CI over {n} seeds")
    return ax


def _right(ax: Axes, at: Sequence[float], logx: bool | None) -> None:
    """Set up the axis to the right."""
    if logx is None:
        logx = at[0] > 0 and at[-1] / at[0] > 40
    if not logx:
        ax.set_xlim(left=0 if 0 <= at[0] < at[-1] / 3 else None)
        return
    _frame.log(ax, "x", at[0], at[-1])
    if len(at) <= 10:
        ax.set_xticks(list(at))


def _of_results(results: Mapping[float, ResultLike], metric: str) -> _Lines:
    lines: _Lines = {}
    for at, result in results.items():
        for subject in groups(result):
            table = result.table("summary")
            if metric not in table.columns:
                continue
            values = np.asarray(table[metric], dtype=float)[subject.rows(table)]
            lines.setdefault(subject.label, {}).setdefault(float(at), []).extend(values.tolist())
    return lines


def _of_sweep(sweep: SweepLike, metric: str, x: str | None) -> tuple[str, str, _Lines, list[str]]:
    """Return the x axis, its unit, the lines, and the line of each row."""
    table = sweep.table
    names = [str(getattr(a, "name", a)) for a in sweep.axes]
    numbers = {name: found for name in names if (found := _numbers(table, name))}
    if x is None:
        if not numbers:
            raise ValueError(f"no axis of the sweep has numbers for values: {', '.join(names)}")
        x = next(iter(numbers))
    elif x not in numbers:
        raise ValueError(f"`{x}` is no axis with numbers: {', '.join(numbers)}")
    if metric not in table.columns:
        raise ValueError(f"the sweep has no column `{metric}`")
    column, unit = numbers[x]
    labels = _labels(table, [name for name in names if name != x])
    values = np.asarray(table[metric], dtype=float)
    lines: _Lines = {}
    for label, at, value in zip(labels, np.asarray(table[column], dtype=float), values, strict=True):
        if np.isfinite(at):  # points of a list need not set every axis
            lines.setdefault(label, {}).setdefault(float(at), []).append(float(value))
    return x, unit, lines, labels


def _numbers(table: TableLike, axis: str) -> tuple[str, str] | None:
    """Return the numeric column of an axis, which quantities have beside the text, and its unit."""
    if np.issubdtype(table[axis].dtype, np.number):
        return axis, "1"
    for ending, unit in (("s", "s"), ("bps", "bit/s"), ("bytes", "B"), ("pkts", "packets")):
        if f"{axis}_{ending}" in table.columns:
            return f"{axis}_{ending}", unit
    return None


def _labels(table: Any, others: Sequence[str]) -> list[str]:
    """Name each row by its distinguishing values: variant, transport group, and further axes."""
    keys = [[str(v) for v in table[name]] for name in ("variant", "transport")]
    parts: list[list[str]] = []
    for column in keys[::-1]:
        if len(set(zip(*parts, column, strict=True))) > len(set(zip(*parts, strict=True)) or {()}):
            parts.append(column)
    for name in others:
        column = [f"{name.rpartition('.')[2]} {value}" for value in table[name]]
        if len(set(zip(*parts, column, strict=True))) > len(set(zip(*parts, strict=True)) or {()}):
            parts.append(column)
    return [", ".join(row) for row in zip(*parts, strict=True)] if parts else keys[1]
