"""The analytic models: the documents' values, errors by name, and the same numbers wherever they are asked for."""

from __future__ import annotations

import copy
import dataclasses
import doctest
import importlib
import importlib.util
import json
import math
import pickle
import pkgutil
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import forebay as fb
from conftest import ROOT, Cli
from forebay import model

#: INCAST's base configuration: 1 Gbit/s, 1000 B, 100 us, 64 packets, 256 KB, 0.2 s.
NETWORK: dict[str, Any] = {"rate": 1e9, "rtt": 100e-6, "buffer": 64, "packet": 1000}
BASE: dict[str, Any] = {**NETWORK, "block": 256_000}


def independent() -> ModuleType:
    """Load the reproduction's own implementation of the incast model, in fractions."""
    spec = importlib.util.spec_from_file_location("incast_in_fractions", ROOT / "papers/incast-prin/model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("n", "windows", "packets", "ms", "p_literal", "p_harmonic", "share_literal", "share_harmonic"),
    [
        (1, (78, 1, 78), 2378, 18.8760, 0.02174, 0.02174, 0.8192, 0.8192),
        (4, (20, 2, 39), 182, 5.7020, 0.01543, 0.01571, 0.6627, 0.6586),
        (7, (12, 4, 20), 72, 3.9450, 0.0, 0.0, 1.0221, 1.0221),
        (9, (10, 9, 10), 49, 3.4200, 0.01124, 0.01124, 0.6225, 0.6225),
        (11, (8, 6, 14), 36, 3.1110, 0.0, 0.01997, 1.0183, 0.4458),
        (12, (7, 2, 39), 31, 2.9660, 0.04, 0.04, 0.2714, 0.2714),
    ],
)
def test_incast_below_the_collapse(
    n: int,
    windows: tuple[int, int, int],
    packets: int,
    ms: float,
    p_literal: float,
    p_harmonic: float,
    share_literal: float,
    share_harmonic: float,
) -> None:
    """Rows of the specification's table; N = 9 lies exactly on a floor."""
    literal, harmonic = model.incast(senders=n, **BASE), model.incast(senders=n, tail="harmonic", **BASE)
    w = literal.windows
    assert (w.overflow, w.losers, w.overflow_of_losers) == windows
    assert literal.period.packets == packets
    assert literal.period.duration * 1e3 == pytest.approx(ms, abs=5e-5)
    assert (literal.tail.probability, harmonic.tail.probability) == pytest.approx((p_literal, p_harmonic), abs=5e-6)
    assert (literal.share, harmonic.share) == pytest.approx((share_literal, share_harmonic), abs=5e-5)
    assert (literal.collapsed, literal.beyond, literal.regime) == (False, None, "unaffected")
    assert literal.goodput == pytest.approx(1e9 * literal.share)
    assert literal.block_packets == 256


def test_incast_beyond_the_collapse() -> None:
    m = model.incast(senders=32, **BASE)
    assert m.collapsed
    assert m.beyond is not None
    assert m.beyond.flows == 20
    assert m.beyond.packets == pytest.approx(17.65)
    assert m.beyond.period * 1e3 == pytest.approx(2.646)
    assert m.beyond.block == pytest.approx(m.block_time, rel=1e-12)
    assert m.block_time * 1e3 == pytest.approx(238.378, abs=5e-4)
    assert m.timeouts_per_block == 1.0
    h = m.head
    assert (h.offered, h.excess) == (123.0, 39.0)
    assert h.flows_in_timeout == pytest.approx(6.1256, abs=5e-5)
    assert h == model.first_round(senders=32, **NETWORK)


def test_incast_under_a_receive_window() -> None:
    found = {n: model.incast(senders=n, window=10, **BASE) for n in (1, 2, 8, 9, 10, 20)}
    assert [m.regime for m in found.values()] == ["latency", "link", "link", "equal", "unaffected", "unaffected"]
    assert found[1].share == pytest.approx(0.8)
    assert found[8].share == 1.0
    assert found[9].share == pytest.approx(49 / 47.5)
    assert found[9].timeouts_per_block == 0.0
    assert model.incast(senders=20, **BASE) == found[20]


