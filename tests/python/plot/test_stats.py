"""Statistics and bins: the values of the tests in crates/store/src/stats.rs and bins.rs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from forebay.plot._bins import Rule, bins
from forebay.plot._stats import above, ecdf, estimate, jain, t_975
from forebay.plot._units import interval, number, scale, tick


def test_intervals_by_students_t() -> None:
    # Mean 10, sample deviation 1, n = 3: 4.303 / sqrt(3).
    e = estimate([9.0, 10.0, 11.0])
    assert (e.mean, e.n) == (10.0, 3)
    assert e.half_width == pytest.approx(2.4843, abs=1e-3)
    assert math.isnan(estimate([5.0]).half_width)
    assert estimate([5.0, 5.0]).half_width == 0.0
    assert estimate([math.nan, 4.0]) == pytest.approx((4.0, math.nan, 1, math.nan, math.nan), nan_ok=True)
    assert estimate([]).n == 0


def test_intervals_end_at_what_is_possible() -> None:
    e = estimate([0.5, 0.9, 0.9], most=1.0)
    assert e.low == pytest.approx(e.mean - e.half_width)
    assert e.high == 1.0
    assert e.mean + e.half_width > 1.0
    assert e.reach == pytest.approx((e.half_width, 1.0 - e.mean))
    few = estimate([0.0, 0.0, 9.0])
    assert few.low == 0.0
    assert few.high == pytest.approx(few.mean + few.half_width)
    assert estimate([0.5, 1.1], most=1.0).high == 1.1, "what was seen is possible"
    assert estimate([5.0]).reach == (0.0, 0.0)


@pytest.mark.parametrize(("df", "t"), [(1, 12.706), (2, 4.303), (30, 2.042), (31, 2.040), (60, 2.000), (120, 1.980)])
def test_quantiles_of_students_t(df: int, t: float) -> None:
    assert t_975(df) == pytest.approx(t, abs=1e-3)


def test_jains_index() -> None:
    assert jain(np.array([3.0, 3.0, 3.0])) == pytest.approx(1.0)
    assert jain(np.array([1.0, 0.0, 0.0, 0.0])) == 0.25
    assert math.isnan(jain(np.array([0.0])))


def test_distribution_by_hand() -> None:
    x, y = ecdf(np.array([3.0, 1.0, 1.0, 2.0]))
    assert x.tolist() == [1.0, 1.0, 2.0, 3.0]
    assert y.tolist() == [0.0, 0.5, 0.75, 1.0]
    x, y = ecdf(np.array([0.0, 10.0]), np.array([3.0, 1.0]))
    assert y.tolist() == [0.0, 0.75, 1.0]
    assert above(x, y)[1].tolist() == [1.0, 0.25, 0.25]


def test_thinned_distribution_is_exact_at_points() -> None:
    values = np.random.default_rng(1).pareto(1.2, 100_000)
    x, y = ecdf(values, points=400)
    assert len(x) <= 600
    full = np.sort(values)
    at = np.searchsorted(full, x[1:], side="right") / len(full)
    np.testing.assert_allclose(y[1:], at, rtol=0, atol=1e-12)
    assert x[-1] == full[-1]
    assert x[-2] == full[-2]


@pytest.mark.parametrize("rule", ["auto", "small-medium-large", "equal-count", "by-length"])
@pytest.mark.parametrize(
    "sizes", [[5], [0, 1, 1, 1], range(1000, 8000, 1000), range(1000, 31000, 1000), range(1, 1000), [1e5, 1e5 + 1, 1e7]]
)
def test_bins_cover_sizes_without_gaps(rule: Rule, sizes: list[float]) -> None:
    v = np.array(list(sizes), dtype=float)
    held = np.array([b.holds(v) for b in bins(rule, v)])
    assert (held.sum(axis=0) == 1).all()
    assert (held.sum(axis=1) > 0).all()


def ends(rule: Rule, sizes: list[float]) -> list[tuple[float, float]]:
    return [(b.low, b.high) for b in bins(rule, np.array(sizes, dtype=float))]


def test_bins_are_those_of_the_report() -> None:
    spread = [1000.0 * i for i in range(1, 101)]
    made = ends("equal-count", spread)
    assert (len(made), made[0], made[9]) == (10, (1000, 10_000), (91_000, 100_000))
    # Eight messages of ten have one length: the others are two bins of a tenth each.
    crowd = [64_000.0] * 80 + [1e6 * i for i in range(1, 21)]
    assert ends("equal-count", crowd) == [(64_000, 64_000), (1e6, 1e7), (1.1e7, 2e7)]
    assert ends("by-length", [5, 5, 9]) == [(5, 5), (9, 9)]
    powers = [(512, 1023), (1024, 2047), (2048, 4095), (4096, 8191), (8192, 16_383), (16_384, 32_767)]
    assert ends("by-length", spread[:25]) == powers
    assert ends("small-medium-large", [2e7]) == [(1e7, math.inf)]
    assert ends("auto", [64_000.0] * 50 + [256_000.0] * 50) == [(64_000, 64_000), (256_000, 256_000)]
    assert ends("auto", spread[:30]) == [(0, 100_000)]
    assert len(ends("auto", [1000.0 * i for i in range(1, 1001)])) == 10


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="equal-count"):
        bins("deciles", np.ones(3))  # type: ignore[arg-type]


def test_prefixes() -> None:
    assert scale("s", [0.0, 0.25]).name == "ms"
    assert scale("bit/s", [9.7e8]).title("Goodput") == "Goodput (Mbps)"
    assert scale("bit/s", [1e9]).name == "Gbps"
    assert scale("s", [1e-4, 1.0], log=True).name == "ms"
    assert scale("1", [5.0]).title("Jain's index") == "Jain's index"
    assert scale("s", []).factor > 0


def test_numbers_as_text() -> None:
    assert [number(v) for v in (0.0, 1234.5, 12.345, 0.012345, math.nan)] == ["0", "1230", "12.3", "0.0123", "?"]
    assert interval(613.46, 3.84, 3.84) == "613.5 ± 3.8"
    assert interval(1.9, 1e-16, 1e-16) == "1.900 ± 0"
    assert interval(0.3, math.nan, math.nan) == "0.3000"
    assert interval(4.0, 4.0, 9.0) == "4.0 +9.0 \N{MINUS SIGN}4.0"
    assert [tick(v) for v in (0.01, 1.0, 1000.0, 1e5)] == ["0.01", "1", "1000", "1e5"]
