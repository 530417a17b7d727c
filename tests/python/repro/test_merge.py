"""Scorecards of single papers, merged into the one of all."""

from __future__ import annotations

from pathlib import Path

import pytest
import some_paper

from forebay.repro import __main__ as command
from forebay.repro import _merge, _scorecard, _simulate


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
    # One claim alone: it does not hold any more, and the others stay.
    claims = tmp_path / "papers" / "a" / "claims.toml"
    claims.write_text(claims.read_text().replace("expected = 12.0", "expected = 99.0", 1))
    assert command.main(["a", "--claim", "c-number", "--scorecard", str(card)]) == 0
    part = card.read_text()
    assert "| fake 1; 1 claim: fake 1 |" in part
    assert "headline 3 of 4" in part
    assert "* `c-number` (NO, open)" in part
    rows = [[line for line in t.splitlines() if line.startswith("| ") and "c-number" not in line] for t in (text, part)]
    assert [r for r in rows[0] if "](#a)" not in r] == [r for r in rows[1] if "](#a)" not in r]


def test_remarks_and_readings_of_other_claims_stay() -> None:
    head = ["", "| claim | document |", "|---|---|"]
    reading = ["", *_scorecard.READINGS]

    def row(claim: str, verdict: str) -> str:
        return f"| {claim} | 1 | {verdict} |"

    def remark(claim: str, text: str) -> str:
        return f"* `{claim}`: {text}"

    kept = [
        *head,
        *(row(claim, "yes") for claim in ("a", "b")),
        *("", _scorecard.LESS, "", remark("a", "of seeds"), remark("b", "of seeds"), remark("b", "of a band")),
        *(*reading, "| less buffer | named | `b` | `a` |", "| more buffer | named | `a` |  |"),
    ]
    new = [
        *head,
        row("a", "NO"),
        *("", _scorecard.LESS, "", remark("a", "of thirty seeds"), remark("a", "of a band")),
        *(*reading, "| less buffer | named | `a` |  |"),
    ]
    merged = _merge._into(kept, new, ["a", "b"])
    assert [line for line in merged if line.startswith("* ")] == [
        remark("a", "of thirty seeds"),
        remark("a", "of a band"),
        remark("b", "of seeds"),
        remark("b", "of a band"),
    ]
    assert merged[-1] == "| less buffer | named | `a` `b` |  |", "no claim is left in the other reading"
    assert merged[:5] == [*head, row("a", "NO"), row("b", "yes")]


def test_version_outside_a_checkout(tmp_path: Path) -> None:
    assert _merge.version("fake 1", tmp_path) == "fake 1"
