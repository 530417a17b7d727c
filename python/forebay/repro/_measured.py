"""What a claim's function returns."""

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
    #: Seeds, or whatever was averaged over; `None`: not a sample (a closed form, a deterministic run).
    n: int | None = None
    #: What it is: "mean over 20 seeds of 6 s each".
    note: str = ""
    #: The reading under which this was measured, if it is not the recommended one.
    reading: Reading | None = None
    #: Conditions that the claims file states in words, each with whether it holds. All of them must.
    checks: dict[str, bool] = field(default_factory=dict)
    #: The runs it rests on. Left out: those whose tables were looked at since the last measurement was made.
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
