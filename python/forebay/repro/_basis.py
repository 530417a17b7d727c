"""Basis of a measurement: number of runs, flows and timeouts, and scale.

An order of averages means little if it rests on two timeouts, or on a tenth of the flows of the specification. Every verdict
therefore shows both. Counting is automatic: a result records access to its tables, and the next measurement takes the accesses
since the previous one.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ._simulate import Unit

#: Accessed runs not yet taken by a measurement; `None` outside of :func:`watched`.
_SEEN: ContextVar[dict[Unit, None] | None] = ContextVar("seen", default=None)


@dataclass(frozen=True)
class Basis:
    """Runs, and their counts once the measurement is judged."""

    units: tuple[Unit, ...] = ()
    #: Started messages (rows of `flows`); `None`: not counted.
    flows: int | None = None
    #: Retransmission timeouts, those of SYNs included, by variant.
    timeouts: dict[str, int] = field(default_factory=dict)
    #: Packets that ports dropped or links lost; `None`: not counted.
    losses: int | None = None


@dataclass(frozen=True)
class Scale:
    """Executed part of a number in the specification."""

    #: Counted quantity: "flows", "seeds".
    of: str
    run: float
    document: float

    def __str__(self) -> str:
        return f"{self.of} {_number(self.run)} of {_number(self.document)}"


@contextmanager
def watched() -> Iterator[None]:
    """Record the accessed runs inside."""
    token = _SEEN.set({})
    try:
        yield
    finally:
        _SEEN.reset(token)


def look(units: Iterable[Unit]) -> None:
    """Record access to the tables of these runs."""
    seen = _SEEN.get()
    if seen is not None:
        seen.update(dict.fromkeys(units))


def taken() -> Basis:
    """Take the accesses since the last call."""
    seen = _SEEN.get()
    if seen is None:
        return Basis()
    units = tuple(seen)
    seen.clear()
    return Basis(units)


def counted(units: Iterable[Unit], *, losses: bool = False) -> Basis:
    """Count messages and timeouts of runs, and their lost packets if the claim is on those."""
    every, flows, timeouts = tuple(units), 0, dict[str, int]()
    for unit in every:
        for variant, messages, expired in unit.runs.counts(unit.index):
            flows += messages
            timeouts[variant] = timeouts.get(variant, 0) + expired
    return Basis(every, flows, timeouts, _lost(every) if losses else None)


#: Columns of `ports` with lost packets.
LOST = ("dropped_overflow", "dropped_shared", "dropped_early", "lost_down", "corrupted")


def _lost(units: tuple[Unit, ...]) -> int:
    by: dict[int, list[Unit]] = {}
    for u in units:
        by.setdefault(id(u.runs), []).append(u)
    total = 0
    for of_one in by.values():
        ports = of_one[0].runs.table("ports", ["run", *LOST])
        if len(ports):
            ports = ports.where(run=[u.index for u in of_one])
            total += sum(int(ports[c].sum()) for c in LOST)
    return total


#: For more variants than this only the sum is shown.
_MANY = 8


def text(basis: Basis | None, scales: Iterable[Scale] = ()) -> str:
    """Format in one line: flows, timeouts of each variant, and deviations from the scale of the specification."""
    parts = []
    if basis is not None and basis.flows is not None:
        parts.append(f"{basis.flows} flows")
        total = sum(basis.timeouts.values())
        told = f"{total} timeout{'' if total == 1 else 's'}"
        if total and 1 < len(basis.timeouts) <= _MANY:
            told += " (" + ", ".join(f"{v} {n}" for v, n in basis.timeouts.items()) + ")"
        parts.append(told)
        if basis.losses is not None:
            parts.append(f"{basis.losses} lost packet{'' if basis.losses == 1 else 's'}")
    parts += [str(s) for s in scales if s.run != s.document]
    return "; ".join(parts)


def _number(v: float) -> str:
    return str(int(v)) if v == int(v) else f"{v:g}"
