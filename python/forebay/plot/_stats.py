"""Statistics, the same as those of the printed table (crates/store/src/stats.rs)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A mean over independent seeds."""

    #: Mean.
    mean: float
    #: Half width of its 95 % confidence interval by Student's t; NaN with fewer than two seeds.
    half_width: float
    #: Number of seeds that had a value.
    n: int
    #: Ends of the interval, none beyond what the number can be; NaN with fewer than two seeds.
    low: float
    high: float

    @property
    def reach(self) -> tuple[float, float]:
        """Extent of the interval below and above the mean; 0 without one."""
        return (self.mean - self.low, self.high - self.mean) if math.isfinite(self.half_width) else (0.0, 0.0)


# 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom.
_T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def t_975(df: int) -> float:
    """Return the 97.5 % quantile of Student's t.

    Above 30 degrees of freedom by its expansion in 1/df (Abramowitz and Stegun 26.7.5).
    """
    if df <= len(_T_975):
        return _T_975[df - 1]
    z = 1.959964
    return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df * df)


def estimate(values: Iterable[float], *, least: float = 0.0, most: float = math.inf) -> Estimate:
    """Estimate a mean from independent, roughly normal values; values that are NaN are left out.

    The interval ends at `least` and `most`, between which such values lie, and with them their mean: what is beyond can
    be left away without covering the mean less often. A range is stretched to what was seen.
    """
    v = np.asarray(list(values), dtype=float)
    v = v[np.isfinite(v)]
    if len(v) == 0:
        return Estimate(math.nan, math.nan, 0, math.nan, math.nan)
    half = t_975(len(v) - 1) * math.sqrt(float(np.var(v, ddof=1)) / len(v)) if len(v) > 1 else math.nan
    mean = float(np.mean(v))
    low, high = max(mean - half, min(least, float(v.min()))), min(mean + half, max(most, float(v.max())))
    return Estimate(mean, half, len(v), low, high) if len(v) > 1 else Estimate(mean, half, 1, math.nan, math.nan)


# Growth of a quantile up to which its three printed digits can stay the same.
_PRINTED = 0.005
# Quantiles of the summary: one is a lower bound if a lower one is.
_QUANTILES = (0.5, 0.99, 0.999)


def is_lower_bound(values: Floats, running: NDArray[np.bool_], q: float) -> bool:
    """Return true if a quantile would be larger in the printed table if the running messages never ended.

    `values` of running messages are those so far.
    """
    never = np.where(running, np.finfo(float).max, values)
    tested = [p for p in _QUANTILES if p < q] + [q]
    shown, later = (np.quantile(v, tested) for v in (values, never))
    return bool(np.any(later - shown > _PRINTED * shown))


def jain(values: Floats) -> float:
    """Return Jain's index: 1 when all are equal, 1/n when one has everything; NaN without data or when all are 0."""
    squares = float(np.sum(values**2))
    return float(np.sum(values)) ** 2 / (len(values) * squares) if squares > 0 else math.nan


def ecdf(values: Floats, weights: Floats | None = None, *, points: int = 1000) -> tuple[Floats, Floats]:
    """Return the distribution function as steps: at each x the part of the weight at or below it.

    They start at (smallest x, 0). Of more than `points` distinct values those are kept that a line of that many
    points needs: evenly spaced ones and both tails, each with its exact value.
    """
    x, inverse = np.unique(values, return_inverse=True)
    share = np.bincount(inverse, weights=weights)
    y = np.cumsum(share) / np.sum(share)
    if len(x) > points:
        last = len(x) - 1
        even = np.linspace(0, last, points // 2)
        tail = np.geomspace(1, last, points // 4)
        keep = np.unique(np.concatenate([even, tail, last - tail, [0.0, last]]).astype(np.int64))
        x, y = x[keep], y[keep]
    return np.concatenate([x[:1], x]), np.concatenate([[0.0], y])


def above(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Turn it round: the part above each x.

    It ends at the largest value with what was above the one before, because a logarithmic axis has no 0.
    """
    rest = 1.0 - y
    if len(y) > 1 and rest[-1] < 1e-12:
        rest[-1] = rest[-2]
    return x, rest
