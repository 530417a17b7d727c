"""The artifact evaluation: its appendix, its exit code, and the page that is kept beside the papers."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import some_paper

from forebay.repro import __main__ as command
from forebay.repro import _appendix, _paper, _simulate
from forebay.repro._appendix import Cost

PAPERS = Path(__file__).resolve().parents[3] / "papers"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A paper, without the claim that cannot be evaluated, and its expected verdicts."""
    folder = some_paper.write(tmp_path / "papers" / "some-paper")
    claims = (folder / "claims.toml").read_text()
    (folder / "claims.toml").write_text(claims[: claims.index('[[claim]]\nid = "c-broken"')])
    paper = (folder / "paper.py").read_text()
    (folder / "paper.py").write_text(paper.replace('@paper.claim("c-broken", uses=["refused"])', "@str"))
    expect(folder, number="as stated")
    return folder


def expect(folder: Path, number: str) -> None:
    rows = [("c-number", number), ("c-reading", "under a reading named beforehand"), ("c-wrong", "not reproduced")]
    text = "paper,claim,strength,verdict\n" + "".join(f"some-paper,{c},headline,{v}\n" for c, v in rows)
    (folder.parent / "quick.csv").write_text(text)


def run(folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    def simulator(units: Path, _threads: int, _world: str) -> some_paper.Fake:
        units.mkdir(parents=True)
        (units / "run").write_bytes(bytes(3_000_000))
        return some_paper.Fake()

    monkeypatch.setattr(_simulate, "Package", simulator)
    return command.main([str(folder), "--artifact", "--threads", "2", "--out", str(out)])


def test_run_writes_the_appendix(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(folder, out, monkeypatch) == 0
    printed = capsys.readouterr().out
    assert "E1 some-paper: 3 of 3 verdicts as expected, " in printed
    page = (out / "ARTIFACT.md").read_text()
    assert "### E1: A document" in page
    assert re.search(r"\[human 1 min, machine \d+\.\d min of processor time, storage 3 MB\]", page)
    assert "| C1 | `c-number` | Sec. 1 | It is 12. | 12 | as stated |" in page
    assert "| C2 | `c-reading` | Sec. 2 | It is 22. | 22 | under a reading named beforehand |" in page
    assert "`c-wrong`" not in page, "a supporting claim has no number"
    assert re.search(r"\| E1 \| 3 of 3 \| \d+\.\d \| \d+\.\d \| +\| 3 MB \| 0 \| [0-9a-f]{16} \|", page)
    assert (out / "some-paper" / "fig01.svg").is_file()
    cost = (out / "artifact.csv").read_text().splitlines()
    assert cost[0] == "paper,runs,found,cpu_seconds,seconds,threads,storage_bytes,memory_bytes"
    assert cost[1].startswith("some-paper,0,0,")


def test_unexpected_verdict_fails(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expect(folder, number="not reproduced")
    assert run(folder, tmp_path / "out", monkeypatch) == 1
    assert "all: 2 of 3 verdicts as expected (not: c-number)" in capsys.readouterr().out
    assert "`c-number`: expected not reproduced, found as stated" in (tmp_path / "out" / "ARTIFACT.md").read_text()


def test_parts_of_an_evaluation_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(folder), "--artifact", "--claim", "c-number", "--world", "linux"]) == 2
    assert "cannot be used with --claim, --world" in capsys.readouterr().err


def test_costs_survive_their_table(tmp_path: Path) -> None:
    folder = some_paper.write(tmp_path / "papers" / "some-paper")
    costs = [Cost("some-paper", 12, 3, 8.5, 4.5, 2, 6_000_000, 7_000_000)]
    (folder.parent / "artifact.csv").write_text(_appendix.table(costs))
    assert _appendix.reference([_paper.load(folder)]) == costs


def test_kept_appendix_is_current() -> None:
    """`make artifact-refresh` regenerates it after a change of claims or verdicts."""
    papers = [_paper.load(folder) for folder in sorted(p.parent for p in PAPERS.glob("*/paper.py"))]
    costs = _appendix.reference(papers)
    assert [c.paper for c in costs] in ([], [p.slug for p in papers])
    assert sum(c.cpu_seconds for c in costs) < 2 * 15 * 60, "15 minutes on two cores"
    page = _appendix.page(papers, _appendix.verdicts(papers), costs)
    kept = PAPERS / "ARTIFACT.md"
    if os.environ.get("UPDATE_DOCS"):
        kept.write_text(page)
    assert kept.read_text() == page, 'run "make artifact-refresh"'
    numbers = [int(n) for n in re.findall(r"^\| C(\d+) \|", page, re.MULTILINE)]
    assert numbers == list(range(1, sum(c.headline for p in papers for c in p.claims.values()) + 1))
