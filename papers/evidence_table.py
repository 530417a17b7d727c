"""Parts that the tables of `papers/*/evidence.py` have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay.repro import interval

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The first row has the heads.
Rows = list[list[str]]

CONGESTION_CONTROLS: list[Any] = [
    "reno",
    "newreno",
    "cubic",
    "dctcp",
    "d2tcp",
    "l2dct",
    {"kind": "trim", "min-rtt-seed": "idle-data"},
]
STACKS = ("ns2", "linux")


def mean_text(values: Sequence[float], digits: int = 3) -> str:
    """Mean over seeds and half width of its 95 % confidence interval."""
    mean, low, high = interval(values, least=0.0)
    text = f"{mean:.{digits}g}"
    return text if low is None or high is None else f"{text} ± {(high - low) / 2:.2g}"


def markdown(rows: Rows) -> str:
    """Write rows, the first the heads, as a table."""
    lines = ["| " + " | ".join(r) + " |" for r in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])
