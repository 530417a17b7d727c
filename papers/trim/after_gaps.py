"""Statements on other schemes: restart with a window of 2, idle detection of an RTO, and L2DCT on persistent connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Measured

from .common import MS, paper, per_run, rows

if TYPE_CHECKING:
    from forebay.repro import Result, Run

#: Variants of after-gaps.toml.
NAMES = ["inherited", "rfc5681", "rfc2861", "restart", "trim", "idle"]
LONG = 140_000
#: Start of the long trains.
AT = 400 * MS


@paper.experiment("after-gaps")
def after_gaps(run: Run) -> dict[int, Result]:
    """By number of servers."""
    seeds = run.pick(quick=3, full=20)
    alone = {"topology.senders": 1, "observe.tcp.flows": [0]}
    return {1: run("after-gaps.toml", alone, seeds=seeds), 5: run("after-gaps.toml", seeds=seeds)}


@paper.experiment("persistent")
def persistent(run: Run) -> dict[str, Result]:
    sets = {"workload.1.trains": run.pick(quick=100, full=200)}
    seeds = run.pick(quick=2, full=10)
    return {c: run("persistent.toml", {**sets, "workload.1.connections": c}, seeds=seeds) for c in ("per-train", "persistent")}


def inherited(r: Result, name: str) -> list[float]:
    """Smallest window of a connection with which its long train begins, one for each seed.

    A restart happens at the first segment of a train, so the window is read at the first ACK after it, less its growth.
    """
    t = rows(r, "tcp", NAMES, ["time_ns", "conn_id", "cwnd"])[name]
    t = t.rows(t["time_ns"] >= AT)
    found = []
    for seed in range(r.seeds):
        of = t.where(run=seed)
        found.append(min(float(of.where(conn_id=c)["cwnd"][0]) for c in np.unique(of["conn_id"])))
    return found


def completion(r: Result, name: str) -> list[float]:
    """Time of the last long train in ms, one for each seed."""
    t = rows(r, "flows", NAMES, ["size_bytes", "start_ns", "acked_ns"])[name].where(size_bytes=LONG)
    return [float((of["acked_ns"].astype(float) - of["start_ns"]).max()) / 1e6 for of in (t.where(run=i) for i in range(r.seeds))]


def timeouts(r: Result, name: str) -> float:
    """Timeouts of a run."""
    return float(np.mean(per_run(rows(r, "flows", NAMES, ["rtos"])[name], r.seeds, "rtos")))


@paper.claim("trim-idle-detection-rto", uses=["after-gaps"])
def _(x: Any) -> Any:
    r = x["after-gaps"][5]
    without = inherited(r, "inherited")
    told = ", ".join(f"{name} {timeouts(r, name):.1f}" for name in NAMES)
    return Measured.over(
        {name: [a / b for a, b in zip(inherited(r, name), without, strict=True)] for name in ("rfc5681", "rfc2861")},
        note=f"five servers; {np.mean(without):.0f} segments without detection; timeouts in a run: {told}",
    )


@paper.claim(
    "trim-restart-underutilises",
    uses=["after-gaps"],
    explanation="""On an idle link TRIM takes 3.3 ms for the train; a restart with window 2 takes 1.9 ms, the inherited
    window 1.3 ms. The window that TRIM has kept is 2: each short train begins with probes, whose ACKs do not enlarge
    it, and few packets are left to do so. And reductions have set ssthresh (A2) to 2, so that the window grows by a
    packet a round trip, where a restart doubles it. The document's own windows at the long trains are small, too (Fig.
    7). Tested: gaps that count only with nothing unacknowledged (A27), the same; reductions that leave ssthresh alone
    (A2), 2.0 ms; trains of 30 KB, 140 KB and 1 MB before it, 3.1, 2.6 and 3.2 ms. What probing gains is in the crowd:
    with five servers at once the last train takes 6.3 ms, after a restart 11.9 ms, with the window inherited 606 ms.""",
)
def _(x: Any) -> Any:
    alone, five = x["after-gaps"][1], x["after-gaps"][5]
    told = ", ".join(f"{name} {np.mean(completion(five, name)):.1f}" for name in NAMES)
    keeps = np.mean(completion(alone, "inherited"))
    return Measured.over(
        {name: completion(alone, name) for name in ("trim", "restart")},
        note=f"one server; {keeps:.2f} ms with the window inherited; last of five servers at once [ms]: {told}",
    )


def mean_time(r: Result, name: str) -> list[float]:
    """Mean time of responses in ms, one for each seed, without those in which a persistent connection has sent less than 2 MB."""
    t = rows(r, "flows", ["dctcp", "l2dct"], ["class", "start_ns", "fct_ns"])[name].where(**{"class": "responses"})
    found = []
    for seed in range(r.seeds):
        of = t.where(run=seed)
        found.append(float(np.nanmean(of["fct_ns"].astype(float)[np.argsort(of["start_ns"])][20:])) / 1e6)
    return found


@paper.claim("trim-l2dct-persistent", uses=["persistent"])
def _(x: Any) -> Any:
    by = {c: {name: mean_time(r, name) for name in ("dctcp", "l2dct")} for c, r in x["persistent"].items()}
    told = "; ".join(f"{c}: DCTCP {np.mean(v['dctcp']):.2f}, L2DCT {np.mean(v['l2dct']):.2f} ms" for c, v in by.items())
    ratio = {c.replace("-", "_"): [a / b for a, b in zip(v["l2dct"], v["dctcp"], strict=True)] for c, v in by.items()}
    return Measured.over(ratio, note=told)
