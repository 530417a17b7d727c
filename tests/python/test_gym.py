"""The Gymnasium environment: the checker of the library, determinism, and actions that have effects."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import forebay as fb
from forebay.gym import FEATURES, Env, Observation

LINK = {"rate": "100Mbps", "delay": "50us"}
TWO = {
    "name": "two",
    "duration": "30ms",
    "topology": {"kind": "many-to-one", "senders": 2, "access": LINK, "bottleneck": {**LINK, "buffer": "40pkt"}},
    "transport": {"cc": "newreno"},
    "workload": [{"kind": "long"}],
}
COLUMN = {name: i for i, name in enumerate(FEATURES)}


@pytest.fixture
def two() -> fb.Scenario:
    return fb.Scenario.from_dict(TWO)


@pytest.fixture(params=["window", "rate"])
def env(request: pytest.FixtureRequest, two: fb.Scenario) -> Generator[Env]:
    made = Env(two, flows=2, action=request.param)
    yield made
    made.close()


def episode(env: Env, seed: int, power: float) -> tuple[list[Observation], dict[str, Any]]:
    """Observations of an episode with the same action throughout, and the last `info`."""
    observation, info = env.reset(seed=seed)
    seen = [observation]
    terminated = False
    while not terminated:
        observation, _, terminated, _, info = env.step(np.full(2, power, dtype=np.float32))
        seen.append(observation)
    return seen, info


@pytest.mark.parametrize("action", ["window", "rate"])
def test_the_checker_of_gymnasium_passes(two: fb.Scenario, action: str) -> None:
    made = gymnasium.make("forebay/Network-v0", scenario=two, flows=2, action=action, max_steps=50)
    check_env(made.unwrapped)
    made.close()


def test_episodes_repeat(env: Env) -> None:
    (first, info), (second, other) = episode(env, 5, 0.01), episode(env, 5, 0.01)
    assert len(first) == len(second) > 10
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert info["result"].fingerprint == other["result"].fingerprint


def test_a_step_is_a_round_trip(env: Env) -> None:
    _, before = env.reset(seed=1)
    for _ in range(5):
        observation, _, _, _, info = env.step(np.zeros(2, dtype=np.float32))
        step = info["time_s"] - before["time_s"]
        assert 0.9 * observation[:, COLUMN["min_rtt"]].min() < step < 3 * observation[:, COLUMN["rtt"]].max()
        before = info


def test_larger_actions_fill_the_queue(env: Env) -> None:
    (small, slow), (large, fast) = episode(env, 1, -0.5), episode(env, 1, 0.5)
    rtt = COLUMN["rtt"]
    assert large[-1][:, rtt].mean() > 2 * small[-1][:, rtt].mean()
    slow_bytes, fast_bytes = (info["result"].flows["bytes_acked"].sum() for info in (slow, fast))
    assert fast_bytes > 1.2 * slow_bytes
    slow_queue, fast_queue = (info["result"].ports["queue_max_pkts"].max() for info in (slow, fast))
    assert fast_queue > slow_queue


def test_two_environments_share_a_process(two: fb.Scenario) -> None:
    """Their steps alternate."""
    both = [Env(two, flows=2) for _ in range(2)]
    starts = [env.reset(seed=3)[0] for env in both]
    assert np.array_equal(starts[0], starts[1])
    steps = [env.step(np.zeros(2, dtype=np.float32))[0] for env in both]
    assert np.array_equal(steps[0], steps[1])
    for env in both:
        env.close()


def test_a_group_beside_others(two: fb.Scenario) -> None:
    groups = [{"name": "ours", "cc": "agent", "hosts": "s0"}, {"name": "others", "cc": "cubic", "hosts": "s1"}]
    mixed = fb.Scenario.from_dict({**TWO, "transport": {"group": groups}})
    env = Env(mixed)
    observation, _ = env.reset(seed=1)
    assert observation.shape == (1, len(FEATURES))
    env.close()


def test_errors_name_the_remedy(two: fb.Scenario) -> None:
    env = Env(two, flows=1)
    with pytest.raises(ValueError, match="more than 1 connections of the agent; set `flows`"):
        env.reset(seed=1)
    env.close()
    with pytest.raises(ValueError, match="legal: 'window', 'rate'"):
        Env(two, action="jump")  # type: ignore[arg-type]
    env = Env(two, flows=2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(2, dtype=np.float32))
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"legal: \(2,\)"):
        env.step(np.zeros(3, dtype=np.float32))
    env.close()


def test_missing_gymnasium_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "gymnasium")
    monkeypatch.delitem(sys.modules, "forebay.gym")

    def refuse(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == "gymnasium":
            raise ModuleNotFoundError("No module named 'gymnasium'", name=name)

    monkeypatch.setattr(sys, "meta_path", [SimpleNamespace(find_spec=refuse), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'forebay\[gym\]'"):
        importlib.import_module("forebay.gym")
