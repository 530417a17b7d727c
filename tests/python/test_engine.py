"""Engines: messages that a program sends while the simulation runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import forebay as fb

LINK = {"rate": "10Gbps", "delay": "1us", "queue": {"kind": "dctcp-step", "k": "20pkt"}}
NETWORK: dict[str, Any] = {
    "name": "network",
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts-per-leaf": 4, "host": LINK, "fabric": LINK},
    "transport": {"cc": "dctcp"},
}
HOSTS = 8
STEPS = 2 * (HOSTS - 1)


@pytest.fixture
def engine() -> fb.Engine:
    return fb.Engine(fb.Scenario.from_dict(NETWORK))


def test_ring_equals_flow_list(engine: fb.Engine, tmp_path: Path) -> None:
    names = engine.hosts
    following = dict(zip(names, [*names[1:], names[0]], strict=True))
    received = dict.fromkeys(names, 0)
    for name in names:
        engine.send(name, following[name], 50_000)
    driven = []
    for done in engine:
        assert done.end_ns == engine.now_ns
        driven.append((done.src, received[done.dst], int(done.end_ns)))
        received[done.dst] += 1
        if received[done.dst] < STEPS:
            engine.send(done.dst, following[done.dst], done.bytes)

    before = {b: a for a, b in following.items()}
    lines = ["id,src,dst,bytes,start_us,after"]
    for step in range(STEPS):
        after = [f"{before[n]}-{step - 1}" if step else "" for n in names]
        lines += [f"{n}-{step},{n},{following[n]},50000,0,{a}" for n, a in zip(names, after, strict=True)]
    (tmp_path / "ring.csv").write_text("\n".join(lines) + "\n")
    listed = fb.Scenario.from_dict({**NETWORK, "workload": [{"kind": "replay", "file": "ring.csv"}]}, base=tmp_path).run().flows
    rows = sorted(zip(listed["src"], listed["start_ns"], listed["end_ns"], strict=True))
    assert sorted(driven) == [(str(src), i % STEPS, int(end)) for i, (src, _, end) in enumerate(rows)]


def test_functions_are_called_in_order(engine: fb.Engine) -> None:
    calls: list[tuple[str, float]] = []

    def at_end() -> None:
        calls.append(("late", engine.now_ns))
        engine.send(0, 5, 1000)

    engine.schedule(2500.5, at_end)
    engine.schedule(1000, lambda: calls.append(("early", engine.now_ns)))
    (done,) = engine
    assert calls == [("early", 1000), ("late", 2500.5)]
    # Linux servers, the default, send at whole nanoseconds.
    assert (done.message, done.src, done.dst, done.start_ns) == (0, engine.hosts[0], engine.hosts[5], 2501)
    assert done.fct_ns == done.end_ns - 2501 > 0
    assert list(engine) == []
    engine.send(5, 0, 1)
    (again,) = engine
    assert again.message == 1
    assert again.start_ns >= done.end_ns


def test_errors(engine: fb.Engine) -> None:
    with pytest.raises(ValueError, match="no host 'x'"):
        engine.send("x", 0, 1)
    with pytest.raises(ValueError, match="legal: 0 to 7"):
        engine.send(8, 0, 1)
    with pytest.raises(ValueError, match="itself"):
        engine.send(1, 1, 1)
    with pytest.raises(ValueError, match="0 bytes"):
        engine.send(0, 1, 0)
    with pytest.raises(ValueError, match=r"bytes is -1; legal: 1 to 2\^64 - 1"):
        engine.send(0, 1, -1)
    with pytest.raises(ValueError, match="legal: 0 or more"):
        engine.schedule(-1, print)
    with pytest.raises(fb.ScenarioError, match="spines"):
        fb.Engine(fb.Scenario.from_dict({**NETWORK, "topology": {"kind": "leaf-spine", "spines": 0}}))
    with pytest.raises(ValueError, match="dctcp, cubic"):
        fb.Engine(fb.Scenario.from_dict({**NETWORK, "transport": {"cc": ["dctcp", "cubic"]}}))
    short = fb.Engine(fb.Scenario.from_dict({**NETWORK, "duration": "5us"}))
    short.send(0, 1, 1_000_000)
    with pytest.raises(fb.ForebayError, match="1 messages cannot be delivered"):
        next(short)


def test_exceptions_leave_the_loop(engine: fb.Engine) -> None:
    def fail() -> None:
        raise RuntimeError("of the caller")

    engine.schedule(10, fail)
    engine.send(0, 1, 1000)
    with pytest.raises(RuntimeError, match="of the caller"):
        next(engine)
    assert next(engine).message == 0
