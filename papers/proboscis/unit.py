"""A single handshake: windows, holding times, timers; and the arithmetic of the text."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from forebay.repro import Measured, Result, Run

from .base import paper

#: Marked probes of ten, and the settings that mark them: see window-map.toml.
MARKED = {0: 10, 1: 9, 5: 5, 8: 2, 9: 1}
ENDS_MS = [2, 6, 10, 14, 18]
RESEND_MS = [15.0 + 0.25 * i for i in range(13)]


@paper.claim("prob-bdp")
def _(x: dict[str, Any]) -> Measured:
    value = {f"g{g}": g * 10**9 * 250 // (8 * 10**6) for g in (1, 40, 100)}
    return Measured(
        value,
        note="rate * 250 us / 8",
        checks={"only 1 Gbps needs no scaling": [v <= 65_535 for v in value.values()] == [True, False, False]},
    )


@paper.experiment("window-map")
def window_map(run: Run) -> dict[int, Result]:
    made = {ce: run("window-map.toml", {"topology.bottleneck.queue.k": f"{k}pkt"}) for ce, k in MARKED.items()}
    ahead = {"kind": "udp", "from": "s1", "to": "recv", "rate": "10Kbps", "start": "950us"}
    flow = {"kind": "long", "class": "flow", "from": "s0", "to": "recv", "size": "14600B", "start": "1ms"}
    made[10] = run("window-map.toml", {"topology.bottleneck.queue.k": "1pkt", "workload": [flow, ahead]})
    return made


@paper.claim("prob-window-map", uses=["window-map"])
def _(x: dict[str, Any]) -> Measured:
    rows = {ce: r.flows.where(**{"class": "flow"}) for ce, r in x["window-map"].items()}
    value = {f"ce_{ce}": float(t["syn_ack_window_bytes"][0]) / 1460 for ce, t in rows.items()}
    return Measured(value, checks={"the last one is severe": rows[10]["syn_ack_verdict"][0] == "severe"})


@paper.experiment("window-lost")
def window_lost(run: Run) -> Result:
    return run("window-lost.toml", seeds=5)


@paper.claim("prob-window-lost", uses=["window-lost"])
def _(x: dict[str, Any]) -> Measured:
    t = x["window-lost"].flows
    value = {
        "window": [float(w) / 1460 for w in t["syn_ack_window_bytes"]],
        "hold_ms": [float(h) / 1e6 for h in t["syn_ack_delay_ns"]],
    }
    checks = {
        "four of ten probes arrive, none is repeated": bool(
            all(t["probes"] == 10) and all(t["syn_ack_verdict"] == "insufficient")
        )
    }
    return Measured(value, note="five phases of the timer", checks=checks)


@paper.experiment("timer")
def timer(run: Run) -> dict[float, Result]:
    ends = [float(e) for e in ENDS_MS] + RESEND_MS
    return {e: run("timer.toml", {"duration": f"{round(e * 1000)}us"}) for e in dict.fromkeys(ends)}


@paper.claim("prob-timer-order", uses=["timer"])
def _(x: dict[str, Any]) -> Measured:
    def probes(e: float) -> int:
        return int(x["timer"][e].flows["probes"][0])

    def syns(e: float) -> int:
        return int(x["timer"][e].ports.where(port="s0->sw")["sent_pkts"][0]) - probes(e)

    trains = [probes(float(b)) - probes(float(a)) for a, b in pairwise(ENDS_MS)]
    resent = min(e for e in RESEND_MS if syns(e) == 2)
    return Measured(
        {**{f"at_{4 * (i + 1)}": n for i, n in enumerate(trains)}, "syn_resend_ms": resent},
        note="probes of the trains at 4, 8, 12 and 16 ms; the SYN to 0.25 ms, the timer's phase is random within 1 ms",
    )
