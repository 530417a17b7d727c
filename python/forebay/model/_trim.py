"""TCP-TRIM's analysis: the RTT threshold K, the buffers it needs, and the waits after probing (TRIM section III)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import _native
from ._arguments import Number, Whole, number, whole


@dataclass(frozen=True, slots=True)
class Trim:
    """Range of K (Eq. 26) and derived values."""

    lower: float
    """Lower bound max((sqrt(2 C D) - 1)^2 / C, D) (Eqs. 21, 22), s: above it synchronized cuts do not empty the queue."""
    upper: float
    """Upper bound (B + C D) / (2 C) (Eq. 25), s: below it slow start does not overflow the buffer; infinite if unlimited."""
    worst_flows: float
    """sqrt(2 C D) - 1: number of flows for which the lower bound is needed. Below 1 no number of flows needs more than D."""
    queue_at_lower: float
    """C (lower - D): queue that the lower bound keeps, packets."""
    smallest_buffer: float
    """Buffer above which the interval is not empty (Eq. 28), packets."""
    threshold: float
    """K as a sender uses it, s: the lower bound, or the upper one where the interval is empty; in any case the guard above D."""

    @property
    def empty(self) -> bool:
        """True if no K satisfies both bounds: the buffer is too small."""
        return self.lower >= self.upper


@dataclass(frozen=True, slots=True)
class TrimWait:
    """Bounds of the wait after probing (AS), s."""

    lower_printed: float
    """Shortest wait without drops as printed, ((N - 2) W - B) / (2 C): counts the served packets twice (after Eq. 31)."""
    lower: float
    """Shortest wait without drops, ((N - 1) W - B) / C."""
    upper: float
    """Upper end of the interval waits are drawn from, (N - 1) W / C (Eq. 33)."""


def trim(*, rate: Number, rtt: Number, buffer: Number | None = None, packet: Whole = 1500, guard: Number = 3.0) -> Trim:
    """Evaluate the interval of TRIM's threshold K.

    Parameters
    ----------
    rate : float
        C: the bottleneck, bit/s, 1e4 to 1e13.
    rtt : float
        D: round trip on the empty network, s, above 0, at most 100.
    buffer : float, optional
        B, packets, above 0; unlimited by default.
    packet : int
        A full packet on the wire, bytes, 1 to 65 535.
    guard : float
        Packet times that a sender keeps K above D, 0 to 1e6.

    Raises
    ------
    ModelError
        An argument is outside its range.

    Examples
    --------
    >>> import forebay as fb
    >>> k = fb.model.trim(rate=1e9, rtt=200e-6, buffer=100, packet=1460)
    >>> round(k.lower * 1e6, 1), round(k.upper * 1e6, 1), round(k.smallest_buffer, 1)
    (275.0, 684.0, 30.0)
    """
    places = math.inf if buffer is None else number("buffer", buffer)
    found = _native.model_trim(number("rate", rate), number("rtt", rtt), places, whole("packet", packet), number("guard", guard))
    return Trim(*found)


def trim_queue(*, rate: Number, rtt: Number, flows: Whole, k: Number, packet: Whole = 1500) -> float:
    """Return the smallest queue after synchronized flows have cut once (Eqs. 4 to 12), packets; negative: the link idles.

    Parameters
    ----------
    rate, rtt, packet
        As for :func:`trim`.
    flows : int
        N, 1 to 1 000 000.
    k : float
        K, s, above 0, at most 1e6.

    Raises
    ------
    ModelError
        An argument is outside its range.
    """
    path = number("rate", rate), number("rtt", rtt)
    return _native.model_trim_queue(*path, whole("flows", flows), number("k", k), whole("packet", packet))


def trim_wait(*, rate: Number, flows: Number, window: Number, buffer: Number, packet: Whole = 1500) -> TrimWait:
    """Evaluate the bounds of the wait after probing.

    Parameters
    ----------
    rate, packet
        As for :func:`trim`.
    flows : float
        N, 1 to 1e9; an estimate (:func:`trim_flows`) may be a fraction.
    window : float
        W: packets that each has to send, above 0, at most 1e9.
    buffer : float
        B, packets, 0 or more.

    Raises
    ------
    ModelError
        An argument is outside its range.

    Examples
    --------
    >>> import forebay as fb
    >>> w = fb.model.trim_wait(rate=1e9, flows=40, window=10, buffer=100, packet=1460)
    >>> round(w.lower * 1e3, 2), round(w.upper * 1e3, 2)
    (3.39, 4.56)
    """
    found = _native.model_trim_wait(
        number("rate", rate),
        number("flows", flows),
        number("window", window),
        number("buffer", buffer),
        whole("packet", packet),
    )
    return TrimWait(*found)


def trim_flows(*, rate: Number, probe_rtt: Number, packet: Whole = 1500) -> float:
    """Return N as a sender estimates it from a probe's round trip: max(1, RTT C / 2), two probes of each flow being in the pipe.

    Parameters
    ----------
    rate, packet
        As for :func:`trim`.
    probe_rtt : float
        Round trip of a probe, s, above 0, at most 1e6.

    Raises
    ------
    ModelError
        An argument is outside its range.
    """
    return _native.model_trim_flows(number("rate", rate), number("probe_rtt", probe_rtt), whole("packet", packet))
