"""Tables of further measurements beside PRIN; `papers/evidence.py` runs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from evidence_table import mean_text, verdicts

from . import experiments, measure

if TYPE_CHECKING:
    from evidence_table import Rows

    from forebay.repro import Run


def prin(run: Run) -> Rows:
    """Timeouts per block by place, and goodput, of NewReno and PRIN, and of PRIN under strict priority."""
    strict = {"topology.bottleneck.queue": {"kind": "strict-priority", "queues": 2, "buffer-scope": "queue"}}
    cc = {"transport.cc": ["newreno", {"kind": "newreno", "shim": "prin"}]}
    ns = [2, 4, 8, 10, 12, 13, 14, 15, 16, 20]
    asked = {
        (n, queue): run("prin-base.toml", {**cc, "topology.senders": n, **sets}, seeds=5)
        for n in ns
        for queue, sets in (("protect", {}), ("strict", strict))
    }
    rows = [["senders", "transport", "queue", "goodput / link", "timeouts per block", "head", "middle", "tail"]]
    for (n, queue), r in asked.items():
        for (_, p), name in zip(measure.points(r).items(), ("NewReno", "PRIN"), strict=True):
            if name == "PRIN" or queue == "protect":
                where = "drop-tail" if name == "NewReno" else queue
                rows.append(
                    [str(n), name, where, mean_text(p.goodput), *(mean_text(v) for v in (p.timeouts, p.head, p.middle, p.tail))]
                )
    return rows


def prin_testbed(run: Run) -> Rows:
    """Goodput of the testbed's network under strict priority."""
    strict = {"topology.bottleneck.queue": {"kind": "strict-priority", "queues": 2, "buffer-scope": "queue"}}
    asked = {
        (n, kb): run("fig17.toml", {**strict, "topology.senders": n, "workload.0.block": f"{kb}KB"}, seeds=5)
        for kb in (64, 128, 256)
        for n in (4, 8, 12, 15)
    }
    rows = [["block", "senders", "NewReno, goodput / link", "PRIN, strict priority", "timeouts per block, NewReno", "PRIN"]]
    for (n, kb), r in asked.items():
        plain, with_prin = measure.points(r).values()
        rows.append(
            [f"{kb} KB", str(n), *(mean_text(v) for v in (plain.goodput, with_prin.goodput, plain.timeouts, with_prin.timeouts))]
        )
    return rows


def overtaking(run: Run) -> Rows:
    """PRIN on both stacks: one FIFO with a reserve, two queues, and two queues with a sender that waits (blocks of 64 KB)."""
    ns2 = experiments.NS2_HOSTS
    # 96 packets of 12.3 us, and a little.
    patient = {"transport.cc": cc(**{"tail-reorder-wait": "1300us"})}
    cases: dict[str, dict[str, Any]] = {
        "Linux, `protect`": {},
        "Linux, `strict-priority`": experiments.STRICT,
        "ns-2, `protect`": ns2,
        "ns-2, `strict-priority`": {**ns2, **experiments.STRICT},
        "ns-2, with `tail-reorder-wait`": {**ns2, **experiments.STRICT, **patient},
    }
    asked = {
        n: [run("fig17.toml", {"transport.cc": cc(), **sets, "topology.senders": n}, seeds=10) for sets in cases.values()]
        for n in (2, 3, 4, 8, 12, 15)
    }
    rows = [["senders", *cases]]
    for n, results in asked.items():
        found = [measure.point(r) for r in results]
        rows.append([str(n), *(f"{mean_text(p.goodput, 2)}; {np.mean(p.fast):.2g}; {np.mean(p.timeouts):.2g}" for p in found)])
    return rows


def cc(**more: Any) -> dict[str, Any]:
    """PRIN on hosts that delay ACKs."""
    return {"kind": "newreno", "shim": {"kind": "prin", "floor": 2, **more}}


def fragments(run: Run) -> Rows:
    """PRIN's tail as three full segments, and as the last segment cut into three (6.2.3), on the testbed's network."""
    prin = {tail: {"kind": "newreno", "shim": {"kind": "prin", "floor": 2, "tail": tail}} for tail in ("segments", "fragments")}
    # 45 segments of 1460 B less 100 B: a remainder. 43 810 B are 30 segments and 10 B: three packets of three or four bytes.
    asked = {
        (size, n): run(
            "fig17.toml", {"transport.cc": ["newreno", *prin.values()], "topology.senders": n, "workload.0.block": size}, seeds=5
        )
        for size in ("64KB", "43810B", "256KB")
        for n in (4, 8, 12)
    }
    what = ("goodput / link", "timeouts per block, at tails", "all")
    rows = [["block", "senders", "tail", *what]]
    for (size, n), r in asked.items():
        for name, p in zip(("NewReno", "three segments", "fragments"), measure.points(r).values(), strict=True):
            every = [a + b + c for a, b, c in zip(p.head, p.middle, p.tail, strict=True)]
            rows.append([size, str(n), name, mean_text(p.goodput), mean_text(p.tail), mean_text(every)])
    return rows


