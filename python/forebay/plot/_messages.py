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
    """The completed messages of a subject."""

    subject: Subject
    #: Payload, bytes.
    size: Floats
    #: Slowdown, or seconds.
    value: Floats
    #: Number of the repetition.
    run: Floats


def messages(source: Source, metric: str, which: Which = "auto", classes: str | list[str] | None = None) -> list[Messages]:
    """Return the completed finite messages of each transport group.

    Raises
    ------
    ValueError
        There are none.
    """
    if metric not in METRICS:
        raise ValueError(f"no metric is called {metric!r}: one of {', '.join(METRICS)}")
    column = METRICS[metric][0]
    subjects = groups(source)
    if which == "auto":
        alone = any(bool(np.any(_chosen(s, "flows", classes))) for s in subjects)
        which = "flows" if alone else "queries"
    found = []
    for s in subjects:
        table, mask = s.result.table("flows"), _chosen(s, which, classes)
        value = np.asarray(table[column], dtype=float)[mask]
        if column.endswith("_ns"):
            value = value * 1e-9
        found.append(Messages(s, np.asarray(table["size_bytes"], dtype=float)[mask], value, np.asarray(table["run"])[mask]))
    found = [m for m in found if len(m.value)]
    need(found, "no finite message completed", "long flows have no completion time")
    return found


def _chosen(s: Subject, which: Which, classes: str | list[str] | None) -> Mask:
    table = s.result.table("flows")
    if len(table) == 0:
        return np.zeros(0, dtype=bool)
    size, fct = np.asarray(table["size_bytes"], dtype=float), np.asarray(table["fct_ns"], dtype=float)
    mask: Mask = s.rows(table) & np.isfinite(size) & np.isfinite(fct)
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
    kept = [Messages(m.subject, m.size[k], m.value[k], m.run[k]) for m, k in within if np.any(k)]
    need(kept, f"no completed message has a payload of {low:g} to {high:g} bytes", "choose other sizes")
    return kept
