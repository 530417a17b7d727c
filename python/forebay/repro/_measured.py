"""What a claim's function returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

# 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom, as in crates/store/src/stats.rs.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
    2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def t_975(df: int) -> float:
    """Return the 97.5 % quantile of Student's t with `df` degrees of freedom, to three decimals."""
    if df <= len(_T):
        return _T[max(df, 1) - 1]
    z = 1.959964
    # Abramowitz and Stegun 26.7.5, the first terms.
    return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df * df)


def interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Mean of independent values and the ends of its 95 % confidence interval; no ends for fewer than two values.

    Values that are not a number (a seed in which there was nothing to measure) are left out.
    """
    v = np.asarray(values, float)
    v = v[~np.isnan(v)]
    if len(v) == 0:
        return math.nan, None, None
    mean = float(v.mean())
    if len(v) == 1:
        return mean, None, None
    half = t_975(len(v) - 1) * float(v.std(ddof=1)) / math.sqrt(len(v))
    return mean, mean - half, mean + half


@dataclass
class Measured:
    """A measurement beside what a document claims.

    `value`, `low` and `high` have the shape of the claim's `expected`:

    * a number, a dict of numbers, a list;
    * an order: `{"name": number}` or `[("name", number), ...]`; where the statement is about several points (each number of
      senders, say) lists of equal length instead of numbers, or `{"point": {"name": number}}`;
    * a bound: a number, a dict with the bound's names, or lists or dicts of points;
    * True or False where `expected` is a sentence.

    Examples
    --------
    >>> Measured.over({"dctcp": [1.0, 1.2, 1.1], "tcp": [2.0, 2.1, 2.2]}).value["tcp"]
    2.1
    """

    value: Any
    low: Any = None
    high: Any = None
    #: Seeds, or whatever was averaged over; `None`: not a sample (a closed form, a deterministic run).
    n: int | None = None
    #: What it is: "mean over 20 seeds of 6 s each".
    note: str = ""
    #: The documented reading under which this was measured, if it is not the recommended one: "A7: ...".
    reading: str | None = None
    #: Conditions that the claims file states in words, each with whether it holds. All of them must.
    checks: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def over(cls, samples: Any, *, note: str = "", reading: str | None = None, checks: dict[str, bool] | None = None) -> Measured:
        """Means over seeds with 95 % confidence intervals, of one list of samples, or of dicts (of dicts) of lists."""
        sizes: list[int] = []

        def walk(s: Any) -> tuple[Any, Any, Any]:
            if isinstance(s, dict):
                parts = {k: walk(v) for k, v in s.items()}
                return tuple({k: p[i] for k, p in parts.items()} for i in range(3))  # type: ignore[return-value]
            sizes.append(len(s))
            return interval(s)

        value, low, high = walk(samples)
        return cls(value, low, high, max(sizes, default=0), note, reading, dict(checks or {}))
