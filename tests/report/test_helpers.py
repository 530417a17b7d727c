"""Pure parts of the page's script, on one page for all."""

import pytest


@pytest.fixture(scope="module")
def call(browser, pages):
    page = browser.new_page()
    page.set_default_timeout(120_000)
    page.goto((pages / "one.html").as_uri())
    page.wait_for_selector("html[data-drawn]", state="attached")
    yield lambda name, *args: page.evaluate("([name, args]) => window.forebay[name](...args)", [name, list(args)])
    page.close()


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("seconds", 0.0000125, "12.50\u00a0µs"),
        ("seconds", 0.25, "250\u00a0ms"),
        ("seconds", 0, "0\u00a0s"),
        ("bits-per-second", 9.4123e9, "9.412\u00a0Gbit/s"),
        ("bytes", 999, "999\u00a0B"),
        ("bytes", 1000, "1\u00a0kB"),
        ("fraction", 0.98765, "98.77\u00a0%"),
        ("packets", 1234567, "1\u202f234\u202f567\u00a0packets"),
        ("count", -3, "\u22123"),
        ("ratio", None, "\u2013"),
    ],
)
def test_numbers_with_units(call, unit, value, text):
    assert call("show", unit, value) == text


def test_labels_of_near_points_stay_apart(call):
    first = call("placeLabel", {"left": 0, "right": 80, "top": 100}, [])
    assert first["top"] == 73
    second = call("placeLabel", {"left": 60, "right": 120, "top": 104}, [first])
    assert second["top"] == 117
    assert call("placeLabel", {"left": 80, "right": 120, "top": 104}, [first])["top"] == 77


@pytest.mark.parametrize(
    ("ticks", "step", "factor", "labels"),
    [
        ([0, 0.0005, 0.001], 0.0005, 1e-3, ["0", "0.5", "1.0"]),
        ([0, 0.25, 0.5], 0.25, 1, ["0", "0.25", "0.50"]),
        ([0, 20000, 40000], 20000, 1, ["0", "20 k", "40 k"]),
        ([0, 2.5, 5], 2.5, 1, ["0", "2.5", "5.0"]),
        ([0, 10, 20], 10, 1, ["0", "10", "20"]),
    ],
)
def test_labels_of_ticks(call, ticks, step, factor, labels):
    assert call("tickLabels", ticks, step, factor) == labels


def test_logarithmic_ticks(call):
    assert call("logTicks", 1, 100, 480, 60) == [1, 2, 5, 10, 20, 50, 100]
    assert call("logTicks", 1, 1000, 300, 60) == [1, 10, 100, 1000]
    # As many decades as fit.
    assert call("logTicks", 1e-6, 1, 150, 60) == [1e-6, 1e-3, 1]
    # Less than a decade on show.
    assert len(call("logTicks", 21, 24, 300, 60)) >= 2


def test_linear_ticks(call):
    assert call("linearTicks", 0, 10, 5) == [0, 2, 4, 6, 8, 10]
    assert call("linearTicks", 5, 5, 4) == [5]


@pytest.mark.parametrize(
    ("low", "high", "log", "expected"),
    [
        (0, 100, False, [0, 104]),
        (None, None, False, [0, 1]),
        (5, 5, False, [0, 6.25]),
        (0, 0, False, [0, 1]),
        (10, 100, True, [8, 125]),
    ],
)
def test_upward_axes_begin_at_zero(call, low, high, log, expected):
    assert call("upwardRange", low, high, log) == pytest.approx(expected)


def test_bands_do_not_shrink_lines(call):
    # Wide bands end where twice the lines' reach ends, and at 0 if the lines stay above.
    assert call("withinReach", -50, 300, 10, 100, False) == [0, 200]
    assert call("withinReach", 5, 110, 10, 100, False) == [5, 110]
    assert call("withinReach", -500, 300, -20, 100, False) == [-140, 220]
    assert call("withinReach", 1e-9, 1e9, 1, 10, True) == [0.25, 40]


def test_log_bars_start_at_round_number(call):
    assert [call("roundDown", v) for v in (0.667, 1, 4.9, 5, 730)] == [0.5, 1, 2, 5, 500]


def test_ticks_have_no_idle_decimals(call):
    assert [call("exact", "ratio", v) for v in (0.1, 0.005, 20)] == ["0.1", "0.005", "20"]
    assert call("exact", "seconds", 5e-4) == "500\u00a0µs"


def test_fractions_begin_at_zero(call):
    assert call("upwardRange", 0.8, 1, False, True) == pytest.approx([0, 1.04])


def test_axis_far_from_zero_shows_detail(call):
    low, high = call("upwardRange", 100, 110, False)
    assert 98 < low < 100
    assert 110 < high < 112


def test_the_sample_at_a_time(call):
    line = {"x": [0, 1, 2, 4], "y": [5, 6, 7, 8]}
    assert [call("sampleAt", line, x) for x in (-0.1, 0, 0.4, 0.6, 3.5, 4, 4.1)] == [None, 0, 0, 1, 3, 3, None]
    steps = {**line, "step": True}
    assert [call("sampleAt", steps, x) for x in (0.9, 1, 3.9)] == [0, 1, 2]


def test_spreadsheets_get_no_formulas(call):
    assert call("toCsv", [["=1+1", 'a "b", c', -1.5, None]]) == '\'=1+1,"a ""b"", c",-1.5,\r\n'


def test_the_heat_scale_is_clamped(call):
    assert call("heat", -1) == call("heat", 0) == call("heat", None)
    assert call("heat", 1) == call("heat", 7) != call("heat", 0.5)
