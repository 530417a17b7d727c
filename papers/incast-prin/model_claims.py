"""Claims about the model's algebra: exact, and where the program has the same model, asked of both."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

from forebay.repro import Measured, spearman

from .base import paper
from .model import INF, Incast, peak, periods_by_search, periods_until

BASE = Incast.base()
GRID = range(32, 257, 8)


def exact(value: Any, note: str = "", checks: dict[str, bool] | None = None) -> Measured:
    """Give a value of the model: no sample."""
    return Measured(value, note=note, checks=checks or {})


@paper.claim("model-ca-packets")
def _(x: dict[str, Any]) -> Measured:
    ns = (1, 2, 4, 8, 9, 12, 16, 32)
    mixture = [
        math.floor(
            Fraction(BASE.losers(n), n) * peak(Fraction(BASE.window(n)))
            + (1 - Fraction(BASE.losers(n), n)) * peak(Fraction(BASE.window(n) + 1))
        )
        for n in ns
    ]
    return exact(
        [BASE.delivered(n) for n in ns], "(8)", {"the closed form equals the mixture": mixture == [BASE.delivered(n) for n in ns]}
    )


@paper.claim("model-ca-duration")
def _(x: dict[str, Any]) -> Measured:
    return exact([float(BASE.duration(n)) * 1e3 for n in (1, 4, 8, 9, 16)], "(10), ms")


@paper.claim("model-overflow-window", uses=["model-cli"])
def _(x: dict[str, Any]) -> Measured:
    ns = (1, 2, 8, 9, 10, 13, 32)
    ours = [[BASE.window(n), BASE.losers(n)] for n in ns]
    cli = x["model-cli"]["base"]
    theirs = [[cli[n]["window at overflow, W_m"], cli[n]["flows that lose a packet there, N_m"]] for n in ns]
    return exact(ours, "(5), (6)", {"forebay run --world model says the same": ours == theirs})


@paper.claim("model-no-timeout-full-rate")
def _(x: dict[str, Any]) -> Measured:
    models = [Incast.base(b, gbps=c) for b in (64, 128, 256) for c in (1, 10)]
    rates = [float(n * m.delivered_exact(n) / m.duration(n) / m.rate) for m in models for n in range(1, m.buffer + 1)]
    low, high = min(rates), max(rates)
    return exact(
        {"lowest": low, "highest": high}, f"{len(rates)} points", {"at least 0.92": low >= 0.92, "at most 1.032": high <= 1.032}
    )


@paper.claim("model-tail-congruence")
def _(x: dict[str, Any]) -> Measured:
    ns = (1, 2, 4, 8, 9, 12, 7, 11)
    value = [[-1 if k == INF else int(k) for k in BASE.tail(n).k] for n in ns]
    same = all(
        periods_until(a, BASE.delivered(n), 256) == periods_by_search(a, BASE.delivered(n), 256)
        for n in range(1, 65)
        for a in range(-1, BASE.window(n) + 1)
    )
    return exact(value, "(11) to (13)", {"the search over all k finds the same": same})


@paper.claim("model-larger-block-fewer-tail-timeouts")
def _(x: dict[str, Any]) -> Measured:
    broken = points = 0
    for b in (64, 128, 256):
        chain = [Incast(BASE.rate, BASE.cd, b, block) for block in (64, 128, 256, 512, 1024)]
        for n in range(1, b + 1):
            for mode in ("literal", "harmonic"):
                g = [m.below(n, mode) for m in chain]
                points += 1
                broken += any(later < earlier - 1e-12 for earlier, later in pairwise(g))
    return exact({"chains that fall": broken, "chains": points}, "G_1 in both modes", {"none falls": broken == 0})


@paper.claim("model-nstar-values", uses=["model-cli"])
def _(x: dict[str, Any]) -> Measured:
    ours = [Incast.base(b).nstar for b in range(32, 257, 32)]
    theirs = [found["N*, collapse from"] for found in x["model-cli"]["1 Gbit/s"].values()]
    fast = [Incast.base(b, gbps=10).nstar for b in x["model-cli"]["10 Gbit/s"]]
    also = fast == [found["N*, collapse from"] for found in x["model-cli"]["10 Gbit/s"].values()]
    return exact(
        ours, "B = 32, 64, .. 256", {"forebay run --world model says the same": ours == theirs, "also at 10 Gbit/s": also}
    )


@paper.claim("model-nstar-depends-on-cd-and-b")
def _(x: dict[str, Any]) -> Measured:
    by_block = {kb: [Incast.base(b, kb).nstar for b in GRID] for kb in (64, 128, 256, 512)}
    near = [Incast.base(b, gbps=10, delay=Fraction(1, 100_000)).nstar for b in GRID]
    slow = by_block[256]
    value = {
        "block sizes with another N*": sum(v != slow for v in by_block.values()),
        "buffers with another N* at 10 Gbit/s, 10 us": sum(a != b for a, b in zip(near, slow, strict=True)),
    }
    return exact(value, f"{len(slow)} buffers", {"none": not any(value.values())})


@paper.claim("nstar-follows-buffer")
def _(x: dict[str, Any]) -> Measured:
    return exact(
        {
            f"{g} Gbit/s": spearman([float(Incast.base(b, gbps=g).nstar or 0) for b in GRID], [float(b) for b in GRID])
            for g in (1, 10)
        }
    )


@paper.claim("nstar-insensitive-to-capacity")
def _(x: dict[str, Any]) -> Measured:
    apart = [abs((Incast.base(b).nstar or 0) - (Incast.base(b, gbps=10).nstar or 0)) for b in GRID]
    mean = sum(apart) / len(apart)
    later = sum((Incast.base(b, gbps=10).nstar or 0) > (Incast.base(b).nstar or 0) for b in GRID)
    note = f"at 10 Gbit/s N* is larger for {later} of {len(apart)} buffers"
    return exact({"largest": max(apart), "mean": mean}, note, {"at most 6": max(apart) <= 6, "mean at most 3": mean <= 3})


@paper.claim("wl10-regimes")
def _(x: dict[str, Any]) -> Measured:
    return exact([BASE.regime(n, 10) for n in (1, 2, 8, 9, 10, 20)])


@paper.claim("wl10-n9")
def _(x: dict[str, Any]) -> Measured:
    return exact(BASE.limited(9, 10), "(30), (31)")


@paper.claim("prin-first-window-bound")
def _(x: dict[str, Any]) -> Measured:
    models = [Incast.base(b, gbps=c) for b in (64, 128, 256) for c in (1, 10)]
    shares = [float(m.head(n).a / (2 * n * Fraction(3, 4) * m.window(n))) for m in models for n in range(1, m.buffer + 1)]
    return exact(max(shares), f"largest of {len(shares)} points")
