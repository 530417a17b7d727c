"""Runs: the same as the command's, interruptible, and out of Python's way."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay as fb
from conftest import PATIENCE_S, ROOT, SMALL, Cli, wait_until

LONG = {**SMALL, "runs": 4, "duration": "100000s", "workload": [{"kind": "long"}], "observe": {}}


def timed(seconds: float) -> dict[str, Any]:
    """A scenario that keeps one core busy for a while: about half a million packets per simulated 2 s."""
    return {**SMALL, "runs": 1, "duration": f"{round(seconds * 1000)}ms", "workload": [{"kind": "long"}], "observe": {}}


def test_network_events_are_listed() -> None:
    """A link that fails and one that damages packets: the table and the sentences."""
    spec = fb.Scenario.load(ROOT / "scenarios/link-failure.toml")
    corruption = [{"port": "leaf0->spine2", "bit-errors": 1e-7}]
    result = spec.with_({"transport.cc": "cubic", "topology.corruption": corruption, "duration": "25ms"}).run()
    events = result.events
    assert list(events["kind"]) == ["corruption", "link-down", "link-up"]
    assert list(events["link"]) == ["leaf0->spine2", "leaf0->spine1", "leaf0->spine1"]
    assert list(events["time_ns"]) == [0, 5_000_000, 20_000_000]
    assert events["packets"][1] == result.ports["lost_down"].sum()
    assert events["packets"][0] == result.ports["corrupted"].sum()
    said = " ".join(result.verdict.sentences)
    assert "Link leaf0->spine1 was down from 5 ms to 20 ms: " in said
    assert fb.Scenario.from_dict(SMALL).run().events.to_arrow().num_rows == 0


def test_a_scenario_runs_in_another_world() -> None:
    """The closed forms predict supported metrics, and reject other scenarios with reasons."""
    long = fb.Scenario.from_dict(LONG)
    with pytest.raises(fb.ScenarioError, match="the backend `model` does not run this"):
        long.with_({"transport.cc": "newreno"}).run(world="model")
    result = long.with_({"transport.cc": "dctcp"}).run(world="model")
    assert result.manifest["world"] == "model"
    assert result.table("flows").to_arrow().num_rows == 0
    summary = result.table("summary").to_arrow()
    assert summary["queue_max_pkts"][0].as_py() == 24
    assert summary["drops"][0].as_py() is None


def test_results_are_those_of_the_command(tmp_path: Path, result: fb.Result, cli: Cli) -> None:
    file = tmp_path / "small.toml"
    file.write_text(fb.Scenario.from_dict(SMALL).to_toml())
    said = cli("run", file, "--out", tmp_path / "out", "--threads", "1")
    assert said.returncode == 0, said.stderr
    assert f"fingerprint: {result.fingerprint}\n" in said.stdout
    for name in result.tables:
        theirs = pq.read_table(tmp_path / "out" / f"{name}.parquet")
        ours = result.table(name).to_arrow()
        assert ours.schema.equals(theirs.schema, check_metadata=False), name
        for column in theirs.column_names:
            assert ours.schema.field(column).metadata == theirs.schema.field(column).metadata
        assert ours.to_pylist() == theirs.to_pylist(), name
    assert len(result.flows) == 2 * 2 * 4 * 3 * 2  # answers and requests
    opened = fb.open(tmp_path / "out")
    for key in ("name", "fingerprint", "packet_hops", "manifest_version", "kind", "forebay"):
        assert opened.manifest[key] == result.manifest[key]
    runs = [[{**r, "wall_s": 0} for r in m["runs"]] for m in (opened.manifest, result.manifest)]
    assert runs[0] == runs[1]


def test_threads_change_nothing(result: fb.Result) -> None:
    s = fb.Scenario.from_dict(SMALL)
    for threads in (1, 2, 7):
        r = s.run(threads=threads)
        assert r.fingerprint == result.fingerprint
        assert r.flows.to_arrow().equals(result.flows.to_arrow())
    for threads in (0, -1, 1025):
        with pytest.raises(ValueError, match="legal: 1 to 1024"):
            s.run(threads=threads)


def test_many_scenarios_keep_their_order() -> None:
    base = fb.Scenario.from_dict(SMALL)
    # Long ones first: they end last.
    scenarios = [base.with_({"workload.0.rounds": n, "topology.senders": n}) for n in (20, 2, 11, 5)]
    together = fb.run_many(scenarios, threads=3)
    assert [len(r.queries) for r in together] == [4 * n for n in (20, 2, 11, 5)]
    for s, r in zip(scenarios, together, strict=True):
        alone = s.run(threads=1)
        assert r.fingerprint == alone.fingerprint
        assert r.flows.to_arrow().equals(alone.flows.to_arrow())
        assert r.manifest["scenario"] == alone.manifest["scenario"]
    assert fb.run_many([]) == []


def test_progress_is_told() -> None:
    events: list[fb.ProgressEvent] = []
    s = fb.Scenario.from_dict(timed(20)).with_(runs=3)
    begin = time.process_time()
    r = s.run(progress=events.append)
    busy = time.process_time() - begin
    assert (events[0].runs_done, events[0].runs_total, events[0].fraction, events[0].packet_hops) == (0, 6, 0.0, 0)
    assert events[0].left_s is None
    assert (events[-1].runs_done, events[-1].fraction, events[-1].left_s) == (6, 1.0, 0.0)
    assert events[-1].packet_hops == r.manifest["packet_hops"]
    assert events[-1].packet_hops_per_s > 0
    for a, b in itertools.pairwise(events):
        assert a.runs_done <= b.runs_done
        assert a.elapsed_s <= b.elapsed_s
        assert a.packet_hops <= b.packet_hops
    # About ten a second. In processor time, as a busy machine has less of it.
    assert len(events) >= 2 + int(busy / (os.cpu_count() or 1) / 0.25)
    # Rounds without a set end have no known part.
    assert fb.ProgressEvent(0, 1, None, 1.0, 5).left_s is None


def test_the_line_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    fb.Scenario.from_dict(timed(20)).with_(runs=3).run(progress=True)
    out = capsys.readouterr()
    assert out.out == ""
    assert "of 6 runs" in out.err
    assert "M pkt/s" in out.err
    # It is taken away at the end.
    assert out.err.split("\r")[-1] == ""
    assert not out.err.split("\r")[-2].strip()


def test_callback_error_stops_runs() -> None:
    class StopError(Exception):
        pass

    calls = 0

    def stop(event: fb.ProgressEvent) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise StopError

    # Without an interrupt it would run for hours.
    with pytest.raises(StopError):
        fb.Scenario.from_dict(LONG).run(progress=stop)
    assert calls == 3


def test_other_threads_go_on() -> None:
    """Another thread counts between two calls of the callback, so the run does not hold the interpreter lock."""

    class EnoughError(Exception):
        pass

    counter, last, moved = 0, 0, 0
    done = threading.Event()

    def count() -> None:
        nonlocal counter
        while not done.wait(0.001):
            counter += 1

    def progress(event: fb.ProgressEvent) -> None:
        nonlocal last, moved
        moved = max(moved, counter - last)
        last = counter
        # There are about ten calls a second.
        if moved >= 5 or event.elapsed_s > PATIENCE_S:
            raise EnoughError

    thread = threading.Thread(target=count)
    thread.start()
    with pytest.raises(EnoughError):
        fb.Scenario.from_dict(LONG).run(threads=1, progress=progress)
    done.set()
    thread.join()
    assert moved >= 5


def test_two_runs_in_two_threads_overlap() -> None:
    """Each run waits in its first callback for the other one, which would never start if runs were sequential."""
    meeting = threading.Barrier(2, timeout=PATIENCE_S)
    results: dict[int, fb.Result] = {}

    def run(n: int) -> None:
        begun = False

        def progress(_: fb.ProgressEvent) -> None:
            nonlocal begun
            if not begun:
                begun = True
                meeting.wait()

        s = fb.Scenario.from_dict(timed(20)).with_({"transport.cc": "newreno"}, seed=n)
        results[n] = s.run(threads=1, progress=progress)

    threads = [threading.Thread(target=run, args=(n,)) for n in (0, 1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results[0].fingerprint != results[1].fingerprint


INTERRUPTED = """
    import json, os, sys, threading, time
    import forebay as fb

    def tasks():
        return len(os.listdir("/proc/self/task"))

    scenario = fb.Scenario.from_dict(json.loads(sys.argv[1]))
    before = tasks()
    try:
        print("running", flush=True)
        scenario.run()
    except KeyboardInterrupt:
        print("interrupted", time.process_time(), flush=True)
    # A thread that was joined may be on its way out still.
    deadline = time.monotonic() + 60
    while tasks() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    left = tasks() - before
    again = scenario.with_(duration="10ms", runs=1).run()
    print(left, len(again.flows), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_ctrl_c_stops_a_run(tmp_path: Path) -> None:
    import json

    def used(process: int) -> float:
        """Processor time of a process, s (proc(5))."""
        user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED), json.dumps(LONG)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    # Until it is at work: the runs are on threads of their own and never end.
    begin = used(process.pid)
    wait_until(lambda: used(process.pid) > begin + 0.5)
    before = used(process.pid)
    process.send_signal(signal.SIGINT)
    word, after = process.stdout.readline().split()
    assert word == "interrupted"
    # No thread is left, and the next run is like any other.
    assert process.stdout.readline() == "0 8\n"
    process.stdout.close()
    assert process.wait(PATIENCE_S) == 0
    assert not list(tmp_path.iterdir())
    # Python looks for signals about ten times a second, and all processors work until then.
    assert float(after) - before < 0.5 * (os.cpu_count() or 1)


