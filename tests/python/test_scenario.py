"""Scenarios: read, changed, explained."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import forebay as fb
from conftest import LINK, ROOT, Cli

FILES = sorted((ROOT / "scenarios").glob("*.toml"))

QUEUES = st.sampled_from(["drop-tail", {"kind": "dctcp-step", "k": "20pkt"}, {"kind": "red", "min": "10pkt", "max": "30pkt"}])
WORKLOADS = st.sampled_from(
    [
        {"kind": "long", "jitter": "1ms"},
        {"kind": "incast", "block": "64KB", "rounds": 2},
        {"kind": "poisson", "sizes": {"cdf": "websearch"}, "load": 0.5, "load-at": "bottleneck"},
        {"kind": "long", "class": 'a "name", µ', "size": "1MB"},
    ]
)


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """Documents that are right."""
    buffer = f"{draw(st.integers(50, 500))}pkt"
    return {
        "name": draw(st.from_regex(r"[a-z][a-z0-9_.-]{0,20}", fullmatch=True)),
        "seed": draw(st.integers(0, 2**63 - 1)),
        "runs": draw(st.integers(1, 10)),
        "duration": f"{draw(st.integers(1, 10**6))}us",
        "topology": {
            "kind": "many-to-one",
            "senders": draw(st.integers(1, 40)),
            "access": LINK,
            "bottleneck": {**LINK, "buffer": buffer, "queue": draw(QUEUES)},
        },
        "transport": {
            "stack": draw(st.sampled_from(["ns2", "linux", "rfc"])),
            "cc": draw(st.lists(st.sampled_from(["newreno", "cubic"]), min_size=1, max_size=2, unique=True)),
        },
        "workload": draw(st.lists(WORKLOADS, min_size=1, max_size=3, unique_by=str)),
    }


@given(scenarios())
@settings(max_examples=50, deadline=None)
def test_a_dict_goes_round(document: dict[str, Any]) -> None:
    s = fb.Scenario.from_dict(document)
    assert s.to_dict() == document
    again = fb.Scenario.from_dict(s.to_dict())
    assert again == s
    assert again.resolved == s.resolved
    assert fb.Scenario.from_toml(s.to_toml()).resolved == s.resolved
    # A resolved scenario is a scenario and resolves to itself.
    for variant, echo in zip(s.variants, s.resolved, strict=True):
        assert fb.Scenario.from_toml(s.to_toml(variant)).resolved == [echo]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_every_example_goes_round(file: Path) -> None:
    s = fb.Scenario.load(file)
    again = fb.Scenario.from_dict(s.to_dict(), base=file.parent)
    assert again.check() == s.check()
    # A sweep is resolved point by point.
    if "sweep" not in s.to_dict():
        assert again.resolved == s.resolved


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "topology.senders": st.integers(1, 64),
    "transport.cc": st.sampled_from(["newreno", "dctcp", ["newreno", "dctcp"], {"kind": "newreno", "rto-min": "10ms"}]),
    "workload.0.block": st.integers(1, 500).map(lambda n: f"{n}KB"),
    "topology.bottleneck.buffer": st.integers(50, 500).map(lambda n: f"{n}pkt"),
    "topology.bottleneck.queue": st.integers(1, 40).map(lambda k: {"kind": "dctcp-step", "k": f"{k}pkt"}),
    "transport.rto-min": st.sampled_from(["1ms", "200ms"]),
    "name": st.sampled_from(["a", "b-2"]),
}


# DCTCP needs a queue that marks.
MARKS = {"topology.bottleneck.queue": {"kind": "dctcp-step", "k": "20pkt"}}


def as_set(value: object) -> str:
    """The value as a person would write it after `--set key=`."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "[" + ", ".join(f"'{v}'" for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f'{k} = "{v}"' for k, v in value.items()) + "}"
    return str(value)


@given(
    st.fixed_dictionaries({}, optional=VALUES).map(lambda changes: {**MARKS, **changes}),
    st.none() | st.integers(0, 2**63 - 1),
    st.none() | st.integers(1, 9),
)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_with_is_set(cli: Cli, changes: dict[str, Any], seed: int | None, runs: int | None) -> None:
    s = fb.Scenario.load("scenarios/incast.toml").with_(changes, seed=seed, runs=runs)
    sets = [f"--set={k}={as_set(v)}" for k, v in changes.items()]
    sets += [f"--set={k}={v}" for k, v in (("seed", seed), ("runs", runs)) if v is not None]
    said = cli("check", "scenarios/incast.toml", "--resolved", *sets)
    assert said.returncode == 0, said.stderr
    assert "\n".join(f"# variant: {v}\n{s.to_toml(v)}" for v in s.variants) == said.stdout


