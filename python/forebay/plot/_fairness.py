"""Shares of long flows of a link."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import _frame, style
from ._data import Floats, Source, Subject, groups, measured_from, need, seeds
from ._stats import Estimate, estimate, jain
from ._units import number, scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Long(NamedTuple):
    """The endless flows of a transport group in one repetition."""

    run: int
    #: Goodput of each while it was active after the warm-up, bit/s.
    bps: Floats
    #: True if all were active at some time.
    together: bool


def fairness(source: Source, *, ax: Axes | None = None) -> Axes:
    """Draw the goodput of every long flow, with Jain's index of each transport group and the ratio between groups.

    Each dot is a flow of one seed, over the time in which it was active after the warm-up; the bar is the mean, and
    with several seeds its 95 % confidence interval. The text over each group is Jain's index J of its flows, if it has
    several (1 when all are equal, 1/n when one has everything; mean over the seeds). Where groups share a network, the
    ratio of the group's goodput per flow to that of the variant's first group follows.

    Parameters
    ----------
    source
        A result, several by name, or a list of them.
    ax
        Axes to draw into; default: a new figure.

    Returns
    -------
    The axes.

    Raises
    ------
    ValueError
        There are no long flows.

    Examples
    --------
    >>> import forebay as fb
    >>> r = fb.Scenario.load("scenarios/coexistence.toml").with_(duration="2s", runs=2).run()
    >>> ax = fb.plot.fairness(r)
    >>> [t.get_text() for t in ax.get_xticklabels()]
    ['newreno', 'dctcp']
    """
    found = [(s, of) for s in groups(source) if (of := long_flows(s))]
    need(found, "there are no long flows", "fairness is that of endless ones, as workloads of kind long have them")
    with _frame.canvas(ax, width="column" if len(found) <= 6 else "page") as ax:
        s = scale("bit/s", np.concatenate([run.bps for _, of in found for run in of]))
        for x, (subject, of) in enumerate(found):
            look = style.look(subject.label) if len(found) > 1 else style.neutral()
            bps = np.concatenate([np.sort(run.bps) for run in of]) / s.factor
            # Side by side in the order of their size, seed by seed.
            offset = (np.arange(len(bps)) - (len(bps) - 1) / 2) * min(0.08, 0.56 / max(1, len(bps)))
            ax.plot(x + offset, bps, marker=look.marker, linestyle="none", color=look.color, markersize=3.6, mew=0, zorder=5)
            e = estimate((float(run.bps.mean()) for run in of), most=most_bps(subject))
            ax.hlines(e.mean / s.factor, x - 0.36, x + 0.36, color=style.current().ink, linewidth=1.0, zorder=4)
            if e.half_width > 0:
                low, high = e.low / s.factor, e.high / s.factor
                ax.bar(x, high - low, 0.72, bottom=low, color=look.color, alpha=0.22, linewidth=0)
            ax.annotate(
                "\n".join(_facts(subject, of, found)),
                (x, 1.0),
                xycoords=ax.get_xaxis_transform(),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=style.current().size - 1,
            )
        ax.set_xticks(range(len(found)), [subject.label for subject, _ in found])
        ax.set_xlim(-0.6, len(found) - 0.4)
        ax.set_ylim(bottom=0)
        ax.grid(False, axis="x")
        ax.tick_params(axis="x", length=0)
        _frame.ylabel(ax, s.title("Goodput per flow"))
        several = any(len(of) > 1 for _, of in found)
        _frame.note(ax, seeds([subject for subject, _ in found]) + (", mean and 95 % CI" if several else ""))
    return ax


def most_bps(subject: Subject) -> float:
    """Return the maximum goodput of a group's links."""
    table = subject.result.table("summary")
    if "goodput_max_bps" not in table.columns:
        return math.inf
    values = np.asarray(table["goodput_max_bps"], dtype=float)[subject.rows(table)]
    return max((float(v) for v in values if np.isfinite(v)), default=math.inf)


def _facts(subject: Subject, of: list[Long], found: list[tuple[Subject, list[Long]]]) -> list[str]:
    facts = []
    j = index(of)
    if j.n:
        facts.append(f"J = {number(j.mean)}")
    first = next(own for s, own in found if s.result is subject.result and s.variant == subject.variant)
    if first is not of:
        facts.append(f"× {number(ratio(of, first).mean)}")
    return facts


def index(of: list[Long]) -> Estimate:
    """Estimate Jain's index over the seeds in which at least two flows competed."""
    return estimate((jain(run.bps) for run in of if len(run.bps) > 1 and run.together), most=1.0)


def ratio(of: list[Long], first: list[Long]) -> Estimate:
    """Estimate the mean goodput per flow over that of another group, seed by seed."""
    base = {run.run: float(run.bps.mean()) for run in first}
    return estimate(float(run.bps.mean()) / base[run.run] for run in of if base.get(run.run, 0.0) > 0)


def long_flows(subject: Subject) -> list[Long]:
    """Return the endless flows of a group, for each repetition that has some."""
    table = subject.result.table("flows")
    if len(table) == 0:
        return []
    warm = measured_from(subject)
    endless = np.isnan(np.asarray(table["size_bytes"], dtype=float))
    start = np.maximum(np.asarray(table["start_ns"], dtype=float) * 1e-9, warm)
    # A flow that was stopped ended with its last acknowledgment.
    stop = np.asarray(table["acked_ns"], dtype=float) * 1e-9
    found = []
    for run, end, rows in subject.by_run(table):
        to = np.fmin(stop, end)
        rows &= endless & (start < to)
        if np.any(rows):
            time = to[rows] - start[rows]
            bps = np.asarray(table["bytes_measured"], dtype=float)[rows] * 8 / time
            found.append(Long(run, bps, bool(start[rows].max() < to[rows].min())))
    return found
