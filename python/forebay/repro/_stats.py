"""Small statistics that measurements of several papers need."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.plot._stats import estimate, jain

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["half", "interval", "jain", "mean", "spearman"]


def interval(
    values: Sequence[float], *, least: float = -math.inf, most: float = math.inf
) -> tuple[float, float | None, float | None]:
    """Mean of independent values and the ends of its 95 % confidence interval; no ends for fewer than two values.

    The interval is clipped to `least` and `most`: `least=0.0` for times and counts, none for differences and gains. Values that
    are NaN (a seed without data) are ignored.
    """
    mean, _, n, low, high = estimate(values, least=least, most=most)
    return (mean, None, None) if n < 2 else (mean, low, high)


def mean(values: Sequence[float]) -> float:
    """Mean of the values that are numbers."""
    return estimate(values).mean


def half(values: Sequence[float]) -> float:
    """Half width of the 95 % confidence interval; 0 where there is none."""
    _, half, n, *_ = estimate(values)
    return half if n > 1 else 0.0


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rank correlation, equal values by their mean rank; 0 if all values of one are equal.

    Examples
    --------
    >>> spearman([1, 2, 3, 3], [10, 20, 30, 40]) > spearman([1, 2, 3, 3], [10, 40, 30, 20])
    True
    >>> spearman([1, 1], [1, 2])
    0.0
    """
    a, b = (_ranks(np.asarray(v, float)) for v in (x, y))
    if a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def _ranks(v: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    order = v.argsort(kind="stable")
    rank = np.empty(len(v))
    rank[order] = np.arange(len(v))
    return np.array([rank[v == x].mean() for x in v])
