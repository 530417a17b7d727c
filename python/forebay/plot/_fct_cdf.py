"""Distribution of completion times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import _frame, style
from ._bins import NAMED
from ._data import Source, seeds
from ._messages import METRICS, Metric, Which, messages, running_note, sized
from ._stats import above, ecdf
from ._units import scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def fct_cdf(
    source: Source,
    *,
    ax: Axes | None = None,
    metric: Metric = "fct",
    sizes: str | tuple[float, float] | None = None,
    which: Which = "auto",
    classes: str | list[str] | None = None,
    tail: bool = False,
) -> Axes:
    """Draw the fraction of messages completed within a time.

    All seeds together. Messages that were running at the end count as longer than all others, as in the report: the curve ends at
    the fraction that completed, and the legend has their numbers.

    Parameters
    ----------
    source
        A result, several by name, or a list of them.
    ax
        Axes to draw into; default: a new figure.
    metric
        `"fct"`, seconds; `"slowdown"`, that over the time of the same bytes on an unloaded path.
    sizes
        `"small"` (at most 100 KB), `"medium"`, `"large"` (at least 10 MB), or smallest and largest payload in bytes.
    which
        `"flows"`: messages of no query; `"queries"`: those of queries; `"all"`; `"auto"`: the first where there are
        any.
    classes
        Names of workloads; left out: all.
    tail
        The other way round, on logarithmic axes: what part takes longer. Shows timeouts best.

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
    >>> ax = fb.plot.fct_cdf(r, sizes="small", tail=True)
    >>> ax.get_ylabel()
    'Fraction of messages above'
    """
    found = sized(messages(source, metric, which, classes), sizes)
    _, unit, title = METRICS[metric]
    with _frame.canvas(ax) as ax:
        everything = np.concatenate([m.finished for m in found])
        s = scale(unit, everything, log=True)
        for m in found:
            done, started = len(m.finished), len(m.value)
            label = m.subject.label if done == started else f"{m.subject.label} ({done} of {started} finished)"
            x, y = ecdf(m.finished / s.factor) if done else (np.empty(0), np.empty(0))
            y = y * done / started
            look = style.look(m.subject.label) if len(found) > 1 else style.neutral()
            if tail and done:
                x, y = above(x, y)
            ax.step(x, y, where="post", color=look.color, linestyle=look.dash, label=label)
        if everything.max() > 20 * everything.min():
            _frame.log(ax, "x", everything.min(), everything.max())
        ax.set_xlabel(s.title(f"{title}, {NAMED[sizes].label}" if isinstance(sizes, str) else title))
        if tail:
            _frame.log(ax, "y", 1 / max(len(m.value) for m in found), 1)
            _frame.ylabel(ax, "Fraction of messages above")
        else:
            ax.set_ylim(0, 1.005)
            _frame.ylabel(ax, "Fraction of messages")
        _frame.legend(ax)
        n = sum(len(m.value) for m in found)
        _frame.note(ax, f"{n} messages{running_note(found)}, {seeds([m.subject for m in found])}")
    return ax
