"""The JSON Schema of scenarios: it accepts every scenario, and finds the errors of keys that the program finds."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

import forebay as fb
from conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

#: Errors about keys, by their messages.
KEY_ERROR = re.compile(r"unknown key|needs the key|has no \[topology\]|has no \[\[workload\]\]|there is no distribution")
#: Keys below these are names or paths of the user.
FREE = ("sweep",)


@cache
def validator() -> Any:
    said = subprocess.run([sys.executable, "-m", "forebay", "schema"], capture_output=True, text=True, check=True)
    schema = json.loads(said.stdout)
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def scenarios() -> Iterator[Path]:
    for folder in ("scenarios", "papers"):
        for path in sorted((ROOT / folder).rglob("*.toml")):
            if "topology" in tomllib.loads(path.read_text()):
                yield path


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    """All scenario files, and the complete scenarios in the documentation."""
    for path in scenarios():
        yield str(path.relative_to(ROOT)), tomllib.loads(path.read_text())
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for number, text in enumerate(re.findall(r"^```toml\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)):
            document = tomllib.loads(text)
            if "topology" in document and "workload" in document:
                yield f"{page.relative_to(ROOT)}#{number}", document


def test_every_scenario_is_valid() -> None:
    checked = 0
    for name, document in documents():
        errors = [f"{name}: {'.'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in validator().iter_errors(document)]
        assert not errors, errors
        checked += 1
    assert checked > 40


def keys(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all keys of a document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if (*path, key)[0] not in FREE:
                yield (*path, key)
                yield from keys(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from keys(inner, (*path, index))


def mutated(document: dict[str, Any], path: tuple[Any, ...], *, remove: bool) -> dict[str, Any]:
    """The document without a key, or with two of its letters exchanged."""
    changed = copy.deepcopy(document)
    table: Any = changed
    for part in path[:-1]:
        table = table[part]
    value = table.pop(path[-1])
    if not remove:
        key = str(path[-1])
        middle = len(key) // 2
        table[key[:middle] + "q" + key[middle:]] = value
    return changed


def refused(document: dict[str, Any], base: Path) -> bool:
    """True if the program reports an error of a key."""
    try:
        fb.Scenario.from_dict(document, base=base).check()
    except fb.ScenarioError as e:
        return bool(KEY_ERROR.search(str(e)))
    return False


def test_errors_of_keys_are_found() -> None:
    """Of the key errors that `forebay check` reports for mutated scenarios, the schema finds at least 95 %."""
    known, missed = 0, []
    for place, path in enumerate(scenarios()):
        document = tomllib.loads(path.read_text())
        if "sweep" in document:
            continue
        for number, key in enumerate(keys(document)):
            # A part of the mutations of each file, another part in each.
            if (number + place) % 6:
                continue
            for remove in (False, True):
                wrong = mutated(document, key, remove=remove)
                if refused(wrong, path.parent):
                    known += 1
                    if validator().is_valid(wrong):
                        missed.append((path.name, key, remove))
    assert known > 200
    assert len(missed) <= 0.05 * known, (known, missed)


@pytest.mark.parametrize(
    ("change", "value"),
    [("seed", "one"), ("duration", 5), ("duration", "5"), ("runs", 0), ("world", "moon"), ("transport", {"stack": "bsd"})],
)
def test_errors_of_values_are_found(change: str, value: Any) -> None:
    document = tomllib.loads((ROOT / "scenarios/two-flows.toml").read_text())
    assert validator().is_valid(document)
    assert not validator().is_valid({**document, change: value})


def test_templates_name_the_schema(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "forebay", "new", "web"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    text = (tmp_path / "web.toml").read_text()
    assert text.startswith("#:schema ./forebay.schema.json\n")
    assert "forebay schema > forebay.schema.json" in said.stdout
    assert validator().is_valid(tomllib.loads(text))


def test_check_prints_diagnostics(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text((ROOT / "scenarios/two-flows.toml").read_text().replace("duration", "durattion"))
    command = [sys.executable, "-m", "forebay", "check", "s.toml", "--format", "json"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (said.returncode, said.stderr) == (2, "")
    (error,) = (e for e in json.loads(said.stdout)["errors"] if e["fix"])
    assert (error["file"], error["code"], error["fix"]["text"]) == ("s.toml", "unknown-key", "duration")
    line = (tmp_path / "s.toml").read_text().splitlines()[error["range"]["start"]["line"] - 1]
    assert line[error["range"]["start"]["column"] - 1 : error["range"]["end"]["column"] - 1] == "durattion"
