"""DCTCP in steady state: synchronized long flows at a marking step (Alizadeh et al., SIGCOMM 2010, section 3.3, cited as S)."""

from __future__ import annotations

from dataclasses import dataclass

from .. import _native
from ._arguments import Number, Whole, number, whole


@dataclass(frozen=True, slots=True)
class Dctcp:
    """Queue and windows. Queues in packets, the one in service included."""

    critical_window: float
    """W* = (C RTT + K) / N (S Eq. 5): window at which the queue reaches K, packets."""
    alpha: float
    """alpha, about sqrt(2 / W*) (S Eq. 6), at most 1."""
    alpha_exact: float
    """alpha from the equation before it is simplified, at most 1."""
    queue_max: float
    """K + N (S Eq. 10)."""
    queue_min: float
    """K + N - A (S Eq. 11); negative: the link idles."""
    amplitude: float
    """A = sqrt(2 N (C RTT + K)) / 2 (S Eq. 8)."""
    period: float
    """Length of the sawtooth in round trips (S Eq. 9)."""
    smallest_k: float
    """C RTT / 7 (S Eq. 13): with K above it no number of synchronized flows empties the queue, packets."""
    worst_flows: float
    """(C RTT + K) / 8: number of flows with the smallest queue, which is then K less this number."""
    largest_g: float
    """1.386 / sqrt(2 (C RTT + K)) (S Eq. 15): largest gain of alpha's average that follows congestion events."""


def dctcp(*, rate: Number, rtt: Number, flows: Whole, k: Number, packet: Whole = 1500) -> Dctcp:
    """Evaluate DCTCP's steady state.

    Good while windows are well above the floor of 2 segments.

    Parameters
    ----------
    rate : float
        C: the bottleneck, bit/s, 1e4 to 1e13.
    rtt : float
        Round trip on the empty network, s, above 0, at most 100.
    flows : int
        N, 1 to 1 000 000.
    k : float
        K: marking threshold, packets, 0 to 1e9.
    packet : int
        A full packet on the wire, bytes, 1 to 65 535.

    Raises
    ------
    ModelError
        An argument is outside its range.

    Examples
    --------
    >>> import forebay as fb
    >>> d = fb.model.dctcp(rate=10e9, rtt=500e-6, flows=2, k=65)
    >>> round(d.smallest_k, 1), d.queue_max, round(d.queue_min, 1)
    (59.5, 67.0, 45.1)
    """
    path = number("rate", rate), number("rtt", rtt)
    return Dctcp(*_native.model_dctcp(*path, whole("flows", flows), number("k", k), whole("packet", packet)))
