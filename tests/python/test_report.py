"""Reports from Python are those of the command."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

import forebay as fb
from conftest import SMALL, Cli


def test_directory_report_equals_command(tmp_path: Path, result: fb.Result, cli: Cli) -> None:
    out = result.save(tmp_path / "out")
    page = (out / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    said = cli("report", out, "--out", tmp_path / "theirs.html")
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "theirs.html").read_text() == page
    assert fb.open(out).report(tmp_path / "ours.html") == tmp_path / "ours.html"
    assert (tmp_path / "ours.html").read_text() == page
    assert not (result.save(tmp_path / "bare", report=False) / "report.html").exists()


def test_a_report_of_results_in_memory(tmp_path: Path, result: fb.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    path = result.report(tmp_path / "small.html")
    assert result.fingerprint in path.read_text()
    # It replaces what is there, and leaves nothing else.
    path.write_text("old")
    assert result.report(path).read_text() != "old"
    assert [p.name for p in tmp_path.iterdir()] == ["small.html"]


def test_a_comparison(tmp_path: Path, result: fb.Result) -> None:
    other = fb.Scenario.from_dict({**SMALL, "name": "other"}).with_({"topology.senders": 2}).run()
    path = fb.report([result, other, fb.open(other.save(tmp_path / "saved"))], tmp_path / "both.html")
    page = path.read_text()
    for text in ("small", "other", "saved", result.fingerprint, other.fingerprint):
        assert text in page


def test_what_cannot_be_written(tmp_path: Path, result: fb.Result) -> None:
    with pytest.raises(fb.StoreError, match="nowhere"):
        result.report(tmp_path / "nowhere" / "report.html")
    saved = result.save(tmp_path / "out", report=False)
    manifest: dict[str, Any] = json.loads((saved / "manifest.json").read_text())
    (saved / "summary.parquet").unlink()
    with pytest.raises(fb.StoreError, match=manifest["name"] + "|summary"):
        fb.open(saved).report(tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_results_survive_a_report_that_fails(tmp_path: Path, result: fb.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: fb.Result, path: Path) -> Path:
        raise fb.StoreError("error: full\n", "full", "free some space")

    monkeypatch.setattr(fb.Result, "report", fail)
    with pytest.warns(UserWarning, match="no report was written: full"):
        saved = result.save(tmp_path / "out")
    assert fb.open(saved).fingerprint == result.fingerprint
