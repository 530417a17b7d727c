"""Attribution of marks to the rules of the modified CHOKe, from the bottleneck's queue packet by packet.

No table names the rule that set a mark. In the steady state nothing is lost and ACKs find empty queues. The samples of
both senders at every ACK therefore give two times of each packet. It arrived at the bottleneck a fixed time after its
transmission, and went into service a fixed time before its ACK. The queue that each arrival found gives RED's average,
the probability that all seven samples are of its flow, and, by RED's formula, the chance of the other mark. The number
of marks that this predicts is compared with the port's own counter.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from forebay.repro import Result

#: From the sender to the bottleneck: 1500 B at 10 Gbps, 40 us.
TO_QUEUE_NS = 41_200
#: From the start of service to the ACK's arrival at the sender: 12 us, the rest of the path, and the way back.
TO_ACK_NS = 250_000 - TO_QUEUE_NS
MSS = 1460


def events(r: Result) -> list[dict[str, float]]:
    """For each seed: the share of each flow's marking events that are RED's, and the number of all events."""
    settings = r.manifests[0]["scenario"]["variants"][0]["resolved"]["topology"]["bottleneck"]["queue"]
    return [_events(r, run, settings) for run in range(r.seeds)]


def _events(r: Result, run: int, settings: dict[str, Any]) -> dict[str, float]:
    names = ["tcp", "dctcp"]
    sent, left, at, who = [], [], [], []
    for i, name in enumerate(names):
        conn = r.flows.where(transport=name, run=run)["conn_id"][0]
        t = r.tcp.where(conn_id=conn, run=run)
        time, acked = t["time_ns"].astype(np.int64), t["bytes_acked"].astype(np.int64)
        ahead = (acked + t["unacked_bytes"].astype(np.int64)) // MSS
        sent.append((time + TO_QUEUE_NS, ahead))
        left.append((time - TO_ACK_NS, acked // MSS))
        new = np.diff(ahead, prepend=ahead[0])
        # Several at one ACK leave the host one after the other, 1.2 us each.
        rows = np.repeat(np.arange(len(time)), np.maximum(new, 0))
        place = np.arange(len(rows)) - np.repeat(np.cumsum(np.maximum(new, 0)) - np.maximum(new, 0), np.maximum(new, 0))
        at.append(time[rows] + TO_QUEUE_NS + 1200 * place)
        who.append(np.full(len(rows), i))
    arrivals, flow = np.concatenate(at), np.concatenate(who)
    order = np.argsort(arrivals, kind="stable")
    arrivals, flow = arrivals[order], flow[order]
    end = min(times[-1] for times, _ in left)
    inside = (arrivals >= 950_000_000) & (arrivals < end)
    arrivals, flow = arrivals[inside], flow[inside]
    waiting = np.stack([_count(*sent[i], arrivals) - _count(*left[i], arrivals) for i in (0, 1)])
    found = _walk(waiting, flow, arrivals, settings)
    seconds = (end - 1_000_000_000) / 1e9
    measured = r.manifests[run]["runs"][0]["end_ns"] / 1e9 - 1
    out = {name: found[i, 1] / found[i].sum() for i, name in enumerate(names)}
    return {**out, "total": float(found.sum() * measured / seconds)}


def _count(times: np.ndarray, counts: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Value of the counter just before each time."""
    return counts[np.maximum(np.searchsorted(times, at, side="left") - 1, 0)]


def _walk(waiting: np.ndarray, flow: np.ndarray, arrivals: np.ndarray, settings: dict[str, Any]) -> np.ndarray:
    """Events after the first second, drawn with the probabilities that each arrival met: [flow][0: test, 1: RED]."""
    low, high = (float(settings[k].removesuffix("pkt")) for k in ("min", "max"))
    p_max, weight, m = settings["p-max"], settings["weight"], settings["m"]
    rng = np.random.default_rng(1)
    draws = rng.random(len(flow))
    tests = rng.random(len(flow))
    found = np.zeros((2, 2))
    average, count = float(waiting.sum(0).mean()), -1
    for k, (own, other, i) in enumerate(
        zip(waiting[flow, np.arange(len(flow))], waiting[1 - flow, np.arange(len(flow))], flow, strict=True)
    ):
        q = int(own + other)
        average += weight * (q - average)
        rule = -1
        if average < low:
            count = -1
        elif q >= m and own >= m and tests[k] < comb(int(own), m) / comb(q, m):
            rule = 0
        elif average >= high:
            rule, count = 1, 0
        else:
            count += 1
            p = p_max * (average - low) / (high - low)
            if count * p >= 1 or draws[k] < p / (1 - count * p):
                rule, count = 1, 0
        if rule >= 0 and arrivals[k] >= 1_000_000_000:
            found[i, rule] += 1
    return found
