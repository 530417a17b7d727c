"""Time series, and their reduction to lines that a figure can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ._data import Floats, Subject


class Quantity(NamedTuple):
    """A sampled object."""

    table: str
    column: str
    unit: str
    title: str


QUANTITIES = {
    "queue": Quantity("queue", "pkts", "packets", "Queue"),
    "queue_bytes": Quantity("queue", "bytes", "B", "Queue"),
    "cwnd": Quantity("tcp", "cwnd", "segments", "cwnd"),
    "ssthresh": Quantity("tcp", "ssthresh", "segments", "ssthresh"),
    "unacked": Quantity("tcp", "unacked_bytes", "B", "In flight"),
    "alpha": Quantity("tcp", "alpha", "1", "α"),
    "srtt": Quantity("tcp", "srtt_ns", "s", "Smoothed RTT"),
    "rto": Quantity("tcp", "rto_ns", "s", "RTO"),
    "rate": Quantity("tcp", "bytes_acked", "bit/s", "Goodput"),
}
# Intervals over which the goodput of a connection is averaged.
_RATES = 120
# Maximum number of points of a line: more than a page can show.
_BUCKETS = 1200


class Line(NamedTuple):
    """A quantity over time."""

    #: Number of the connection; -1 for a port.
    connection: int
    #: Seconds.
    time: Floats
    value: Floats


def lines(s: Subject, what: str, run: int, span: tuple[float, float], port: str, connections: list[int] | None) -> list[Line]:
    """Return the lines of a quantity within `span` seconds; none if it was not sampled."""
    q = QUANTITIES[what]
    table = s.result.table(q.table)
    if len(table) == 0:
        return []
    rows = s.rows(table) & (table["run"] == run)
    time = np.asarray(table["time_ns"], dtype=float) * 1e-9
    value = np.asarray(table[q.column], dtype=float) * (1e-9 if q.column.endswith("_ns") else 1.0)
    if q.table == "queue":
        parts = [(-1, rows & (table["port"] == port))]
    else:
        conn = table["conn_id"]
        wanted = np.unique(conn[rows]) if connections is None else connections
        parts = [(int(c), rows & (conn == c)) for c in wanted]
    found = []
    for c, mask in parts:
        t, v = time[mask], value[mask]
        if what == "rate":
            t, v = _rate(t, v, span)
        # One sample before the span: its value holds at the start.
        first = max(0, int(np.searchsorted(t, span[0], side="right")) - 1)
        last = int(np.searchsorted(t, span[1], side="right"))
        t, v = t[first:last], v[first:last]
        if np.any(np.isfinite(v)):
            found.append(Line(c, *thin(t, v)))
    return found


def thin(t: Floats, v: Floats, buckets: int = _BUCKETS) -> tuple[Floats, Floats]:
    """Keep at most two points per time bucket, its minimum and its maximum."""
    if len(t) <= 2 * buckets:
        return t, v
    edge = np.minimum(((t - t[0]) / (t[-1] - t[0]) * buckets).astype(np.int64), buckets - 1)
    starts = np.flatnonzero(np.diff(edge, prepend=-1))
    keep: list[int] = []
    for a, b in zip(starts, np.append(starts[1:], len(t)), strict=True):
        part = v[a:b]
        if np.all(np.isnan(part)):
            keep.append(int(a))
        else:
            keep += sorted({int(a + np.nanargmin(part)), int(a + np.nanargmax(part))})
    return t[keep], v[keep]


def _rate(t: Floats, acked: Floats, span: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return bits per second in equal intervals of the span, from bytes acknowledged so far."""
    if len(t) < 2:
        return t[:0], t[:0]
    edges = np.linspace(*span, _RATES + 1)
    # The last value at or before each edge; nothing was acknowledged before the first sample.
    at = np.searchsorted(t, edges, side="right") - 1
    so_far = np.where(at >= 0, acked[np.maximum(at, 0)], 0.0)
    return (edges[1:] + edges[:-1]) / 2, np.diff(so_far) * 8 / np.diff(edges)


def events(s: Subject, run: int, span: tuple[float, float], port: str) -> dict[str, Floats]:
    """Return the times of marks and drops at a port (to within a sample), and of timeouts; seconds."""
    found: dict[str, Floats] = {}
    queue = s.result.table("queue")
    if len(queue):
        rows = s.rows(queue) & (queue["run"] == run) & (queue["port"] == port)
        t = np.asarray(queue["time_ns"], dtype=float)[rows] * 1e-9
        for kind in ("marks", "drops"):
            more = np.diff(np.asarray(queue[kind], dtype=float)[rows], prepend=0.0) > 0
            found[kind] = t[more]
    timeouts = s.result.table("timeouts")
    if len(timeouts):
        rows = s.rows(timeouts) & (timeouts["run"] == run) & ~np.isin(np.asarray(timeouts["kind"]), ["probe", "reordering"])
        found["timeouts"] = np.asarray(timeouts["time_ns"], dtype=float)[rows] * 1e-9
    inside = {kind: t[(t >= span[0]) & (t <= span[1])] for kind, t in found.items()}
    return {kind: _sparse(t, span) for kind, t in inside.items() if len(t)}


def _sparse(t: Floats, span: tuple[float, float], columns: int = 600) -> Floats:
    """Keep one of all events in the same pixel column of a figure."""
    column = ((t - span[0]) / (span[1] - span[0]) * columns).astype(np.int64)
    return t[np.unique(column, return_index=True)[1]]
