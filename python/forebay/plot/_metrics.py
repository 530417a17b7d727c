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


#: Column with the largest exact quantile of a group of columns, by their prefix. Its values are 0.5, 0.99, 0.999 or 1.
_EXACT = {f"fct_{sizes}": f"fct_{sizes}_exact_quantile" for sizes in ("small", "medium", "large")} | {
    "slowdown": "messages_exact_quantile",
    "qct": "queries_exact_quantile",
    "query_message": "query_messages_exact_quantile",
    "makespan": "makespan_exact_quantile",
}
#: Column with the fraction of running messages of a mean.
_RUNNING = {f"fct_{sizes}_mean_s": f"fct_{sizes}_unfinished" for sizes in ("small", "medium", "large")} | {
    "query_message_mean_s": "query_messages_unfinished"
}
_QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "max": 1.0}
# Fraction of running messages from which on a mean is a lower bound.
_MATERIAL = 0.01


def is_lower_bound(column: str, of: Callable[[str], Iterable[float]]) -> bool:
    """Return true if messages that were running at the end make a metric a lower bound, as in the printed table.

    `of` returns the values of another column of the same rows.
    """
    if column in _RUNNING:
        return any(v > _MATERIAL for v in of(_RUNNING[column]))
    prefix, _, statistic = column.removesuffix("_s").rpartition("_")
    if column == "makespan_s":
        prefix, statistic = "makespan", "max"
    if prefix not in _EXACT or statistic not in _QUANTILES:
        return False
    return any(v < _QUANTILES[statistic] for v in of(_EXACT[prefix]))


def title(column: str) -> str:
    """Return the title of a metric; an unknown column, as newer versions may have, is titled by its name."""
    return TITLES[column][0] if column in TITLES else column
