"""Results made of plain arrays, to test plots on tables whose statistics are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np


class Table(Mapping[str, Any]):
    """Columns by name."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = {name: np.asarray(values) for name, values in columns.items()}

    def __getitem__(self, column: str) -> Any:
        # Real tables have their columns also when they have no rows.
        return self._columns[column] if self._columns else np.empty(0, dtype=object)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else 0

    @property
    def columns(self) -> list[str]:
        return list(self._columns)


class Result:
    """A result with these tables; those that are missing are empty."""

    def __init__(
        self,
        tables: Mapping[str, Mapping[str, Any]],
        *,
        runs: Sequence[tuple[str, int, float]],
        warmup: str = "0s",
        name: str = "test",
    ) -> None:
        self._tables = {k: Table(v) for k, v in tables.items()}
        self.variants = list(dict.fromkeys(v for v, _, _ in runs))
        self.manifest = {
            "name": name,
            "runs": [{"variant": v, "run": r, "end_ns": int(end * 1e9)} for v, r, end in runs],
            "scenario": {"variants": [{"variant": v, "resolved": {"observe": {"warmup": warmup}}} for v in self.variants]},
        }

    def table(self, name: str) -> Table:
        return self._tables.get(name, Table({}))


class Sweep:
    """A sweep with this table."""

    def __init__(self, table: Mapping[str, Any], axes: Sequence[str]) -> None:
        self.table = Table(table)
        self.axes = list(axes)
