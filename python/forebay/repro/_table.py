"""A result table in memory: columns by name, as numpy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Table:
    """Columns of equal length. Whole numbers with gaps are floats with NaN, names are arrays of objects.

    Examples
    --------
    >>> t = Table({"transport": np.array(["newreno", "dctcp"], object), "rtos": np.array([3, 0])})
    >>> t["rtos"]
    array([3, 0])
    >>> int(t.where(transport="newreno")["rtos"].sum())
    3
    """

    def __init__(self, columns: Mapping[str, np.ndarray[Any, Any]]) -> None:
        self._columns = dict(columns)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._columns)

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"no column {name!r}: there are {', '.join(self._columns)}") from None

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def where(self, **equal: Any) -> Table:
        """Select the rows in which each named column equals the value, or one of a list, tuple or set of values."""
        keep = np.ones(len(self), bool)
        for name, value in equal.items():
            column = self[name]
            if isinstance(value, (list, tuple, set, frozenset)):
                keep &= np.isin(column, list(value))
            else:
                keep &= column == value
        return self.rows(keep)

    def rows(self, keep: np.ndarray[Any, Any]) -> Table:
        """Select the rows of a mask or of indices."""
        return Table({name: column[keep] for name, column in self._columns.items()})

    def by(self, name: str) -> Iterator[tuple[Any, Table]]:
        """Go through the rows of each value of a column, in order of first appearance."""
        column = self[name]
        for value in dict.fromkeys(column.tolist()):
            yield value, self.rows(column == value)
