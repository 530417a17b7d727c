"""Bins of message sizes, by the rules of the report (crates/store/src/bins.rs, with their reasons)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from ._units import size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._data import Floats, Mask

#: Names of the rules.
Rule: TypeAlias = Literal["small-medium-large", "equal-count", "by-length", "auto"]


class Bin(NamedTuple):
    """Sizes from `low` to `high` bytes, both included."""

    low: float
    high: float
    label: str

    def holds(self, sizes: Floats) -> Mask:
        """Return a mask of the `sizes` in it."""
        mask: Mask = (sizes >= self.low) & (sizes <= self.high)
        return mask


#: The named classes of sizes, as in the data-center papers.
NAMED: dict[str, Bin] = {
    "small": Bin(0, 100_000, "≤ 100 KB"),
    "medium": Bin(100_001, 9_999_999, "100 KB–10 MB"),
    "large": Bin(10_000_000, math.inf, "≥ 10 MB"),
}
# Maximum number of lengths with a bin each under "auto".
_FEW_LENGTHS = 12
# Minimum number of messages per bin of equal counts under "auto".
_ENOUGH = 20
# Number of bins with equal counts.
_EQUAL_BINS = 10
# Maximum number of lengths with a bin each under "by-length".
_MAX_LENGTHS = 24


def bins(rule: Rule, sizes: Floats) -> list[Bin]:
    """Cut `sizes` (bytes) into bins, smallest first. Every size is in a bin, and no bin is empty.

    Raises
    ------
    ValueError
        No rule is called so.
    """
    lengths, counts = np.unique(np.asarray(sizes, dtype=float), return_counts=True)
    if rule == "auto":
        rule = _suitable(lengths, counts)
    if rule == "small-medium-large":
        return [b for b in NAMED.values() if bool(np.any(b.holds(lengths)))]
    if rule == "equal-count":
        return _equal(lengths, counts)
    if rule == "by-length":
        return _by_length(lengths)
    raise ValueError(f"no rule for bins is called {rule!r}: small-medium-large, equal-count, by-length or auto")


def _suitable(lengths: Floats, counts: NDArray[np.int64]) -> Rule:
    if len(lengths) <= _FEW_LENGTHS:
        return "by-length"
    smallest = min(int(counts[b.holds(lengths)].sum()) for b in _equal(lengths, counts))
    return "equal-count" if smallest >= _ENOUGH else "small-medium-large"


def _equal(lengths: Floats, counts: NDArray[np.int64]) -> list[Bin]:
    """Put about equally many messages into each bin. Messages of one length share a bin."""
    made: list[Bin] = []
    total, done, share = int(counts.sum()), 0, 1
    first = None
    for i, (length, n) in enumerate(zip(lengths.tolist(), counts.tolist(), strict=True)):
        done += n
        first = length if first is None else first
        # A bin ends with the length that completes its share of all messages. One long length may complete several shares.
        if done * _EQUAL_BINS >= share * total or i + 1 == len(lengths):
            share = done * _EQUAL_BINS // total + 1
            made.append(Bin(first, length, size(first) if first == length else f"{size(first)}–{size(length)}"))
            first = None
    return made


def _by_length(lengths: Floats) -> list[Bin]:
    """Make a bin per length, or, for many lengths, between powers of two, lower limit included."""
    if len(lengths) <= _MAX_LENGTHS:
        return [Bin(length, length, size(length)) for length in lengths.tolist()]
    made: list[Bin] = []
    for length in map(int, lengths.tolist()):
        low = 1 << (length.bit_length() - 1) if length else 0
        if not made or made[-1].high < length:
            made.append(Bin(low, max(2 * low - 1, 0), f"≥ {_binary(low)}"))
    return made


def _binary(byte: int) -> str:
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if byte >> power:
            return f"{byte >> power} {unit}"
    return f"{byte} B"
