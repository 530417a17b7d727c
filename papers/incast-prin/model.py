"""The analytic goodput model of the document in exact arithmetic, as its repaired equations stand.

Written independently of `crates/model`, so that the two can be compared (`model-cli` in paper.py). Numbers in brackets are
equations of the document; "spec 1.x" are sections of the project's specification of it, which lists every repair. Everything
up to the expected number of congestion-avoidance periods between block-tail timeouts is a fraction; only the last step, and
the power in N^O, are floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

INF = math.inf


def peak(w: Fraction) -> Fraction:
    """Packets delivered in a congestion-avoidance period that peaks at `w`, E(Y_n) of (3)."""
    return Fraction(3, 8) * w * w + Fraction(5, 4) * w - 1


@cache
def overflow(held: Fraction, n: int) -> tuple[int, int]:
    """W_m (5), the smallest window at which the buffer overflows, and N_m (spec step 3), the flows that lose a packet there.

    They depend on neither blocks nor modes, for which the model is evaluated many times.
    """
    w = math.floor(held / n + Fraction(1, 2)) + 1
    return w, n * w - math.floor(held + Fraction(n, 2))


@cache
def delivered_until_loss(held: Fraction, n: int) -> Fraction:
    """Y_C before the floor, (8)."""
    whole, losers = overflow(held, n)
    w, share = Fraction(whole), Fraction(losers, n)
    return Fraction(3, 8) * w * w + 2 * w + Fraction(5, 8) - (Fraction(3, 4) * w + Fraction(13, 8)) * share


def periods_until(x: int, ca: int, block: int) -> float:
    """Least k >= 1 with k * ca = x modulo block, or infinity (spec 1.5; the congruence behind (11))."""
    g = math.gcd(ca, block)
    if x % g:
        return INF
    m = block // g
    if m == 1:
        return 1
    k = (x // g) * pow(ca // g, -1, m) % m
    return k or m


def periods_by_search(x: int, ca: int, block: int) -> float:
    """Find the same by trying every k of the search period."""
    return next((k for k in range(1, block + 1) if (k * ca - x) % block == 0), INF)


@dataclass(frozen=True)
class Tail:
    """Block-tail timeouts (12)-(16): periods until one for the two alphas, weight of the second, probabilities."""

    k: tuple[float, float]
    q: Fraction
    literal: float
    harmonic: float


@dataclass(frozen=True)
class Head:
    """Block-head timeouts (18)-(23)."""

    w_alone: int
    a: Fraction
    tau: Fraction
    d: Fraction
    n_o: float


@dataclass(frozen=True)
class Incast:
    """`cd`: packets in flight on the empty path; `rate`: packets a second; times in seconds, `block` in packets per sender."""

    rate: Fraction
    cd: Fraction
    buffer: int
    block: int
    rto: Fraction = Fraction(1, 5)
    halved: int | None = None  # PRIN: first windows halved, but not below this (spec 3.5); None: not

    @staticmethod
    def base(buffer: int = 64, kb: int = 256, gbps: int = 1, delay: Fraction = Fraction(1, 10_000), **kw: int | None) -> Incast:
        """Take the document's setting: 1000-byte packets, D = 100 us, RTO_min = 0.2 s."""
        rate = Fraction(gbps * 10**9, 8000)
        return Incast(rate, rate * delay, buffer, kb, **kw)  # type: ignore[arg-type]

    @cached_property
    def held(self) -> Fraction:
        """X = CD + B."""
        return self.cd + self.buffer

    def window(self, n: int) -> int:
        """W_m, the smallest window at which the buffer overflows (5)."""
        return overflow(self.held, n)[0]

    def losers(self, n: int) -> int:
        """N_m, the flows that lose a packet there (spec step 3)."""
        return overflow(self.held, n)[1]

    def mean_peak(self, n: int) -> Fraction:
        """E(W_n) of (6)."""
        return self.window(n) + 1 - Fraction(self.losers(n), n)

    def delivered_exact(self, n: int) -> Fraction:
        """Y_C before the floor, (8)."""
        return delivered_until_loss(self.held, n)

    def delivered(self, n: int) -> int:
        """Y_C (7)."""
        return math.floor(self.delivered_exact(n))

    def duration(self, n: int) -> Fraction:
        """T_C in seconds (10)."""
        w, share = Fraction(self.window(n)), Fraction(self.losers(n), n)
        return (
            Fraction(n)
            / self.rate
            * (Fraction(3, 8) * w * w + Fraction(7, 4) * w + Fraction(11, 8) - (Fraction(3, 4) * w + Fraction(11, 8)) * share)
        )

    def k_alpha(self, n: int, alpha: int) -> float:
        """Periods until a loss falls on one of a block's last three packets (13)."""
        delivered = self.delivered(n)
        return min(periods_until(alpha - beta, delivered, self.block) for beta in range(3))

    def tail(self, n: int) -> Tail:
        """Probability that a period ends in a block-tail timeout (12)-(16)."""
        w, share = self.window(n), Fraction(self.losers(n), n)
        ka, kb = self.k_alpha(n, w - 1), self.k_alpha(n, w)
        k1, k2, p2 = (ka, kb, 1 - share) if ka < kb else (kb, ka, share)
        q = p2**n
        if k1 == INF:
            literal = harmonic = 0.0
        else:
            literal = 1 / float(k1 * (1 - q) + (k2 * q if q else 0)) if k2 != INF or q == 0 else 0.0
            harmonic = float((1 - q) / Fraction(k1)) + (float(q / Fraction(k2)) if k2 != INF else 0.0)
        return Tail((ka, kb), q, literal, harmonic)

    def head(self, n: int) -> Head:
        """Flows expected to lose their whole first window (18)-(23)."""
        m = self.losers(n)
        w_alone = math.floor(self.held / m + Fraction(1, 2)) + 1
        w, wa = Fraction(self.window(n)), Fraction(w_alone)
        first, alone = Fraction(3, 4) * w, Fraction(3, 4) * wa
        tau = wa
        if self.halved is not None:  # PRIN R2: the first windows are half of what they were, or the floor
            first, alone = max(first / 2, Fraction(self.halved)), max(alone / 2, Fraction(self.halved))
            tau = wa / 2
        a = (n - m) * first + m * alone
        d = a - tau - self.buffer
        n_o = n * float(1 - self.buffer / (a - tau)) * float(1 - tau / a) ** float(a / n) if d > 0 else 0.0
        return Head(w_alone, a, tau, d, n_o)

    @cached_property
    def nstar(self) -> int | None:
        """N*: the first N at which a flow is expected to lose its whole first window."""
        return next((n for n in range(1, self.buffer + 1) if self.head(n).n_o >= 1), None)

    @cached_property
    def nstar_run3(self) -> int | None:
        """The first N that starts three in a row."""
        ok = [self.head(n).n_o >= 1 for n in range(1, self.buffer + 1)]
        return next((i + 1 for i in range(len(ok) - 2) if all(ok[i : i + 3])), None)

    def below(self, n: int, mode: str = "harmonic") -> float:
        """G_1 as a share of the link (17)."""
        tail = self.tail(n)
        p = {"literal": tail.literal, "harmonic": tail.harmonic}[mode]
        return float(n * self.delivered(n) / self.rate) / (float(self.duration(n)) + p * float(self.rto))

    def block_time(self, n: int) -> Fraction:
        """T_B in seconds for N >= N* (26)."""
        assert self.nstar is not None
        m = n - self.nstar + 1
        y = self.delivered(m) + self.mean_peak(m) / 2 - 1  # (24)
        return self.rto + self.block / y * (self.duration(m) + self.cd / self.rate)  # (25), (26)

    def goodput(self, n: int, mode: str = "harmonic") -> float:
        """G as a share of the link, not clipped."""
        if self.nstar is None or n < self.nstar:
            return self.below(n, mode)
        return float(n * self.block / self.rate / self.block_time(n))  # (27)

    def regime(self, n: int, limit: int) -> int:
        """Under a receive window: 1 latency bound, 2 link bound, 3 at the overflow window, 4 unaffected (29)-(32)."""
        w = self.window(n)
        if limit < w:
            return 1 if n * limit <= self.cd else 2
        return 3 if limit == w else 4

    def limited(self, n: int, limit: int, mode: str = "harmonic") -> float:
        """G_l as a share of the link (29)-(32)."""
        regime = self.regime(n, limit)
        if regime == 1:
            return float(n * limit / self.cd)
        if regime == 2:
            return 1.0
        if regime == 3:
            w, share = Fraction(self.window(n)), Fraction(self.losers(n), n)
            t = Fraction(n) / self.rate * (Fraction(3, 8) * w * w + w)
            return float(n * (share * peak(w) + (1 - share) * self.rate * t / n) / t / self.rate)
        return self.goodput(n, mode)
