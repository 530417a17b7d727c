"""Every kind of claim with every tolerance that the claims files use: passing, failing, and what cannot be judged."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.repro import Measured
from forebay.repro._claims import Claim
from forebay.repro._values import UnjudgedError
from forebay.repro._verdict import QUICK, judge


def claim(kind: str, expected: Any, tolerance: Any) -> Claim:
    return Claim("c", "", "", kind, "", "", expected, tolerance, "", True)


def holds(kind: str, expected: Any, tolerance: Any, value: Any, **more: Any) -> bool:
    return judge(claim(kind, expected, tolerance), Measured(value, **more)).holds


ABS = {"type": "abs", "value": 0.1}
REL = {"type": "rel", "value": 0.5}
NONE = {"type": "none"}
AT_LEAST = {"op": ">=", "value": 0.95}


@pytest.mark.parametrize(
    ("expected", "tolerance", "good", "bad"),
    [
        (2.0, ABS, [2.0, 1.9, 2.1], [1.89, 2.11]),
        (2.0, REL, [1.0, 3.0], [0.99, 3.01]),
        (-2.0, REL, [-1.0, -3.0], [-0.9, -3.1]),
        (2, 0, [2], [2.001, 1]),
        (2, NONE, [2], [3]),
        (8, 6, [2, 14], [1, 15]),
        (0.857, {"type": "range", "min": 0.75, "max": 1.0}, [0.75, 1.0], [0.74, 1.01]),
        (100.0, {"type": "range", "factor_low": 0.2, "factor_high": 5.0}, [20, 500], [19, 501]),
        ({"a": 1.0, "b": 2.0}, ABS, [{"a": 1.1, "b": 1.9}, {"a": 1, "b": 2, "more": 9}], [{"a": 1.0, "b": 2.2}]),
        ([1, 2, 3], 0, [[1, 2, 3]], [[1, 2, 4]]),
        ([[78, 1], [39, 1]], 0, [[[78, 1], [39, 1]]], [[[78, 1], [39, 2]]]),
        ({"k4": [13, 9], "k6": [85, 75]}, {"type": "range", "factor_low": 0.5, "factor_high": 2},
         [{"k4": [7, 18], "k6": [85, 75]}], [{"k4": [6, 9], "k6": [85, 75]}]),
        # One number is compared with all that were measured: each block size, each number of senders.
        (0.9, ABS, [{"64KB": 0.85, "256KB": 0.95}, [0.9, 0.8]], [{"64KB": 0.85, "256KB": 0.7}]),
        ([0.75, 0.3], 0.15, [[{"64KB": 0.8}, {"64KB": 0.3}]], [[{"64KB": 0.8}, {"64KB": 0.5}]]),
    ],
)  # fmt: skip
def test_numbers(expected: Any, tolerance: Any, good: list[Any], bad: list[Any]) -> None:
    assert all(holds("numeric", expected, tolerance, v) for v in good)
    assert not any(holds("numeric", expected, tolerance, v) for v in bad)


def test_counts_for_each_connection() -> None:
    expected = {"c1": 0, "c2": 1, "c3": 2, "c4": 2, "c5": 2}
    tolerance = {"type": "range", "per_connection_abs": 1, "total_min": 4, "total_max": 8, "connections_hit_min": 3}
    assert holds("numeric", expected, tolerance, {"c1": 0, "c2": 0, "c3": 1, "c4": 2, "c5": 2})
    assert not holds("numeric", expected, tolerance, {"c1": 0, "c2": 0, "c3": 4, "c4": 2, "c5": 2}), "one is off by two"
    assert not holds("numeric", expected, tolerance, {"c1": 0, "c2": 0, "c3": 1, "c4": 1, "c5": 1}), "the total is too small"
    assert not holds("numeric", expected, {**tolerance, "connections_hit_min": 5}, {"c1": 0, "c2": 0, "c3": 1, "c4": 2, "c5": 2})


@pytest.mark.parametrize(
    ("op", "limit", "tolerance", "good", "bad"),
    [
        (">=", 0.95, NONE, [0.95, 1.0], [0.9499]),
        ("<=", 20, NONE, [20, 3], [20.1]),
        (">", 0, NONE, [1e-9], [0]),
        ("<", 0.6, NONE, [0.59], [0.6]),
        ("==", 0, NONE, [0], [1]),
        ("==", 0, {"type": "abs", "value": 10}, [0, 10], [11]),
        (">=", 0.95, {"type": "abs", "value": 0.03}, [0.92], [0.9199]),
        ("<=", 20, {"type": "abs", "value": 5}, [25], [25.1]),
        (">=", 2.0, {"type": "rel", "value": 0.1}, [1.8], [1.79]),
        (">=", 2048, {"type": "range", "min": 1024, "max": 4096}, [1024, 4096], [512, 8192]),
        (">=", 1.5, {"type": "margin", "value": 0.0}, [1.5], [1.4]),
        (">=", 1.5, {"type": "margin", "value": 0.1}, [1.65], [1.6]),
    ],
)
def test_bounds(op: str, limit: float, tolerance: Any, good: list[float], bad: list[float]) -> None:
    expected = {"op": op, "value": limit}
    assert all(holds("bound", expected, tolerance, v) for v in good)
    assert not any(holds("bound", expected, tolerance, v) for v in bad)


def test_all_named_bounds_must_hold() -> None:
    expected = {"mean": {"op": ">=", "value": 0.99}, "minimum": AT_LEAST}
    assert holds("bound", expected, NONE, {"mean": 1.0, "minimum": 0.95})
    assert not holds("bound", expected, NONE, {"mean": 1.0, "minimum": 0.9})
    with pytest.raises(UnjudgedError, match="minimum"):
        holds("bound", expected, NONE, {"mean": 1.0})


def test_bounds_at_several_points() -> None:
    assert holds("bound", AT_LEAST, NONE, {"n=4": 1.0, "n=8": 0.96})
    assert not holds("bound", AT_LEAST, NONE, {"n=4": 1.0, "n=8": 0.9})
    share = {"type": "margin", "value": 0.0, "share_of_points": 0.75}
    assert holds("bound", AT_LEAST, share, [1.0, 1.0, 1.0, 0.1])
    assert not holds("bound", AT_LEAST, share, [1.0, 1.0, 0.1, 0.1])


def test_bounds_up_to_flow_count() -> None:
    tolerance = {"type": "range", "strict_up_to_flows": 32}
    assert holds("bound", {"op": "==", "value": 0}, tolerance, {"trim 4": 0, "trim 32": 0, "trim 64": 17})
    assert not holds("bound", {"op": "==", "value": 0}, tolerance, {"trim 4": 0, "trim 32": 1, "trim 64": 0})


@pytest.mark.parametrize(("text", "good", "bad"), [(">= 0.93", 0.93, 0.92), ("<= 0.005", 0.005, 0.006), ("< 1", 0.9, 1.0)])
@pytest.mark.parametrize("kind", ["bound", "ordering"])
def test_bounds_in_words(kind: str, text: str, good: float, bad: float) -> None:
    assert holds(kind, text, 0.0, good)
    assert not holds(kind, text, 0.0, bad)
    assert holds(kind, text, 0.05, bad)


GROUPS = {"order": "ascending", "groups": [["trim"], ["dctcp", "l2dct"], ["reno"]]}


def margin(value: float = 0.0, **more: Any) -> dict[str, Any]:
    return {"type": "margin", "value": value, **more}


def test_orders() -> None:
    assert holds("ordering", GROUPS, margin(), {"trim": 1, "dctcp": 3, "l2dct": 2, "reno": 4})
    assert holds("ordering", GROUPS, margin(), [("reno", 4), ("trim", 1), ("dctcp", 3), ("l2dct", 2)])
    assert holds("ordering", GROUPS, margin(), {"trim": 0, "dctcp": 0, "l2dct": 0, "reno": 4}), "ties count as met"
    assert not holds("ordering", GROUPS, margin(), {"trim": 1, "dctcp": 5, "l2dct": 2, "reno": 4}), (
        "one of the group is above the next"
    )
    assert not holds("ordering", GROUPS, margin(), {"trim": 2.5, "dctcp": 3, "l2dct": 2, "reno": 4})


def test_order_needs_a_difference() -> None:
    verdict = judge(claim("ordering", GROUPS, margin()), Measured({"trim": 0, "dctcp": 0, "l2dct": 0, "reno": 0}))
    assert not verdict.holds
    assert "no difference" in verdict.why


def test_order_margin_relative_to_larger() -> None:
    two = {"order": "ascending", "groups": [["a"], ["b"]]}
    assert holds("ordering", two, margin(0.5), {"a": 1.0, "b": 2.0})
    assert not holds("ordering", two, margin(0.5), {"a": 1.01, "b": 2.0})
    assert holds("ordering", two, margin(0.5), {"a": -2.0, "b": -1.0})
    assert not holds("ordering", two, margin(0.5), {"a": -1.1, "b": -1.0})


def test_orders_at_several_points() -> None:
    two = {"order": "ascending", "groups": [["a"], ["b"]]}
    points = {"a": [1, 1, 1, 3], "b": [2, 2, 2, 2]}
    assert holds("ordering", two, margin(share_of_points=0.75), points)
    assert not holds("ordering", two, margin(share_of_points=0.8), points)
    assert not holds("ordering", two, margin(), points), "without a share all points count"
    named = {f"n={i}": {"a": a, "b": b} for i, (a, b) in enumerate(zip(points["a"], points["b"], strict=True))}
    assert holds("ordering", two, margin(share_of_points=0.75), named)
    verdict = judge(claim("ordering", two, margin()), Measured(named))
    assert "3 of 4 points" in verdict.why
    assert "n=3: a 3 is not below b 2" in verdict.why


def test_members_of_a_group_are_alike() -> None:
    tolerance = margin(within_group_rel=1.0)
    assert holds("ordering", GROUPS, tolerance, {"trim": 1, "dctcp": 10, "l2dct": 5, "reno": 11}), "a factor of two"
    assert not holds("ordering", GROUPS, tolerance, {"trim": 1, "dctcp": 10, "l2dct": 4.9, "reno": 11})
    assert not holds("ordering", GROUPS, tolerance, {"trim": 0, "dctcp": 9, "l2dct": 0, "reno": 11})
    counts = margin(within_group_rel=1.0, within_group_abs=10)
    assert holds("ordering", GROUPS, counts, {"trim": 0, "dctcp": 10, "l2dct": 0, "reno": 11}), "or ten where counts are small"
    assert not holds("ordering", GROUPS, counts, {"trim": 0, "dctcp": 10.1, "l2dct": 0, "reno": 11})
    assert holds("ordering", GROUPS, counts, {"trim": 0, "dctcp": 500, "l2dct": 260, "reno": 600})


def test_ties_agree_with_any_order() -> None:
    tied = margin(ties_abs=0.1)
    order = {"order": "ascending", "groups": [["a"], ["b"]]}
    assert holds("ordering", order, tied, {"a": 21.74, "b": 21.70})
    assert not holds("ordering", order, tied, {"a": 21.85, "b": 21.70})
    assert not holds("ordering", order, margin(), {"a": 21.74, "b": 21.70})


def test_an_order_of_counts_needs_counts() -> None:
    """A comparison says something only where the peer has any; each pair of a point counts for itself."""
    fewest = {"order": "ascending", "groups": [["us"], ["a", "b"]]}
    tolerance = margin(share_of_points=0.75, min_count_in_peers=1)

    def verdict(**points: dict[str, float]) -> Any:
        return judge(claim("ordering", fewest, tolerance), Measured(points))

    some: dict[str, float] = {"us": 0, "a": 5, "b": 0}
    assert verdict(p=some).holds, "b has none: the pair does not count"
    assert verdict(p=some).why.startswith("1 of 1 comparisons")
    worse = verdict(p=some, q={"us": 2, "a": 1, "b": 9})
    assert not worse.holds
    assert "2 of 3 comparisons" in worse.why
    assert "q: us 2 is not below a 1" in worse.why
    none = verdict(p={"us": 0, "a": 0, "b": 0}, q={"us": 3, "a": 0, "b": 0})
    assert not none.holds
    assert not none.decided
    assert "no peer has 1 or more" in none.why


def test_a_bound_for_each_table() -> None:
    expected = {"web": {"op": ">=", "value": 1.5}, "mining": {"op": ">=", "value": 1.1}}
    tolerance = margin(share_of_points=0.75)
    good: dict[str, dict[str, float]] = {
        "web": {"a": 1.6, "b": 1.6, "c": 1.6, "d": 1.2},
        "mining": {"a": 1.2, "b": 1.2, "c": 1.2, "d": 1.2},
    }
    assert holds("bound", expected, tolerance, good)
    assert not holds("bound", expected, tolerance, {**good, "mining": {"a": 1.0, "b": 1.0, "c": 1.2, "d": 1.2}})


def test_the_ends_of_an_order() -> None:
    expected = {"order": "ascending", "groups": [["K=20"], ["K=65"], ["K=150"]]}
    tolerance = margin(end_to_end_factor_min=1.5, end_to_end_factor_max=2.6)
    assert holds("ordering", expected, tolerance, {"K=20": 6, "K=65": 8, "K=150": 12})
    assert not holds("ordering", expected, tolerance, {"K=20": 6, "K=65": 8, "K=150": 8.9})
    assert not holds("ordering", expected, tolerance, {"K=20": 6, "K=65": 8, "K=150": 16})


def test_groups_that_compare_by_their_best() -> None:
    expected = {"order": "ascending", "groups": [["l2dct", "pfabric"], ["dctcp"], ["red_ecn"]]}
    tolerance = margin(dctcp_over_best_max=1.5)
    assert holds("ordering", expected, tolerance, {"l2dct": 1, "pfabric": 7, "dctcp": 1.5, "red_ecn": 3})
    assert not holds("ordering", expected, tolerance, {"l2dct": 1, "pfabric": 7, "dctcp": 1.6, "red_ecn": 3})
    assert not holds("ordering", expected, tolerance, {"l2dct": 2, "pfabric": 7, "dctcp": 1.5, "red_ecn": 3})


def test_sentences() -> None:
    assert holds("qualitative", "identical", 0, True)
    assert not holds("qualitative", "identical", NONE, False)
    assert holds("ordering", "model increasing; simulation higher", 0.0, {"gain": 2.0}, checks={"model increasing": True})
    verdict = judge(claim("ordering", "both", 0.0), Measured(1.0, checks={"model increasing": True, "simulation higher": False}))
    assert not verdict.holds
    assert verdict.why == "does not hold: simulation higher"
    # Lists of bounds do not say which way they point; tolerances may be sentences too.
    assert holds("bound", [6, 3], 0, [6, 3.0], checks={"at most 6 and 3": True})
    assert holds("ordering", "holds", "violations at no more than 15 %", 0.1, checks={"at most 15 %": True})


def test_sentences_with_a_range() -> None:
    tolerance = {"type": "range", "min": 0.6, "max": 1.0}
    assert holds("qualitative", "positive correlation", tolerance, {"trim": 0.9, "reno": 0.6})
    assert not holds("qualitative", "positive correlation", tolerance, {"trim": 0.9, "reno": 0.5})


def test_a_number_expected_of_a_quality() -> None:
    assert holds("qualitative", 0, 0, 0)
    assert not holds("qualitative", 0, 0, 1)


def test_checks_count_beside_values() -> None:
    assert holds("numeric", 2.0, ABS, 2.0, checks={"the ratio falls": True})
    assert not holds("numeric", 2.0, ABS, 2.0, checks={"the ratio falls": False})


@pytest.mark.parametrize(
    ("kind", "expected", "tolerance", "value", "says"),
    [
        ("numeric", 2.0, ABS, float("nan"), "nothing was measured"),
        ("numeric", 2.0, ABS, None, "not a number"),
        ("numeric", {"a": 1.0}, ABS, {"b": 1.0}, "needs a"),
        ("numeric", [1, 2], 0, [1], "list of 2"),
        ("numeric", 2.0, ABS, True, "True or False"),
        ("numeric", 2.0, {"type": "odd"}, 2.0, "no rule"),
        ("bound", AT_LEAST, NONE, {}, "nothing was measured"),
        ("bound", AT_LEAST, NONE, float("nan"), "nothing was measured"),
        ("ordering", GROUPS, NONE, {"trim": 1, "reno": 2}, "needs dctcp"),
        ("ordering", GROUPS, NONE, 3.0, "an order is"),
        ("ordering", GROUPS, NONE, {"trim": [1], "dctcp": [1], "l2dct": [1], "reno": [1, 2]}, "one length"),
        ("ordering", GROUPS, NONE, {"trim": 1, "dctcp": 2, "l2dct": float("nan"), "reno": 3}, "l2dct"),
        ("ordering", "falls", 0.0, {"a": 1.0}, "in words"),
    ],
)
def test_what_cannot_be_judged_says_why(kind: str, expected: Any, tolerance: Any, value: Any, says: str) -> None:
    with pytest.raises(UnjudgedError, match=says):
        holds(kind, expected, tolerance, value)


@pytest.mark.parametrize(
    ("kind", "expected", "tolerance", "near", "far"),
    [
        ("numeric", 2.0, ABS, 2.14, 2.16),
        ("numeric", 2.0, REL, 3.4, 3.6),
        ("numeric", 0.8, {"type": "range", "min": 0.6, "max": 1.0}, 0.57, 0.55),
        ("bound", AT_LEAST, NONE, 0.9, 0.85),
        ("bound", {"op": "<=", "value": 20}, {"type": "abs", "value": 5}, 27, 28),
        ("ordering", {"order": "ascending", "groups": [["a"], ["b"]]}, margin(), {"a": 1.05, "b": 1.0}, {"a": 1.2, "b": 1.0}),
        ("ordering", {"order": "ascending", "groups": [["a"], ["b"]]}, margin(share_of_points=0.75),
         {"a": [1, 1, 1, 3, 3], "b": [2] * 5}, {"a": [1, 1, 3, 3, 3], "b": [2] * 5}),
    ],
)  # fmt: skip
def test_quick_bands_widen_samples_only(kind: str, expected: Any, tolerance: Any, near: Any, far: Any) -> None:
    c = claim(kind, expected, tolerance)
    assert judge(c, Measured(near, n=3), QUICK).holds
    assert not judge(c, Measured(far, n=3), QUICK).holds
    assert not judge(c, Measured(near, n=3)).holds
    assert not judge(c, Measured(near), QUICK).holds, "what is no sample is judged as ever"
