"""Errors equal those of the command line."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import forebay as fb
from conftest import SMALL, Cli
from forebay import _toml

GOOD = _toml.document(SMALL)

BAD = {
    "syntax": "name = \n[topology\n",
    "empty": "",
    "key": GOOD.replace("senders", "sendres"),
    "cc": GOOD.replace('"newreno"', '"newrneo"'),
    "range": GOOD.replace("senders = 4", "senders = 0"),
    "unit": GOOD.replace('"64KB"', '"64"'),
    "many": GOOD.replace("64KB", "x").replace("many-to-one", "many-to-two").replace("[transport]", "[trasport]"),
    "type": GOOD.replace("senders = 4", "senders = [1, 2]"),
    "tab": GOOD.replace("runs = 2", "runs\t=\t'µ'"),
    "latin-1": "name = 'x' # \udcff\n",
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text(BAD[kind], errors="surrogateescape")
    said = cli("run", "bad.toml")
    assert said.returncode == 2
    with pytest.raises(fb.ScenarioError) as caught:
        fb.Scenario.load("bad.toml").run()
    assert str(caught.value) + "\n" == said.stderr
    assert isinstance(caught.value, (fb.ForebayError, ValueError))
    assert pickle.loads(pickle.dumps(caught.value)).errors == caught.value.errors
    assert len(caught.value.errors) == said.stderr.count("error: ")
    for mistake in caught.value.errors:
        assert f"error: {mistake.message}\n" in said.stderr
        if mistake.line is not None:
            assert f"{mistake.file}:{mistake.line}:{mistake.column}\n" in said.stderr
        for line in (mistake.help or "").splitlines():
            assert f"= {line}\n" in said.stderr
    assert not any(p.name != "bad.toml" for p in tmp_path.iterdir())


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name in ("nothing.toml", "nothing", "folder"):
        with pytest.raises(fb.ScenarioError) as caught:
            fb.Scenario.load(name)
        assert str(caught.value) + "\n" == cli("check", name).stderr
        assert caught.value.errors[0].file is None


def test_changes(tmp_path: Path, cli: Cli) -> None:
    for key, value, shell in (
        ("topology.sendres", 3, "3"),
        ("topology.senders", -1, "-1"),
        ("topology.senders.x", 1, "1"),
        ("workload.7.block", "1KB", '"1KB"'),
        ("transport.cc", "dtcp", '"dtcp"'),
        ("", 1, "1"),
    ):
        with pytest.raises(fb.ScenarioError) as caught:
            fb.Scenario.load("scenarios/incast.toml").with_({key: value}).check()
        assert str(caught.value) + "\n" == cli("check", "scenarios/incast.toml", "--set", f"{key}={shell}").stderr


def test_dict_error_shows_toml() -> None:
    with pytest.raises(fb.ScenarioError) as caught:
        fb.Scenario.from_dict({**SMALL, "runs": "x"}).check()
    mistake = caught.value.errors[0]
    assert mistake.line is not None
    text = _toml.document({**SMALL, "runs": "x"}).splitlines()[mistake.line - 1]
    assert text == 'runs = "x"'
    assert text in str(caught.value)
    assert mistake.file == "scenario"


def test_what_only_the_engine_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.chdir(tmp_path)
    document = {
        "duration": "1ms",
        "topology": {
            "kind": "custom",
            "hosts": ["a", "b", "c", "d"],
            "links": [
                {"from": "a", "to": "b", **SMALL["topology"]["access"]},
                {"from": "c", "to": "d", **SMALL["topology"]["access"]},
            ],
        },
        "transport": {"cc": "newreno"},
        "workload": [{"kind": "long", "from": "a", "to": "c"}],
    }
    Path("apart.toml").write_text(_toml.document(document))
    said = cli("run", "apart.toml")
    assert said.returncode == 2
    with pytest.raises(fb.ScenarioError) as caught:
        fb.Scenario.load("apart.toml").run()
    assert str(caught.value) + "\n" == said.stderr


def test_run_many_names_invalid_scenario() -> None:
    good = fb.Scenario.from_dict(SMALL)
    calls: list[object] = []
    with pytest.raises(fb.ScenarioError) as caught:
        fb.run_many([good, good, good.with_({"topology.senders": -1})], progress=calls.append)
    assert caught.value.index == 2
    assert not calls, "nothing ran"
