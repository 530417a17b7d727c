"""Simulations of reproductions: each run once, stored under a hash of its inputs, gone on with after an interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_paper import SCENARIO, small_paper

import forebay as fb
from conftest import wait_until
from forebay.repro import RunError, _simulate
from forebay.repro._run import Run
from forebay.repro._simulate import Package


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_paper(tmp_path)


@pytest.fixture
def simulator(tmp_path: Path) -> Package:
    return Package(tmp_path / "units", 2)


def test_results_are_those_of_a_run(folder: Path, simulator: Package) -> None:
    result = Run(folder, simulator)("fig.toml", seeds=2)
    assert (result.variants, result.seeds) == (["newreno", "dctcp"], 2)
    for name in ("flows", "ports", "summary"):
        ours = result.table(name)
        parts = [fb.Scenario.load(folder / "fig.toml").with_(seed=seed, runs=1).run().table(name) for seed in (1, 2)]
        assert ours.columns == parts[0].columns
        for column in ours.columns:
            theirs = np.concatenate([np.asarray(p[column]) for p in parts])
            if column == "run":
                theirs = np.repeat([0, 1], [len(p) for p in parts])
            # Truth values that are not known: None here, not a number there. Names that are not there are None in both.
            missing = None if any(v is None for v in theirs) else np.nan
            own = np.array([missing if v is None else v for v in ours[column]], theirs.dtype)
            np.testing.assert_array_equal(own, theirs, err_msg=f"{name}.{column}")
    assert result.table("flows", ["run", "seed"]).columns == ["run", "seed"]
    assert len(result.tcp) == 0
    (first, second) = result.manifests
    assert [r["variant"] for r in first["runs"]] == ["newreno", "dctcp"]
    assert (first["runs"][0]["seed"], second["runs"][0]["seed"]) == (1, 2)
    assert (first["runs"][0]["end_ns"], first["runs"][0]["measured_from_ns"]) == (5_000_000, 0)
    assert first["scenario"]["variants"][1]["resolved"]["topology"]["senders"] == 4
    whole = fb.Scenario.load(folder / "fig.toml").with_(runs=1).run()
    assert first["fingerprint"] == whole.fingerprint


def test_unit_runs_once(folder: Path, simulator: Package, tmp_path: Path) -> None:
    run = Run(folder, simulator)
    run("fig.toml", seeds=3).flows  # noqa: B018
    assert simulator.counts() == (6, 6, 0)
    # The same rate in other words, one of the two variants, and more seeds.
    again = run("fig.toml", {"topology.access.rate": "1000Mbps", "transport.cc": "dctcp"}, seeds=4)
    assert again.flows["run"].max() == 3
    assert set(again.flows["variant"]) == {"dctcp"}
    assert simulator.counts() == (7, 7, 0)
    other = Package(tmp_path / "units", 1)
    Run(folder, other)("fig.toml", seeds=3).flows  # noqa: B018
    assert other.counts() == (6, 6, 6)


def test_override_file_changes_key(folder: Path, tmp_path: Path) -> None:
    def found() -> int:
        simulator = Package(tmp_path / "units", 1)
        Run(folder, simulator)("fig.toml", {"workload.0.sizes": {"cdf": "other.cdf"}}).flows  # noqa: B018
        total, done, found = simulator.counts()
        assert (total, done) == (2, 2)
        return found

    assert (found(), found()) == (0, 2)
    (folder / "other.cdf").write_text("1000 0\n20001 1\n")
    assert found() == 0, "its contents count, although the scenario's text does not name it"
    (folder / "sizes.cdf").write_text("1000 0\n20002 1\n")
    assert found() == 2, "a file that is no longer named does not"


def test_mistakes_fail_who_made_them(folder: Path, simulator: Package) -> None:
    run = Run(folder, simulator)
    with pytest.raises(RunError, match="senders"):
        run("fig.toml", {"topology.senders": -1})
    with pytest.raises(FileNotFoundError, match=r"nothing\.toml"):
        run("nothing.toml")
    assert len(run("fig.toml").flows) > 0
    simulator.close()
    with pytest.raises(RunError):
        run("fig.toml", {"topology.senders": 3}).flows  # noqa: B018


def test_all_tables_except_summary_kept() -> None:
    assert _simulate.KEPT == ("flows", "ports", "queue", "tcp", "queries", "timeouts")


def test_killed_reproduction_resumes(folder: Path, tmp_path: Path) -> None:
    """The results of the killed process are reused, and only the rest runs."""
    (folder / "fig.toml").write_text(SCENARIO.format(duration="40ms"))
    command = [sys.executable, "-m", "forebay.repro", str(folder), "--threads", "2", "-v", "--out"]

    def units(out: Path) -> dict[Path, int]:
        return {p: p.stat().st_mtime_ns for p in (out / "units").glob("??/*.parquet") if p.name.count(".") == 1}

    killed = tmp_path / "killed"
    first = subprocess.Popen([*command, str(killed)], stdout=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: len(units(killed)) >= 4)
    os.killpg(first.pid, signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL, "it was still at it"
    before = units(killed)
    assert 0 < len(before) < 24
    again = subprocess.run([*command, str(killed)], capture_output=True, text=True, check=True)
    after = units(killed)
    assert len(after) == 24
    assert {p: after[p] for p in before} == before, "what was there was not made again"
    whole = subprocess.run([*command, str(tmp_path / "whole")], capture_output=True, text=True, check=True)
    assert whole.stdout.split("runs,")[0] == again.stdout.split("runs,")[0]
    assert (tmp_path / "whole" / "verdicts.csv").read_text() == (killed / "verdicts.csv").read_text()
    assert "12 runs" in again.stdout


def test_other_world_keys_adapted_or_refused(tmp_path: Path) -> None:
    (tmp_path / "sizes.cdf").write_text("1000 0\n20000 1\n")
    (tmp_path / "fig.toml").write_text(SCENARIO.format(duration="1ms"))
    package = Package(tmp_path / "units", 1, "linux")
    try:
        runs = package.submit(tmp_path / "fig.toml", ["transport.handshake=false", "transport.limited-transmit=false"], 1)
        assert runs.changed == {"transport.handshake": True, "transport.limited-transmit": True}
        assert package.submit(tmp_path / "fig.toml", [], 1).changed == {}
        ccs = 'transport.cc=["newreno", { kind = "l2dct", no-growth-on-ece = true }]'
        changed = package.submit(tmp_path / "fig.toml", ["transport.handshake=true", ccs], 1).changed
        assert changed == {"transport.cc": ["newreno", {"kind": "l2dct"}]}
        with pytest.raises(_simulate.RefusedError, match="whole ticks of 1 ms"):
            package.submit(tmp_path / "fig.toml", ["transport.handshake=false", 'transport.rto-min="250us"'], 1)
        with pytest.raises(RunError, match="`senders` is 0") as wrong:
            package.submit(tmp_path / "fig.toml", ["topology.senders=0"], 1)
        assert not isinstance(wrong.value, _simulate.RefusedError)
    finally:
        package.close()
