"""Sweeps: the same as the command's, continued, and with progress."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forebay as fb
from conftest import PATIENCE_S, SMALL, Cli

AXES: dict[str, list[Any]] = {"topology.senders": [2, 4, 8], "transport.rto-min": ["1ms", "200ms"]}
SETS = ["--sweep=topology.senders=[2, 4, 8]", '--sweep=transport.rto-min=["1ms", "200ms"]']


def test_sweep_equals_command(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "small.toml"
    file.write_text(fb.Scenario.from_dict(SMALL).to_toml())
    said = cli("run", file, *SETS, "--out", tmp_path / "theirs")
    assert said.returncode == 0, said.stderr
    ours = fb.Scenario.load(file).sweep(AXES, out=tmp_path / "ours")
    theirs = fb.open_sweep(tmp_path / "theirs")
    assert f"fingerprint: {ours.fingerprint}\n" in said.stdout
    assert (tmp_path / "ours/summary.parquet").read_bytes() == (tmp_path / "theirs/summary.parquet").read_bytes()
    assert (tmp_path / "ours/report.html").read_text().startswith("<!doctype html>")
    assert theirs.report(tmp_path / "again.html").read_text() == (tmp_path / "theirs/report.html").read_text()
    assert ours.table.to_arrow().equals(theirs.table.to_arrow())
    for key in ("axes", "points", "seeds", "fingerprint", "name", "scenario"):
        assert ours.manifest[key] == theirs.manifest[key]
    assert (ours.points, ours.fingerprint, ours.name, repr(ours)) == (theirs.points, theirs.fingerprint, "small", repr(theirs))
    assert (ours.path, theirs.path) == (tmp_path / "ours", tmp_path / "theirs")


def test_a_sweep_runs_in_any_world(tmp_path: Path) -> None:
    long = {**SMALL, "duration": "5ms", "workload": [{"kind": "long"}], "observe": {}}
    dctcp = fb.Scenario.from_dict(long).with_({"transport.cc": "dctcp"}, runs=1)
    both = dctcp.sweep({"world": ["sim", "model"]}, out=tmp_path / "both", report=False)
    assert list(both.table["world"]) == ["sim", "model"] == both.manifest["worlds"]
    model = dctcp.sweep({"topology.senders": [2, 4]}, world="model", out=tmp_path / "model", report=False)
    assert list(model.table["world"]) == ["model"] * 2
    # K + N.
    assert list(model.table["queue_max_pkts"]) == [22, 24]


def test_point_equals_scenario_with_values(tmp_path: Path) -> None:
    s = fb.Scenario.from_dict(SMALL)
    sweep = s.sweep(AXES, out=tmp_path / "out", threads=2, report=False)
    assert not (tmp_path / "out/report.html").exists()
    assert [(a.name, a.texts, a.numbers) for a in sweep.axes] == [
        ("topology.senders", ["2", "4", "8"], [2, 4, 8]),
        ("transport.rto-min", ["1ms", "200ms"], [0.001, 0.2]),
    ]
    table = sweep.table
    assert len(sweep.points) == 6
    assert len(table) == 6 * 2 * 2
    assert table["topology.senders"].dtype == np.int64
    assert set(table["transport.rto-min"]) == {"1ms", "200ms"}
    assert set(table["transport.rto-min_s"]) == {0.001, 0.2}
    rows = table.where(**{"topology.senders": 8, "transport.rto-min": "1ms"})
    alone = s.with_({"topology.senders": 8, "transport.rto-min": "1ms"}).run().summary
    for column in alone.columns:
        np.testing.assert_array_equal(rows[column], alone[column], err_msg=column)
    assert "8" in table._repr_html_()


def test_cached_runs_are_reused(tmp_path: Path) -> None:
    s = fb.Scenario.from_dict(SMALL).with_({"transport.cc": "dctcp"})
    events: list[fb.ProgressEvent] = []
    first = s.sweep({"topology.senders": [2, 4]}, seeds=3, out=tmp_path / "out", progress=events.append)
    assert (events[0].runs_done, events[0].runs_total) == (0, 6)
    assert (events[-1].runs_done, events[-1].fraction) == (6, 1.0)
    assert first.manifest["found"] == 0
    assert first.manifest["seeds"] == [1, 2, 3]
    more = s.sweep({"topology.senders": [2, 3, 4]}, seeds=[1, 2, 3], out=tmp_path / "out")
    assert more.manifest["found"] == 6
    np.testing.assert_array_equal(more.table.where(**{"topology.senders": [2, 4]})["goodput_bps"], first.table["goodput_bps"])


def test_the_sweep_of_the_scenario(tmp_path: Path, cli: Cli) -> None:
    document = {**SMALL, "sweep": {"list": [{"topology.senders": 3}, {"transport.rto-min": "5ms"}], "seeds": 1}}
    s = fb.Scenario.from_dict(document)
    (tmp_path / "s.toml").write_text(s.to_toml())
    assert s.check() == cli("check", tmp_path / "s.toml", "--no-forecast").stdout
    with pytest.raises(fb.ScenarioError, match="sweep"):
        s.run()
    table = s.sweep(out=tmp_path / "out").table
    # A point that does not set a value has none.
    assert table["transport.rto-min"].tolist() == [None, None, "5ms", "5ms"]
    np.testing.assert_array_equal(table["topology.senders"], [3, 3, np.nan, np.nan])
    assert table.to_pandas()["transport.rto-min"].isna().tolist() == [True, True, False, False]
    assert table.to_arrow()["transport.rto-min"].null_count == 2
    assert len(table.where(**{"transport.rto-min": "5ms"})) == 2


def test_mistakes(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(fb.Scenario.from_dict(SMALL).to_toml())
    s = fb.Scenario.load("small.toml")
    for axes, shell in (
        ({"topology.senders": [2, 0]}, "topology.senders=[2, 0]"),
        ({"topology.sendres": [2]}, "topology.sendres=[2]"),
        ({"topology.senders": []}, "topology.senders=[]"),
    ):
        with pytest.raises(fb.ScenarioError) as caught:
            s.sweep(axes)
        assert str(caught.value) + "\n" == cli("run", "small.toml", "--sweep", shell).stderr
    with pytest.raises(fb.ScenarioError, match=r"no \[sweep\]"):
        s.sweep()
    with pytest.raises(fb.ScenarioError, match="is None"):
        s.sweep({"topology.senders": [1, None]})
    with pytest.raises(ValueError, match="threads is 0"):
        s.sweep({"topology.senders": [1]}, threads=0)
    with pytest.raises(fb.StoreError, match="holds no results"):
        fb.open_sweep(".")
    assert [p.name for p in tmp_path.iterdir()] == ["small.toml"]


INTERRUPTED = """
    import json, sys
    import forebay as fb

    s = fb.Scenario.from_dict(json.loads(sys.argv[1]))
    try:
        s.sweep({"topology.senders": [2, 3, 4, 5, 6, 7, 8, 9]}, out="out", progress=lambda e: print(e.runs_done, flush=True))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    document = {**SMALL, "runs": 1, "duration": "30s", "workload": [{"kind": "long"}], "observe": {}}
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), json.dumps(document)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while int(process.stdout.readline()) < 2:
        pass
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read().splitlines()
    process.stdout.close()
    assert process.wait(PATIENCE_S) == 0
    assert rest[-1] == "interrupted"
    with pytest.raises(fb.StoreError, match="is not finished"):
        fb.open_sweep(tmp_path / "out")
    s = fb.Scenario.from_dict(document)
    again = s.sweep({"topology.senders": list(range(2, 10))}, out=tmp_path / "out")
    assert 2 <= again.manifest["found"] < 16
    whole = s.sweep({"topology.senders": list(range(2, 10))}, out=tmp_path / "whole")
    assert (tmp_path / "out/summary.parquet").read_bytes() == (tmp_path / "whole/summary.parquet").read_bytes()
    assert whole.fingerprint == again.fingerprint


def test_the_default_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = fb.Scenario.from_dict(SMALL).with_(runs=1).sweep({"topology.senders": [2]})
    assert os.fspath(sweep.path) == "out/small-sweep"
    assert fb.open_sweep("out/small-sweep").fingerprint == sweep.fingerprint