def test_nstar() -> None:
    def all_of(**more: Any) -> list[model.Nstar]:
        return [model.incast_nstar(**{**NETWORK, **more, "buffer": b}) for b in range(32, 257, 32)]

    assert [n.first for n in all_of()] == [11, 13, 18, 20, 19, 23, 26, 24]
    assert [n.run3 for n in all_of()] == [14, 15, 21, 27, 28, 28, 33, 37]
    assert [n.first for n in all_of(rate=10e9)] == [13, 12, 14, 15, 16, 17, 21, 23]
    assert all_of(rate=10e9, rtt=10e-6) == all_of()
    smooth = [n.smooth for n in all_of()]
    assert smooth == pytest.approx([9.8, 12.9, 15.3, 17.2, 18.9, 20.4, 21.7, 23.0], abs=0.065)
    assert [model.incast_nstar(**NETWORK, halved=floor).first for floor in (1, 2)] == [53, 32]
    assert model.incast_nstar(rate=1e9, rtt=100e-6, buffer=2, packet=1000).first is None


def test_the_reproduction_computes_the_same() -> None:
    """Two implementations, written apart, for every number of senders."""
    theirs = independent().Incast
    for buffer in (32, 64, 100, 128, 256):
        for gbps in (1, 10):
            for kb in (64, 256, 1024):
                other = theirs.base(buffer, kb, gbps)
                more = {"rate": gbps * 1e9, "rtt": 100e-6, "buffer": buffer, "packet": 1000}
                assert model.incast_nstar(**more).first == other.nstar
                assert model.incast_nstar(**more).run3 == other.nstar_run3
                for n in (*range(1, 17), *range(17, buffer + 1, 7)):
                    for tail in ("literal", "harmonic"):
                        m = model.incast(senders=n, block=kb * 1000, window=10, tail=tail, **more)  # type: ignore[arg-type]
                        assert m.share == pytest.approx(other.limited(n, 10, tail), rel=1e-12)
                        assert m.regime == ("latency", "link", "equal", "unaffected")[other.regime(n, 10) - 1]
                    t, h = other.tail(n), other.head(n)
                    assert tuple(math.inf if k is None else k for k in (m.tail.k_low, m.tail.k_high)) == t.k
                    assert m.head.flows_in_timeout == pytest.approx(h.n_o, rel=1e-12)
                    assert m.period.packets_exact == pytest.approx(float(other.delivered_exact(n)), rel=1e-15)


def test_trim() -> None:
    for rate, us, lower, upper, least in [(1e9, 200, 274.98, 684.0, 43.74), (10e9, 100, 170.60, 108.4, 301.5)]:
        k = model.trim(rate=rate, rtt=us * 1e-6, buffer=100, packet=1460)
        assert (k.lower * 1e6, k.upper * 1e6) == pytest.approx((lower, upper), abs=0.05)
        assert k.smallest_buffer * 1.46 == pytest.approx(least, abs=0.06)
        assert k.empty == (lower > upper)
        assert k.threshold == (max(k.upper, (us + 3 * 1460 * 8e6 / rate) * 1e-6) if k.empty else k.lower)
    unlimited = model.trim(rate=1e9, rtt=200e-6, packet=1460)
    assert unlimited.upper == math.inf
    assert not unlimited.empty
    assert model.trim_queue(rate=1e9, rtt=200e-6, flows=5, k=unlimited.lower, packet=1460) == pytest.approx(9.84, abs=5e-3)
    for n, printed, low, up in [(40, 1.64, 3.39, 4.56), (100, 5.14, 10.40, 11.56)]:
        w = model.trim_wait(rate=1e9, flows=n, window=10, buffer=100, packet=1460)
        assert (w.lower_printed * 1e3, w.lower * 1e3, w.upper * 1e3) == pytest.approx((printed, low, up), abs=0.006)
    for rate, us, estimate in [(1e9, 200, 8.6), (10e9, 100, 42.8), (10e9, 150, 64.2)]:
        assert model.trim_flows(rate=rate, probe_rtt=us * 1e-6, packet=1460) == pytest.approx(estimate, abs=0.05)


def test_dctcp() -> None:
    narrow = model.dctcp(rate=1e9, rtt=200e-6, flows=2, k=20, packet=1460)
    wide = model.dctcp(rate=10e9, rtt=500e-6, flows=2, k=65, packet=1460)
    assert (narrow.smallest_k, wide.smallest_k) == pytest.approx((2.4, 61.2), abs=0.06)
    assert (narrow.largest_g, wide.largest_g) == pytest.approx((0.162, 0.045), abs=0.002)
    assert wide.queue_max == 67.0
    assert wide.queue_max - wide.queue_min == pytest.approx(wide.amplitude)
    assert model.dctcp(rate=10e9, rtt=500e-6, flows=round(wide.worst_flows), k=wide.smallest_k).queue_min > 0


