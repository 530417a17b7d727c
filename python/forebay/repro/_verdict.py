"""Judgment of measurements against claims: pure functions, one for each kind of claim.

A measurement counts by its value; its interval is shown beside it. Meaning of tolerances:

=============== =======================================================================================================
`abs`, a number off by at most that; a bound may be missed by that
`rel`           the same, relative to the expected value
`range`         between `min` and `max`; or `factor_low` to `factor_high` times the expected value
`margin`        of an order: each group is below the next by this share of the larger of the two values; of a bound: it
                holds with this share of its value to spare. `share_of_points`: at this share of the points
                `ties_abs`: values that differ by at most that agree with any order;
                `within_group_rel`: members of a group differ by at most this share of the smaller (1: a factor of two),
                or by `within_group_abs` where that is more
                `min_count_in_peers`: every pair is a point of its own, and counts only where the larger has that many
                `end_to_end_factor_min`, `_max`: last over first
                `NAME_over_best_max`: NAME over the best of the first group; groups then compare by their best
`none`          exact; a bound as it stands
=============== =======================================================================================================

A quick reproduction judges measurements that are samples (`Measured.n`) in wider bands: :data:`QUICK`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from . import _values
from ._values import UnjudgedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._claims import Claim
    from ._measured import Measured


@dataclass(frozen=True)
class Bands:
    """Widening of the bands of the claims file."""

    #: Factor on `abs` and `rel`.
    factor: float = 1.0
    #: Fraction of its width by which a `range` grows at either end; fraction of a bound's value by which it may be missed.
    widen: float = 0.0
    #: Subtracted from `margin`: an order may be reversed by this share of the larger value.
    margin: float = 0.0
    #: Subtracted from `share_of_points`, or from 1 where there is none and there are several points.
    share: float = 0.0


EXACT = Bands()
#: Few seeds and short runs.
QUICK = Bands(factor=1.5, widen=0.1, margin=0.1, share=0.15)


@dataclass(frozen=True)
class Judgement:
    """Verdict and its reason."""

    holds: bool
    #: One line for readers.
    why: str = ""
    #: False: there were no data to decide by, so that neither holds.
    decided: bool = True


def judge(claim: Claim, measured: Measured, bands: Bands = EXACT) -> Judgement:
    """Compare one measurement with the claim.

    Raises
    ------
    UnjudgedError
        Names or shapes do not fit, or a value is missing.
    """
    if measured.n is None:
        bands = EXACT
    failed = [text for text, holds in measured.checks.items() if not holds]
    if failed:
        return Judgement(False, "does not hold: " + "; ".join(failed))
    if isinstance(measured.value, bool):
        if _in_words(claim):
            return Judgement(measured.value)
        raise UnjudgedError("a measurement of True or False where the claims file gives values")
    if _in_words(claim):
        if isinstance(claim.tolerance, dict) and claim.tolerance.get("type") == "range":
            return _numeric(claim.expected, claim.tolerance, measured.value, bands)
        if not measured.checks:
            raise UnjudgedError("the claims file states this in words: return True or False, or checks")
        _values.finite(measured.value)
        return Judgement(True)
    if claim.kind == "ordering":
        bound = _op(claim.expected)
        return _bound(bound, claim.tolerance, measured.value, bands) if bound else _order(claim, measured.value, bands)
    if claim.kind == "bound":
        return _bound(_op(claim.expected) or claim.expected, claim.tolerance, measured.value, bands)
    return _numeric(claim.expected, claim.tolerance, measured.value, bands)


def _in_words(claim: Claim) -> bool:
    """Return true if the expectation or the tolerance is a sentence, or if bounds have no directions."""
    expected = claim.expected
    if isinstance(expected, str):
        return _op(expected) is None
    if claim.kind == "bound" and isinstance(expected, list):
        return True
    return isinstance(claim.tolerance, str) and claim.tolerance != "none"


def _op(expected: Any) -> dict[str, Any] | None:
    if isinstance(expected, str):
        match = re.fullmatch(r"(<=|>=|==|<|>)\s*(-?[0-9.]+)", expected.strip())
        if match:
            return {"op": match[1], "value": float(match[2])}
    return None


# ------------------------------------------------------------------------------------------------------------- numbers


def _numeric(expected: Any, tolerance: Any, value: Any, bands: Bands) -> Judgement:
    tol = _table(tolerance)
    if tol["type"] == "range" and "per_connection_abs" in tol:
        return _counts(expected, tol, value)
    low, high = _band(tol, bands)
    off = []
    for name, e, v in _pairs(expected, value):
        a, b = low(e), high(e)
        # Rounding errors are not misses.
        slack = 1e-12 * max(1.0, abs(a), abs(b)) if math.isfinite(a) and math.isfinite(b) else 0.0
        if not a - slack <= v <= b + slack:
            off.append(f"{name + ' ' if name else ''}{_g(v)} is outside {_g(a)} to {_g(b)}")
    return Judgement(not off, "; ".join(off))


def _band(tol: dict[str, Any], bands: Bands) -> tuple[Any, Any]:
    """Return the lowest and the highest value that passes, as functions of the expected one."""
    kind = tol["type"]
    if kind == "none":
        return (lambda e: e), (lambda e: e)
    if kind == "abs":
        d = tol["value"] * bands.factor
        return (lambda e: e - d), (lambda e: e + d)
    if kind == "rel":
        r = tol["value"] * bands.factor
        return (lambda e: e - r * abs(e)), (lambda e: e + r * abs(e))
    if kind == "range" and "factor_low" in tol:
        f, g = tol["factor_low"] / (1 + bands.widen), tol["factor_high"] * (1 + bands.widen)
        return (lambda e: f * e), (lambda e: g * e)
    if kind == "range" and "min" in tol:
        d = (tol["max"] - tol["min"]) * bands.widen
        return (lambda e: tol["min"] - d), (lambda e: tol["max"] + d)
    raise UnjudgedError(f"no rule for the tolerance {tol} of numbers")


def _counts(expected: dict[str, float], tol: dict[str, Any], value: Any) -> Judgement:
    pairs = list(_pairs(expected, value))
    total, hit = sum(v for _, _, v in pairs), sum(v > 0 for _, _, v in pairs)
    off = [
        f"{n} {_g(v)} is not within {tol['per_connection_abs']} of {_g(e)}"
        for n, e, v in pairs
        if abs(v - e) > tol["per_connection_abs"]
    ]
    if not tol["total_min"] <= total <= tol["total_max"]:
        off.append(f"the total {_g(total)} is outside {tol['total_min']} to {tol['total_max']}")
    if hit < tol["connections_hit_min"]:
        off.append(f"{hit} are hit, fewer than {tol['connections_hit_min']}")
    return Judgement(not off, "; ".join(off))


def _pairs(expected: Any, value: Any, name: str = "") -> Iterator[tuple[str, float, float]]:
    """Names, expected and measured numbers. A sentence or a single number is compared with every number measured."""
    if isinstance(expected, dict):
        _values.same(set(expected), value)
        for key, e in expected.items():
            yield from _pairs(e, value[key], f"{name}.{key}" if name else str(key))
    elif isinstance(expected, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(value) != len(expected):
            raise UnjudgedError(f"{name or 'the value'} should be a list of {len(expected)}, is {value!r}")
        for i, (e, v) in enumerate(zip(expected, value, strict=True)):
            yield from _pairs(e, v, f"{name}[{i}]")
    else:
        e = math.nan if isinstance(expected, str) else float(expected)
        for where, v in _values.points(value):
            yield (f"{name}.{where}" if name and where else name or where), e, v


# -------------------------------------------------------------------------------------------------------------- bounds

_HOLDS = {
    "<=": lambda v, b: v <= b,
    "<": lambda v, b: v < b,
    ">=": lambda v, b: v >= b,
    ">": lambda v, b: v > b,
    "==": lambda v, b: v == b,
}


def _bound(expected: Any, tolerance: Any, value: Any, bands: Bands) -> Judgement:
    tol = _table(tolerance)
    if "op" not in expected:
        _values.same(set(expected), value)
        parts = [(name, _bound(bound, tolerance, value[name], bands)) for name, bound in expected.items()]
        return Judgement(all(j.holds for _, j in parts), "; ".join(f"{n}: {j.why}" for n, j in parts if j.why))
    points = list(_values.points(value))
    if "strict_up_to_flows" in tol:
        points = [(where, v) for where, v in points if _trailing(where) <= tol["strict_up_to_flows"]]
    if not points:
        raise UnjudgedError("nothing was measured")
    op, limit = expected["op"], float(expected["value"])
    off = [f"{where + ' ' if where else ''}{_g(v)}" for where, v in points if not _meets(op, limit, v, tol, bands)]
    share = tol.get("share_of_points", 1.0)
    needed = max(0.0, share - bands.share) if len(points) > 1 else share
    met = len(points) - len(off)
    if len(points) > 1 and off:
        missing = f"{met} of {len(points)} points hold, {needed:.0%} needed; not: " + ", ".join(off)
        return Judgement(met / len(points) >= needed - 1e-9, missing)
    return Judgement(not off, f"{off[0]} is not {op} {_g(limit)}" if off else "")


def _meets(op: str, limit: float, v: float, tol: dict[str, Any], bands: Bands) -> bool:
    kind = tol["type"]
    if kind == "range" and "min" in tol:
        d = (tol["max"] - tol["min"]) * bands.widen
        return bool(tol["min"] - d <= v <= tol["max"] + d)
    slack = abs(limit) * bands.widen if op != "==" else 0.0
    if kind == "abs":
        slack = tol["value"] * bands.factor
    elif kind == "rel":
        slack = tol["value"] * bands.factor * abs(limit)
    elif kind == "margin":
        slack -= tol["value"] * abs(limit)
    if op == "==":
        return abs(v - limit) <= slack
    moved = limit - slack if op in (">", ">=") else limit + slack
    # A bound that is met to the last rounding error is met.
    same = math.isclose(v, moved, rel_tol=1e-12, abs_tol=1e-15)
    return bool(_HOLDS[op](v, moved)) if op in ("<", ">") else same or bool(_HOLDS[op](v, moved))


def _trailing(where: str) -> int:
    match = re.search(r"(\d+)$", where)
    if not match:
        raise UnjudgedError(f"points should be named by the number of flows, not {where!r}")
    return int(match[1])


# -------------------------------------------------------------------------------------------------------------- orders


def _order(claim: Claim, value: Any, bands: Bands) -> Judgement:
    expected, tol = claim.expected, _table(claim.tolerance)
    if expected.get("order") != "ascending":
        raise UnjudgedError(f"no rule for the order {expected.get('order')!r}")
    groups: list[list[str]] = expected["groups"]
    points = _orders(value)
    names = {name for group in groups for name in group}
    if "min_count_in_peers" in tol:
        for _, order in points:
            _values.same(names, order)
        return _order_of_counts(groups, points, tol, bands)
    off, flat = [], True
    for where, order in points:
        _values.same(names, order)
        flat = flat and len({order[name] for name in names}) == 1
        wrong = _wrong(groups, order, tol, bands)
        if wrong:
            off.append(f"{where}: {wrong}" if where else wrong)
    if flat:
        return Judgement(False, "no difference at all: " + ", ".join(sorted(names)))
    share = tol.get("share_of_points", 1.0)
    needed = max(0.0, share - bands.share) if len(points) > 1 else 1.0
    met = len(points) - len(off)
    if len(points) > 1 and off:
        missing = f"{met} of {len(points)} points hold, {needed:.0%} needed; not: " + "; ".join(off)
        return Judgement(met / len(points) >= needed - 1e-9, missing)
    return Judgement(not off, off[0] if off else "")


def _order_of_counts(
    groups: list[list[str]], points: list[tuple[str, dict[str, float]]], tol: dict[str, Any], bands: Bands
) -> Judgement:
    """Compare each value with each of the next group, if the latter has enough data."""
    least, margin = tol["min_count_in_peers"], tol.get("value", 0.0) - bands.margin
    pairs = [
        (f"{where}: {a} {_g(order[a])} is not below {b} {_g(order[b])}", order[b] - order[a] >= margin * order[b])
        for where, order in points
        for low, high in pairwise(groups)
        for a in low
        for b in high
        if order[b] >= least
    ]
    if not pairs:
        return Judgement(False, f"not decided: no peer has {_g(least)} or more at any point", decided=False)
    off = [text for text, holds in pairs if not holds]
    needed = max(0.0, tol.get("share_of_points", 1.0) - bands.share)
    met = len(pairs) - len(off)
    why = f"{met} of {len(pairs)} comparisons with a peer that has any hold, {needed:.0%} needed"
    return Judgement(met / len(pairs) >= needed - 1e-9, why + ("; not: " + "; ".join(off) if off else ""))


def _wrong(groups: list[list[str]], order: dict[str, float], tol: dict[str, Any], bands: Bands) -> str:
    """Describe the violation of the order at one point; empty if there is none."""
    best = next((key for key in tol if key.endswith("_over_best_max")), None)
    margin = tol.get("value", 0.0) - bands.margin
    for low, high in pairwise(groups):
        under = (min if best else max)(low, key=order.__getitem__)
        over = min(high, key=order.__getitem__)
        a, b = order[under], order[over]
        if abs(b - a) <= tol.get("ties_abs", -1.0):
            continue
        if b - a < margin * max(abs(a), abs(b)) - 1e-12 * max(1.0, abs(a), abs(b)):
            by = f" by {margin:.0%}" if margin else ""
            return f"{under} {_g(a)} is not below {over} {_g(b)}{by}"
    if best:
        name = best.removesuffix("_over_best_max")
        lead = min(order[n] for n in groups[0])
        limit = tol[best] * (1 + bands.widen)
        if order[name] > limit * lead:
            return f"{name} {_g(order[name])} is more than {_g(limit)} times the best, {_g(lead)}"
    within = tol.get("within_group_rel")
    if within is not None:
        within *= bands.factor
        counts = tol.get("within_group_abs", 0.0) * bands.factor
        for group in groups:
            a, b = min(order[n] for n in group), max(order[n] for n in group)
            if b - a > max(within * min(abs(a), abs(b)), counts) * (1 + 1e-12):
                more = f" and by more than {_g(counts)}" if counts else ""
                return f"{', '.join(group)} differ by more than {within:.0%}{more}: {_g(a)} to {_g(b)}"
    if "end_to_end_factor_min" in tol:
        first, last = (sum(order[n] for n in g) / len(g) for g in (groups[0], groups[-1]))
        a, b = tol["end_to_end_factor_min"] / (1 + bands.widen), tol["end_to_end_factor_max"] * (1 + bands.widen)
        if first <= 0 or not a <= last / first <= b:
            return f"last over first, {_g(last)} over {_g(first)}, is outside {_g(a)} to {_g(b)}"
    return ""


def _orders(value: Any) -> list[tuple[str, dict[str, float]]]:
    """Return the orders measured, by point."""
    if isinstance(value, (list, tuple)):
        value = dict(value)
    if not isinstance(value, dict) or not value:
        raise UnjudgedError(f"an order is a dict or a list of (name, value), not {value!r}")
    first = next(iter(value.values()))
    if isinstance(first, dict):
        return [(str(where), {k: _values.number(v, k) for k, v in order.items()}) for where, order in value.items()]
    if isinstance(first, (list, tuple)):
        sizes = {len(v) for v in value.values()}
        if len(sizes) != 1:
            raise UnjudgedError("an order at several points needs lists of one length")
        return [(str(i), {k: _values.number(v[i], k) for k, v in value.items()}) for i in range(sizes.pop())]
    return [("", {k: _values.number(v, k) for k, v in value.items()})]


# -------------------------------------------------------------------------------------------------------------- shapes


def _table(tolerance: Any) -> dict[str, Any]:
    if isinstance(tolerance, dict):
        return tolerance
    if isinstance(tolerance, (int, float)):
        return {"type": "abs", "value": float(tolerance)}
    return {"type": "none"}


def _g(v: float) -> str:
    return f"{v:.4g}"
