"""Shares of flows of different congestion controls at a bottleneck (coexistence study, Eqs. 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .. import _native
from ._arguments import Number, number


@dataclass(frozen=True)
class Aimd:
    """A congestion control as additive increase, multiplicative decrease; TCP by default.

    Parameters
    ----------
    increase : float
        a: segments a round trip, above 0, at most 1e6.
    remaining : float
        beta: the part of the window that is kept at congestion, 0 or more, below 1. (The "back-off factor" of some texts is
        the part given up, 1 - beta.)

    Raises
    ------
    ModelError
        An argument is outside its range.

    Examples
    --------
    >>> import forebay as fb
    >>> round(fb.model.throughput_ratio(fb.model.Aimd.dctcp(0.215)), 2)
    4.65
    """

    increase: float = 1.0
    """Segments a round trip."""
    remaining: float = 0.5
    """Fraction of the window that is kept at congestion."""

    def __post_init__(self) -> None:
        _native.model_weight(number("increase", self.increase), number("remaining", self.remaining))

    @classmethod
    def dctcp(cls, alpha: Number) -> Aimd:
        """Return DCTCP with a marked fraction of `alpha`, 1e-9 to 1: 1 - alpha/2 remains."""
        return cls(1.0, _native.model_remaining(number("alpha", alpha)))

    @property
    def weight(self) -> float:
        """The weight a / (1 - beta) (Eq. 3): windows converge to a common multiple of it, segments."""
        return _native.model_weight(float(self.increase), float(self.remaining))


@dataclass(frozen=True, slots=True)
class RandomMarks:
    """Mean windows, in segments, under marks that hit each packet independently."""

    dctcp: float
    """Of DCTCP with an exact echo, about 2 / p."""
    tcp: float
    """Of TCP, about sqrt(1.5 / p)."""
    ratio: float
    """Throughput of DCTCP over that of TCP, about 1.6 / sqrt(p)."""


def throughput_ratio(first: Aimd, second: Aimd = Aimd()) -> float:
    """Return T_r (Eq. 4): throughput of a flow of `first` over that of a flow of `second`, TCP by default.

    At equal round trips, and if both see every congestion event: a strong assumption. Measured ratios can be a third of it.
    """
    return first.weight / second.weight


def shares(flows: Iterable[Aimd]) -> list[float]:
    """Return the fraction of the link that each flow gets, by the same assumptions; they sum to 1.

    Raises
    ------
    ModelError
        There are no flows.
    """
    return _native.model_shares([(float(f.increase), float(f.remaining)) for f in flows])


def random_marks(*, p: Number) -> RandomMarks:
    """Compare DCTCP and TCP under random marking, the other extreme to marks that all flows see.

    Parameters
    ----------
    p : float
        Probability that a packet is marked, above 0, at most 1.

    Raises
    ------
    ModelError
        It is outside its range.
    """
    return RandomMarks(*_native.model_random_marks(number("p", p)))
