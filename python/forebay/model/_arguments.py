"""Conversion of arguments of the models, of any numeric type."""

from __future__ import annotations

import operator
from typing import SupportsFloat, SupportsIndex, TypeAlias

from .._errors import ModelError

#: A whole number: `64`, `256e3`, one of NumPy's.
Whole: TypeAlias = SupportsIndex | float
#: Any number.
Number: TypeAlias = SupportsFloat | SupportsIndex

_LARGEST = 2**63 - 1


def whole(name: str, value: Whole) -> int:
    """Return a count or a size.

    Raises
    ------
    ModelError
        It is negative, has a fraction or is no number.
    """
    if type(value) is int:  # the usual case, fast
        n = value
    elif isinstance(value, float) and value.is_integer():
        n = int(value)
    else:
        try:
            n = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            raise ModelError(name, f"is {value!r}; legal: a whole number") from None
    if not 0 <= n <= _LARGEST:
        raise ModelError(name, f"is {value!r}; legal: a whole number, not negative and below 2^63")
    return n


def number(name: str, value: Number) -> float:
    """Return a quantity.

    Raises
    ------
    ModelError
        It is not a number. The model itself checks the range.
    """
    if type(value) is float:
        return value
    if not isinstance(value, (str, bytes)):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise ModelError(name, f"is {value!r}; legal: a number")
