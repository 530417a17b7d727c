"""A Gymnasium environment: an agent sets the windows or the rates of connections, once in each round trip.

Needs the extra ``forebay[gym]``. The package name of Gymnasium is ``gymnasium``.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

try:
    import gymnasium
    from gymnasium import spaces
except ModuleNotFoundError as e:
    if e.name != "gymnasium":
        raise
    raise ModuleNotFoundError("gymnasium is not installed: pip install 'forebay[gym]'", name="gymnasium") from None

from ._cc import CongestionControl
from ._native import Ack, Reduction, Window
from ._result import Result
from ._scenario import Scenario

Observation: TypeAlias = NDArray[np.float64]

#: Features of a connection with their largest values, in the order of the columns. The names are those of ``tcp_info`` in Linux.
FEATURES = {
    "snd_cwnd": 1e6,  # congestion window, segments
    "snd_ssthresh": 1e6,  # slow start threshold, segments; the largest value until it is set
    "rtt": 1e3,  # smoothed RTT, s
    "min_rtt": 1e3,  # smallest RTT of the connection so far, s
    "unacked": 1e6,  # segments in the network
    "delivery_rate": 1e13,  # rate at which data of the connection was delivered in the step, bit/s
    "losses": 1e6,  # window reductions in the step because of losses or timeouts
    "delivered_ce": 1.0,  # fraction of the bytes acknowledged in the step that had an ECN echo
}

#: Limits of the window, segments, and of the rate, bit/s.
_WINDOWS = (1.0, 1e5)
_RATES = (1e4, 1e13)

_CC = "agent"


def power(observation: Observation) -> float:
    """Return the default reward: the sum over connections of delivery rate times smallest RTT over RTT, in Gbit/s.

    It is the throughput, discounted by the delay in queues (Kleinrock's power, relative to the idle network).
    """
    _, _, rtt, min_rtt, _, rate, _, _ = observation.T
    return float((rate * np.divide(min_rtt, rtt, out=np.zeros_like(rtt), where=rtt > 0)).sum() / 1e9)


class _Stop(BaseException):
    """Ends a run whose episode was abandoned."""


class _Episode:
    """One run of the scenario in a thread of its own. Its hooks wait for the actions of the agent."""

    def __init__(self, scenario: Scenario, name: str, limit: int, paced: bool) -> None:
        self.flows: list[_Flow] = []
        self._limit = limit
        self._end_of_step = 0.0
        self._observed: SimpleQueue[float | Result | BaseException] = SimpleQueue()
        self._actions: SimpleQueue[NDArray[np.float64] | None] = SimpleQueue()
        make = partial(_PacedFlow if paced else _Flow, self)
        self._thread = threading.Thread(target=self._run, args=(scenario, name, make), daemon=True)
        self._thread.start()

    def _run(self, scenario: Scenario, name: str, make: Callable[[], CongestionControl]) -> None:
        try:
            self._observed.put(scenario.run(cc={name: make}))
        except BaseException as e:
            self._observed.put(e)

    def add(self, flow: _Flow) -> None:
        """Add a connection that begins."""
        if len(self.flows) == self._limit:
            raise ValueError(f"the run has more than {self._limit} connections of the agent; set `flows` to their number")
        self.flows.append(flow)

    def acked(self, now: float) -> None:
        """End the step at the first ACK that is a round trip later than the last end."""
        if now < self._end_of_step:
            return
        rtts = [f.srtt for f in self.flows if f.srtt > 0]
        if not rtts:
            return
        self._observed.put(now)
        factors = self._actions.get()
        if factors is None:
            raise _Stop
        for flow, factor in zip(self.flows, factors, strict=False):
            flow.change(factor)
        self._end_of_step = now + min(rtts)

    def wait(self) -> float | Result:
        """Wait for the end of the step; return its time, or the result at the end of the run."""
        end = self._observed.get()
        if isinstance(end, BaseException):
            self._thread.join()
            raise end
        return end

    def act(self, factors: NDArray[np.float64]) -> None:
        self._actions.put(factors)

    def stop(self) -> None:
        """End the run, and wait until its thread has ended."""
        self._actions.put(None)
        self._thread.join()


class _Flow(CongestionControl):
    """Congestion control of a connection of the agent: the window is the agent's, also in recovery."""

    def __init__(self, episode: _Episode) -> None:
        self._episode = episode
        episode.add(self)
        self.set = 0.0
        self.srtt = 0.0
        self._last = np.zeros(len(FEATURES))
        self._clock = 0.0
        self._start = 0.0
        self._delivered = self._acked = self._marked = self._losses = 0

    def in_ack_event(self, w: Window, ack: Ack) -> None:
        self.srtt = ack.srtt or 0.0
        self._delivered += ack.delivered
        self._acked += ack.acked
        self._marked += ack.acked if ack.ece else 0
        self._clock = ack.now
        threshold = min(w.ssthresh, FEATURES["snd_ssthresh"])
        self._last[:5] = (w.cwnd, threshold, self.srtt, ack.min_rtt or 0.0, ack.in_flight / ack.mss)
        if self.set == 0.0:
            self.set = self.begin(w, ack)
        self._episode.acked(ack.now)
        self.apply(w, ack)

    def begin(self, w: Window, ack: Ack) -> float:
        return w.cwnd

    def apply(self, w: Window, ack: Ack) -> None:
        w.cwnd = self.set

    def change(self, factor: float) -> None:
        self.set = float(np.clip(self.set * factor, *_WINDOWS))

    def cong_avoid(self, w: Window, ack: Ack) -> None:
        pass

    def ssthresh(self, w: Window, reduction: Reduction) -> float:
        self._losses += reduction.trigger != "ecn"
        return w.cwnd

    def observe(self) -> Observation:
        """Return the features, and begin the next step."""
        time = self._clock - self._start
        self._last[5] = 8 * self._delivered / time if time > 0 else 0.0
        self._last[6] = self._losses
        self._last[7] = self._marked / self._acked if self._acked else 0.0
        self._start = self._clock
        self._delivered = self._acked = self._marked = self._losses = 0
        observation: Observation = self._last.copy()
        return observation


class _PacedFlow(_Flow):
    """A connection of an agent that sets rates."""

    paces: ClassVar[bool] = True

    def begin(self, w: Window, ack: Ack) -> float:
        return 8 * w.cwnd * ack.mss / ack.srtt if ack.srtt else 0.0

    def apply(self, w: Window, ack: Ack) -> None:
        # Twice the data of a round trip, so that the rate limits.
        w.cwnd = max(10.0, 2 * self.set * self.srtt / (8 * ack.mss))

    def change(self, factor: float) -> None:
        self.set = float(np.clip(self.set * factor, *_RATES))

    def pacing_rate(self, mss: int) -> float:
        # Until the first RTT, the initial window leaves at once.
        return self.set or _RATES[1]


_names = threading.Lock()
_used: set[str] = set()


def _free_name() -> str:
    """Return a name that no other environment of the process has."""
    with _names:
        name = next(n for n in itertools.chain([_CC], (f"{_CC}-{i}" for i in itertools.count(2))) if n not in _used)
        _used.add(name)
    return name


class Env(gymnasium.Env[Observation, NDArray[np.float32]]):
    """Connections of a scenario, whose windows or rates the agent sets once in each round trip.

    A step ends at the first ACK that is a round trip (the smallest smoothed RTT of the connections) later than the last end. An
    episode is one run; it is terminated at its end. The same seed and actions give the same episode. ``info["result"]`` of the
    last step is the :class:`Result`; ``info["time_s"]`` of the others is the simulated time.

    Parameters
    ----------
    scenario : Scenario
        Its ``transport.cc`` is replaced by the agent; of groups, the ``cc`` of those that have ``cc = "agent"``.
    flows : int
        Connections that the agent controls: the largest number in a run.
    action : {"window", "rate"}
        The action of a connection is a number from -1 to 1: its window, or pacing rate, is multiplied by 2 to the power of it.
    reward : callable
        Reward of a step from its observation; default: :func:`power`.
    max_steps : int, optional
        Steps after which an episode is truncated.

    Attributes
    ----------
    observation_space : Box
        A row for each connection, with the columns :data:`FEATURES`. Connections that have not started are zeros.

    Examples
    --------
    >>> import forebay as fb
    >>> from forebay.gym import Env
    >>> env = Env(fb.Scenario.load("scenarios/two-flows.toml").with_({"observe": {}}, duration="20ms"), flows=2)
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample() * 0)
    >>> observation.shape, terminated
    ((2, 8), False)
    >>> env.close()
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: Scenario,
        *,
        flows: int = 1,
        action: Literal["window", "rate"] = "window",
        reward: Callable[[Observation], float] = power,
        max_steps: int | None = None,
    ) -> None:
        if action not in ("window", "rate"):
            raise ValueError(f"action is {action!r}; legal: 'window', 'rate'")
        if flows < 1:
            raise ValueError(f"flows is {flows}; legal: 1 or more")
        self._name = _free_name()
        self._scenario = scenario.with_(_replaced(scenario, self._name), runs=1)
        self._paced = action == "rate"
        self._flows = flows
        self._reward = reward
        self._max_steps = max_steps
        self._steps = 0
        self._episode: _Episode | None = None
        high = np.tile(np.array(list(FEATURES.values())), (flows, 1))
        self.observation_space = spaces.Box(np.zeros_like(high), high, dtype=np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (flows,), dtype=np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; it ends its first step at the first ACK with an RTT. Without a seed, the next one is drawn."""
        super().reset(seed=seed)
        self._stop()
        self._steps = 0
        scenario = self._scenario.with_(seed=int(self.np_random.integers(2**32)))
        self._episode = _Episode(scenario, self._name, self._flows, self._paced)
        end = self._episode.wait()
        if isinstance(end, Result):
            self._episode = None
            raise ValueError("no connection of the agent has received an ACK; the run ended before")
        return self._observe(self._episode), {"time_s": end}

    def step(self, action: NDArray[np.float32]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Multiply each window or rate by 2 to the power of its action, and run for a round trip."""
        episode = self._episode
        if episode is None:
            raise gymnasium.error.ResetNeeded("the episode has ended; call reset()")
        if np.shape(action) != (self._flows,):
            raise ValueError(f"the action has the shape {np.shape(action)}; legal: ({self._flows},)")
        episode.act(np.exp2(np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0)))
        end = episode.wait()
        self._steps += 1
        observation = self._observe(episode)
        terminated = isinstance(end, Result)
        if terminated:
            self._episode = None
        info = {"result": end} if terminated else {"time_s": end}
        truncated = not terminated and self._max_steps is not None and self._steps >= self._max_steps
        return observation, float(self._reward(observation)), terminated, truncated, info

    def close(self) -> None:
        """End the run of the episode."""
        self._stop()
        with _names:
            _used.discard(self._name)

    def _stop(self) -> None:
        if self._episode is not None:
            self._episode.stop()
            self._episode = None

    def _observe(self, episode: _Episode) -> Observation:
        observation: Observation = np.zeros((self._flows, len(FEATURES)))
        for row, flow in zip(observation, episode.flows, strict=False):
            row[:] = np.minimum(flow.observe(), np.array(list(FEATURES.values())))
        return observation


def _replaced(scenario: Scenario, name: str) -> dict[str, str]:
    """Return the changes that put the agent into the scenario."""
    groups = scenario.to_dict().get("transport", {}).get("group", [])
    named = [i for i, group in enumerate(groups) if group.get("cc") == _CC]
    return {f"transport.group.{i}.cc": name for i in named} or {"transport.cc": name}


gymnasium.register(id="forebay/Network-v0", entry_point="forebay.gym:Env")
