"""Reproductions on the worker processes of a real Dask scheduler: the runs are those that are made here, to the byte."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster
from small_paper import small_paper

from forebay.repro import RunError
from forebay.repro import __main__ as command
from forebay.repro._run import Run
from forebay.repro._simulate import Package
from forebay.repro._workers import Workers


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with Client(cluster) as client:
        yield client


def units(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.glob("??/*.parquet"))}


def test_worker_runs_equal_local_runs(tmp_path: Path, client: Any) -> None:
    folder = small_paper(tmp_path)
    here, there = Package(tmp_path / "here", 2), Workers(tmp_path / "there", client)
    results = [Run(folder, simulator)("fig.toml", {"topology.senders": 3}, seeds=3) for simulator in (here, there)]
    assert results[0].manifests == results[1].manifests
    assert results[0].variants == results[1].variants
    assert len(results[1].table("flows"))
    assert units(tmp_path / "here") == units(tmp_path / "there")
    assert here.counts() == there.counts() == (6, 6, 0)
    # Asked for again, in part: a run is known by what it depends on.
    again = Workers(tmp_path / "there", client)
    Run(folder, again)("fig.toml", {"topology.senders": 3}, seeds=4).table("flows")
    assert again.counts() == (8, 8, 6)
    for simulator in (here, there, again):
        simulator.close()


def test_killed_worker_loses_nothing(tmp_path: Path) -> None:
    folder = small_paper(tmp_path, duration="200ms")
    here = Package(tmp_path / "here", 2)
    expected = Run(folder, here)("fig.toml", seeds=12).manifests
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        there = Workers(tmp_path / "there", client)
        result = Run(folder, there)("fig.toml", seeds=12)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        assert there.counts()[1] < 24
        assert result.manifests == expected
        there.close()
    assert units(tmp_path / "here") == units(tmp_path / "there")
    here.close()


def test_worker_errors_equal_local_errors(tmp_path: Path, client: Any) -> None:
    there = Workers(tmp_path / "there", client)
    with pytest.raises(RunError, match="senders"):
        Run(small_paper(tmp_path), there)("fig.toml", {"topology.senders": 0})
    there.close()


def test_the_command(tmp_path: Path, cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = small_paper(tmp_path)
    words = [str(folder), "--quick", "--out"]
    assert command.main([*words, str(tmp_path / "here")]) == 0
    here = capsys.readouterr().out
    assert command.main([*words, str(tmp_path / "there"), "--dask", cluster.scheduler_address]) == 0
    there = capsys.readouterr().out
    fingerprint = [line.split("fingerprint ")[1] for line in here.splitlines() if "fingerprint" in line]
    assert fingerprint[0] in there
    assert (tmp_path / "here/verdicts.csv").read_bytes() == (tmp_path / "there/verdicts.csv").read_bytes()
    assert command.main([*words, str(tmp_path / "nobody"), "--dask", "tcp://127.0.0.1:9"]) == 1
    assert "no Dask scheduler at tcp://127.0.0.1:9" in capsys.readouterr().err
