"""The incast goodput model (INCAST: Zhang, Ren, Tang, Lin, "Modeling and Solving TCP Incast Problem in Data Center Networks")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .. import _native
from ._arguments import Number, Whole, number, whole


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows at which N synchronous flows overflow the buffer; packets."""

    overflow: int
    """W_m (Eq. 5): smallest integer window at which the buffer overflows with all flows."""
    losers: int
    """N_m: flows that lose a packet at W_m; the others lose it at W_m + 1 (Eq. 6)."""
    overflow_of_losers: int
    """W_m^{N_m} (Eq. 18): W_m as if only N_m flows existed."""
    mean_peak: float
    """E(W_n) (Eq. 6): mean peak window."""


@dataclass(frozen=True, slots=True)
class Period:
    """A period of congestion avoidance, from half the peak window to the repair of the loss."""

    packets: int
    """Y_C (Eqs. 7, 8): packets delivered per flow."""
    packets_exact: float
    """The same before it is rounded down, as the source does."""
    duration: float
    """T_C (Eqs. 9, 10), s."""


@dataclass(frozen=True, slots=True)
class Tail:
    """Block-tail timeouts: losses among a block's last three packets."""

    k_low: int | None
    """k for alpha = W_m - 1 (Eq. 13): periods until a loss falls on a block's last three packets; None: never."""
    k_high: int | None
    """The same for alpha = W_m."""
    all_later: float
    """Probability that all flows drew the alpha with the larger k (Eq. 15)."""
    expected: float | None
    """E(k_min) (Eq. 16); None: infinite."""
    probability: float
    """P^O: probability that a period ends in a block-tail timeout, 0 to 1."""


@dataclass(frozen=True, slots=True)
class FirstRound:
    """The first round of a block: flows that lose their whole first window have a block-head timeout."""

    offered: float
    """A_b (Eq. 19): first windows of all flows together, packets."""
    served: float
    """C tau: packets that the bottleneck serves while the slowest sender injects its window."""
    excess: float
    """A_b - C tau - B: packets lost; negative: the room that is left (Eq. 20 before it is clipped)."""
    loss: float
    """P_p (Eq. 22): probability that a packet is lost at the full buffer."""
    late_flows: float
    """N_t (Eq. 21): flows that start while the buffer is full."""
    flows_in_timeout: float
    """N^O: flows expected to lose their whole first window."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """Goodput from N* on: one timeout in every block (Eqs. 24 to 27)."""

    flows: int
    """N' = N - N* + 1: flows in timeout."""
    packets: float
    """Y_F (Eq. 24): packets per flow of a period with its fast recovery."""
    period: float
    """T_F (Eq. 25): its duration, s."""
    block: float
    """T_B (Eq. 26): duration of a block, s."""


@dataclass(frozen=True, slots=True)
class Incast:
    """Goodput of barrier-synchronized senders, with intermediate results."""

    senders: int
    """N."""
    goodput: float
    """G: payload of all flows together, bit/s."""
    share: float
    """The same as a fraction of the link's upper limit. Not clipped: it exceeds 1 by up to 3.2 % below N*, 6.3 % beyond."""
    collapsed: bool
    """True if N >= N* and no receive window prevents it."""
    regime: Literal["latency", "link", "equal", "unaffected"]
    """Effect of the receive window (Eqs. 28 to 32): keeps the pipe unfilled, fills it without loss, equals W_m, or none."""
    timeouts_per_block: float
    """Timeouts of a block: 1 from N* on, below P^O for each of its periods, 0 where the receive window prevents losses."""
    block_time: float
    """Duration of a block, s."""
    block_packets: int
    """Y_B: packets of a sender's block."""
    windows: Windows
    """Windows at overflow."""
    period: Period
    """A period of congestion avoidance of all senders."""
    tail: Tail
    """Block-tail timeouts."""
    head: FirstRound
    """Block-head timeouts."""
    beyond: Beyond | None
    """Intermediate results of the goodput beyond the collapse."""


@dataclass(frozen=True, slots=True)
class Nstar:
    """The number of senders from which on at least one is expected to lose its whole first window in every block.

    None: it does not happen with up to as many senders as the buffer has places.
    """

    first: int | None
    """N*: the first such number."""
    run3: int | None
    """The first of three such numbers in a row: single ones can be an artifact of integers."""
    smooth: float | None
    """The number where the integers are smoothed away; None for halved windows too, where it is not defined."""


