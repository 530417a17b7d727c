"""Results travel to other processes, as pools of workers and caches of notebooks send them."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import forebay as fb


def drops(result: fb.Result) -> int:
    return int(result.ports["dropped_overflow"].sum())


def test_results_travel(small: dict[str, Any], tmp_path: Path) -> None:
    result = fb.Scenario.from_dict(small).run()
    saved = fb.open(result.save(tmp_path / "r", report=False))
    for one in (result, saved):
        again = pickle.loads(pickle.dumps(one))
        assert again.fingerprint == one.fingerprint
        assert again.manifest == one.manifest
        assert again.path is None
        for name in one.tables:
            mine, other = one.table(name), again.table(name)
            assert (mine.columns, mine.schema, mine.description) == (other.columns, other.schema, other.description)
            assert mine.shape == other.shape
            for column in mine:
                np.testing.assert_array_equal(mine[column], other[column])
        assert again.save(tmp_path / f"again-{one is saved}").is_dir()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(drops, result).result() == drops(result)


def test_sweeps_and_tables_travel(small: dict[str, Any], tmp_path: Path) -> None:
    sweep = fb.Scenario.from_dict(small).sweep({"topology.senders": [2, 4]}, out=tmp_path / "s")
    again = pickle.loads(pickle.dumps(sweep))
    assert (again.fingerprint, again.path, again.points) == (sweep.fingerprint, sweep.path, sweep.points)
    np.testing.assert_array_equal(again.table["goodput_bps"], sweep.table["goodput_bps"])
    none = sweep.table.filter(np.zeros(len(sweep.table), bool))
    assert pickle.loads(pickle.dumps(none)).shape == (0, len(sweep.table.columns))


def test_results_are_looked_at_like_tables(small: dict[str, Any], tmp_path: Path) -> None:
    result = fb.Scenario.from_dict(small).run()
    assert len(result) == 4, "two variants, two seeds"
    assert result.shape == result.summary.shape == (4, len(result.summary.columns))
    assert len(result.head(3)) == 3
    assert "<table>" in result._repr_html_()
    sweep = fb.Scenario.from_dict(small).sweep({"topology.senders": [2, 4]}, out=tmp_path / "s")
    assert len(sweep) == 2
    assert sweep.shape == (8, len(sweep.table.columns))
    assert len(sweep.head(5)) == 5
    assert "<table>" in sweep._repr_html_()