def test_aimd() -> None:
    curve = [(0.5, 1.0), (0.6, 1.25), (0.7, 1.67), (0.8, 2.5), (0.8925, 4.65), (0.9, 5.0), (0.95, 10.0)]
    for remaining, ratio in curve:
        assert model.throughput_ratio(model.Aimd(remaining=remaining)) == pytest.approx(ratio, abs=5e-3)
    dctcp = model.Aimd.dctcp(0.2)
    assert dctcp == model.Aimd(1.0, 0.9)
    assert model.throughput_ratio(model.Aimd(), dctcp) == pytest.approx(0.2)
    assert model.shares([model.Aimd(), dctcp, model.Aimd()]) == pytest.approx([1 / 7, 5 / 7, 1 / 7])
    marks = model.random_marks(p=0.04)
    assert (marks.dctcp, marks.tcp, marks.ratio) == pytest.approx((50.0, 6.12, 8.16), abs=0.01)


def test_ceilings() -> None:
    wire = model.IP_TCP + model.ETHERNET
    for payload, header, share in [(1460, 40, 0.9733), (1448, 52 + 38, 0.9415), (1460, wire, 0.9493), (1460, wire + 4, 0.9468)]:
        assert model.ceilings(rate=1e9, payload=payload, header=header).payload_share == pytest.approx(share, abs=5e-5)
    c = model.ceilings(rate=1e9, payload=1000, header=0, window=10_000, rtt=100e-6)
    assert c.window_limited == pytest.approx(8e8)
    assert c.pipe == 12_500
    alone = model.ceilings(rate=1e9)
    assert (alone.window_limited, alone.pipe) == (None, None)


