"""Tables in memory, and the examples of the modules."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay.repro
from forebay.repro import Table
from forebay.repro._store import counted
from forebay.repro._table import joined


@pytest.mark.parametrize("module", sorted(m.name for m in pkgutil.iter_modules(forebay.repro.__path__) if m.name != "__main__"))
def test_examples(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"forebay.repro.{module}")).failed == 0


def test_rows_are_chosen_by_value() -> None:
    t = Table({"transport": np.array(["a", "b", "a"], object), "n": np.array([1, 2, 3])})
    assert t.where(transport="a")["n"].tolist() == [1, 3]
    assert t.where(transport=["a", "b"], n=2)["transport"].tolist() == ["b"]
    assert [(k, len(v)) for k, v in t.by("transport")] == [("a", 2), ("b", 1)]
    assert "n" in t
    with pytest.raises(KeyError, match="there are transport, n"):
        t["m"]


def test_tables_without_rows_do_not_count() -> None:
    t = Table({"n": np.array([1, 2])})
    assert joined([Table({}), t, Table({"n": np.array([])}), t])["n"].tolist() == [1, 2, 1, 2]
    assert len(joined([Table({}), Table({})])) == 0
    assert len(joined([])) == 0


def test_long_tables_in_parts_are_counted(tmp_path: Path) -> None:
    """A table of many rows comes in groups, each with a dictionary of its own."""
    schema = pa.schema([("variant", pa.dictionary(pa.int32(), pa.string())), ("rtos", pa.int64())])
    with pq.ParquetWriter(tmp_path / "flows.parquet", schema) as writer:
        for variant in ("dctcp", "reno"):
            names = pa.array([variant] * 3, type=pa.string()).dictionary_encode()
            writer.write_table(pa.table({"variant": names, "rtos": [0, 1, 2]}, schema=schema))
    basis = counted([tmp_path])
    assert (basis.flows, basis.timeouts) == (6, {"dctcp": 3, "reno": 3})
