"""Return type of a claim's function."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _basis
from ._stats import interval

if TYPE_CHECKING:
    from ._reading import Reading


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
    #: Number of seeds, or of other averaged samples; `None`: not a sample (a closed form, a deterministic run).
    n: int | None = None
    #: Description: "mean over 20 seeds of 6 s each".
    note: str = ""
    #: The reading of the measurement, if it is not the recommended one.
    reading: Reading | None = None
    #: Conditions of the claims file, each with true if it holds. All of them must.
    checks: dict[str, bool] = field(default_factory=dict)
    #: Underlying runs. Default: the runs accessed since the previous measurement.
    basis: _basis.Basis | None = None

    def __post_init__(self) -> None:
        if self.basis is None:
            self.basis = _basis.taken()

    @classmethod
    def over(
        cls, samples: Any, *, note: str = "", reading: Reading | None = None, checks: dict[str, bool] | None = None
    ) -> Measured:
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
