"""Sweeps on a real Dask scheduler with worker processes of its own, and in parts: the bytes are those of the local sweep."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import forebay as fb
from conftest import SMALL, Cli
from forebay import _dask

AXES: dict[str, list[Any]] = {"topology.senders": [2, 4, 8], "transport.rto-min": ["1ms", "200ms"]}
SETS = ["--sweep=topology.senders=[2, 4, 8]", '--sweep=transport.rto-min=["1ms", "200ms"]']


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def summary(path: Path) -> bytes:
    return (path / "summary.parquet").read_bytes()


def test_bytes_equal_local_sweep(tmp_path: Path, client: Any) -> None:
    s = fb.Scenario.from_dict({**SMALL, "sweep": {"keep": ["flows"]}})
    events: list[fb.ProgressEvent] = []
    here = s.sweep(AXES, seeds=2, out=tmp_path / "here", report=False)
    there = s.sweep(AXES, seeds=2, out=tmp_path / "there", report=False, client=client, progress=events.append)
    assert summary(there.path) == summary(here.path)
    assert there.fingerprint == here.fingerprint
    units = sorted(p.relative_to(here.path) for p in here.path.glob("units/??/*.parquet"))
    assert units == sorted(p.relative_to(there.path) for p in there.path.glob("units/??/*.parquet"))
    assert any(".flows." in p.name for p in units)
    assert all((here.path / p).read_bytes() == (there.path / p).read_bytes() for p in units)
    assert (events[-1].runs_done, events[-1].runs_total) == (24, 24)


def test_cached_runs_are_reused(tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    s = fb.Scenario.from_dict(SMALL)
    s.sweep(AXES, out=tmp_path, report=False, client=client)
    monkeypatch.setattr(_dask, "work", None)
    s.sweep(AXES, out=tmp_path, report=False, client=client)


def test_killed_worker_loses_nothing(tmp_path: Path) -> None:
    s = fb.Scenario.from_dict(SMALL).with_({"transport.cc": "dctcp", "workload.0.rounds": 40})
    axes = {"topology.senders": list(range(2, 32))}
    here = s.sweep(axes, seeds=4, out=tmp_path / "here", report=False)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        killed: list[int] = []

        def kill(event: fb.ProgressEvent) -> None:
            if event.runs_done >= 10 and not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        there = s.sweep(axes, seeds=4, out=tmp_path / "there", report=False, client=client, progress=kill)
    assert killed
    assert summary(there.path) == summary(here.path)


def test_worker_errors_keep_their_type(tmp_path: Path, client: Any) -> None:
    s = fb.Scenario.from_dict(SMALL)
    with pytest.raises(fb.ScenarioError, match="senders"):
        s.sweep({"topology.senders": [2, 0]}, out=tmp_path, client=client)
    words: _dask.Words = (s.text, "", "", [], None)
    with pytest.raises(fb.ForebayError, match="another version of forebay"):
        client.submit(_dask.work, words, ["topology.senders=[2]"], [0], ["0" * 32], pure=False).result()


def test_short_runs_have_low_overhead(tmp_path: Path, client: Any) -> None:
    """Batches: the scheduler is asked a few times, not once a run."""
    s = fb.Scenario.from_dict(SMALL).with_({"transport.cc": "dctcp", "workload.0.rounds": 1})
    asked: list[int] = []
    s.sweep(
        {"topology.senders": list(range(2, 22))},
        seeds=20,
        out=tmp_path,
        report=False,
        client=client,
        progress=lambda e: asked.append(e.runs_done),
    )
    assert asked[-2] <= 400
    assert len(asked) < 100


def test_the_command_on_workers(tmp_path: Path, client: Any, cli: Cli) -> None:
    file = tmp_path / "small.toml"
    file.write_text(fb.Scenario.from_dict(SMALL).to_toml())
    address = client.scheduler.address
    there = cli("run", file, *SETS, "--runs=2", "--out", tmp_path / "there", "--dask", address)
    assert there.returncode == 0, there.stderr
    here = cli("run", file, *SETS, "--runs=2", "--out", tmp_path / "here")
    assert summary(tmp_path / "there") == summary(tmp_path / "here")
    said = [line for line in here.stdout.splitlines() if line.startswith("fingerprint: ")]
    assert said[0] in there.stdout
    unreachable = cli("run", file, *SETS, "--out", tmp_path / "unreachable", "--dask", "tcp://127.0.0.1:9")
    assert unreachable.returncode != 0
    assert "no Dask scheduler at tcp://127.0.0.1:9" in unreachable.stderr


def test_parts_that_are_put_together(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "small.toml"
    file.write_text(fb.Scenario.from_dict(SMALL).to_toml())
    assert cli("run", file, *SETS, "--out", tmp_path / "whole").returncode == 0
    parts = [tmp_path / f"part{i}" for i in (1, 2, 3)]
    for i, part in enumerate(parts, 1):
        said = cli("run", file, *SETS, "--out", part, "--shard", f"{i}/3")
        assert said.returncode == 0, said.stderr
        assert "of 24 runs are done" in said.stdout or "of 12 runs are done" in said.stdout, said.stdout
    lacking = cli("merge", parts[0], parts[2], "--out", tmp_path / "lacking")
    assert lacking.returncode == 1
    assert "runs are missing" in lacking.stderr
    merged = cli("merge", *parts, "--out", tmp_path / "merged")
    assert merged.returncode == 0, merged.stderr
    assert summary(tmp_path / "merged") == summary(tmp_path / "whole")
    assert (tmp_path / "merged/report.html").read_text().startswith("<!doctype html>")
    # The incomplete sweep continues.
    assert cli("merge", *parts, "--out", tmp_path / "lacking").returncode == 0
    other = cli("run", file, SETS[0], "--out", tmp_path / "other", "--shard", "1/2")
    assert other.returncode == 0
    different = cli("merge", parts[0], tmp_path / "other", "--out", tmp_path / "mixed")
    assert different.returncode == 2
    assert "different sweeps" in different.stderr
    nothing = cli("merge", tmp_path / "nothing")
    assert nothing.returncode != 0
    assert not (tmp_path / "nothing").exists()


def test_the_job_array_of_the_documentation(tmp_path: Path) -> None:
    """Its script, with the variables that Slurm sets, once for each task."""
    if not sys.platform.startswith("linux"):
        pytest.skip("a script for bash")
    script = Path(__file__).parents[2] / "docs" / "cluster" / "sweep.sbatch"
    file = tmp_path / "small.toml"
    file.write_text(fb.Scenario.from_dict({**SMALL, "sweep": {"grid": {"topology.senders": [2, 4, 8]}}}).to_toml())
    for task in (1, 2):
        env = {**os.environ, "SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_CPUS_PER_TASK": "1"}
        env["FOREBAY"] = f"{sys.executable} -m forebay"
        subprocess.run(["bash", script, file, tmp_path / "out"], env=env, check=True, capture_output=True)
    whole = fb.Scenario.load(file).sweep(out=tmp_path / "whole", report=False)
    done = subprocess.run(
        [sys.executable, "-m", "forebay", "merge", tmp_path / "out", "--no-report"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert summary(tmp_path / "out") == summary(whole.path)


def test_the_snakefile_of_the_documentation(tmp_path: Path) -> None:
    """By Snakemake's local executor where it is installed, else by the commands that it would run, with its values in them."""
    if not sys.platform.startswith("linux"):
        pytest.skip("commands for bash")
    snakefile = Path(__file__).parents[2] / "docs" / "cluster" / "Snakefile"
    file, out = tmp_path / "small.toml", tmp_path / "out"
    file.write_text(fb.Scenario.from_dict({**SMALL, "sweep": {"grid": {"topology.senders": [2, 4, 8]}}}).to_toml())
    forebay = f"{sys.executable} -m forebay"
    snakemake = shutil.which("snakemake")
    if snakemake is not None:
        config = [f"scenario={file}", f"out={out}", "parts=2"]
        command = [snakemake, "--snakefile", str(snakefile), "--cores", "2", "--config", *config]
        subprocess.run(command, cwd=tmp_path, env={**os.environ, "FOREBAY": forebay}, check=True, capture_output=True)
    else:
        values = {"FOREBAY": forebay, "SCENARIO:q": str(file), "OUT:q": str(out), "PARTS": "2", "threads": "1"}
        part, merge = re.findall(r'^ *"({FOREBAY} .*)"$', snakefile.read_text(), re.MULTILINE)
        for template in (part.replace("{wildcards.part}", "1"), part.replace("{wildcards.part}", "2"), merge):
            line = re.sub(r"{([^}]*)}", lambda name: values[name[1]], template)
            subprocess.run(["bash", "-c", line], check=True, capture_output=True)
    whole = fb.Scenario.load(file).sweep(out=tmp_path / "whole", report=False)
    assert summary(out) == summary(whole.path)
