"""Results of a paper's claims on another backend: stored beside it, a column of the scorecard, and the point that decides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import some_paper

from forebay.repro import __main__ as command
from forebay.repro import _column, _decides, _paper, _point, _simulate
from forebay.repro._session import NAMED, NOT, Session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return some_paper.write(tmp_path / "some-paper")


class Slower(some_paper.Fake):
    """A world where the second point of the grid takes twice as long."""

    def submit(self, scenario: Path, sets: Sequence[str], seeds: int) -> some_paper.FakeRuns:
        return super().submit(scenario, [s.replace("fct=20", "fct=40") for s in sets], seeds)


def test_deciding_point_moves_measurement(folder: Path) -> None:
    paper, here, there = _paper.load(folder), Session(some_paper.Fake()), Session(Slower())
    ours, theirs = (s.simulate(paper, ["c-reading", "c-number"]) for s in (here, there))
    own = {v.claim.id: v for v in here.judge(paper, ours, ["c-reading", "c-number"])[0].verdicts}
    assert own["c-reading"].good
    point = _point.decisive(here, paper, own["c-reading"], ours, theirs)
    assert point
    assert (point.experiment, point.unit.sets, point.unit.seed) == ("grid", ("fct=20",), 1)
    assert point.decides, "with that point alone the claim holds no more"
    assert not point.verdict.good
    assert point.verdict.measured[1].value == 42
    assert own["c-reading"].measured[1].value == 22, "the simulator's own stays"
    assert _point.decisive(here, paper, own["c-number"], ours, theirs) is None, "both backends have the same verdict"


@pytest.mark.parametrize(
    ("a", "b", "apart"),
    [
        ({"x": 1.0, "y": 2.0}, {"x": 1.0, "y": 4.0}, 0.5),
        ([("x", 1.0)], [("x", 1.0)], 0.0),
        (True, False, 1.0),
        ([0, 0], [0, 3], 1.0),
        (float("nan"), float("nan"), 0.0),
        (None, 1.0, 1.0),
    ],
)
def test_distance(a: object, b: object, apart: float) -> None:
    assert _point.distance(a, b) == apart


def test_column_is_cached_and_renewed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worlds = {"sim": some_paper.Fake(), "linux": Slower()}
    monkeypatch.setattr(_simulate, "Package", lambda _root, _threads, world="sim": worlds[world])
    monkeypatch.setattr(_decides, "run", lambda _words: "reno: a comparison\n")
    out, card = tmp_path / "out", tmp_path / "CARD.md"
    assert command.main([str(folder), "--out", str(out), "--scorecard", str(card)]) == 1
    bare = card.read_text()
    assert "in linux" not in bare, "nothing is kept"
    assert command.main([str(folder), "--keep"]) == 2
    assert "--world" in capsys.readouterr().err
    monkeypatch.setattr(_paper, "find", lambda _where: [folder])
    (folder / "in-linux.toml").write_text('c-reading = "It is slower."\n')
    part = ["--claim", "c-reading", "--claim", "c-number", "--world", "linux", "--keep", "--scorecard", str(card)]
    assert command.main([str(folder), *part, "--out", str(out)]) == 0
    row = _column.read(folder, "linux")["c-reading"]
    assert (row.verdict, row.simulator, row.scale, row.differs) == (NOT, NAMED, "full", True)
    text = card.read_text()
    assert "| named | NO (simulator: named): 12 |" in text or "| named | NO (simulator: named): 12 ±2.5 |" in text
    assert "| unknown |" in text, "c-wrong was not asked for"
    assert "On the backend `linux`: 1 of 2 claims hold, 2 are unknown." in text
    assert "[in-linux.md](some-paper/in-linux.md)" in text
    page = (folder / "in-linux.md").read_text()
    assert "Cause: It is slower." in page
    assert "--set fct=20" in page, "the point that decides, not the first"
    paper = _paper.load(folder)
    assert _column.lay(text, [paper], "linux") == text, "again is the same"
    assert _column.strip(text, "linux") == bare
    assert command.main([str(folder), "--out", str(out), "--scorecard", str(card)]) == 1
    assert card.read_text() == text, "a new scorecard has the column that is kept"


def test_claims_without_runs_have_a_reason(folder: Path) -> None:
    heads = "claim,verdict,wider_band,simulator,scale,measured"
    _column.file(folder, "linux").write_text(f"{heads}\nc-number,as stated,no,as stated,full,12\n")
    by_hand = folder / "in-linux.toml"
    by_hand.write_text('[[not-run]]\nshort = "too long"\nclaims = ["c-reading"]\nreason = """\nOne run\ntakes days."""\n')
    paper = _paper.load(folder)
    assert _column.not_run(paper, "linux") == [_column.NotRun("too long", "One run takes days.", ("c-reading",))]
    assert _decides.causes(paper, "linux") == {}
    claims = "| c-number | 12 | yes |\n| c-reading | 2 | yes |\n"
    card = f"## some-paper\n\n| claim | document | verdict |\n|---|---|---|\n{claims}\nEnd.\n"
    laid = _column.lay(card, [paper], "linux")
    assert "| c-reading | 2 | yes | not run: too long |" in laid
    assert "1 of 1 claims hold, 1 are not run, 2 are unknown." in laid
    assert _column.strip(laid, "linux") == card
    by_hand.write_text(by_hand.read_text().replace("c-reading", 'c-reading", "c-reading'))
    with pytest.raises(ValueError, match="named twice: c-reading"):
        _column.not_run(paper, "linux")


def test_a_cell_may_have_bars(folder: Path) -> None:
    paper = _paper.load(folder)
    heads = "claim,verdict,wider_band,simulator,scale,measured"
    _column.file(folder, "linux").write_text(f"{heads}\nc-number,as stated,no,as stated,full,a|b\n")
    card = "## some-paper\n\n| claim | document | verdict |\n|---|---|---|\n| **c-number** | 12 \\| 13 | yes |\n\nEnd.\n"
    laid = _column.lay(card, [paper], "linux")
    assert "| **c-number** | 12 \\| 13 | yes | yes: a\\|b |" in laid
    assert _column.strip(laid, "linux") == card
