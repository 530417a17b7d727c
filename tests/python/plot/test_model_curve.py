"""The incast model beside what was simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

import forebay as fb
from conftest import SMALL
from forebay import plot
from forebay.plot import style

SENDERS = [1, 4, 12, 13, 32]


@pytest.fixture(autouse=True)
def fresh() -> Any:
    style.names()
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


def incast(**changes: Any) -> fb.Scenario:
    """INCAST's base configuration, a block of which is simulated."""
    link = {"rate": "1Gbps", "delay": "21us"}
    topology = {"kind": "many-to-one", "senders": 2, "access": link, "bottleneck": {**link, "buffer": "64pkt"}}
    transport = {"stack": "ns2", "cc": "newreno", "mss": 1000, "header": 0, "ack-size": 1, "limited-transmit": False}
    workload = [{"kind": "incast", "block": "256KB", "rounds": 2, "jitter": "100us"}]
    s = fb.Scenario.from_dict({"runs": 1, "topology": topology, "transport": transport, "workload": workload})
    return s.with_(changes)


def drawn(ax: Any, label: str) -> tuple[list[float], list[float]]:
    found = next(x for x in ax.lines if x.get_label() == label)
    return np.asarray(found.get_xdata()).tolist(), np.asarray(found.get_ydata()).tolist()


def test_results_by_number() -> None:
    results: dict[float, fb.Result] = dict(
        zip(SENDERS, fb.run_many(incast().with_({"topology.senders": n}) for n in SENDERS), strict=True)
    )
    ax = plot.incast_curve(results, x="Number of senders", model=True)
    x, y = drawn(ax, "model")
    assert x == SENDERS
    # The specification's table, with P^O by the harmonic mean; D is 16 ns longer here.
    np.testing.assert_allclose(y, [819.2, 658.6, 271.4, 131.8, 274.9], rtol=2e-4)
    assert [t.get_text() for t in ax.texts] == ["N* = 13"]
    assert ax.get_ylabel() == "Goodput (Mbps)"


def test_model_curve_ends_at_link_rate() -> None:
    ax = plot.incast_curve({n: incast(**{"topology.senders": n}).run() for n in (6, 7)}, model=True)
    _, y = drawn(ax, "model")
    assert y[1] == pytest.approx(1000.0)
    triangles = next(x for x in ax.lines if x.get_marker() == "^")
    assert np.asarray(triangles.get_xdata()).tolist() == [7]
    assert list(ax.texts) == []


def test_a_sweep(tmp_path: Path) -> None:
    s = incast(**{"transport.cc": ["newreno", "cubic"]})
    axes: dict[str, list[Any]] = {"topology.senders": [12, 16], "transport.rto-min": ["10ms", "200ms"]}
    sweep = s.sweep(axes, out=tmp_path, report=False)
    ax = plot.incast_curve(sweep, model=True)
    names = [x.get_label() for x in ax.lines if "model" in str(x.get_label())]
    assert names == ["_model, newreno, rto-min 10ms", "_model, newreno, rto-min 200ms", "model"]
    short, long = (drawn(ax, str(name))[1] for name in names[:2])
    assert long[1] == pytest.approx(157.7, rel=1e-3)
    assert short[1] > 4 * long[1]
    with pytest.raises(ValueError, match=r"no line: cubic.*NewReno's sawtooth"):
        plot.incast_curve({2: incast(**{"transport.cc": "cubic"}).run()}, model=True)


def test_right_axis_has_no_nstar(tmp_path: Path) -> None:
    sweep = incast(**{"topology.senders": 16}).sweep(
        {"topology.bottleneck.buffer": ["64pkt", "128pkt"]}, out=tmp_path, report=False
    )
    ax = plot.incast_curve(sweep, model=True)
    x, y = drawn(ax, "model")
    assert x == [64, 128]
    assert y[1] > 2 * y[0]
    assert list(ax.texts) == []


def test_what_the_model_does_not_say() -> None:
    result: dict[float, fb.Result] = {2: fb.Scenario.from_dict(SMALL).run()}
    with pytest.raises(ValueError, match="not of `rtos_per_query`"):
        plot.incast_curve(result, "rtos_per_query", model=True)
    ax = plot.incast_curve(result, model=True)
    assert [x.get_label() for x in ax.lines][:2] == ["newreno", "dctcp"]
    assert [x.get_label() for x in ax.lines if "model" in str(x.get_label())] == ["_model, newreno", "model"]
