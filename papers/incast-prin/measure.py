"""Measures of the document, from result tables: goodput, timeouts per block, and where in a block they fall (spec 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Blocks before the ones that count: the first slow start overshoots by tens of packets (spec 4).
WARMUP = 20
#: Bytes a second of 1 Gbit/s: goodput is normalized to the line.
LINE = 125e6


@dataclass
class Point:
    """One scenario, one value a seed."""

    #: Payload over the line rate, from the first request that counts to the last block.
    goodput: list[float] = field(default_factory=list)
    #: Per block the most timeouts of one sender, averaged (the document's count).
    timeouts: list[float] = field(default_factory=list)
    #: Timeouts of all senders per block, by class: in the first window, in the last three packets, between.
    head: list[float] = field(default_factory=list)
    tail: list[float] = field(default_factory=list)
    middle: list[float] = field(default_factory=list)
    #: Fast retransmits of all senders per block.
    fast: list[float] = field(default_factory=list)
    #: Share of blocks with a timeout.
    hit: list[float] = field(default_factory=list)

    @property
    def g(self) -> float:
        """Mean goodput."""
        return float(np.mean(self.goodput))

    @property
    def t(self) -> float:
        """Mean timeouts per block."""
        return float(np.mean(self.timeouts))


def points(result: Any, warmup: int = WARMUP) -> dict[str, Point]:
    """Make a :class:`Point` of each variant."""
    out = {v: Point() for v in result.variants}
    rounds = result.table("queries", ("variant", "run", "query_id", "class", "start_ns", "end_ns", "bytes", "rtos", "rtos_max"))
    columns = ("variant", "run", "query_id", "rtos", "rtos_head", "rtos_tail", "fast_retx")
    messages = result.table("flows", columns)
    for name, p in out.items():
        for run in range(result.seeds):
            q = rounds.where(variant=name, run=run)
            q = q.rows(q["query_id"] >= warmup)
            blocks = len(q)
            seconds = (q["end_ns"][-1] - q["start_ns"][0]) * 1e-9
            p.goodput.append(float(q["bytes"].sum() / seconds / LINE))
            p.timeouts.append(float(q["rtos_max"].mean()))
            p.hit.append(float((q["rtos"] > 0).mean()))
            m = messages.where(variant=name, run=run)
            m = m.rows(np.nan_to_num(m["query_id"].astype(float), nan=-1.0) >= warmup)
            head, tail, every = (float(m[c].sum()) / blocks for c in ("rtos_head", "rtos_tail", "rtos"))
            p.head.append(head)
            p.tail.append(tail)
            p.middle.append(every - head - tail)
            p.fast.append(float(m["fast_retx"].sum()) / blocks)
    return out


def point(result: Any, warmup: int = WARMUP) -> Point:
    """Make the :class:`Point` of a result with one variant."""
    (only,) = points(result, warmup).values()
    return only


Curve = dict[int, Point]


def onset(curve: Curve, least: float = 0.95) -> int:
    """First N with that many timeouts per block; one beyond the last if there is none."""
    return next((n for n in sorted(curve) if curve[n].t >= least), max(curve) + 1)


def at(curve: Curve, ns: Iterable[int]) -> list[int]:
    """The values of N on the curve."""
    return [n for n in ns if n in curve]
