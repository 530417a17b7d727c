"""The papers of this repository are complete: every claim has a function, every scenario file is right."""

from __future__ import annotations

import csv
import importlib.util
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

import forebay as fb
from forebay.repro import _column, _decides, _paper, _scorecard
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
    if file.name not in ("claims.toml", "expected.toml", "figures.toml", "in-linux.toml", "opinions.toml"):
        fb.Scenario.load(file).check()


def test_the_scorecard_is_of_these_claims() -> None:
    """`make repro-full` and `make repro-refresh` regenerate the two files."""
    papers = [_paper.load(folder) for folder in PAPERS]
    claims = [(p.slug, c) for p in papers for c in p.claims]
    card = (PAPERS[0].parent / "SCORECARD.md").read_text()
    verdicts = "yes|named|NO|NO, afterwards|not decided|BROKEN"
    own, wrong = _column.strip(card, "linux"), "(?:, (?:ours|document|open))?"
    rows = re.findall(rf"^\| (?:\*\*)?([a-z0-9-]+)(?:\*\*)? \| .* \| ({verdicts}){wrong} \|$", own, re.MULTILINE)
    assert [name for name, _ in rows] == [name for _, name in claims]
    assert "BROKEN" not in {verdict for _, verdict in rows}
    assert "Unexplained" not in card
    with (PAPERS[0].parent / "quick.csv").open() as file:
        quick = list(csv.DictReader(file))
    assert [(row["paper"], row["claim"]) for row in quick] == claims
    assert {row["verdict"] for row in quick} <= set(STATUSES) - {BROKEN}


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "docs/concepts/accuracy.md", "papers/README.md"])
def test_headline_counts_are_those_of_the_scorecard(page: str) -> None:
    """With the corrections of set-ups that were found after a failure, and without them."""
    root = PAPERS[0].parent.parent
    card, text = (root / "papers" / "SCORECARD.md").read_text(), (root / page).read_text()
    counts = re.findall(r"headline (\d+) of (\d+)", card)[:2]
    assert len(counts) == 2
    (held, of), (without, _) = counts
    assert re.findall(r"\b(\d+) of (\d+) (?:headline claims|on the present scorecard)", text) == [(held, of)]
    assert re.search(rf"\b{without} without the corrections", " ".join(text.split()))


def test_figures_have_claims_with_verdicts_and_judges() -> None:
    """`python papers/figures.py` regenerates the page; it refuses a figure with neither claims nor the reason for none."""
    papers = PAPERS[0].parent
    spec = importlib.util.spec_from_file_location("figures", papers / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    assert (papers / "FIGURES.md").read_text() == figures.page((papers / "SCORECARD.md").read_text())
    assert figures.named("Figs. 10-12; Fig. 13(c)-(e) and 13(g); Table II; 2 of 3") == {"10", "11", "12", "13", "table-2"}


def test_verdicts_on_few_events_say_so() -> None:
    """Of a claim on timeouts or losses, the scorecard has a remark if its runs have one to four of them."""
    card = _column.strip((PAPERS[0].parent / "SCORECARD.md").read_text(), "linux")
    for folder in PAPERS:
        for name, claim in _paper.load(folder).claims.items():
            row = re.search(rf"^\| (?:\*\*)?{name}(?:\*\*)? \| .*$", card, re.MULTILINE)
            assert row, name
            for unit, of_claim in (("timeout", claim.on_timeouts), ("lost packet", claim.on_losses)):
                count = re.search(rf"; (\d+) {unit}s?\b", row[0])
                if of_claim and count and 0 < int(count[1]) < _scorecard.FEW:
                    assert re.search(rf"^\* `{name}`: .*\b{count[1]} {unit}", card, re.MULTILINE), name


def test_linux_column_matches_runs() -> None:
    """`make repro-linux` regenerates what is kept beside the papers, and the column."""
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


@pytest.mark.parametrize("folder", PAPERS, ids=lambda p: p.name)
def test_every_claim_has_a_verdict_of_linux_or_a_reason(folder: Path) -> None:
    paper = _paper.load(folder)
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
