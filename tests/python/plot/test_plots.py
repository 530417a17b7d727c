"""Each plot on tables whose numbers are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from standin import Result, Sweep

from forebay import plot
from forebay.plot import style
from forebay.plot._data import groups, variants
from forebay.plot._fairness import index, long_flows, ratio
from forebay.plot._queue_cdf import occupancy
from forebay.plot._series import events, lines, thin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    style.names()
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()  # what cannot be drawn fails here
    plt.close("all")


def texts(*values: str) -> Any:
    return np.array(values, dtype=object)


def messages(rows: list[tuple[str, int, float, float]], **more: Any) -> Result:
    """Messages: variant, run, size in bytes, slowdown; the ideal time is 1 ms."""
    n = len(rows)
    slow = np.array([r[3] for r in rows])
    table = {
        "variant": texts(*(r[0] for r in rows)),
        "run": np.array([r[1] for r in rows]),
        "transport": texts(*(r[0] for r in rows)),
        "class": texts(*["web"] * n),
        "size_bytes": np.array([r[2] for r in rows]),
        "start_ns": np.zeros(n),
        "ideal_fct_ns": np.full(n, 1e6),
        "fct_ns": slow * 1e6,
        "slowdown": slow,
        "query_id": np.full(n, np.nan),
    } | more
    runs = sorted({(r[0], r[1], 1.0) for r in rows})
    return Result({"flows": table}, runs=runs)


def supxlabel(ax: Axes) -> str:
    """Return the note at the foot of the figure."""
    return str(ax.figure.get_supxlabel())


def line(ax: Axes, label: str) -> tuple[Any, Any]:
    found = next(x for x in ax.lines if x.get_label() == label)
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


def test_slowdown_averages_quantiles_over_seeds() -> None:
    rows = [("a", run, 1000.0, s + run) for run in (0, 1) for s in (1.0, 2.0, 3.0)]
    rows += [("a", run, 2e7, 10.0) for run in (0, 1)] + [("b", 0, 1000.0, 2.0), ("b", 1, 1000.0, 2.0)]
    ax = plot.fct_slowdown(messages(rows), bins="small-medium-large")
    assert [t.get_text() for t in ax.get_xticklabels()] == ["≤ 100 KB", "≥ 10 MB"]
    median = next(x for x in ax.lines if x.get_markerfacecolor() == "#ffffff")
    assert np.asarray(median.get_ydata()).tolist() == [2.5, 10.0]
    # Medians 2 and 3: half width 12.706 * sqrt(0.5) / sqrt(2).
    bar: Any = ax.patches[0]
    assert bar.get_y() + bar.get_height() == pytest.approx(2.5 + 12.706 * 0.5)
    assert ax.get_ylabel() == "FCT slowdown"


def test_one_seed_has_no_interval() -> None:
    ax = plot.fct_slowdown(messages([("a", 0, 1000.0, 1.0), ("a", 0, 1000.0, 3.0)]), quantiles=(0.5,))
    assert len(ax.patches) == 0
    assert np.asarray(ax.lines[0].get_ydata()).tolist() == [2.0]
    with pytest.raises(ValueError, match="quantiles"):
        plot.fct_slowdown(messages([("a", 0, 1000.0, 1.0)]), quantiles=(0.1, 0.5, 0.9))


def test_query_messages_count_without_others() -> None:
    rows = [("a", 0, 1000.0, 1.0), ("a", 0, 1000.0, 9.0)]
    both = messages(rows, query_id=np.array([np.nan, 7.0]))
    ax = plot.fct_cdf(both, metric="slowdown")
    assert np.asarray(ax.lines[0].get_xdata()).max() == 1.0
    ax = plot.fct_cdf(both, metric="slowdown", which="queries")
    assert np.asarray(ax.lines[0].get_xdata()).max() == 9.0
    ax = plot.fct_cdf(messages(rows, query_id=np.array([1.0, 7.0])), metric="slowdown")
    assert np.asarray(ax.lines[0].get_ydata()).tolist() == [0.0, 0.5, 1.0]


def test_completion_times_are_in_readable_units() -> None:
    rows = [("a", 0, 1000.0, s) for s in (1.0, 2.0, 4.0, 4.0)] + [("b", 0, 2e7, 8.0)]
    ax = plot.fct_cdf(messages(rows))
    x, y = line(ax, "a")
    assert x.tolist() == [1.0, 1.0, 2.0, 4.0]
    assert y.tolist() == [0.0, 0.25, 0.5, 1.0]
    assert ax.get_xlabel() == "Flow completion time (ms)"
    assert len(plot.fct_cdf(messages(rows), sizes="large").lines) == 1
    assert len(plot.fct_cdf(messages(rows), sizes=(0, 1e5)).lines) == 1
    with pytest.raises(ValueError, match="small"):
        plot.fct_cdf(messages(rows), sizes="tiny")


def test_running_messages_lower_the_curve() -> None:
    rows = [("a", 0, 1000.0, 1.0), ("a", 0, 1000.0, np.nan), ("a", 0, np.nan, 5.0)]
    ax = plot.fct_cdf(messages(rows), metric="slowdown")
    assert ax.lines[0].get_label() == "a (1 of 2 finished)"
    assert np.asarray(ax.lines[0].get_ydata()).tolist() == [0.0, 0.5]
    assert supxlabel(ax) == "2 messages (1 running at the end), 1 seed"
    ax = plot.fct_cdf(messages(rows), metric="slowdown", tail=True)
    assert np.asarray(ax.lines[0].get_ydata()).tolist() == [1.0, 0.5]
    # A transport that completed none is named.
    ax = plot.fct_cdf(messages([*rows, ("b", 0, 1000.0, np.nan)]), metric="slowdown")
    assert [x.get_label() for x in ax.lines] == ["a (1 of 2 finished)", "b (0 of 1 finished)"]
    with pytest.raises(ValueError, match="no finite message completed"):
        plot.fct_cdf(messages([("a", 0, np.nan, np.nan)]))


def test_running_messages_count_with_time_so_far() -> None:
    nan = float("nan")
    # Runs end after 1 s. The ideal time is 1 ms, that of the last message 2 s.
    rows = [("a", 0, 1000.0, s) for s in (1.0, 2.0, nan, nan)]
    r = messages(rows, start_ns=np.array([0, 0, 9.6e8, 0]), ideal_fct_ns=np.array([1e6, 1e6, 1e6, 2e9]))
    ax = plot.fct_slowdown(r, quantiles=(0.5, 1.0))
    drawn = [(x.get_gid(), np.asarray(x.get_ydata()).tolist()) for x in ax.lines]
    # The median does not depend on the running message, and the message that could not complete is a long flow.
    assert drawn == [(None, [2.0]), (None, [pytest.approx(40.0)]), ("lower bound", [pytest.approx(40.0)])]
    assert supxlabel(ax) == "3 messages (1 running at the end), 1 seed, ↑ at least"
    ax = plot.fct_slowdown(messages(rows[:2]))
    assert supxlabel(ax) == "2 messages, 1 seed"


def series(warmup: str = "0s", **more: Any) -> Result:
    """A queue of 0, 10, 20 packets for 1, 2 and 7 ms, a connection beside it."""
    queue = {
        "variant": texts("a", "a", "a"),
        "run": np.zeros(3, dtype=int),
        "time_ns": np.array([0, 1_000_000, 3_000_000]),
        "port": texts("x", "x", "x"),
        "pkts": np.array([0, 10, 20]),
        "bytes": np.array([0, 15_000, 30_000]),
        "drops": np.array([0, 0, 2]),
        "marks": np.array([0, 1, 1]),
    }
    tcp = {
        "variant": texts("a", "a", "a"),
        "run": np.zeros(3, dtype=int),
        "time_ns": np.array([0, 5_000_000, 9_000_000]),
        "conn_id": np.array([3, 3, 4]),
        "cwnd": np.array([2.0, 4.0, 9.0]),
        "alpha": np.full(3, np.nan),
        "srtt_ns": np.array([np.nan, 2e5, 3e5]),
        "bytes_acked": np.array([0, 1_250_000, 0]),
    }
    timeouts = {
        "variant": texts("a", "a"),
        "run": np.zeros(2, dtype=int),
        "transport": texts("newreno", "newreno"),
        # A tail loss probe is no timeout.
        "kind": texts("tail", "probe"),
        "time_ns": np.array([6_000_000, 7_000_000]),
    }
    return Result({"queue": queue, "tcp": tcp, "timeouts": timeouts} | more, runs=[("a", 0, 10e-3)], warmup=warmup)


def test_a_queue_is_weighted_by_time() -> None:
    ax = plot.queue_cdf(series())
    np.testing.assert_allclose(np.asarray(ax.lines[0].get_ydata()), [0.0, 0.1, 0.3, 1.0])
    ax = plot.queue_cdf(series(), tail=True)
    np.testing.assert_allclose(np.asarray(ax.lines[0].get_ydata()), [1.0, 0.9, 0.7, 0.7])


def test_queue_warmup_is_excluded() -> None:
    found = occupancy(variants(series(warmup="2ms"))[0], None, "packets")
    assert found is not None
    np.testing.assert_allclose(found[1], [0.0, 1e-3, 7e-3])


def test_missing_samples_error_names_observe() -> None:
    empty = Result({}, runs=[("a", 0, 1.0)])
    with pytest.raises(ValueError, match=r"\[observe\]"):
        plot.queue_cdf(empty)
    with pytest.raises(ValueError, match=r"\[observe\]"):
        plot.time_series(empty)
    with pytest.raises(ValueError, match="no queries"):
        plot.queries(empty)
    with pytest.raises(ValueError, match="no long flows"):
        plot.fairness(empty)


def test_time_series_panels() -> None:
    made = plot.time_series(series())
    assert made.shape == (3, 1)
    made = made[:, 0]
    assert [ax.get_ylabel() for ax in made] == ["Queue\n(packets)", "cwnd\n(segments)", ""]
    assert [t.get_text() for t in made[-1].get_yticklabels()] == ["marks", "drops", "timeouts"]
    assert made[-1].get_xlabel() == "Time (ms)"
    made = plot.time_series(series(), ["srtt", "rate"], rug=False, connections=[3])
    assert [ax.get_ylabel() for ax in made[:, 0]] == ["Smoothed RTT\n(µs)", "Goodput\n(Gbps)"]
    with pytest.raises(ValueError, match="`alpha` was not sampled"):
        plot.time_series(series(), ["alpha"])
    with pytest.raises(ValueError, match="srtt"):
        plot.time_series(series(), ["rtt"])


def test_time_series_into_own_axes() -> None:
    _, own = plt.subplots(3)
    made = plot.time_series(series(), axes=list(own))
    assert list(made[:, 0]) == list(own)
    with pytest.raises(ValueError, match="3 axes"):
        plot.time_series(series(), axes=list(own[:2]))


def test_variants_side_by_side_or_stacked() -> None:
    both = {"one": series(), "two": series()}
    assert plot.time_series(both, ["queue"]).shape == (2, 2)
    over = plot.time_series(both, ["queue"], overlay=True)
    assert over.shape == (2, 1)
    assert len(over[0, 0].lines) == 2


def test_events_are_counted_up() -> None:
    found = events(variants(series())[0], 0, (0.0, 10e-3), "x")
    assert {k: np.round(v * 1e3).tolist() for k, v in found.items()} == {"marks": [1], "drops": [3], "timeouts": [6]}
    assert "drops" not in events(variants(series())[0], 0, (0.0, 2e-3), "x")


def test_a_rate_is_what_was_acknowledged() -> None:
    (found,) = lines(variants(series())[0], "rate", 0, (0.0, 10e-3), "x", [3])
    assert float(np.sum(found.value) * 10e-3 / len(found.value)) == pytest.approx(1_250_000 * 8)


def test_thinning_keeps_every_extreme() -> None:
    t = np.arange(100_000.0)
    v = np.zeros(100_000)
    v[54_321], v[77_777] = 5.0, -5.0
    tt, vv = thin(t, v, 100)
    assert len(tt) <= 200
    assert (vv.max(), vv.min()) == (5.0, -5.0)
    assert (np.diff(tt) > 0).all()
    np.testing.assert_array_equal(v[tt.astype(int)], vv)


def long(rows: list[tuple[str, int, float, float, float]], warmup: str = "0s") -> Result:
    """Endless flows: group, run, start and stop in seconds (NaN: never), bytes."""
    table = {
        "variant": texts(*["v"] * len(rows)),
        "run": np.array([r[1] for r in rows]),
        "transport": texts(*(r[0] for r in rows)),
        "class": texts(*["long"] * len(rows)),
        "size_bytes": np.full(len(rows), np.nan),
        "start_ns": np.array([r[2] * 1e9 for r in rows]),
        "acked_ns": np.array([r[3] * 1e9 for r in rows]),
        "bytes_measured": np.array([r[4] for r in rows]),
    }
    return Result({"flows": table}, runs=sorted({("v", r[1], 10.0) for r in rows}), warmup=warmup)


def test_long_flows_count_while_active() -> None:
    nan = float("nan")
    r = long([("a", 0, 0.0, nan, 1e6), ("a", 0, 6.0, nan, 1e6), ("b", 0, 0.0, 4.0, 1e6), ("b", 0, 0.0, 1.5, 0.0)], "2s")
    a, b = (long_flows(s) for s in groups(r))
    np.testing.assert_allclose(a[0].bps, [1e6, 2e6])
    np.testing.assert_allclose(b[0].bps, [4e6])
    assert index(a).mean == pytest.approx(9 / 10)
    assert index(b).n == 0
    assert ratio(b, a).mean == pytest.approx(4 / 1.5)
    ax = plot.fairness(r)
    assert [t.get_text() for t in ax.texts] == ["J = 0.900", "× 2.67"]


def test_disjoint_flows_have_no_fairness() -> None:
    (only,) = groups(long([("a", 0, 0.0, 3.0, 1e6), ("a", 0, 5.0, 8.0, 1e6)]))
    assert index(long_flows(only)).n == 0


def rounds() -> Result:
    table = {
        "variant": texts(*["a"] * 4 + ["b"] * 4),
        "run": np.array([0, 0, 1, 1] * 2),
        "class": texts(*["incast"] * 8),
        "qct_ns": np.array([1e7, 2e8, 2e8, np.nan, 1e7, 1e7, 1e7, 1e7]),
        "rtos_max": np.array([0, 1, 1, 7, 0, 0, 0, 0]),
    }
    return Result({"queries": table}, runs=[("a", 0, 1.0), ("a", 1, 1.0), ("b", 0, 1.0), ("b", 1, 1.0)])


def test_unfinished_queries_lower_the_curve() -> None:
    x, y = line(plot.queries(rounds()), "a")
    np.testing.assert_allclose(x, [10.0, 10.0, 200.0])
    assert y.tolist() == [0.0, 0.25, 0.75]


def test_query_timeouts_are_fractions() -> None:
    ax = plot.queries(rounds(), show="timeouts")
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "1", "2", "3", "≥ 4"]
    bars: list[Any] = [c for c in ax.containers if c.get_label() in ("a", "b")]
    a, b = ([p.get_height() for p in c.patches] for c in bars)
    assert a == [0.25, 0.5, 0.0, 0.0, 0.25]
    assert b == [1.0, 0.0, 0.0, 0.0, 0.0]


def summary(rows: list[tuple[str, int, float]]) -> Result:
    table = {
        "variant": texts(*(r[0] for r in rows)),
        "run": np.array([r[1] for r in rows]),
        "transport": texts(*(r[0] for r in rows)),
        "goodput_bps": np.array([r[2] for r in rows]),
        "rtos": np.full(len(rows), np.nan),
    }
    return Result({"summary": table}, runs=[(r[0], r[1], 1.0) for r in rows])


def test_compare_draws_seed_means() -> None:
    r = summary([("a", 0, 8e8), ("a", 1, 9e8), ("a", 2, 10e8), ("b", 0, 1e8), ("b", 1, 1e8), ("b", 2, 1e8)])
    ax = plot.compare(r, "goodput_bps")
    bars: list[Any] = list(ax.patches)
    assert [p.get_width() for p in bars] == pytest.approx([900.0, 100.0])
    assert [t.get_text() for t in ax.texts] == ["900 ± 248", "100.0 ± 0"]
    assert ax.get_xlabel() == "Goodput (Mbps), more is better"
    with pytest.raises(ValueError, match="no column `speed`"):
        plot.compare(r, "speed")
    with pytest.raises(ValueError, match="no value"):
        plot.compare(r, "rtos")


def test_compare_marks_lower_bounds() -> None:
    nan = float("nan")
    table = {
        "variant": texts("a", "a", "b", "b"),
        "run": np.array([0, 1, 0, 1]),
        "transport": texts("a", "a", "b", "b"),
        "slowdown_p50": np.array([2.0, 2.0, 2.0, 2.0]),
        "slowdown_p99": np.array([9.0, 9.0, 5.0, 5.0]),
        "messages_exact_quantile": np.array([1.0, 0.5, 0.99, 1.0]),
        "fct_small_mean_s": np.full(4, 1e-3),
        "fct_small_unfinished": np.array([0.0, 0.01, 0.011, nan]),
        "qct_max_s": np.full(4, 1.0),
        "queries_exact_quantile": np.array([1.0, 1.0, 0.999, nan]),
    }
    r = Result({"summary": table}, runs=[("a", 0, 1.0), ("a", 1, 1.0), ("b", 0, 1.0), ("b", 1, 1.0)])

    def marked(metric: str) -> list[bool]:
        ax = plot.compare(r, metric)
        found = [t.get_text().startswith("≥ ") for t in ax.texts]
        assert supxlabel(ax).endswith("≥ at least: some were running at the end") == any(found)
        return found

    assert marked("slowdown_p99") == [True, False]
    assert marked("slowdown_p50") == [False, False]
    assert marked("fct_small_mean_s") == [False, True]
    assert marked("qct_max_s") == [False, True]


def grid(**axes: Any) -> Sweep:
    """Goodput of 2 seeds at 3 numbers of senders, for 2 transports and 2 buffers."""
    rows = [
        (n, b, cc, run, 1e9 / n + run * 1e6)
        for n in (1, 2, 4)
        for b in ("64pkt", "128pkt")
        for cc in ("newreno", "dctcp")
        for run in (0, 1)
    ]
    n, b, cc, run, bps = zip(*rows, strict=True)
    table = {
        "topology.senders": np.array(n),
        "topology.bottleneck.buffer": texts(*b),
        "variant": texts(*cc),
        "run": np.array(run),
        "transport": texts(*cc),
        "goodput_bps": np.array(bps),
    } | axes
    return Sweep(table, ["topology.senders", "topology.bottleneck.buffer"])


def test_a_curve_for_each_combination() -> None:
    ax = plot.incast_curve(grid())
    assert [x.get_label() for x in ax.lines] == [f"{cc}, buffer {b}" for b in ("64pkt", "128pkt") for cc in ("newreno", "dctcp")]
    x, y = line(ax, "dctcp, buffer 64pkt")
    assert x.tolist() == [1, 2, 4]
    np.testing.assert_allclose(y, [1.0005, 0.5005, 0.2505])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Number of senders", "Goodput (Gbps)")
    band = ax.collections[0].get_paths()[0].vertices
    assert np.asarray(band)[:, 1].max() == pytest.approx(1.0005 + 12.706 * 0.0005, rel=1e-3)


def test_labels_stay_within_the_figure() -> None:
    names = {"goodput_bps", "rtos_per_query", "qct_p99_s", "fct_small_p99_s", "fct_large_mean_s", "deadline_miss_pct", "rtos"}
    table = dict(grid().table.items())
    for metric in names:
        ax = plot.incast_curve(Sweep(table | {metric: table["goodput_bps"]}, ["topology.senders"]), metric)
        ax.figure.canvas.draw()
        label = ax.yaxis.label.get_window_extent()
        assert ax.figure.bbox.y0 <= label.y0 < label.y1 <= ax.figure.bbox.y1, (metric, ax.get_ylabel())
        plt.close("all")


def test_variant_axis_is_not_repeated() -> None:
    table = {k: v for k, v in grid().table.items() if k != "topology.bottleneck.buffer"}
    ax = plot.incast_curve(Sweep(table | {"transport.cc": table["transport"]}, ["topology.senders", "transport.cc"]))
    assert [x.get_label() for x in ax.lines] == ["newreno", "dctcp"]


def test_a_curve_from_results_by_number() -> None:
    ax = plot.incast_curve({8: summary([("a", 0, 9e8)]), 16: summary([("a", 0, 1e8)])}, x="Senders")
    x, y = (np.asarray(v) for v in ax.lines[0].get_data())
    assert (x.tolist(), y.tolist()) == ([8, 16], [900.0, 100.0])
    assert ax.get_xlabel() == "Senders"


def test_right_axis_has_unit() -> None:
    table = dict(grid().table.items()) | {"transport.rto-min": texts(*["200ms", "10ms"] * 12)}
    with_numbers = table | {"transport.rto-min_s": np.array([0.2, 0.01] * 12)}
    ax = plot.incast_curve(Sweep(with_numbers, ["transport.rto-min", "topology.senders"]))
    assert ax.get_xlabel() == "Minimum RTO (ms)"
    assert sorted(set(np.asarray(ax.lines[0].get_xdata()).tolist())) == [10, 200]
    with pytest.raises(ValueError, match="no axis"):
        plot.incast_curve(Sweep(table, ["transport.rto-min"]))


def test_a_curve_needs_a_sweep() -> None:
    one: Any = summary([("a", 0, 9e8)])
    with pytest.raises(TypeError, match="sweep is a Result; legal: a Sweep, or results by the number"):
        plot.incast_curve(one)


def test_a_curve_needs_numbers() -> None:
    table = dict(grid().table.items())
    with pytest.raises(ValueError, match="no axis of the sweep has numbers"):
        plot.incast_curve(Sweep(table, ["topology.bottleneck.buffer"]))
    with pytest.raises(ValueError, match="no column"):
        plot.incast_curve(Sweep(table, ["topology.senders"]), "speed")


def test_a_model_beside_a_curve() -> None:
    ax = plot.incast_curve(grid(), beside={"model": ([1, 4], [1e9, 2.5e8])})
    np.testing.assert_allclose(line(ax, "model")[1], [1.0, 0.25])


def test_names_of_what_is_compared() -> None:
    r = messages([("a", 0, 1000.0, 1.0), ("b", 0, 1000.0, 1.0)])
    assert [s.label for s in groups(r)] == ["a", "b"]
    assert [s.label for s in groups({"x": r, "y": long([("c", 0, 0.0, 1.0, 1.0)])})] == ["x: a", "x: b", "y"]
    assert [s.label for s in groups([r, r])] == ["test 1: a", "test 1: b", "test 2: a", "test 2: b"]
    meet = long([("c", 0, 0.0, 1.0, 1.0), ("d", 0, 0.0, 1.0, 1.0)])
    assert [s.label for s in groups(meet)] == ["c", "d"]
    assert [s.label for s in variants(meet)] == ["v"]
