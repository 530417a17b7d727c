"""Congestion controls written in Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import ClassVar, TypeAlias

from . import _native
from ._native import Ack, Event, Reduction, Window

#: A congestion control, or a callable without arguments that makes one for a connection.
Maker: TypeAlias = "Callable[[], CongestionControl]"


class CongestionControl:
    """Congestion control of the sender of one connection, for a first try of an idea.

    Derive a class and override its hooks. They have the names and times of those of the simulator and of ``tcp_congestion_ops``
    in Linux. On an ACK, :meth:`in_ack_event` comes first. If the ACK starts a reduction, :meth:`ssthresh` follows. Otherwise, if
    the ACK advances, :meth:`pkts_acked` follows, and :meth:`cong_avoid` where growth is allowed. Loss detection, recovery and ECN
    are those of the stack. The defaults are those of NewReno (RFC 5681).

    :meth:`Scenario.run` makes one object for each connection. Its argument ``cc`` gives the class a name, which
    ``transport.cc`` of the scenario uses. Each call of a hook takes microseconds, so that runs are slower than with a built-in
    congestion control.

    The results are the same for the same scenario and seed, if the hooks depend on their arguments and the state of objects only.
    For random numbers use a generator with a fixed seed.

    Examples
    --------
    >>> import forebay as fb
    >>> class Scalable(fb.CongestionControl):
    ...     def cong_avoid(self, w, ack):
    ...         rest = w.slow_start(ack.grow) if w.in_slow_start else ack.grow
    ...         w.cwnd += 0.01 * rest
    ...
    ...     def ssthresh(self, w, reduction):
    ...         return max(w.cwnd * 7 / 8, 2)
    >>> s = fb.Scenario.load("scenarios/two-flows.toml")
    >>> s = s.with_({"transport.cc": ["newreno", "scalable"], "observe": {}}, duration="20ms")
    >>> s.run(cc={"scalable": Scalable}).variants
    ['newreno', 'scalable']
    """

    ecn: ClassVar[str] = "off"
    """ECN mode: ``"off"``, ``"classic"`` (RFC 3168) or ``"dctcp"`` (RFC 8257); ``transport.ecn`` has precedence."""
    paces: ClassVar[bool] = False
    """True if :meth:`pacing_rate` sets the pacing rate."""
    reduces_on_loss_after_ecn: bool = False
    """True if a loss reduces again in a window that ECE has reduced."""

    def in_ack_event(self, w: Window, ack: Ack) -> None:
        """Handle an ACK, duplicates included, before loss recovery. For counting marks."""

    def pkts_acked(self, w: Window, ack: Ack) -> None:
        """Handle an ACK that advances, in any state, unless it starts a reduction. For delay signals."""

    def cong_avoid(self, w: Window, ack: Ack) -> None:
        """Let the window grow: the ACK advanced, no recovery is in progress, and the application filled the window."""
        w.reno(ack.grow)

    def ssthresh(self, w: Window, reduction: Reduction) -> float:
        """Return the threshold for a reduction that starts now, segments. The stack sets window and threshold."""
        return max(reduction.base / 2, 2.0)

    def window_after_marks(self, base: float, threshold: float) -> float:
        """Return the window after a reduction by marks from ``base`` segments; it may be below the threshold (RFC 3168)."""
        return threshold

    def cwnd_event(self, w: Window, event: Event) -> None:
        """Handle an event other than an ACK; :attr:`Event.kind` has its name."""

    def undo_cwnd(self, w: Window, prior: float) -> float:
        """Return the window after a spurious reduction; ``prior`` is the window before it."""
        return max(w.cwnd, prior)

    def alpha(self) -> float | None:
        """Return the estimate of the marked fraction, for the table ``tcp``."""
        return None

    def pacing_rate(self, mss: int) -> float:
        """Return the pacing rate of payload in bit/s for segments of ``mss`` bytes; only called if :attr:`paces` is true."""
        raise NotImplementedError(f"{type(self).__name__} has `paces = True` and no method `pacing_rate`")


def _kind(make: Maker) -> type:
    """Return the class of the objects that a callable makes."""
    if isinstance(make, partial):
        return _kind(make.func)
    return make if isinstance(make, type) else type(make())


@contextmanager
def registered(cc: Mapping[str, Maker]) -> Iterator[_native.Controls]:
    """Register congestion controls with the simulator for the time of a run."""
    rows = []
    for name, make in cc.items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
            raise ValueError(f"the name of a congestion control is {name!r}; legal: 1 to 40 letters, digits, - and _")
        kind = _kind(make)
        if not issubclass(kind, CongestionControl):
            raise TypeError(f"cc[{name!r}] makes {kind.__name__} objects, which are not derived from forebay.CongestionControl")
        rows.append((name, make, kind.ecn, kind.paces))
    controls = _native.Controls(rows)
    try:
        yield controls
    finally:
        controls.close()
