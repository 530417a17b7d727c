"""Scorecards of single papers, merged into the one of all."""

from __future__ import annotations

from pathlib import Path

import pytest
import some_paper

from forebay.repro import __main__ as command
from forebay.repro import _merge, _simulate


def test_other_papers_stay_on_the_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_simulate, "Package", lambda _root, _threads, world="sim": some_paper.Fake())
    monkeypatch.chdir(tmp_path)
    card = tmp_path / "CARD.md"
    for name in ("b", "a"):
        some_paper.write(tmp_path / "papers" / name)
        assert command.main([name, "--scorecard", str(card)]) == 1, "a claim was not evaluated"
    text = card.read_text()
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## a", "## b"]
    assert "2 of 8 claims hold as stated" in text
    assert "headline 4 of 4" in text
    assert text.count("| fake 1 |") == 2
    assert command.main(["a", "--scorecard", str(card)]) == 1
    assert card.read_text() == text, "again is the same"


def test_version_outside_a_checkout(tmp_path: Path) -> None:
    assert _merge.version("fake 1", tmp_path) == "fake 1"
