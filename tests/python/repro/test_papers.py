"""The papers of this repository are complete: every claim has a function, every scenario file is right."""

from __future__ import annotations

import csv
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

import forebay as fb
from forebay.repro import _column, _decides, _paper
from forebay.repro._session import BROKEN, STATUSES, Session
from forebay.repro._simulate import Package

PAPERS = sorted(p.parent for p in Path(__file__).resolve().parents[3].glob("papers/*/paper.py"))


@pytest.mark.parametrize("folder", PAPERS, ids=lambda p: p.name)
def test_every_claim_is_measured(folder: Path) -> None:
    paper = _paper.load(folder)
    assert set(paper.judges) == set(paper.claims)
    used = {u for j in paper.judges.values() for u in j.uses} | {u for f in paper.figures.values() for u in f.uses}
    assert used == set(paper.experiments), "an experiment that nothing uses never runs"
    assert (folder / "README.md").is_file()


@pytest.mark.parametrize("file", sorted(f for p in PAPERS for f in p.glob("*.toml")), ids=lambda f: f"{f.parent.name}/{f.name}")
def test_scenario_files(file: Path) -> None:
    if file.name not in ("claims.toml", "expected.toml", "in-linux.toml", "opinions.toml"):
        fb.Scenario.load(file).check()


def test_the_scorecard_is_of_these_claims() -> None:
    """`make repro-full` and `make repro-refresh` renew the two files."""
    papers = [_paper.load(folder) for folder in PAPERS]
    claims = [(p.slug, c) for p in papers for c in p.claims]
    card = (PAPERS[0].parent / "SCORECARD.md").read_text()
    verdicts = "yes|named|NO|NO, afterwards|not decided|BROKEN"
    own, wrong = _column.strip(card, "linux"), "(?:, (?:ours|document|open))?"
    rows = re.findall(rf"^\| (?:\*\*)?([a-z0-9-]+)(?:\*\*)? \| .* \| ({verdicts}){wrong} \|$", own, re.MULTILINE)
    assert [name for name, _ in rows] == [name for _, name in claims]
    assert "BROKEN" not in {verdict for _, verdict in rows}
    assert "Unexplained" not in card
    readme = (PAPERS[0].parent.parent / "README.md").read_text()
    told = re.search(r"\d+ of \d+ headline claims", readme)
    total = re.search(r"headline (\d+) of (\d+)", card)
    assert told
    assert total
    assert told[0] == f"{total[1]} of {total[2]} headline claims"
    with (PAPERS[0].parent / "quick.csv").open() as file:
        quick = list(csv.DictReader(file))
    assert [(row["paper"], row["claim"]) for row in quick] == claims
    assert {row["verdict"] for row in quick} <= set(STATUSES) - {BROKEN}


def test_linux_column_matches_runs() -> None:
    """`make repro-linux` renews what is kept beside the papers, and the column."""
    papers = [_paper.load(folder) for folder in PAPERS]
    card = (PAPERS[0].parent / "SCORECARD.md").read_text()
    assert _column.lay(card, papers, "linux") == card
    for paper in papers:
        kept = _column.read(paper.folder, "linux")
        assert kept, "every paper has figures that a kernel ran"
        assert set(kept) <= {name for name, judge in paper.judges.items() if judge.uses}
        assert {r.verdict for r in kept.values()} | {r.simulator for r in kept.values()} <= set(STATUSES) - {BROKEN}
        page = (paper.folder / "in-linux.md").read_text()
        differ = [r.claim for r in kept.values() if r.differs]
        assert re.findall(r"^## (\S+)$", page, re.MULTILINE) == differ
        causes = _decides.causes(paper, "linux")
        assert list(causes) == [name for name in differ if name in causes], (
            "a cause of a claim on which both backends agree, or out of order"
        )
        assert all(f"Cause: {cause}" in page for cause in causes.values()), "in-linux.toml is newer than the page"
        classes = _column.not_run(paper, "linux")
        assert not set(kept) & {name for c in classes for name in c.claims}, "a claim that a kernel ran"
        assert all(f"* {c.reason} (" in page for c in classes), "in-linux.toml is newer than the page"


def test_every_claim_of_trim_has_a_verdict_of_linux_or_a_reason() -> None:
    """TRIM is built into the kernel, so nothing of its document is left out without a reason."""
    paper = _paper.load(PAPERS[0].parent / "trim")
    named = {name for c in _column.not_run(paper, "linux") for name in c.claims}
    assert set(_column.read(paper.folder, "linux")) | named == {name for name, judge in paper.judges.items() if judge.uses}


@pytest.mark.skipif((platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="no kernel can be built here")
def test_kernel_confirms_cached_column(tmp_path: Path) -> None:
    """The cheapest of what `make repro-linux` runs; it takes the kernel that the other tests have, or builds it."""
    subprocess.run([sys.executable, "-m", "forebay", "kernel", "build"], check=True)
    (folder,) = (p for p in PAPERS if p.name == "coexistence")
    paper = _paper.load(folder)
    package = Package(tmp_path / "units", 2, "linux")
    try:
        outcome, _ = Session(package, scale="quick").evaluate(paper, ["coex-droptail-equal"], [])
    finally:
        package.close()
    kept = _column.read(folder, "linux")["coex-droptail-equal"]
    (verdict,) = outcome.verdicts
    assert verdict.status == kept.verdict, verdict.error


def test_the_claims_are_the_corrected_ones() -> None:
    """papers/CHANGES.md says how many there are."""
    claims = [c for folder in PAPERS for c in _paper.load(folder).claims.values()]
    told = re.search(r"(\d+) claims, (\d+) of them headline", (PAPERS[0].parent / "CHANGES.md").read_text())
    assert told
    assert (str(len(claims)), str(sum(c.headline for c in claims))) == told.groups()
