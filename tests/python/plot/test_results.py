"""Plots of real runs: what is drawn agrees with what `forebay run` prints."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib import pyplot as plt

import forebay as fb
from forebay import plot
from forebay.plot import style
from forebay.plot._compare import of_metric
from forebay.plot._data import groups, variants
from forebay.plot._fairness import index, long_flows, ratio
from forebay.plot._messages import messages, sized
from forebay.plot._queue_cdf import occupancy
from forebay.plot._stats import ecdf, estimate, is_lower_bound

if TYPE_CHECKING:
    from collections.abc import Iterator

SCENARIOS = Path(__file__).parents[3] / "scenarios"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    style.names()
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


@pytest.fixture(scope="module")
def quickstart() -> fb.Result:
    return fb.Scenario.load(SCENARIOS / "quickstart.toml").with_(duration="4s", runs=3).run()


@pytest.fixture(scope="module")
def meeting() -> fb.Result:
    return fb.Scenario.load(SCENARIOS / "coexistence.toml").with_({"topology.left": 4}, duration="2s", runs=3).run()


@pytest.fixture(scope="module")
def pair() -> fb.Result:
    return fb.Scenario.load(SCENARIOS / "two-flows.toml").with_(duration="1s").run()


def by_run(r: fb.Result, column: str, label: str) -> list[float]:
    subject = next(s for s in groups(r) if s.label == label)
    return [float(v) for v in r.summary[column][subject.rows(r.summary)]]


@pytest.mark.parametrize("cc", ["newreno", "cubic", "dctcp"])
def test_slowdown_quantiles_match_summary(quickstart: fb.Result, cc: str) -> None:
    (m,) = (m for m in messages(quickstart, "slowdown", "flows") if m.subject.label == cc)
    for q, column in ((0.5, "slowdown_p50"), (0.99, "slowdown_p99")):
        own = [float(np.quantile(m.value[m.run == run], q)) for run in range(3)]
        np.testing.assert_allclose(own, by_run(quickstart, column, cc), rtol=1e-4)


@pytest.mark.parametrize("sizes", ["small", "medium", "large"])
def test_fct_by_size_matches_summary(quickstart: fb.Result, sizes: str) -> None:
    for m in sized(messages(quickstart, "fct", "flows"), sizes):
        for run in np.unique(m.run):
            times = m.value[m.run == run]
            expected = by_run(quickstart, f"fct_{sizes}_mean_s", m.subject.label)[int(run)]
            # The tables hold whole nanoseconds, the summary is made from picoseconds.
            assert times.mean() == pytest.approx(expected, abs=1e-9)
            expected = by_run(quickstart, f"fct_{sizes}_p99_s", m.subject.label)[int(run)]
            assert np.quantile(times, 0.99) == pytest.approx(expected, abs=1e-9)


def test_lower_bounds_match_summary(quickstart: fb.Result) -> None:
    found = messages(quickstart, "slowdown", "flows")
    assert sum(int(m.running.sum()) for m in found) > 0
    for m in found:
        exact = by_run(quickstart, "messages_exact_quantile", m.subject.label)
        for run in range(3):
            own = m.run == run
            for q in (0.5, 0.99, 0.999):
                assert is_lower_bound(m.value[own], m.running[own], q) == (exact[run] < q), (m.subject.label, run, q)
            share = by_run(quickstart, "messages_unfinished", m.subject.label)[run]
            assert float(m.running[own].mean()) == pytest.approx(share)


def test_compare_marks_the_cells_of_the_table(quickstart: fb.Result) -> None:
    ax = plot.compare(quickstart, "slowdown_p99")
    exact = [min(by_run(quickstart, "messages_exact_quantile", s.label)) for s in groups(quickstart)]
    assert [t.get_text().startswith("≥ ") for t in ax.texts] == [e < 0.99 for e in exact]


def test_intervals_match_printed_table(quickstart: fb.Result) -> None:
    for s in groups(quickstart):
        assert of_metric(s, "goodput_bps") == estimate(
            by_run(quickstart, "goodput_bps", s.label), most=max(by_run(quickstart, "goodput_max_bps", s.label))
        )
        assert of_metric(s, "goodput_bps").n == 3


def test_fairness_matches_summary(meeting: fb.Result) -> None:
    first, second = groups(meeting)
    assert (first.label, second.label) == ("newreno", "dctcp")
    a, b = long_flows(first), long_flows(second)
    assert ratio(b, a).mean == pytest.approx(np.mean(by_run(meeting, "long_goodput_ratio", "dctcp")), rel=1e-6)
    assert index(b).mean == pytest.approx(np.mean(by_run(meeting, "long_fairness", "dctcp")), rel=1e-6)
    # The summary counts from the simulator's first window after the warm-up of 1 s, which the tables do not know: at
    # most the shortest delay later, 37.6 us of 1 s.
    drawn = np.array([run.bps.mean() for run in a])
    counted = np.array(by_run(meeting, "long_goodput_bps", "newreno"))
    assert (drawn <= counted * (1 + 1e-9)).all()
    np.testing.assert_allclose(drawn, counted, rtol=3.8e-5)


def test_sampled_queue_mean_matches_port(pair: fb.Result) -> None:
    for s in variants(pair):
        found = occupancy(s, None, "packets")
        assert found is not None
        length, time = found
        # 2500 samples of a sawtooth: to a packet in a hundred.
        assert np.average(length, weights=time) == pytest.approx(by_run(pair, "queue_mean_pkts", s.label)[0], abs=1)
        x, y = ecdf(length, time)
        assert x[np.searchsorted(y, 0.99)] == pytest.approx(by_run(pair, "queue_p99_pkts", s.label)[0], abs=1)


def test_every_plot_of_a_real_run(quickstart: fb.Result, meeting: fb.Result, pair: fb.Result) -> None:
    plot.fct_slowdown(quickstart)
    plot.fct_slowdown(quickstart, bins="small-medium-large", metric="fct")
    plot.fct_cdf(quickstart, sizes="small", tail=True)
    plot.queue_cdf(quickstart)
    plot.queries(quickstart)
    plot.queries(quickstart, show="timeouts")
    plot.compare(quickstart)
    plot.fairness(meeting)
    assert plot.time_series(pair).shape == (4, 3)
    style.names()
    assert plot.compare(quickstart).get_yticklabels()[0].get_text() == "newreno"


def test_timeouts_are_drawn_where_they_happened(quickstart: fb.Result) -> None:
    table = quickstart.table("timeouts").where(variant="newreno", run=0)
    assert len(table) > 0
    made = plot.time_series(quickstart, ["queue"])
    assert "timeouts" in [t.get_text() for t in made[-1, 0].get_yticklabels()]


@pytest.mark.parametrize("module", sorted(p.stem for p in Path(plot.__file__).parent.glob("*.py")))
def test_examples(module: str) -> None:
    name = "forebay.plot" if module == "__init__" else f"forebay.plot.{module}"
    tested = importlib.import_module(name)
    outcome = doctest.testmod(tested, raise_on_error=False)
    assert outcome.failed == 0
    # Every plot has an example.
    assert outcome.attempted > 0 or module.lstrip("_") not in plot.__all__


def test_directory_plots_like_run(pair: fb.Result, tmp_path: Path) -> None:
    read = fb.open(pair.save(tmp_path / "pair"))
    a, b = (np.asarray(plot.queue_cdf(r).lines[0].get_ydata()) for r in (pair, read))
    np.testing.assert_array_equal(a, b)
