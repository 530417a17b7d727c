"""Result tables."""

from __future__ import annotations

import html
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from . import _native

Values: TypeAlias = npt.NDArray[Any]

_SHOWN = 10
"""Longer tables are truncated in a notebook."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    """Name, unique in its table."""
    type: str
    """``int64``, ``uint64``, ``float64``, ``bool``, or ``utf8`` for names."""
    nullable: bool
    """True if values may be missing."""
    unit: str
    """``ns``, ``B``, ``packets``, ...; ``1`` for counts and ratios, empty for names and booleans."""
    description: str
    """Meaning of the column, and of missing values."""


class Table:
    """A result table: an Arrow table with units.

    Columns are NumPy arrays: ``table["fct_ns"]``. The table implements Arrow's PyCapsule interface, so that ``pyarrow.table(t)``,
    ``polars.DataFrame(t)`` and ``duckdb`` read it without a copy.

    Examples
    --------
    >>> import forebay as fb
    >>> flows = fb.Scenario.load("scenarios/two-flows.toml").run().flows
    >>> len(flows)
    6
    >>> flows.units["bytes_acked"], flows["bytes_acked"].dtype
    ('B', dtype('int64'))
    """

    __slots__ = ("_columns", "_native", "name")

    name: str
    """Name of the table."""

    def __init__(self, native: _native.Table, name: str) -> None:
        self._native = native
        self._columns = {c[0]: Column(*c) for c in native.columns()}
        self.name = name

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    @property
    def schema(self) -> dict[str, Column]:
        """The columns by name: type, unit, description."""
        return dict(self._columns)

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column; ``1`` for counts and ratios, empty for names and booleans."""
        return {c.name: c.unit for c in self._columns.values()}

    @property
    def description(self) -> str:
        """Meaning of a row."""
        return self._native.description

    def describe(self, column: str) -> str:
        """Return the meaning of a column as a text.

        Examples
        --------
        >>> import forebay as fb
        >>> ports = fb.Scenario.load("scenarios/two-flows.toml").run().ports
        >>> print(ports.describe("marked"))
        marked (int64 in packets): CE marks set at this port
        """
        c = self._column(column)
        unit = f" in {c.unit}" if c.unit not in ("", "1") else ""
        return f"{c.name} ({c.type}{unit}): {c.description}"

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, column: object) -> bool:
        return column in self._columns

    def __getitem__(self, column: str) -> Values:
        """Return a column as an array.

        Complete numeric columns share the table's memory: they are not copied, and the array is read-only. Columns with missing
        values are copied to ``float64`` with NaN for missing values, including whole numbers (exact up to 2^53) and booleans.
        Complete boolean columns are copied to ``bool``, names to ``object`` with ``str``, or None for missing values.
        """
        c = self._column(column)
        if c.type == "utf8":
            codes, names = self._names(column)
            return np.array([*names, None], dtype=object)[codes]  # -1, no name, is the last
        return np.asarray(self._native.values(column))

    def where(self, **equal: Any) -> Table:
        """Return the rows in which columns have given values; a list or tuple means any of them.

        Examples
        --------
        >>> import forebay as fb
        >>> flows = fb.Scenario.load("scenarios/two-flows.toml").run().flows
        >>> len(flows), len(flows.where(variant="dctcp", run=0))
        (6, 2)
        """
        mask = np.ones(len(self), dtype=bool)
        for column, wanted in equal.items():
            options = list(wanted) if isinstance(wanted, (list, tuple, set, frozenset, np.ndarray)) else [wanted]
            if self._column(column).type == "utf8":
                codes, names = self._names(column)
                mask &= np.isin(codes, [i for i, n in enumerate(names) if n in options])
            else:
                mask &= _any_of(self[column], options)
        return self.filter(mask)

    def filter(self, mask: Values) -> Table:
        """Return the rows for which a mask is true.

        Examples
        --------
        >>> import forebay as fb
        >>> ports = fb.Scenario.load("scenarios/two-flows.toml").run().ports
        >>> list(ports.filter(ports["marked"] > 0)["variant"])
        ['dctcp']
        """
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.ndim != 1:
            raise TypeError(f"a mask is a one-dimensional array of bool, not of {mask.dtype} with {mask.ndim} dimensions")
        return Table(self._native.filter(mask.tobytes()), self.name)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns."""
        return len(self), len(self._columns)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the rows themselves."""
        return _restored, (bytes(self._native.dump()), self.name)

    def head(self, rows: int = 10) -> Table:
        """Return the first rows, without a copy."""
        return Table(self._native.slice(0, max(rows, 0)), self.name)

    def to_arrow(self) -> pa.Table:
        """Return the table as a ``pyarrow.Table``, without a copy. Names are dictionaries."""
        table: pa.Table = _extra("pyarrow", "arrow").table(self)
        return table

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a ``polars.DataFrame``, without a copy of numbers. Names are categories."""
        frame: pl.DataFrame = _extra("polars", "polars").DataFrame(self)
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a ``pandas.DataFrame``.

        Columns are those of ``table[column]``, so that complete numeric columns are not copied; ``.copy()`` the frame to change
        values in place. Names are categories. pyarrow is not needed.
        """
        pd_ = _extra("pandas", "pandas")
        data: dict[str, Any] = {}
        for c in self._columns.values():
            if c.type == "utf8":
                data[c.name] = pd_.Categorical.from_codes(*self._names(c.name))
            else:
                data[c.name] = self[c.name]
        frame: pd.DataFrame = pd_.DataFrame(data, copy=False)
        return frame

    def __arrow_c_schema__(self) -> object:
        """Export the columns by Arrow's PyCapsule interface."""
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the table by Arrow's PyCapsule interface."""
        return self._native.__arrow_c_stream__(requested_schema)

    def _column(self, name: str) -> Column:
        column = self._columns.get(name)
        if column is None:
            raise KeyError(f"table {self.name} has no column {name!r}; it has {', '.join(self._columns)}")
        return column

    def _names(self, column: str) -> tuple[Values, list[str]]:
        buffer, names = self._native.names(column)
        return np.asarray(buffer), names

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self)} rows of {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        shown = self.head(_SHOWN)
        heads = "".join(
            f'<th title="{html.escape(c.description, quote=True)}">{html.escape(c.name)}'
            + (f"<br><small>{html.escape(c.unit)}</small>" if c.unit not in ("", "1") else "")
            + "</th>"
            for c in self._columns.values()
        )
        columns = [shown[c] for c in self._columns]
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(column[i]))}</td>" for column in columns) + "</tr>"
            for i in range(len(shown))
        )
        caption = f"{self.name}: {len(self)} rows" + (f", the first {_SHOWN}" if len(self) > _SHOWN else "")
        return f"<table><caption>{html.escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _restored(data: bytes, name: str) -> Table:
    from ._native import Table as Native

    return Table(Native.restore(data), name)


def _any_of(values: Values, options: list[Any]) -> Values:
    """Return a mask of the values that equal one of the options, without rounding whole numbers."""
    wanted = np.asarray(options)
    if wanted.dtype == values.dtype:
        return np.isin(values, wanted)
    mask = np.zeros(len(values), dtype=bool)
    for option in options:
        mask |= values == option
    return mask


def _cell(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return "" if np.isnan(value) else f"{value:.6g}" if not float(value).is_integer() else f"{value:.0f}"
    return str(value)


def _extra(module: str, extra: str) -> Any:
    """Import an optional dependency."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as e:
        if e.name != module:
            raise
        raise ModuleNotFoundError(f"{module} is not installed: pip install 'forebay[{extra}]'", name=module) from None