INCAST = {**BASE, "senders": 8}
PATH = {"rate": 1e9, "rtt": 1e-4}
CALLS: dict[str, tuple[Callable[..., object], dict[str, Any], set[str]]] = {
    "incast": (model.incast, {**INCAST, "payload": 900, "window": 10, "rto": 0.2, "tail": "literal", "nstar": "first"}, set()),
    "nstar": (model.incast_nstar, {**NETWORK, "halved": 1}, {"halved"}),
    "first_round": (model.first_round, {**NETWORK, "senders": 8, "halved": 1}, {"halved"}),
    "trim": (model.trim, {**PATH, "buffer": 100, "packet": 1460, "guard": 3}, {"guard"}),
    "trim_queue": (model.trim_queue, {**PATH, "flows": 5, "k": 3e-4, "packet": 1460}, set()),
    "trim_wait": (model.trim_wait, {"rate": 1e9, "flows": 5, "window": 3, "buffer": 9, "packet": 1460}, {"buffer"}),
    "trim_flows": (model.trim_flows, {"rate": 1e9, "probe_rtt": 1e-4, "packet": 1460}, set()),
    "dctcp": (model.dctcp, {**PATH, "flows": 2, "k": 20, "packet": 1500}, {"k"}),
    "aimd": (model.Aimd, {"increase": 1.0, "remaining": 0.5}, {"remaining"}),
    "random_marks": (model.random_marks, {"p": 0.1}, set()),
    "ceilings": (model.ceilings, {"rate": 1e9, "payload": 1460, "header": 40, "window": 9000, "rtt": 1e-4}, {"header"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_bad_argument_is_named(name: str) -> None:
    """Each argument of each function in turn, with what no model takes; `may` be zero."""
    function, good, may = CALLS[name]
    function(**good)
    for argument in good:
        bad: list[Any] = [-1, -0.5, math.nan, -math.inf, 2**64, 1e300, "many", None if argument == "senders" else [1]]
        bad += [] if argument in may else [0]
        for value in bad:
            if value in (2**64, 1e300) and argument == "buffer" and name.startswith("trim"):
                continue  # a buffer may be as large as one likes
            with pytest.raises(fb.ModelError) as caught:
                function(**{**good, argument: value})
            assert caught.value.argument == argument, value
            assert str(caught.value) == f"`{argument}` {caught.value.message}"
            assert "legal" in caught.value.message


def test_errors_are_errors_of_the_package() -> None:
    with pytest.raises(fb.ModelError, match="`senders` is 65; legal: 1 to 64") as caught:
        model.incast(senders=65, **BASE)
    assert isinstance(caught.value, (fb.ForebayError, ValueError))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.argument, str(again)) == ("senders", str(caught.value))
    with pytest.raises(fb.ModelError, match="`alpha`"):
        model.Aimd.dctcp(0)
    with pytest.raises(fb.ModelError, match="`flows` is empty"):
        model.shares([])
    with pytest.raises(fb.ModelError, match="`rtt` is missing"):
        model.ceilings(rate=1e9, window=10)
    with pytest.raises(fb.ModelError, match="makes a pipe of"):
        model.incast(**{**INCAST, "rate": 1e13, "rtt": 99, "packet": 1, "payload": 1})


def test_numbers_of_all_kinds() -> None:
    m = model.incast(
        senders=np.int64(16), **{**BASE, "rate": 10**9, "block": 256e3, "buffer": np.float64(64), "rtt": np.float64(1e-4)}
    )
    assert m == model.incast(senders=16, **BASE)
    assert pickle.loads(pickle.dumps(m)) == m
    assert hash(m) == hash(model.incast(senders=16, **BASE))
    with pytest.raises(dataclasses.FrozenInstanceError):
        m.share = 1.0  # type: ignore[misc]


def test_columns() -> None:
    c = model.columns(model.incast(senders=n, **BASE) for n in range(1, 65))
    assert c["senders"].dtype.kind == "i"
    assert c["collapsed"].dtype == bool
    assert (c["collapsed"] == (c["senders"] >= 13)).all()
    assert c["regime"].tolist() == ["unaffected"] * 64
    # Missing values are NaN.
    assert "beyond" not in c
    assert (np.isnan(c["beyond.flows"]) == ~c["collapsed"]).all()
    assert np.isnan(c["tail.k_low"][6])
    assert c["head.offered"][31] == 123.0
    assert len(set(map(len, c.values()))) == 1
    pandas = pytest.importorskip("pandas")
    assert len(pandas.DataFrame(c)) == 64
    assert model.columns([]) == {}
    with pytest.raises(TypeError, match="result of a model"):
        model.columns([1.0])


def test_points_take_microseconds() -> None:
    """Of processor time. Measured: 20 us, of which the bound is 25 times."""
    start = time.process_time()
    for _ in range(20):
        for n in range(1, 65):
            model.incast(senders=n, **BASE)
    assert (time.process_time() - start) / (20 * 64) < 500e-6


def test_the_command_says_the_same(small: dict[str, Any], cli: Cli, tmp_path: Any) -> None:
    s = fb.Scenario.from_dict(small)
    (tmp_path / "s.toml").write_text(s.to_toml())
    said = cli("compare", tmp_path / "s.toml", "--worlds", "model", "--models", "--format", "json")
    theirs = json.loads(said.stdout)
    ours = model.evaluate(s)
    assert list(ours) == [v["variant"] for v in theirs["closed_forms"]] == ["newreno", "dctcp"]
    for v in theirs["closed_forms"]:
        mine = ours[v["variant"]]
        assert mine.not_applicable == {x["model"]: x["why"] for x in v["not_applicable"]}
        for m in v["models"]:
            section = mine.models[m["model"]]
            assert (section.about, section.inputs, section.notes) == (m["about"], m["inputs"], m["notes"])
            assert [(x.name, x.unit, x.value) for x in section.values] == [
                (x["name"], x["unit"], x["model"]) for x in m["values"]
            ]
    incast = ours["newreno"].models["incast"]
    assert set(ours["newreno"].models) == {"incast", "ceilings"}
    assert "goodput" in incast
    with pytest.raises(KeyError, match="it has N\\*"):
        incast["badput"]


def test_a_scenario_and_its_numbers(small: dict[str, Any]) -> None:
    """The models of a scenario equal the functions for the numbers that it implies."""
    small["transport"]["cc"] = "newreno"
    section = model.evaluate(fb.Scenario.from_dict(small))["newreno"].models["incast"]
    # Four links of 25 us; a packet of 1500 B and an ACK of 40 B, each twice at 1 Gbit/s.
    rtt = 100e-6 + 2 * (1500 + 40) * 8e-9
    m = model.incast(senders=4, rate=1e9, rtt=rtt, buffer=64, block=64_000, packet=1500, payload=1460)
    assert section["goodput"] == pytest.approx(m.goodput, rel=1e-12)
    assert section["duration of a block"] == pytest.approx(m.block_time, rel=1e-12)
    assert section["payload that the link carries"] == pytest.approx(1e9 * 1460 / 1500)
    assert section["N*, collapse from"] == model.incast_nstar(rate=1e9, rtt=rtt, buffer=64).first


def test_a_scenario_that_is_wrong(small: dict[str, Any]) -> None:
    wrong = copy.deepcopy(small)
    wrong["topology"]["senders"] = 0
    with pytest.raises(fb.ScenarioError, match="`senders` is 0"):
        model.evaluate(fb.Scenario.from_dict(wrong))


@pytest.mark.parametrize("name", [m.name for m in pkgutil.iter_modules(model.__path__)])
def test_examples(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"forebay.model.{name}"))
    assert outcome.failed == 0


def test_everything_is_documented() -> None:
    for name in model.__all__:
        thing = getattr(model, name)
        assert thing.__doc__, name