def incast(
    *,
    senders: Whole,
    rate: Number,
    rtt: Number,
    buffer: Whole,
    block: Whole,
    packet: Whole = 1500,
    payload: Whole | None = None,
    rto: Number = 0.2,
    window: Whole | None = None,
    tail: Literal["literal", "harmonic", "uniform", "protected"] = "literal",
    nstar: Literal["first", "run3"] = "first",
) -> Incast:
    """Evaluate the incast goodput model for one number of senders.

    Senders answer a request with a block each, and the next request goes out when all blocks are there. Good to about 12 % from
    N* to 1.25 N*; further on real timeouts repeat within a block. Below N* single points are erratic, because tail timeouts
    depend on residues.

    Parameters
    ----------
    senders : int
        N, 1 to `buffer`: the derivation assumes no more senders than places in the buffer.
    rate : float
        C: the bottleneck, bit/s, 1e4 to 1e13.
    rtt : float
        D: round trip on the empty network, s, above 0, at most 100.
    buffer : int
        B: drop-tail buffer of the bottleneck, packets, 1 to 1 000 000.
    block : int
        S_b: each sender's block, bytes of payload, 1 to 2^40.
    packet : int
        A full packet on the wire, bytes, 1 to 65 535.
    payload : int, optional
        Payload of a packet, bytes, 1 to `packet`; all of it by default, as in the source.
    rto : float
        T_0: length of a timeout, s, above 0, at most 1e6.
    window : int, optional
        W_l: receive window, packets, 1 to 2^40; unlimited by default.
    tail : str
        Average over tail timeouts. ``literal``: as printed (Eq. 16). ``harmonic``: better if one of its branches is impossible.
        ``uniform``: losses anywhere in the block, which is smooth and not in the source. ``protected``: 0, as under PRIN.
    nstar : str
        Definition of N*: the ``first``, as in the source, or the first of three in a row (``run3``).

    Raises
    ------
    ModelError
        An argument is outside its range; or the pipe, `rate` times `rtt`, holds more than 1e9 packets.

    Examples
    --------
    >>> import forebay as fb
    >>> m = fb.model.incast(senders=16, rate=1e9, rtt=100e-6, buffer=64, block=256_000, packet=1000)
    >>> round(m.share, 4), m.collapsed, m.windows.overflow, m.beyond.flows
    (0.1577, True, 6, 4)
    """
    n, size, speed = whole("senders", senders), whole("packet", packet), number("rate", rate)
    carried = size if payload is None else whole("payload", payload)
    limit = None if window is None else whole("window", window)
    goodput, share, regime, timeouts, block_packets, w, p, t, h, beyond = _native.model_incast(
        n,
        speed,
        number("rtt", rtt),
        whole("buffer", buffer),
        whole("block", block),
        size,
        carried,
        number("rto", rto),
        limit,
        str(tail),
        str(nstar),
    )
    return Incast(
        n,
        goodput,
        share,
        beyond is not None,
        regime,  # type: ignore[arg-type]
        timeouts,
        8 * n * block_packets * carried / goodput,
        block_packets,
        Windows(*w),
        Period(*p),
        Tail(*t),
        FirstRound(*h),
        None if beyond is None else Beyond(*beyond),
    )


def incast_nstar(*, rate: Number, rtt: Number, buffer: Whole, packet: Whole = 1500, halved: Number | None = None) -> Nstar:
    """Find N*, which depends only on the packets that pipe and buffer hold.

    Parameters
    ----------
    rate, rtt, buffer, packet
        As for :func:`incast`.
    halved : float, optional
        First windows are PRIN's: halved, but at least this many packets, 0 to 1000. Inherited by default.

    Raises
    ------
    ModelError
        An argument is outside its range.

    Examples
    --------
    >>> import forebay as fb
    >>> network = dict(rate=1e9, rtt=100e-6, buffer=64, packet=1000)
    >>> fb.model.incast_nstar(**network).first, fb.model.incast_nstar(**network, halved=1).first
    (13, 53)
    """
    floor = None if halved is None else number("halved", halved)
    found = _native.model_nstar(number("rate", rate), number("rtt", rtt), whole("buffer", buffer), whole("packet", packet), floor)
    return Nstar(*found)


def first_round(
    *, senders: Whole, rate: Number, rtt: Number, buffer: Whole, packet: Whole = 1500, halved: Number | None = None
) -> FirstRound:
    """Evaluate the first round of a block (Eqs. 18 to 23).

    Parameters
    ----------
    senders, rate, rtt, buffer, packet
        As for :func:`incast`.
    halved : float, optional
        As for :func:`incast_nstar`.

    Raises
    ------
    ModelError
        An argument is outside its range.
    """
    floor = None if halved is None else number("halved", halved)
    path = (number("rate", rate), number("rtt", rtt), whole("buffer", buffer), whole("packet", packet))
    return FirstRound(*_native.model_first_round(whole("senders", senders), *path, floor))
