"""Tables in memory, and the examples of the modules."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import forebay.repro
from forebay.repro import Table
from forebay.repro._stats import half, interval


@pytest.mark.parametrize("module", sorted(m.name for m in pkgutil.iter_modules(forebay.repro.__path__) if m.name != "__main__"))
def test_examples(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"forebay.repro.{module}")).failed == 0


def test_rows_are_chosen_by_value() -> None:
    t = Table({"transport": np.array(["a", "b", "a"], object), "n": np.array([1, 2, 3])})
    assert t.where(transport="a")["n"].tolist() == [1, 3]
    assert t.where(transport=["a", "b"], n=2)["transport"].tolist() == ["b"]
    assert [(k, len(v)) for k, v in t.by("transport")] == [("a", 2), ("b", 1)]
    assert "n" in t
    with pytest.raises(KeyError, match="there are transport, n"):
        t["m"]


def test_intervals_end_at_what_is_possible() -> None:
    """Of two times that differ by a factor a t interval would begin below 0; that of a difference, or of a gain, does."""
    wide = half([0.01, 0.2])
    mean, low, high = interval([0.01, 0.2], least=0.0, most=1.0)
    assert (low, high) == (0.0, 1.0)
    assert interval([0.01, 0.2])[1:] == pytest.approx((mean - wide, mean + wide))
    gains = [-231.0, -139.0, 91.0]
    assert interval(gains)[1:] == pytest.approx((np.mean(gains) - half(gains), np.mean(gains) + half(gains)))
    assert half([0.01, 0.2]) == pytest.approx(12.706 * 0.095, rel=1e-3)
    assert interval([3.0]) == (3.0, None, None)
