"""What a measurement rests on: how many runs, flows and timeouts, and at which scale.

An order of averages says little if it rests on two timeouts, or on a tenth of the flows that the specification asks for. So
every verdict shows both. Nobody has to count: a result notes that its tables are looked at, and the next measurement that is
made takes what was looked at since the one before it.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ._simulate import Unit

#: Runs looked at and not yet taken by a measurement; `None` outside of :func:`watched`.
_SEEN: ContextVar[dict[Unit, None] | None] = ContextVar("seen", default=None)


@dataclass(frozen=True)
class Basis:
    """Runs, and what is counted in them once the measurement is judged."""

    units: tuple[Unit, ...] = ()
    #: Messages that began (rows of `flows`); `None`: not counted.
    flows: int | None = None
    #: Retransmission timeouts, those of SYNs included, by variant.
    timeouts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """What was run of a number that the specification gives."""

    #: What it counts: "flows", "seeds".
    of: str
    run: float
    document: float

    def __str__(self) -> str:
        return f"{self.of} {_number(self.run)} of {_number(self.document)}"


@contextmanager
def watched() -> Iterator[None]:
    """Note which runs are looked at inside."""
    token = _SEEN.set({})
    try:
        yield
    finally:
        _SEEN.reset(token)


def look(units: Iterable[Unit]) -> None:
    """Note that tables of these runs are looked at."""
    seen = _SEEN.get()
    if seen is not None:
        seen.update(dict.fromkeys(units))


def taken() -> Basis:
    """Take what was looked at since the last call."""
    seen = _SEEN.get()
    if seen is None:
        return Basis()
    units = tuple(seen)
    seen.clear()
    return Basis(units)


def counted(units: Iterable[Unit]) -> Basis:
    """Count messages and timeouts of runs."""
    every, flows, timeouts = tuple(units), 0, dict[str, int]()
    for unit in every:
        for variant, messages, expired in unit.runs.counts(unit.index):
            flows += messages
            timeouts[variant] = timeouts.get(variant, 0) + expired
    return Basis(every, flows, timeouts)


#: More variants than this are told by their sum.
_MANY = 8


def text(basis: Basis | None, scales: Iterable[Scale] = ()) -> str:
    """Write it in a line: flows, timeouts of each variant, and where the scale is not the specification's."""
    parts = []
    if basis is not None and basis.flows is not None:
        parts.append(f"{basis.flows} flows")
        total = sum(basis.timeouts.values())
        told = f"{total} timeout{'' if total == 1 else 's'}"
        if total and 1 < len(basis.timeouts) <= _MANY:
            told += " (" + ", ".join(f"{v} {n}" for v, n in basis.timeouts.items()) + ")"
        parts.append(told)
    parts += [str(s) for s in scales if s.run != s.document]
    return "; ".join(parts)


def _number(v: float) -> str:
    return str(int(v)) if v == int(v) else f"{v:g}"
