"""Sentences about results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import forebay as fb
from conftest import ROOT, Cli

ANSWERS = ROOT / "crates/forebay/tests/answers"


def test_first_sentence_equals_command(tmp_path: Path, cli: Cli) -> None:
    r = fb.Scenario.load(ANSWERS / "starved.toml").run()
    assert r.verdict.first.startswith("dctcp: storage finished 0 of 1 queries; starved by other traffic at bottleneck (")
    said = cli("run", ANSWERS / "starved.toml", "--out", tmp_path / "out", "--no-report")
    assert said.stdout.splitlines()[: len(r.verdict.sentences)] == r.verdict.sentences
    assert fb.open(tmp_path / "out").verdict == r.verdict
    assert str(r.verdict).splitlines() == r.verdict.sentences
    assert "**" not in str(r.verdict)


def test_each_workload_has_its_share() -> None:
    rows = {w["workload"]: w for w in fb.Scenario.load(ANSWERS / "starved.toml").run().verdict.workloads}
    storage, tenants = rows["storage"], rows["tenants"]
    assert (storage["transport"], storage["done"], tenants["done"]) == ("dctcp", 0.0, None)
    shares = [w["share of port"] for w in (storage, tenants)]
    assert isinstance(shares[0], float)
    assert isinstance(shares[1], float)
    assert 0 < shares[0] < 0.1 < 0.8 < shares[1] < 1 >= sum(shares)  # type: ignore[arg-type]


def test_a_comparison(small: dict[str, Any], result: fb.Result) -> None:
    other = fb.Scenario.from_dict({**small, "seed": 9}).run()
    both = fb.verdict([result, other])
    assert both.sentences
    assert both != result.verdict


def test_a_message_is_explained(result: fb.Result) -> None:
    told = result.explain(flow=3, variant="dctcp", run=1)
    assert told.startswith("variant dctcp, seed ")
    assert "flow 3: " in told
    assert "flow " in result.explain(query=0)
    with pytest.raises(ValueError, match="no flow 99999"):
        result.explain(flow=99999)
    with pytest.raises(ValueError, match=r"flow is -1; legal: 0 to 2\^64 - 1"):
        result.explain(flow=-1)
    with pytest.raises(ValueError, match="flow is 0 and query is 12345; legal: one of them"):
        result.explain(flow=0, query=12345)
    with pytest.raises(ValueError, match=r"run is -1; legal: 0 to 2\^32 - 1"):
        result.explain(run=-1)
