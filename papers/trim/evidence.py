"""Tables of further measurements beside TCP-TRIM; `papers/evidence.py` runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from evidence_table import CONGESTION_CONTROLS, STACKS, mean_text, verdicts

if TYPE_CHECKING:
    from evidence_table import Rows

    from forebay.repro import Run


def host_jitter(run: Run) -> Rows:
    """Utilization of the two 10 Gbps links under TRIM and DCTCP, by the hosts' jitter."""
    sets: dict[str, Any] = {"transport.cc": ["dctcp", {"kind": "trim", "rate": "10Gbps", "buffer": "245pkt"}]}
    jitters = ["0s", "100ns", "500ns", "2us", "5us", "11.68us"]
    asked = {j: run("fig10.toml", {**sets, "transport.send-jitter": j}, seeds=3) for j in jitters}
    rows = [["jitter", "DCTCP, link 1 busy", "link 2 busy", "TRIM, link 1 busy", "link 2 busy"]]
    for j, r in asked.items():
        busy = [
            mean_text(r.per_run(lambda t: 100 * float(t["utilization"][0]), "ports", variant=v, port=p))
            for v in r.variants
            for p in LINKS
        ]
        rows.append([j, *(f"{b} %" for b in busy)])
    return rows


LINKS = ("link1", "link2")


def trains(run: Run) -> Rows:
    """Long trains after short ones on the same connections (TRIM, Fig. 4), on both stacks."""
    sets = {
        "transport.cc": CONGESTION_CONTROLS,
        "topology.bottleneck.queue": {"kind": "dctcp-step", "k": "20pkt"},
        "transport.rto-min": "200ms",
    }
    asked = {s: run("fig04.toml", {**sets, "transport.stack": s}, seeds=10) for s in STACKS}

    def last(t: Any) -> float:
        long = t.rows(t["size_bytes"] == 140_000)
        return float((long["acked_ns"].astype(float) - long["start_ns"]).max()) / 1e6

    rows = [["congestion control", *(f"{s}: last of five trains [ms]" for s in STACKS), *(f"{s}: timeouts" for s in STACKS)]]
    for i, variant in enumerate(asked["ns2"].variants):
        times = [mean_text(r.per_run(last, variant=r.variants[i])) for r in asked.values()]
        late = [mean_text(r.per_run(lambda t: float(t["rtos"].sum()), variant=r.variants[i])) for r in asked.values()]
        rows.append([variant, *times, *late])
    return rows


TRIM = {"kind": "trim", "min-rtt-seed": "idle-data"}


def offloaded(run: Run, linux: Run) -> Rows:
    """TRIM's two probes where hosts join segments: trains after pauses (Fig. 4), stack `linux`."""
    ways: dict[str, dict[str, Any]] = {
        "neither": {},
        "TSO": {"transport.tso": "64KB"},
        "GRO, 20 us": {"transport.gro": "20us"},
        "TSO and GRO": {"transport.tso": "64KB", "transport.gro": "20us"},
    }
    base = {"transport.stack": "linux", "transport.rto-min": "200ms", "transport.cc": [TRIM, "newreno"]}
    asked = {n: [w("fig04.toml", {**base, **sets}, seeds=5) for w in (run, linux)] for n, sets in ways.items()}
    what = ("short trains [ms]", "last of five long trains [ms]", "lost", "timeouts")
    rows = [["offload", "congestion control", *(f"{where}: {w}" for where in ("simulator", "Linux") for w in what)]]
    for name, both in asked.items():
        for i, cc in enumerate(("TRIM", "Reno")):
            cells = []
            for r in both:
                of = {"variant": r.variants[i]}
                cells.append(mean_text(r.per_run(short_trains, **of)))
                cells.append(mean_text(r.per_run(last_train, **of)))
                cells.append(mean_text(r.per_run(lambda t: float(t["dropped_overflow"].sum()), "ports", port="bottleneck", **of)))
                cells.append(mean_text(r.per_run(lambda t: float(t["rtos"].sum()), **of)))
            rows.append([name, cc, *cells])
    return rows


def short_trains(t: Any) -> float:
    """Mean time of a short train, ms."""
    return float(np.nanmean(t.rows(t["size_bytes"] < 20_000)["fct_ns"].astype(float))) / 1e6


def last_train(t: Any) -> float:
    """When the last of the long trains was acknowledged, ms after it began; TRIM's figure of merit."""
    long = t.rows(t["size_bytes"] == 140_000)
    return float((long["acked_ns"].astype(float) - long["start_ns"]).max()) / 1e6


def inherited(run: Run, linux: Run) -> Rows:
    """Windows that long trains inherit from short ones (Fig. 4), on stacks that validate windows and that do not."""
    ways: dict[str, dict[str, Any]] = {
        "ns2": {"transport.stack": "ns2", "transport.handshake": True, "transport.limited-transmit": True},
        "linux, windows not validated": {"transport.stack": "linux", "transport.cwnd-validation": False},
        "linux": {"transport.stack": "linux"},
    }
    base = {"transport.rto-min": "200ms", "transport.cc": ["newreno", TRIM]}
    asked = {n: [w("fig04.toml", {**base, **sets}, seeds=5) for w in (run, linux)] for n, sets in ways.items()}
    what = ("largest window inherited", "last of five long trains [ms]", "lost", "timeouts")
    rows = [["stack", "congestion control", *(f"{where}: {w}" for where in ("simulator", "Linux") for w in what)]]
    for name, both in asked.items():
        for i, cc in enumerate(("Reno", "TRIM")):
            cells = []
            for r in both:
                of = {"variant": r.variants[i]}
                cells.append(mean_text(r.per_run(lambda t: float(t.rows(t["time_ns"] < 500_000_000)["cwnd"].max()), "tcp", **of)))
                cells.append(mean_text(r.per_run(last_train, **of)))
                cells.append(mean_text(r.per_run(lambda t: float(t["dropped_overflow"].sum()), "ports", port="bottleneck", **of)))
                cells.append(mean_text(r.per_run(lambda t: float(t["rtos"].sum()), **of)))
            rows.append([name, cc, *cells])
    return rows


#: The stack of ns-2 instead of that of the document's hosts.
NS2_HOSTS = ['transport.stack="ns2"', 'transport.host="ns2"', 'transport.recovery="newreno"']


def testbed(run: Run) -> Rows:
    """Claims on the testbed (Figs. 13 and 14) on the stack of Linux, and on that of ns-2."""
    claims = [
        "13-loss-based-limit",
        "13-no-loss",
        "13-aql-smallest",
        "13-goodput",
        "13h-goodput-100mbps",
        "14a-arct",
        "14b-99pct-25ms",
        "14b-best",
    ]
    return verdicts(run, [f"trim-fig{name}" for name in claims], ["fig13.toml", "fig14a.toml", "fig14b.toml"], NS2_HOSTS)