def test_with_leaves_the_old_one(small: dict[str, Any]) -> None:
    s = fb.Scenario.from_dict(small)
    before = s.to_dict()
    t = s.with_({"topology.senders": 9}).with_({"transport.cc": "cubic"}, seed=5, runs=7, duration="1s", name="other")
    assert s.to_dict() == before == small
    assert (t.seed, t.name, t.variants, t.resolved[0]["runs"], t.resolved[0]["duration"]) == (
        5,
        "other",
        ["cubic"],
        7,
        "1s",
    )
    assert t.resolved[0]["topology"]["senders"] == 9
    assert t.changes[0] == "topology.senders=9"
    # The last seed wins, however it is given.
    assert t.with_({"seed": 8}).seed == 8
    assert t.with_({"seed": np.int64(8)}).seed == 8
    assert t.with_({"seed": 8}).with_(seed=9).seed == 9
    with pytest.raises(ValueError, match="seed is -1"):
        s.with_(seed=-1)
    with pytest.raises(fb.ScenarioError, match="not a path"):
        s.with_({"a=b": 1})


def test_check_says_what_the_command_says(cli: Cli) -> None:
    assert (
        fb.Scenario.load("scenarios/quickstart.toml").check() == cli("check", "scenarios/quickstart.toml", "--no-forecast").stdout
    )


def test_gaps_may_be_filled_later(small: dict[str, Any]) -> None:
    del small["topology"]["senders"]
    s = fb.Scenario.from_dict(small)
    with pytest.raises(fb.ScenarioError, match="senders"):
        s.check()
    assert s.with_({"topology.senders": 3}).resolved[0]["topology"]["senders"] == 3


def test_files_are_found_from_the_base(tmp_path: Path, small: dict[str, Any]) -> None:
    (tmp_path / "sizes.cdf").write_text("1000 0\n2000 1\n")
    small["workload"] = [{"kind": "poisson", "sizes": {"cdf": "sizes.cdf"}, "load": 0.1, "load-at": "bottleneck"}]
    small["duration"] = "1ms"
    fb.Scenario.from_dict(small, base=tmp_path).check()
    with pytest.raises(fb.ScenarioError, match=r"sizes\.cdf"):
        fb.Scenario.from_dict(small).check()
    (tmp_path / "s.toml").write_text(fb.Scenario.from_dict(small).to_toml())
    s = fb.Scenario.load(tmp_path / "s.toml")
    assert s.with_(runs=1).notes == fb.Scenario.from_dict(small, base=tmp_path).notes
    assert pickle.loads(pickle.dumps(s)).notes == s.notes


def test_values_compare_hash_and_travel(small: dict[str, Any]) -> None:
    s = fb.Scenario.from_dict(small).with_({"topology.senders": 5}, seed=3)
    t = pickle.loads(pickle.dumps(s))
    assert t == s
    assert len({s, t, fb.Scenario.from_dict(small)}) == 2
    assert t.resolved == s.resolved
    assert s != "something else"
    assert repr(s) == "<Scenario 'scenario', topology.senders=5, seed=3>"


def test_other_types_are_refused(small: dict[str, Any]) -> None:
    wrong: Any = []
    with pytest.raises(TypeError, match="document is a list; legal: a dict"):
        fb.Scenario.from_dict(wrong)
    wrong = [fb.Scenario.from_dict(small), "scenarios/incast.toml"]
    with pytest.raises(TypeError, match="scenario 1 is a str; legal: Scenario"):
        fb.run_many(wrong)


def test_no_variant_of_that_name(small: dict[str, Any]) -> None:
    with pytest.raises(KeyError, match="dctcp"):
        fb.Scenario.from_dict(small).to_toml("bbr")


def test_what_there_is(cli: Cli) -> None:
    kinds = fb.registry()
    for kind in ("congestion controls", "queues", "topologies", "workloads"):
        names = [line.split()[0] for line in cli("list", kind.replace(" ", "-")).stdout.splitlines()]
        assert list(kinds[kind]) == names
    g = kinds["congestion controls"]["dctcp"].parameters["g"]
    assert g.default is not None
    assert float(g.default) == 0.0625
    assert g.doc
    assert g.legal
