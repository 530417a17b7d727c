"""Values of claims: numbers, alone or in tables and lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class UnjudgedError(ValueError):
    """The measurement does not have the shape that the claim needs."""


class NothingMeasuredError(UnjudgedError):
    """A value is NaN: no run has data for it."""


def points(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield the name and the value of each number in a value."""
    if isinstance(value, dict):
        for key, v in value.items():
            yield from points(v, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for i, v in enumerate(value):
            yield from points(v, f"{name}[{i}]")
    else:
        yield name, number(value, name)


def number(value: Any, name: str) -> float:
    """Return a value as a number."""
    try:
        v = float(value)
    except (TypeError, ValueError):
        raise UnjudgedError(f"{name or 'the value'} is {value!r}, not a number") from None
    if math.isnan(v):
        raise NothingMeasuredError(f"{name or 'the value'} is not a number: nothing was measured")
    return v


def finite(value: Any) -> None:
    """Reject a value that contains other types than numbers."""
    if isinstance(value, (bool, str)) or value is None:
        return
    for _ in points(value):
        pass


def same(names: set[str], value: Any) -> None:
    """Reject a value that lacks one of the names."""
    if not isinstance(value, dict) or not names <= set(value):
        have = ", ".join(map(str, value)) if isinstance(value, dict) else repr(value)
        raise UnjudgedError(f"needs {', '.join(sorted(names))}; was given {have}")