def reordered(run: Run, linux: Run) -> Rows:
    """PRIN's marked packets overtake under strict priority: what a kernel makes of it (fig17.toml, 64 KB)."""
    strict = {"topology.bottleneck.queue": {"kind": "strict-priority", "queues": 2, "buffer-scope": "queue"}}
    queues = {"keeps the order": {}, "strict priority": strict}
    recoveries = {"without SACK": "newreno", "SACK and RACK": "rack"}
    base = {"transport.cc": {"kind": "newreno", "shim": {"kind": "prin", "floor": 2}}, "transport.handshake": True}
    asked = {
        (n, queue, how): [
            w("fig17.toml", {**base, **sets, "transport.recovery": recovery, "topology.senders": n}, seeds=5)
            for w in (run, linux)
        ]
        for n in (4, 8, 12)
        for how, recovery in recoveries.items()
        for queue, sets in queues.items()
    }
    what = ("goodput / link", "timeouts a block", "retransmissions a block", "of these no loss")
    rows = [["senders", "recovery", "queue", *(f"{where}: {w}" for where in ("simulator", "Linux") for w in what)]]
    for (n, queue, how), both in asked.items():
        cells = []
        for r in both:
            blocks = float(len(r.queries)) / r.seeds
            lost = r.per_run(lambda t: float(t["dropped_overflow"].sum()), "ports", port="bottleneck")
            again = r.per_run(lambda t: float(t["segs_retx"].sum()))
            cells.append(mean_text(r.per_run(goodput, "queries")))
            cells.append(mean_text([v / blocks for v in r.per_run(lambda t: float(t["rtos"].sum()))]))
            cells.append(mean_text([v / blocks for v in again]))
            cells.append(mean_text([max(0.0, a - b) / blocks for a, b in zip(again, lost, strict=True)]))
        rows.append([str(n), how, queue, *cells])
    return rows


def goodput(blocks: Any) -> float:
    """Payload of blocks over 1 Gbps, in the time that they took."""
    return float(blocks["bytes"].sum()) * 8 / float(blocks["qct_ns"].sum())


#: Settings of the stack of ns-2, as in a scenario file.
NS2_HOSTS = [f"{key}={json.dumps(value)}" for key, value in experiments.NS2_HOSTS.items()]
TESTBED = [
    "testbed-baseline-950",
    "newreno-poor-above-three",
    "newreno-64kb-90-to-20",
    "prin-about-90",
    "prin-slower-with-one-sender",
    "newreno-one-timeout-per-block",
    "prin-timeouts-near-zero",
    "udp-prin-about-80",
    "udp-newreno-range",
    "udp-timeouts",
    "multihop-prin-stable",
]


FILES = ["fig17.toml", "fig19.toml", "fig22.toml", "testbed-baseline.toml"]


def testbed(run: Run) -> Rows:
    """Claims on the testbed (Figs. 17 to 23) on the stack of Linux, and on that of ns-2."""
    return verdicts(run, TESTBED, FILES, NS2_HOSTS)


def growth(run: Run) -> Rows:
    """PRIN beside UDP with blocks of 256 KB, by the rule of window growth."""
    per_ack, segments = {"transport.growth": "per-ack"}, {"transport.growth": "unlimited"}
    ns2 = experiments.NS2_HOSTS
    cases: dict[tuple[str, str], dict[str, Any]] = {
        ("Linux", "segments"): {},
        ("Linux", "ACKs"): per_ack,
        ("ns-2", "segments"): {**ns2, **segments},
        ("ns-2", "ACKs"): ns2,
    }
    block = {"transport.cc": cc(), "workload.0.block": "256KB"}
    asked = {
        (case, n): run("fig19.toml", {**block, **experiments.beside(n), **sets}, seeds=5)
        for case, sets in cases.items()
        for n in (4, 6, 8)
    }
    rows = [["stack", "growth by", "senders", "goodput / link", "timeouts", "fast retransmits", "packets dropped"]]
    for ((stack, rule), n), r in asked.items():
        p = measure.point(r)
        blocks = len(r.queries) / r.seeds
        lost = r.per_run(lambda t, blocks=blocks: float(t["dropped_overflow"].sum()) / blocks, "ports", port="bottleneck")
        rows.append([stack, rule, str(n), *(mean_text(v) for v in (p.goodput, p.timeouts, p.fast, lost))])
    return rows


def growth_testbed(run: Run) -> Rows:
    """Claims on the testbed, and with windows that grow with each ACK."""
    return verdicts(run, TESTBED, FILES, ['transport.growth="per-ack"'], "growth by ACKs")
