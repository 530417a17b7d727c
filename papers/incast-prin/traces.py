"""Claims about single blocks: idle times, waiting senders, loss of whole windows. From series of every ACK and of the queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .measure import WARMUP


@dataclass
class Stalls:
    """Blocks that timeouts prolonged (Fig. 2)."""

    #: Seconds that the bottleneck was idle in blocks whose only timeouts were at tails.
    idle: list[float] = field(default_factory=list)
    #: Blocks that count, and those with a timeout.
    blocks: int = 0
    hit: int = 0
    #: Timeouts of all senders by class, and those of blocks.
    head: int = 0
    tail: int = 0
    middle: int = 0

    @property
    def spacing(self) -> float:
        """Blocks from one with a timeout to the next."""
        return self.blocks / max(self.hit, 1)


def stalls(result: Any) -> Stalls:
    """Timeouts and idle times of all seeds."""
    s = Stalls()
    for run in range(result.seeds):
        q = result.table("queries", ("run", "query_id", "start_ns", "end_ns", "rtos")).where(run=run)
        m = result.table("flows", ("run", "query_id", "rtos", "rtos_head", "rtos_tail")).where(run=run)
        queue = result.table("queue", ("run", "time_ns", "pkts")).where(run=run)
        ids = m["query_id"].astype(int)
        size = int(ids.max()) + 1
        every, head, tail = (np.bincount(ids, m[c], size).astype(int) for c in ("rtos", "rtos_head", "rtos_tail"))
        count = np.arange(size) >= WARMUP
        s.blocks += int(count.sum())
        s.hit += int((every[count] > 0).sum())
        s.head += int(head[count].sum())
        s.tail += int(tail[count].sum())
        s.middle += int((every - head - tail)[count].sum())
        step = float(np.median(np.diff(queue["time_ns"]))) * 1e-9
        for b in np.flatnonzero(count & (tail > 0) & (tail == every)):
            i, j = np.searchsorted(queue["time_ns"], [q["start_ns"][b], q["end_ns"][b]])
            s.idle.append(step * longest(queue["pkts"][i:j] == 0))
    return s


def longest(flags: np.ndarray[Any, Any]) -> int:
    """Length of the longest stretch of True."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return int((ends[1::2] - ends[::2]).max()) if len(ends) else 0


def sent_while_waiting(result: Any, block_packets: int, mss: int) -> tuple[int, int]:
    """Count what senders sent between the last ACK of a block and the next block, and their waits of over 10 ms.

    A retransmission is the only packet that a sender without data could send: retransmissions by the series of every ACK, up
    to the ACK that completes the block, against those in the message's own count.
    """
    extra = waits = 0
    for run in range(result.seeds):
        q = result.table("queries", ("run", "start_ns", "end_ns")).where(run=run)
        t = result.table("tcp", ("run", "conn_id", "time_ns", "bytes_acked", "retrans")).where(run=run)
        m = result.table("flows", ("run", "conn_id", "query_id", "segs_retx", "segs_sent")).where(run=run)
        for conn in np.unique(t["conn_id"]):
            one, mine = t.where(conn_id=conn), m.where(conn_id=conn)
            order = np.argsort(mine["query_id"].astype(int))
            counted = np.cumsum(mine["segs_retx"][order])
            whole = (np.arange(len(order)) + 1) * block_packets * mss
            last = np.searchsorted(one["bytes_acked"], whole)
            done = one["time_ns"][last]
            extra += int((counted - one["retrans"][last]).sum())
            extra += int((mine["segs_sent"] - mine["segs_retx"]).sum()) - len(order) * block_packets
            waits += int((q["end_ns"] - done > 10e6).sum())
    return extra, waits


def first_windows(result: Any) -> list[float]:
    """Sum all windows at the starts of blocks after the warm-up, packets."""
    sums = []
    for run in range(result.seeds):
        q = result.table("queries", ("run", "start_ns")).where(run=run)
        t = result.table("tcp", ("run", "conn_id", "time_ns", "cwnd")).where(run=run)
        starts = q["start_ns"][WARMUP:]
        total = np.zeros(len(starts))
        for conn in np.unique(t["conn_id"]):
            one = t.where(conn_id=conn)
            total += one["cwnd"][np.searchsorted(one["time_ns"], starts) - 1]
        sums += [float(v) for v in total]
    return sums


@dataclass
class Heads:
    """Blocks in which flows lost their whole first window (Fig. 3)."""

    #: Seconds from the request to the first ACK of flows that received nothing for 0.15 s.
    silence: list[float] = field(default_factory=list)
    #: Seconds from the request to the first complete answer, by block.
    first: list[float] = field(default_factory=list)
    #: Seconds that blocks took in which no sender timed out more than once, and one did.
    once: list[float] = field(default_factory=list)
    #: Seconds that blocks took.
    durations: list[float] = field(default_factory=list)
    #: Blocks that count.
    blocks: int = 0
    #: Senders that timed out, by block.
    hit: list[int] = field(default_factory=list)


def heads(result: Any, warmup: int, *, series: bool = True) -> Heads:
    """First windows and durations of all seeds; without `series` no silences."""
    h = Heads()
    for run in range(result.seeds):
        q = result.table("queries", ("run", "start_ns", "end_ns", "rtos_max", "senders_with_rto")).where(run=run)
        m = result.table("flows", ("run", "query_id", "end_ns", "rtos")).where(run=run)
        ids = m["query_id"].astype(int)
        first = np.full(len(q), np.inf)
        np.minimum.at(first, ids, m["end_ns"])
        h.first += [float(v) for v in ((first - q["start_ns"]) * 1e-9)[warmup:]]
        one = q["rtos_max"] == 1
        one[:warmup] = False
        took = (q["end_ns"] - q["start_ns"]) * 1e-9
        h.durations += [float(v) for v in took[warmup:]]
        h.once += [float(v) for v in took[one]]
        h.blocks += len(q) - warmup
        h.hit += [int(v) for v in q["senders_with_rto"][warmup:]]
        if series:
            t = result.table("tcp", ("run", "conn_id", "time_ns")).where(run=run)
            starts = q["start_ns"][warmup:]
            for conn in np.unique(t["conn_id"]):
                times = t["time_ns"][t["conn_id"] == conn]
                after = np.searchsorted(times, starts)
                known = after < len(times)
                wait = (times[after[known]] - starts[known]) * 1e-9
                h.silence += [float(v) for v in wait[wait > 0.15]]
    return h
