"""The papers of this repository are complete: every claim has a function, every scenario file is right."""

from __future__ import annotations

from pathlib import Path

import pytest

import forebay as fb
from forebay.repro import _paper

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
    if file.name not in ("claims.toml", "expected.toml"):
        fb.Scenario.load(file).check()
