"""Commands as functions: the answers are those of the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import forebay as fb
from conftest import PATIENCE_S, ROOT, SMALL, Cli
from forebay.repro import _decides

CAPTURE = ROOT / "docs/captures/web.pcap"


def test_trains_of_a_capture(tmp_path: Path, cli: Cli) -> None:
    seen = fb.trains(CAPTURE, scenario=tmp_path / "mine.toml", rate="1Gbps")
    document = json.loads(cli("trains", CAPTURE, "--format", "json").stdout)
    assert (seen.answer, seen.connections, seen.all.count) == (
        document["answer"],
        document["connections"],
        document["trains"]["all"]["count"],
    )
    assert seen.short.count + seen.long.count == seen.all.count
    assert seen.rtt_s.p50 == document["rtt_s"]["p50"]
    assert str(seen) == seen.answer
    replay = fb.Scenario.load(tmp_path / "mine.toml").with_({"transport.cc": "cubic"}).run()
    assert replay.flows["size_bytes"].sum() == seen.bytes


def test_other_gaps_make_other_trains() -> None:
    assert fb.trains([CAPTURE], gap="10ms").all.count < fb.trains([CAPTURE], gap="100us").all.count


def test_errors_are_those_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(fb.CommandError, match=r"missing\.pcap") as caught:
        fb.trains(tmp_path / "missing.pcap")
    assert caught.value.code in (1, 2)
    with pytest.raises(fb.CommandError, match="nowhere"):
        fb.referee("nowhere")


def test_a_flow_is_traced(tmp_path: Path, result: fb.Result) -> None:
    files = fb.trace(result, 1, tmp_path / "trace", variant="dctcp")
    assert set(files) == {"packets", "qlog", "picture"}
    assert all(f.stat().st_size > 0 for f in files.values())
    seen = fb.trains(files["packets"])
    assert seen.connections == 1
    with pytest.raises(fb.CommandError):
        fb.trace(result, 99_999, tmp_path / "trace")


def test_advice_has_options(tmp_path: Path) -> None:
    small = fb.Scenario.from_dict({**SMALL, "runs": 1, "transport": {"cc": "newreno"}, "observe": {}})
    advice = fb.advise(small, objective="p99 of incast", seeds=2, out=tmp_path / "advice")
    assert advice.objective == "p99 of incast"
    assert str(advice) == advice.answer
    assert advice.options
    assert all(o.verdict in ("sound", "starves", "unknown") for o in advice.options)
    assert advice.recommended is None or advice.recommended in advice.options
    assert advice.results == tmp_path / "advice"


def test_the_referee_convicts(cli: Cli) -> None:
    """`halving` never grows, which several criteria forbid."""
    report = fb.referee("halving", world="sim")
    assert (report.cc, report.worlds) == ("halving", ["sim"])
    assert report.violated
    assert str(report).startswith("halving in sim: ")
    assert report.document["summary"] == report.summary
    assert [r["row"] for r in report.document["rows"]] == [r.row for r in report.rows]
    assert {f.verdict for r in report.rows for f in r.results} <= {"holds", "violated", "unknown", "refused", "report", "n/a"}


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with files that have the names of modules; the file `imported` appears when one of them runs."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    for name in ("forebay", "runpy", "numpy", "signal"):
        (folder / f"{name}.py").write_text("open('imported', 'w').close()\nraise SystemExit('a module of the current folder')\n")
    monkeypatch.chdir(folder)
    # A user can set it; the package must not depend on it.
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    return folder


def test_functions_ignore_current_folder(foreign: Path) -> None:
    assert fb.trains(CAPTURE).frames > 0
    assert "newreno" in _decides.run(["list"])
    assert not (foreign / "imported").exists()


def test_torture_workers_ignore_current_folder(foreign: Path) -> None:
    # The script of the package: its own folder, and not the current one, comes first in the path.
    script = Path(sys.executable).with_name("forebay")
    done = subprocess.run([script, "torture", "--cases", "2"], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (foreign / "imported").exists()
