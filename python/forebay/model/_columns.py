"""Results of a model as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def columns(results: Iterable[Any]) -> dict[str, NDArray[Any]]:
    """Turn results of a model into one NumPy array for each attribute.

    Attributes of nested results have a dot in their name, such as ``tail.probability``. None becomes NaN.
    ``pandas.DataFrame(columns(...))`` is a table.

    Parameters
    ----------
    results : iterable
        Results of one model.

    Examples
    --------
    >>> import forebay as fb
    >>> t = fb.model.columns(fb.model.trim(rate=1e9, rtt=us * 1e-6, packet=1460) for us in (100, 200, 400))
    >>> (t["lower"] * 1e6).round(1).tolist(), t["smallest_buffer"].round(1).tolist()
    ([115.0, 275.0, 618.4], [11.1, 30.0, 71.6])
    """
    rows = []
    for result in results:
        if not hasattr(result, "__dataclass_fields__"):
            raise TypeError(f"{result!r} is not the result of a model")
        rows.append(_flat(result))
    names = dict.fromkeys(name for row in rows for name in row)
    # A nested result that is missing in some results is None there.
    parts = {name.rpartition(".")[0] for name in names}
    return {name: _column([row.get(name) for row in rows]) for name in names if name not in parts}


def _flat(result: Any, prefix: str = "") -> dict[str, Any]:
    row: dict[str, Any] = {}
    # As `dataclasses.fields`, which takes longer than the models.
    for name in result.__dataclass_fields__:
        value = getattr(result, name)
        if hasattr(value, "__dataclass_fields__"):
            row.update(_flat(value, f"{prefix}{name}."))
        else:
            row[prefix + name] = value
    return row


def _column(values: list[Any]) -> NDArray[Any]:
    if any(isinstance(v, str) for v in values):
        return np.array(values, dtype=object)
    if any(v is None for v in values):
        return np.array([np.nan if v is None else v for v in values], dtype=float)
    return np.array(values)