def test_ctrl_c_stops_the_command(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(fb.Scenario.from_dict(LONG).to_toml())
    script = Path(sys.executable).parent / "forebay"
    for command in ([str(script)], [sys.executable, "-m", "forebay"]):
        process = subprocess.Popen(
            [*command, "run", "long.toml", "--progress", "json"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        assert '"start"' in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        process.stderr.close()
        assert process.wait(PATIENCE_S) == 130
        assert '{"event":"interrupted"}' in rest
        assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["long.toml"]


def test_nothing_is_written_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fb.Scenario.from_dict(SMALL).run()
    assert not list(tmp_path.iterdir())


def test_quickstart_column_equals_pandas(tmp_path: Path) -> None:
    r = fb.Scenario.load(ROOT / "scenarios" / "quickstart.toml").with_(duration="1s", runs=1).run()
    assert r.variants == ["newreno", "cubic", "dctcp"]
    flows = r.flows.to_arrow()
    assert isinstance(flows, pa.Table)
    np.testing.assert_array_equal(r.flows["size_bytes"], flows["size_bytes"].to_numpy())
    assert os.environ.get("FOREBAY") is None


def test_budget_needs_accuracy(small: dict[str, Any]) -> None:
    s = fb.Scenario.from_dict(small)
    with pytest.raises(fb.ScenarioError, match=r"`budget` .*\n.*within=\"5%\"") as caught:
        s.run(budget="60s")
    assert caught.value.errors[0].help is not None


def test_run_stops_when_known() -> None:
    base = fb.Scenario.from_toml(
        """
        duration = "500ms"
        workload = [{ kind = "poisson", from = "senders", to = "receiver", load = 0.1, sizes = { exponential = "20KB" } }]
        [topology]
        kind = "many-to-one"
        senders = 4
        access = { rate = "10Gbps", delay = "2us" }
        bottleneck = { rate = "10Gbps", delay = "2us", buffer = "500pkt" }
        """
    )
    known = base.run(within="20%", threads=1).manifest["known"][0]
    assert known["known"]
    assert known["of"] == "p99 of small fct"
    assert known["end_ns"] < 500_000_000
    assert known["low"] < known["value"] < known["high"]
