"""One simulation whose messages the caller sends while it runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import _native
from ._errors import ForebayError
from ._scenario import Scenario


@dataclass(frozen=True, slots=True)
class Completion:
    """A message that its receiver has completely.

    Attributes
    ----------
    message : int
        Its number, the result of :meth:`Engine.send`.
    src, dst : str
        Names of the hosts.
    bytes : int
        Its size.
    start_ns, end_ns : float
        Time at which it began, and at which the receiver had the last byte.
    """

    message: int
    src: str
    dst: str
    bytes: int
    start_ns: float
    end_ns: float

    @property
    def fct_ns(self) -> float:
        """Flow completion time."""
        return self.end_ns - self.start_ns


class Engine:
    """One simulation whose messages the caller sends while it runs.

    Iterating runs the simulation and yields each message when its receiver has it. The loop may send further messages. It ends
    when all messages have been delivered and no function is scheduled. More messages can be sent then, and iterated over again.

    Parameters
    ----------
    scenario : Scenario
        Its network and transport; it needs no workload. Workloads that it has run beside the messages of the caller.

    Attributes
    ----------
    hosts : tuple of str
        Names of the hosts, in the order of the topology.

    Examples
    --------
    A message there and one back:

    >>> import forebay as fb
    >>> scenario = fb.Scenario.load("scenarios/leaf-spine.toml").with_({"workload": [], "transport.cc": "dctcp"})
    >>> engine = fb.Engine(scenario)
    >>> first = engine.send("h0", "h9", 100_000)
    >>> for done in engine:
    ...     print(done.message, done.src, done.dst, done.bytes)
    ...     if done.message == first:
    ...         back = engine.send(done.dst, done.src, 100)
    0 h0 h9 100000
    1 h9 h0 100
    """

    def __init__(self, scenario: Scenario) -> None:
        self._native = _native.Engine(scenario._native)
        self.hosts = tuple(self._native.hosts())
        self._numbers = {name: number for number, name in enumerate(self.hosts)}
        self._messages: dict[int, tuple[int, int, int, int]] = {}
        self._timers: dict[int, Callable[[], object]] = {}

    @property
    def now_ns(self) -> float:
        """Simulated time: that of the last completion, or of the scheduled function that runs."""
        return self._native.now() / 1000

    @property
    def packet_hops(self) -> int:
        """Packet transmissions so far."""
        return self._native.packet_hops()

    def send(self, src: str | int, dst: str | int, bytes: int) -> int:
        """Send a message on a connection of its own, and return its number.

        In a scheduled function, and before the first completion, it begins now. After a completion it begins with the next window
        of the simulator: at most the shortest delay of a link later.

        Parameters
        ----------
        src, dst : str or int
            Names of two hosts, or their indices in :attr:`hosts`.
        bytes : int
            Its size.
        """
        a, b, size = self._number(src), self._number(dst), operator.index(bytes)
        if not 0 <= size < 2**64:
            raise ValueError(f"bytes is {size}; legal: 1 to 2^64 - 1")
        message, start = self._native.send(a, b, size)
        self._messages[message] = (a, b, size, start)
        return message

    def schedule(self, delay_ns: float, function: Callable[[], object]) -> None:
        """Call a function, without arguments, when this time has passed from now on. Iterating calls it, in order of time."""
        if not delay_ns >= 0:
            raise ValueError(f"delay_ns is {delay_ns}; legal: 0 or more")
        self._timers[self._native.schedule(round(delay_ns * 1000))] = function

    def __iter__(self) -> Iterator[Completion]:
        """Return the engine itself: iterations continue where the last one ended."""
        return self

    def __next__(self) -> Completion:
        """Run to the next completion."""
        while True:
            kind, number = self._native.step()
            if kind == "delivered":
                src, dst, size, start = self._messages.pop(number)
                end = self._native.now()
                return Completion(number, self.hosts[src], self.hosts[dst], size, start / 1000, end / 1000)
            if kind == "due":
                self._timers.pop(number)()
            elif kind == "idle":
                raise StopIteration
            else:
                open_ = self._native.open()
                raise ForebayError(
                    f"{open_} messages cannot be delivered: the duration of the scenario is over, or no packet is left"
                )

    def _number(self, host: str | int) -> int:
        if isinstance(host, str):
            try:
                return self._numbers[host]
            except KeyError:
                raise ValueError(f"there is no host {host!r}; `hosts` lists them") from None
        if not 0 <= host < len(self.hosts):
            raise ValueError(f"there is no host {host}; legal: 0 to {len(self.hosts) - 1}")
        return host
