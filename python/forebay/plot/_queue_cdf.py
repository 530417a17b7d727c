"""Distribution of a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from . import _frame, style
from ._data import Floats, Source, Subject, measured_from, need, seeds, variants
from ._stats import above, ecdf

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def queue_cdf(
    source: Source,
    *,
    ax: Axes | None = None,
    port: str | None = None,
    unit: Literal["packets", "bytes"] = "packets",
    tail: bool = False,
) -> Axes:
    """Draw the fraction of time in which a port's queue is at most so long.

    Weighted by time, over all seeds, after the warm-up. From the samples of `[observe] queue`: what happens between
    two samples is not seen, so sample at least as often as a packet takes where the longest queue matters.

    Parameters
    ----------
    source
        A result, several by name (`{"small buffer": r1, ...}`), or a list of them.
    ax
        Axes to draw into; default: a new figure.
    port
        Name of the port; left out: `bottleneck`, or the first that was sampled.
    unit
        `"packets"` or `"bytes"` (on the wire), waiting and in service.
    tail
        The other way round, on a logarithmic axis: how much of the time the queue is longer.

    Returns
    -------
    The axes.

    Raises
    ------
    ValueError
        No queue was sampled.

    Examples
    --------
    >>> import forebay as fb
    >>> r = fb.Scenario.load("scenarios/two-flows.toml").with_(duration="600ms").run()
    >>> ax = fb.plot.queue_cdf(r)
    >>> ax.get_xlabel()
    'Queue (packets)'
    """
    subjects = variants(source)
    lines = [(s, *series) for s in subjects if (series := occupancy(s, port, unit)) is not None]
    need(lines, "no queue was sampled", 'put queue = { port = "bottleneck", every = "100us" } under [observe]')
    with _frame.canvas(ax) as ax:
        for subject, value, weight in lines:
            x, y = ecdf(value, weight)
            if tail:
                x, y = above(x, y)
            look = style.look(subject.label) if len(lines) > 1 else style.neutral()
            ax.step(x, y, where="post", color=look.color, linestyle=look.dash, label=subject.label)
        ax.set_xlabel(f"Queue ({'packets' if unit == 'packets' else 'bytes'})")
        if tail:
            _frame.log(ax, "y", 1e-3, 1)
            _frame.ylabel(ax, "Fraction of time above")
        else:
            _frame.ylabel(ax, "Fraction of time")
            ax.set_ylim(0, 1.005)
        ax.set_xlim(left=0)
        _frame.legend(ax)
        _frame.note(ax, seeds([s for s, _, _ in lines]))
    return ax


def occupancy(subject: Subject, port: str | None, unit: str) -> tuple[Floats, Floats] | None:
    """Return the sampled lengths after the warm-up and how long each lasted in seconds; `None` without samples."""
    table = subject.result.table("queue")
    if len(table) == 0:
        return None
    name = port or default_port(subject)
    values, weights = [], []
    for _, end, rows in subject.by_run(table):
        rows &= table["port"] == name
        time = np.asarray(table["time_ns"], dtype=float)[rows] * 1e-9
        if len(time) == 0:
            continue
        # A sample holds until the next one; what lies before the warm-up does not count.
        edges = np.maximum(np.append(time, max(end, time[-1])), measured_from(subject))
        values.append(np.asarray(table["pkts" if unit == "packets" else "bytes"], dtype=float)[rows])
        weights.append(np.diff(edges))
    if not values or sum(float(w.sum()) for w in weights) <= 0:
        return None
    return np.concatenate(values), np.concatenate(weights)


def default_port(subject: Subject) -> str:
    """Return the default port: `bottleneck`, or the first sampled one."""
    table = subject.result.table("queue")
    ports = [str(p) for p in dict.fromkeys(table["port"][subject.rows(table)])]
    return "bottleneck" if "bottleneck" in ports or not ports else ports[0]
