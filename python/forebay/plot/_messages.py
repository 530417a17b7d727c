"""The messages whose completion times are plotted."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ._bins import NAMED
from ._data import Floats, Mask, Source, Subject, groups, need

#: Message selection: those of queries, those of none, or those of none if there are any.
Which: TypeAlias = Literal["auto", "flows", "queries", "all"]
#: Quantity: time relative to an unloaded path, or time.
Metric: TypeAlias = Literal["slowdown", "fct"]

METRICS: dict[str, tuple[str, str, str]] = {
    "slowdown": ("slowdown", "1", "FCT slowdown"),
    "fct": ("fct_ns", "s", "Flow completion time"),
}


class Messages(NamedTuple):
    """The finite messages of a subject that started."""

    subject: Subject
    #: Payload, bytes.
    size: Floats
    #: Slowdown, or seconds; of a running message the value so far.
    value: Floats
    #: Number of the repetition.
    run: Floats
    #: True for messages that were running at the end of the run.
    running: Mask

    @property
    def finished(self) -> Floats:
        """Values of the completed messages."""
        return self.value[~self.running]


def messages(source: Source, metric: str, which: Which = "auto", classes: str | list[str] | None = None) -> list[Messages]:
    """Return the finite messages of each transport group, also those that were running at the end.

    A message that needs more than the whole run on an unloaded path counts as a long flow if it was running at the end, as in the
    summary.

    Raises
    ------
    ValueError
        None completed.
    """
    if metric not in METRICS:
        raise ValueError(f"no metric is called {metric!r}: one of {', '.join(METRICS)}")
    subjects = groups(source)
    if which == "auto":
        alone = any(bool(np.any(_chosen(s, "flows", classes) & _finished(s))) for s in subjects)
        which = "flows" if alone else "queries"
    found = []
    for s in subjects:
        table, mask = s.result.table("flows"), _chosen(s, which, classes)
        value, running = _values(s, METRICS[metric][0])
        mask &= np.isfinite(value)
        size, run = np.asarray(table["size_bytes"], dtype=float), np.asarray(table["run"])
        found.append(Messages(s, size[mask], value[mask], run[mask], running[mask]))
    found = [m for m in found if len(m.value)]
    need([m for m in found if len(m.finished)], "no finite message completed", "long flows have no completion time")
    return found


def running_note(found: list[Messages]) -> str:
    """Return the number of running messages for the note under a plot: " (3 running at the end)"; empty without any."""
    n = sum(int(np.sum(m.running)) for m in found)
    return f" ({n} running at the end)" if n else ""


def _finished(s: Subject) -> Mask:
    """Return a mask of the completed messages of all subjects."""
    table = s.result.table("flows")
    mask: Mask = np.isfinite(np.asarray(table["fct_ns"], dtype=float)) if len(table) else np.zeros(0, dtype=bool)
    return mask


def _values(s: Subject, column: str) -> tuple[Floats, Mask]:
    """Return a column of the table `flows` with the values so far of running messages, and a mask of these.

    Times are in seconds. Messages without a value have NaN.
    """
    table = s.result.table("flows")
    if len(table) == 0:
        return np.empty(0), np.zeros(0, dtype=bool)
    value = np.array(table[column], dtype=float)
    running = s.rows(table) & ~_finished(s)
    if np.any(running):
        end = np.full(len(value), np.nan)
        for number, end_s, rows in s.by_run(table):
            end[rows & (table["run"] == number)] = end_s * 1e9
        start, ideal = (np.asarray(table[name], dtype=float) for name in ("start_ns", "ideal_fct_ns"))
        alone = np.isnan(np.asarray(table["query_id"], dtype=float))
        so_far = np.maximum(end - start, 0.0)
        if column == "slowdown":
            so_far = np.divide(so_far, ideal, out=np.full(len(value), np.nan), where=ideal > 0)
        so_far[alone & (ideal > end)] = np.nan
        value = np.where(running, so_far, value)
    return value * 1e-9 if column.endswith("_ns") else value, running


def _chosen(s: Subject, which: Which, classes: str | list[str] | None) -> Mask:
    table = s.result.table("flows")
    if len(table) == 0:
        return np.zeros(0, dtype=bool)
    mask: Mask = s.rows(table) & np.isfinite(np.asarray(table["size_bytes"], dtype=float))
    alone = np.isnan(np.asarray(table["query_id"], dtype=float))
    if which == "flows":
        mask &= alone
    elif which == "queries":
        mask &= ~alone
    elif which != "all":
        raise ValueError(f"messages must be 'auto', 'flows', 'queries' or 'all', not {which!r}")
    if classes is not None:
        mask &= np.isin(table["class"].astype(str), [classes] if isinstance(classes, str) else classes)
    return mask


def sized(found: list[Messages], sizes: str | tuple[float, float] | None) -> list[Messages]:
    """Keep those of some sizes: a named class, or smallest and largest payload in bytes.

    Raises
    ------
    ValueError
        An unknown class, or no message is left.
    """
    if sizes is None:
        return found
    if isinstance(sizes, str):
        if sizes not in NAMED:
            raise ValueError(f"no class of sizes is called {sizes!r}: one of {', '.join(NAMED)}, or (smallest, largest) in bytes")
        low, high = NAMED[sizes].low, NAMED[sizes].high
    else:
        low, high = sizes
    within = [(m, (m.size >= low) & (m.size <= high)) for m in found]
    kept = [Messages(m.subject, m.size[k], m.value[k], m.run[k], m.running[k]) for m, k in within if np.any(k)]
    need(
        [m for m in kept if len(m.finished)],
        f"no completed message has a payload of {low:g} to {high:g} bytes",
        "choose other sizes",
    )
    return kept
