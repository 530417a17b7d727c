"""Titles of the metrics of the `summary` table, and their direction of improvement."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: By column: title, and the direction of improvement.
TITLES: dict[str, tuple[str, str]] = {
    "goodput_bps": ("Goodput", "more"),
    "long_goodput_bps": ("Goodput per long flow", "more"),
    "long_goodput_ratio": ("Goodput per long flow / first group", ""),
    "long_fairness": ("Jain's index", "more"),
    "fairness_all": ("Jain's index, all groups", "more"),
    "flows": ("Flows started", ""),
    "flows_completed": ("Flows completed", "more"),
    "deadlines_missed": ("Deadlines missed", "less"),
    "queries": ("Queries started", ""),
    "queries_completed": ("Queries completed", "more"),
    "rtos": ("Timeouts", "less"),
    "rtos_per_query": ("Timeouts per query", "less"),
    "syn_rtos": ("SYN timeouts", "less"),
    "segs_retx": ("Retransmitted segments", "less"),
    "slowdown_p50": ("Slowdown, median", "less"),
    "slowdown_p99": ("Slowdown, p99", "less"),
    "qct_p50_s": ("Query completion time, median", "less"),
    "qct_p99_s": ("Query completion time, p99", "less"),
    "query_message_mean_s": ("Completion of a query's message, mean", "less"),
    "query_message_p99_s": ("Completion of a query's message, p99", "less"),
    "queue_mean_pkts": ("Queue, mean", "less"),
    "queue_p99_pkts": ("Queue, p99", "less"),
    "queue_max_pkts": ("Queue, maximum", "less"),
    "utilization": ("Link utilization", "more"),
    "drops": ("Drops", "less"),
    "marks": ("Congestion marks", ""),
} | {
    f"fct_{sizes}_{statistic}_s": (f"FCT of {sizes} flows, {name}", "less")
    for sizes in ("small", "medium", "large")
    for statistic, name in (("mean", "mean"), ("p50", "median"), ("p99", "p99"))
}


#: Column with the upper limit of a column, in the same row; none for fractions.
_MOST = {
    "goodput_bps": "goodput_max_bps",
    "long_goodput_bps": "goodput_max_bps",
    "flows": "flows_max",
    "flows_completed": "flows",
    "queries": "queries_max",
    "queries_completed": "queries",
    "queue_mean_pkts": "queue_limit_pkts",
    "queue_p99_pkts": "queue_limit_pkts",
    "queue_max_pkts": "queue_limit_pkts",
}
_PARTS = ("long_fairness", "fairness_all", "deadlines_missed", "utilization")


def possible(column: str, of: Callable[[str], Iterable[float]]) -> tuple[float, float]:
    """Return the range of a metric; `of` returns the values of another column of the same rows."""
    if column in _PARTS:
        return 0.0, 1.0
    known = [v for v in of(_MOST[column]) if math.isfinite(v)] if column in _MOST else []
    return float(column.startswith("slowdown")), max(known, default=math.inf)


def title(column: str) -> str:
    """Return the title of a metric; an unknown column, as newer versions may have, is titled by its name."""
    return TITLES[column][0] if column in TITLES else column
