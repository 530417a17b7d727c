"""Tables: NumPy and Arrow see the same memory."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import textwrap
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import forebay as fb
from conftest import PATIENCE_S, SMALL
from forebay import _native


def address(array: Any) -> int:
    """Address of the values of an array."""
    buffer = array.buffers()[1]
    assert buffer is not None
    address: int = buffer.address + array.offset * 8
    return address


def test_every_table_is_a_property(result: fb.Result) -> None:
    assert result.tables == _native.table_names()
    for name in result.tables:
        assert getattr(result, name) is result.table(name)
        assert result.table(name).name == name
        assert isinstance(getattr(fb.Result, name).__doc__, str)
    with pytest.raises(KeyError, match="there are flows, ports"):
        result.table("flowz")


def test_arrow_gets_the_tables_own_memory(result: fb.Result) -> None:
    for table in (result.flows, result.queue, result.tcp):
        arrow = table.to_arrow()
        assert arrow.num_rows == len(table) > 0
        checked = 0
        for c in table.schema.values():
            if c.type in ("int64", "uint64", "float64") and arrow[c.name].null_count == 0:
                assert arrow[c.name].num_chunks == 1
                assert address(arrow[c.name].chunk(0)) == table[c.name].__array_interface__["data"][0], c.name
                checked += 1
        assert checked > 4


def test_polars_gets_the_tables_own_memory(result: fb.Result) -> None:
    frame = result.queue.to_polars()
    for column in ("time_ns", "pkts", "seed"):
        theirs = frame[column].to_numpy(allow_copy=False)
        assert theirs.__array_interface__["data"][0] == result.queue[column].__array_interface__["data"][0]


def test_pandas_gets_the_tables_own_memory(result: fb.Result) -> None:
    frame = result.queue.to_pandas()
    for column in ("time_ns", "pkts", "seed"):
        assert np.shares_memory(frame[column].to_numpy(), result.queue[column])
    assert frame["variant"].dtype == "category"


def test_all_libraries_see_the_same_values(result: fb.Result) -> None:
    for name in result.tables:
        table = result.table(name)
        arrow, polars, pandas = table.to_arrow(), table.to_polars(), table.to_pandas()
        assert arrow.column_names == polars.columns == list(pandas.columns) == table.columns
        rows = arrow.to_pylist()
        assert polars.rows(named=True) == rows
        for c in table.schema.values():
            wanted = [row[c.name] for row in rows]
            ours = table[c.name].tolist()
            in_pandas = pandas[c.name].tolist()
            if None in wanted and table[c.name].dtype == np.dtype(object):
                # Names that are not there: pandas has its own sign for them.
                assert ours == wanted == [None if isinstance(v, float) else v for v in in_pandas], (name, c.name)
            elif None in wanted:
                assert table[c.name].dtype == np.float64
                wanted = [np.nan if w is None else float(w) for w in wanted]
                np.testing.assert_array_equal(ours, wanted)
                np.testing.assert_array_equal(in_pandas, wanted)
            else:
                assert ours == wanted == in_pandas, (name, c.name)


def test_arrays_read_only_outlive_table() -> None:
    r = fb.Scenario.from_dict(SMALL).run()
    times = r.queue["time_ns"]
    copy = times.copy()
    assert not times.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        times[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        times.flags.writeable = True
    arrow = r.queue.to_arrow()
    del r
    gc.collect()
    [bytearray(1 << 20) for _ in range(20)]
    np.testing.assert_array_equal(times, copy)
    np.testing.assert_array_equal(arrow["time_ns"].to_numpy(), copy)


def test_arrow_streams_may_be_dropped_unread(result: fb.Result) -> None:
    for _ in range(3):
        result.flows.__arrow_c_schema__()
        result.flows.__arrow_c_stream__()
        result.flows.__arrow_c_stream__(result.flows.__arrow_c_schema__())
    gc.collect()
    flows: Any = result.flows  # newer than the stubs of pyarrow
    assert pa.schema(flows) == result.flows.to_arrow().schema
    assert pa.RecordBatchReader.from_stream(flows).read_all().num_rows == len(result.flows)


MEMORY = """
    import json, sys
    import forebay as fb
    import pyarrow, polars

    def memory():  # resident, MB
        return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

    r = fb.Scenario.from_dict(json.loads(sys.argv[1])).run()
    r.queue.head(1).to_arrow(), r.queue.head(1).to_polars()
    size = len(r.queue) * 8 * 6 / 1e6
    before = memory()
    kept = [(r.queue.to_arrow(), r.queue["time_ns"], r.queue["pkts"]) for _ in range(20)]
    print(json.dumps([size, memory() - before]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow() -> None:
    document = {**SMALL, "runs": 1, "duration": "1s", "workload": [{"kind": "long"}]}
    document["observe"] = {"queue": {"port": "bottleneck", "every": "10us"}}
    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEMORY), json.dumps(document)],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    size, grown = json.loads(out.stdout)
    assert size > 8, "too small to tell"
    # Twenty exports of it would be twenty times its size.
    assert grown < size


def test_names_are_texts(result: fb.Result) -> None:
    group = result.flows["transport"]
    assert group.dtype == object
    assert set(group) == {"newreno", "dctcp"}
    assert (group == "dctcp").sum() == len(result.flows) / 2
    assert result.flows.to_arrow()["transport"].type == pa.dictionary(pa.int32(), pa.string())
    # Runs come with dictionaries of their own; joined, each name is there once.
    chunk: Any = result.ports.to_arrow()["port"].chunk(0)
    names = chunk.dictionary.to_pylist()
    assert len(names) == len(set(names))


