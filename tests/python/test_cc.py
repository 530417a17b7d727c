"""Congestion controls written in Python: the same hooks as those of the simulator, and errors with their line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import forebay as fb

#: Marks and losses: 16 senders share a port with 20 packets of threshold and 64 of buffer.
LINK = {"rate": "1Gbps", "delay": "25us"}
CROWD = {
    "name": "crowd",
    "seed": 3,
    "duration": "60ms",
    "topology": {
        "kind": "many-to-one",
        "senders": 16,
        "access": LINK,
        "bottleneck": {**LINK, "buffer": "40pkt", "queue": {"kind": "dctcp-step", "k": "20pkt"}},
    },
    "transport": {"stack": "rfc", "rto-min": "10ms"},
    "workload": [{"kind": "incast", "block": "64KB", "rounds": 3, "jitter": "50us"}, {"kind": "long", "from": "s0"}],
    "observe": {"tcp": {"flows": [0, 1]}},
}


class Dctcp(fb.CongestionControl):
    """RFC 8257, as the simulator's `dctcp` with `arithmetic = "paper"`."""

    ecn = "dctcp"
    reduces_on_loss_after_ecn = True

    def __init__(self) -> None:
        self.estimate = 1.0
        self.acked = 0
        self.marked = 0
        self.window_end = 0

    def in_ack_event(self, w: fb.Window, ack: fb.Ack) -> None:
        self.acked += ack.acked
        if ack.ece:
            self.marked += ack.acked
        if ack.snd_una > self.window_end:
            self.window_end = ack.snd_nxt
            if self.acked > 0:
                g = 0.0625
                self.estimate = (1 - g) * self.estimate + g * self.marked / self.acked
            self.acked = self.marked = 0

    def ssthresh(self, w: fb.Window, reduction: fb.Reduction) -> float:
        if reduction.trigger == "ecn":
            return max(w.cwnd * (1 - self.estimate / 2), 2.0)
        return max(reduction.base / 2, 2.0)

    def cwnd_event(self, w: fb.Window, event: fb.Event) -> None:
        if event.kind == "timeout":
            assert event.snd_max is not None
            self.window_end = event.snd_max
            self.acked = self.marked = 0

    def alpha(self) -> float | None:
        return self.estimate


def crowd(cc: Any, **changes: Any) -> fb.Scenario:
    return fb.Scenario.from_dict(CROWD).with_({"transport.cc": cc, **{k.replace("__", "."): v for k, v in changes.items()}})


@pytest.mark.parametrize("stack", ["ns2", "rfc", "linux"])
def test_python_dctcp_equals_the_built_in(stack: str) -> None:
    """Every packet arrives at the same instant: the fingerprints are equal."""
    ours = crowd("mine").with_({"transport.stack": stack}).run(cc={"mine": Dctcp})
    theirs = crowd({"kind": "dctcp", "arithmetic": "paper"}).with_({"transport.stack": stack}).run()
    assert theirs.ports["marked"].sum() > 100
    assert theirs.ports["dropped_overflow"].sum() > 10
    assert ours.fingerprint == theirs.fingerprint
    for column in ("cwnd", "ssthresh", "alpha"):
        assert np.array_equal(ours.tcp[column], theirs.tcp[column], equal_nan=True), column
    # The comparison is sensitive: another gain is another run.
    other = crowd({"kind": "dctcp", "arithmetic": "paper", "g": 0.07}).with_({"transport.stack": stack}).run()
    assert other.fingerprint != theirs.fingerprint


def test_the_defaults_are_newreno() -> None:
    ours = crowd("plain", transport__ecn="off").run(cc={"plain": fb.CongestionControl})
    assert ours.fingerprint == crowd("newreno", transport__ecn="off").run().fingerprint


def test_runs_repeat() -> None:
    """Also beside a built-in congestion control, with several seeds."""
    spec = crowd(["newreno", "mine"]).with_(runs=2)
    first, second = (spec.run(cc={"mine": Dctcp}) for _ in range(2))
    assert first.fingerprint == second.fingerprint
    assert first.variants == ["newreno", "mine"]


def test_a_rate_paces() -> None:
    """One sender at a tenth of the link: no queue, and a tenth of the goodput."""

    class Rate(fb.CongestionControl):
        paces = True

        def cong_avoid(self, w: fb.Window, ack: fb.Ack) -> None:
            w.cwnd = 100.0

        def pacing_rate(self, mss: int) -> float:
            return 100e6

    spec = fb.Scenario.from_dict({**CROWD, "workload": [{"kind": "long", "from": "s0"}]})
    result = spec.with_({"transport.cc": "rate"}, duration="200ms").run(cc={"rate": Rate})
    assert result.summary["goodput_bps"][0] == pytest.approx(100e6, rel=0.05)


def test_an_exception_ends_the_run_with_its_line() -> None:
    class Wrong(fb.CongestionControl):
        def cong_avoid(self, w: fb.Window, ack: fb.Ack) -> None:
            raise KeyError("lost")  # this line

    with pytest.raises(KeyError, match="lost") as caught:
        crowd("wrong").run(cc={"wrong": Wrong})
    assert "# this line" in str(caught.traceback[-1].statement)


@pytest.mark.parametrize("window", [math.nan, -1.0, math.inf])
def test_illegal_windows_are_refused(window: float) -> None:
    class Wrong(fb.CongestionControl):
        def cong_avoid(self, w: fb.Window, ack: fb.Ack) -> None:
            w.cwnd = window

    with pytest.raises(ValueError, match=r"`cwnd` is .* after `cong_avoid`; legal: a finite number of segments, at least 1"):
        crowd("wrong").run(cc={"wrong": Wrong})


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="not derived from forebay"):
        crowd("mine").run(cc={"mine": dict})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="legal: 1 to 40 letters"):
        crowd("mine").run(cc={"m i n e": Dctcp})
    with pytest.raises(ValueError, match="threads is 2"):
        crowd("mine").run(cc={"mine": Dctcp}, threads=2)
    with pytest.raises(fb.ScenarioError, match="`cubic` is the name of a congestion control of the simulator"):
        crowd("cubic").run(cc={"cubic": Dctcp})
    with pytest.raises(fb.ScenarioError, match="congestion control `mine` does not exist"):
        crowd("mine").run()
    # The registration ends with the run, also after an error.
    assert crowd("mine").run(cc={"mine": Dctcp}).variants == ["mine"]


def test_a_window_follows_rfc_5681() -> None:
    w = fb.Window(4.0, 6.0)
    assert w.in_slow_start
    assert w.slow_start(3.0) == 1.0
    assert (w.cwnd, w.ssthresh, w.in_slow_start) == (6.0, 6.0, False)
    w.reno(1.0)
    assert w.cwnd == pytest.approx(6 + 1 / 6)
