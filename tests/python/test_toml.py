"""Python values as TOML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import forebay as fb
from forebay import _toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda v: st.lists(v) | st.dictionaries(TEXTS, v), max_leaves=20)


def same(a: object, b: object) -> bool:
    """Equality that tells 1 from 1.0 and from true."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


@given(st.dictionaries(TEXTS, VALUES))
def test_document_roundtrip(document: dict[str, Any]) -> None:
    back = tomllib.loads(_toml.document(document))
    # Sections come after plain keys, so the order of the top level may change.
    assert same({k: back[k] for k in document if k in back}, document)
    assert len(back) == len(document)


@given(VALUES)
def test_value_roundtrip_on_one_line(value: object) -> None:
    text = _toml.value(value, "key")
    assert "\n" not in text
    assert same(tomllib.loads(f"x = {text}")["x"], value)


def test_numpy_paths_and_tuples() -> None:
    given = {
        "a": np.int64(3),
        "b": np.float32(0.5),
        "c": np.arange(3),
        "d": Path("x/y"),
        "e": (1, "2"),
        "f": np.bool_(True),
    }
    assert tomllib.loads(_toml.document(given)) == {
        "a": 3,
        "b": 0.5,
        "c": [0, 1, 2],
        "d": "x/y",
        "e": [1, "2"],
        "f": True,
    }


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "`transport.cc` is None"),
        (float("nan"), "`transport.cc` is nan"),
        (float("inf"), "`transport.cc` is inf"),
        (object(), "`transport.cc` is a object"),
        (1j, "`transport.cc` is a complex"),
        ("\ud800", "UTF-8"),
        (["newreno", None], "`transport.cc.1` is None"),
        ({"kind": {"x": None}}, "`transport.cc.kind.x` is None"),
        ({1: "x"}, "has the key 1"),
    ],
)
def test_invalid_values_refused_by_key(value: object, says: str) -> None:
    with pytest.raises(fb.ScenarioError, match=says) as direct:
        fb.Scenario.from_dict({"transport": {"cc": value}})
    assert direct.value.errors[0].message in str(direct.value)
    with pytest.raises(fb.ScenarioError, match=says):
        fb.Scenario.from_toml("").with_({"transport.cc": value})