def test_where_and_filter(result: fb.Result) -> None:
    flows = result.flows
    frame = flows.to_pandas()
    for equal in (
        {"transport": "dctcp", "run": 0},
        {"transport": ["dctcp", "newreno"], "run": 1},
        {"transport": "cubic"},
        {"run": (0, 5)},
        {},
    ):
        mask = np.ones(len(frame), dtype=bool)
        for k, v in equal.items():
            mask &= frame[k].isin(v if isinstance(v, (list, tuple)) else [v]).to_numpy()
        part = flows.where(**equal)
        assert len(part) == mask.sum()
        np.testing.assert_array_equal(part["flow_id"], frame["flow_id"][mask])
        assert list(part["transport"]) == list(frame["transport"][mask])
        assert part.columns == flows.columns
        assert part.to_arrow().num_rows == len(part)
    # Whole numbers are compared exactly, also beyond what floating point holds.
    big = fb.Scenario.from_dict(SMALL).with_(seed=2**62).run().flows
    assert len(big.where(seed=2**62)) == len(big) // 2 == len(big.where(seed=[2**62 + 1, 7]))
    assert len(big.where(seed=2**62 + 2)) == len(big.where(seed=-1)) == len(big.where(seed=0.5)) == 0
    slow = flows.filter(flows["fct_ns"] > np.median(flows["fct_ns"]))
    assert 0 < len(slow) < len(flows)
    assert slow["fct_ns"].min() > np.median(flows["fct_ns"])
    with pytest.raises(KeyError, match="no column 'cc'; it has variant, run"):
        flows.where(cc="dctcp")
    with pytest.raises(ValueError, match="the mask has 1 values"):
        flows.filter(np.array([True]))
    with pytest.raises(TypeError, match="array of bool"):
        flows.filter(np.arange(len(flows)))


def test_slices_share_memory(result: fb.Result) -> None:
    head = result.queue.head(5)
    assert len(head) == 5
    assert np.shares_memory(head["time_ns"], result.queue["time_ns"])
    part = fb.Table(result.queue._native.slice(3, 4), "queue")
    np.testing.assert_array_equal(part["time_ns"], result.queue["time_ns"][3:7])
    assert list(part["variant"]) == list(result.queue["variant"][3:7])
    assert part.to_arrow()["time_ns"].to_pylist() == result.queue["time_ns"][3:7].tolist()
    flows = fb.Table(result.flows._native.slice(7, 5), "flows")
    np.testing.assert_array_equal(flows["completed"], result.flows["completed"][7:12])
    np.testing.assert_array_equal(flows["deadline_ns"], result.flows["deadline_ns"][7:12])
    assert len(result.queue.head(10**9)) == len(result.queue)
    assert len(result.queue.head(-1)) == 0


def test_empty_table_has_columns(small: dict[str, object]) -> None:
    small["observe"] = {}
    r = fb.Scenario.from_dict(small).run()
    assert len(r.tcp) == 0
    assert r.tcp["cwnd"].shape == (0,)
    assert r.tcp["variant"].shape == (0,)
    assert r.tcp.to_arrow().num_rows == r.tcp.to_polars().height == len(r.tcp.to_pandas()) == 0
    assert "<tbody></tbody>" in r.tcp._repr_html_()


def test_every_column_has_a_meaning(result: fb.Result) -> None:
    for name in result.tables:
        table = result.table(name)
        assert table.description
        assert list(table) == table.columns == list(table.units) == list(table.schema)
        for c in table.schema.values():
            assert c.description, (name, c.name)
            assert bool(c.unit) == (c.type not in ("utf8", "bool")), (name, c.name)
            assert c.description in table.describe(c.name)
    assert "fct_ns" in result.flows
    assert "fct_ns (int64 in ns): " in result.flows.describe("fct_ns")
    with pytest.raises(KeyError, match="no column 'fct'"):
        result.flows["fct"]


class Cells(HTMLParser):
    """Counts tags; whatever is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.rows += tag == "tr"
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_notebooks_show_tables(result: fb.Result, small: dict[str, object]) -> None:
    cells = Cells()
    cells.feed(result.flows._repr_html_())
    assert (cells.open, cells.rows) == ([], 11)
    small["workload"] = [{"kind": "incast", "block": "64KB", "rounds": 1, "class": "<b>&"}]
    text = fb.Scenario.from_dict(small).run().flows._repr_html_()
    assert "&lt;b&gt;&amp;" in text
    assert "<b>" not in text
    cells.feed(result._repr_html_())
    assert cells.open == []
    assert repr(result.flows).startswith("<Table flows: 96 rows of variant, run, seed, ")


def test_extras_are_named_when_missing(result: fb.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, call in (("pyarrow", "to_arrow"), ("pandas", "to_pandas"), ("polars", "to_polars")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'forebay\["):
            getattr(result.flows, call)()


def test_frames_are_of_the_right_class(result: fb.Result) -> None:
    assert isinstance(result.flows.to_arrow(), pa.Table)
    assert isinstance(result.flows.to_pandas(), pd.DataFrame)
    assert isinstance(result.flows.to_polars(), pl.DataFrame)
