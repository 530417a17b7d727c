"""Fig. 11: 1000 to 4000 connections, with persistent connections ("normal") and with one for each response ("base")."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Measured, Reading, half, look

from .common import LABEL, PACKET, paper, rtos

if TYPE_CHECKING:
    from forebay.repro import Run

CONGESTION_CONTROLS = ["reno", "dctcp", "l2dct", "trim"]
CASES = {"normal": "persistent", "base": "per-train"}
LOADS = {
    # Log-uniform from 0.2 to 5 ms, mean 1.49 ms: 1000 connections ask for up to 4 times the link's rate.
    "recommended": {"mixture": "trim-http"},
    # Evenly from 0.2 to 8 ms, mean 4.1 ms: they ask for up to 1.4 times the rate.
    "even": {"uniform": ["0.2ms", "8ms"]},
}
RECOMMENDED, EVEN = LOADS
READING = Reading(
    '"from hundreds of microseconds to several milliseconds" (5.1) spread evenly over 0.2 to 8 ms '
    "rather than log-uniformly over 0.2 to 5 ms",
    found_afterwards=True,
)
CC: list[Any] = [
    "newreno",
    *({"kind": kind, "no-growth-on-ece": True} for kind in ("dctcp", "l2dct")),
    {"kind": "trim", "at": "on"},
]
#: Timeouts by (connections, case, buffer in KB) and congestion control: one for each seed.
Counts = dict[tuple[int, str, int], dict[str, list[float]]]


def ask(run: Run, load: str, seeds: int) -> Counts:
    """All points of a load; of the even gaps those that claims look at."""
    connections = [1000, 2000, 3000, 4000] if load == RECOMMENDED else [1000]
    buffers = run.pick(quick=[512, 1024, 4096], full=[128, 256, 512, 1024, 2048, 4096])
    asked = {}
    for n, case, kb in itertools.product(connections, CASES, buffers):
        packets = kb * 1024 // PACKET
        sets = {
            "transport.cc": CC,
            "transport.handshake": case == "base",
            "topology.bottleneck.buffer": f"{packets}pkt",
            # ns-2 counts the packets that wait, forebay the one in service, too.
            "topology.bottleneck.queue.k": f"{min(65, packets * 65 // 100) + 1}pkt",
            "workload.0.per-pair": n // 40,
            "workload.0.connections": CASES[case],
            "workload.0.gaps": LOADS[load],
        }
        if run.quick:
            sets |= {"workload.0.trains": 16, "workload.0.total": "128KiB"}
        asked[n, case, kb] = run("fig11.toml", sets, seeds=run.pick(quick=1, full=seeds if n == 1000 else 1))
    return {key: rtos(r, CONGESTION_CONTROLS) for key, r in asked.items()}


@paper.experiment("high-concurrency")
def high_concurrency(run: Run) -> Counts:
    return ask(run, RECOMMENDED, 3)


@paper.experiment("high-concurrency-even-gaps")
def even_gaps(run: Run) -> Counts:
    return ask(run, EVEN, 2)


@paper.experiment("high-concurrency-readings")
def readings(run: Run) -> Any:
    """TRIM with 1000 connections: gaps only when idle, and without the asynchronous timer."""
    trim = [
        {"kind": "trim", "at": "on", "gap-scope": "idle"},
        {"kind": "trim"},
        {"kind": "trim", "at": "on", "k-policy": "upper"},
    ]
    found = {}
    for case, kb in itertools.product(CASES, run.pick(quick=[1024], full=[512, 1024, 2048])):
        sets = {
            "transport.cc": trim,
            "transport.handshake": case == "base",
            "topology.bottleneck.buffer": f"{kb * 1024 // PACKET}pkt",
            "workload.0.connections": CASES[case],
        }
        if run.quick:
            sets |= {"workload.0.trains": 16, "workload.0.total": "128KiB"}
        found[case, kb] = rtos(run("fig11.toml", sets), ["gaps when idle", "no timer", "K at the upper bound"])
    return found


def mean(counts: Counts, cc: str, n: int, case: str, kb: int) -> float:
    return float(np.mean(counts[n, case, kb][cc]))


def axis(counts: Counts, index: int) -> list[Any]:
    return list(dict.fromkeys(key[index] for key in counts))


def both(x: Any) -> tuple[Counts, Counts]:
    return x["high-concurrency"], x["high-concurrency-even-gaps"]


USES = ["high-concurrency", "high-concurrency-even-gaps"]


@paper.claim(
    "trim-fig11-order",
    uses=USES,
    explanation="""With the recommended gaps 1000 connections ask for four times what the link carries. Buffers that cannot hold
    two packets of each connection are then always full, whatever the congestion control, and it only decides who loses: at 512 KB
    DCTCP and L2DCT have fewer timeouts than TRIM (one seed: 573 and 583, TRIM 795, TCP 1001), whose
    trains of two probes are short of duplicate ACKs. With even gaps up to 8 ms, a reading tried after the failure, TRIM has the
    fewest at 512 KB, too, but that is not the reading that the specification recommends.""",
)
def _(x: Any) -> Any:
    def points(counts: Counts) -> dict[str, dict[str, float]]:
        return {
            f"{n} {case} {kb} KB": {cc: mean(counts, cc, n, case, kb) for cc in CONGESTION_CONTROLS}
            for n, case, kb in counts
            if n == 1000
        }

    def fewest(counts: Counts) -> str:
        here = [k for k in counts if k[0] == 1000]
        led = sum(all(mean(counts, "trim", *k) <= mean(counts, cc, *k) for cc in CONGESTION_CONTROLS) for k in here)
        return f"1000 connections; TRIM has the fewest at {led} of {len(here)} points"

    first, second = both(x)
    return [
        Measured(points(first), n=3, note=fewest(first)),
        Measured(points(second), n=2, note=fewest(second), reading=READING),
    ]


@paper.claim("trim-fig11-tcp-4mb", uses=USES)
def _(x: Any) -> Any:
    first, second = both(x)
    note = f"{mean(second, 'reno', 1000, 'normal', 4096):.0f} with even gaps"
    return Measured(mean(first, "reno", 1000, "normal", 4096), n=None, note=note)


@paper.claim(
    "trim-fig11-trim-1000",
    uses=[*USES, "high-concurrency-readings"],
    explanation="""A thousand connections at TRIM's floor of two packets hold 2000 packets; 1 MB and the path hold 846. So it
    depends on how many are active, that is on the gaps, of which the document gives only "from hundreds of microseconds
    to several milliseconds". With the recommended ones (log-uniform, 0.2 to 5 ms) three quarters of the connections
    are active at any time and 1 MB is too little; 2 MB is enough. The reading was looked for after this: other shapes
    within the same words. Timeouts at 1 MB, normal and base case: uniform from 0.2 ms to 5 ms 65 and 145, to 6 ms 0 and
    36, to 7 and 8 ms none; exponential with a mean of 2.7 ms 66 and 125 (one seed each). So it holds
    for part of what the words allow. The asynchronous timer helps (without it there are more); other thresholds and
    counting gaps only when idle do not.""",
)
def _(x: Any) -> Any:
    def points(counts: Counts) -> dict[str, float]:
        return {f"{case} {kb} KB": mean(counts, "trim", 1000, case, kb) for n, case, kb in counts if n == 1000 and kb >= 1024}

    first, second = both(x)
    others = {
        f"{name}, {case} {kb} KB": v[0]
        for (case, kb), ccs in x["high-concurrency-readings"].items()
        for name, v in ccs.items()
        if kb >= 1024
    }
    note = "; other readings: " + ", ".join(f"{k} {v:.0f}" for k, v in others.items())
    at = [f"{c} {mean(second, 'trim', 1000, c, 512):.0f}" for c in CASES]
    return [
        Measured(points(first), n=3, note="means over the seeds" + note),
        Measured(points(second), n=2, note="512 KB: " + ", ".join(at), reading=READING),
    ]


@paper.claim(
    "trim-fig11-trim-2mb",
    uses=USES[:1],
    explanation="""It needs 2 MB at least, as the text says; the band of one step in the grid is missed from above, as 4 MB is
    not enough for 3000 connections (8192 KB stands for "more than 4 MB"). Two packets of each of 3000 connections
    are 8.8 MB. Tested: with even gaps up to 8 ms 4 MB is enough for 2000 but not for 3000 (1442 timeouts in the normal
    case, 928 in the base case).""",
)
def _(x: Any) -> Any:
    counts = x["high-concurrency"]
    least = {}
    for n in (2000, 3000):
        for case in CASES:
            enough = [kb for m, c, kb in counts if m == n and c == case and mean(counts, "trim", m, c, kb) == 0]
            if n in axis(counts, 0):
                least[f"{n} {case}"] = float(min(enough, default=8192))
    return Measured(least, n=1)


@paper.claim("trim-fig11-trim-4000", uses=USES[:1])
def _(x: Any) -> Any:
    counts = x["high-concurrency"]
    fewest = min(mean(counts, "trim", n, c, kb) for n, c, kb in counts if n == 4000)
    return Measured(fewest, n=None, note="fewest over buffers and cases")


@paper.claim("trim-fig11-more-connections-worse", uses=USES[:1])
def _(x: Any) -> Any:
    counts = x["high-concurrency"]
    numbers = axis(counts, 0)
    points = {}
    for cc, case, kb in itertools.product(CONGESTION_CONTROLS, CASES, axis(counts, 2)):
        order = {str(n): mean(counts, cc, n, case, kb) for n in numbers}
        points[f"{cc} {case} {kb} KB"] = order
    return Measured(points, n=1)


@paper.claim("trim-fig11-base-lower", uses=USES[:1])
def _(x: Any) -> Any:
    counts = x["high-concurrency"]
    points = {
        cc: {case: sum(mean(counts, cc, *key) for key in counts if key[1] == case) for case in CASES}
        for cc in CONGESTION_CONTROLS
    }
    return Measured(points, n=1, note="sums over connections and buffers; timeouts of SYNs are not counted")


@paper.claim(
    "trim-fig11-gap-shrinks",
    uses=USES[:1],
    explanation="""The advantage in the base case is as small as the text says: over all buffers and numbers of connections
    TRIM has 53 004 timeouts and DCTCP 53 366. But in the normal case TRIM has more timeouts than DCTCP, 98
    895 against 89 933, so that the advantage in the base case is not the smaller one. Buffers that cannot
    hold two packets of each connection, TRIM's floor, cause most of them (see `trim-fig11-order`). The claim held
    before the correction that windows do not grow on ACKs with ECN echo, as in ns-2: DCTCP has 6.4 % fewer timeouts
    since then, L2DCT 6.2 %, TCP and TRIM the same within 0.4 %. Tested alone, with 1000 and 2000 connections and a quarter
    of the data: 2 to 20 % fewer; K = 66 instead of 65 changes at most 2.5 %.""",
)
def _(x: Any) -> Any:
    counts = x["high-concurrency"]

    def reduction(n: int, case: str) -> float:
        keys = [k for k in counts if k[0] == n and k[1] == case and np.mean(counts[k]["dctcp"]) >= 50]
        return 1 - sum(mean(counts, "trim", *k) for k in keys) / sum(mean(counts, "dctcp", *k) for k in keys)

    r = {f"{case} {n}": reduction(n, case) for case in CASES for n in axis(counts, 0)}
    shrinks = r["base 4000"] < r["base 1000"]
    smaller = float(np.mean([r[f"base {n}"] - r[f"normal {n}"] for n in axis(counts, 0)])) < 0
    note = "reduction against DCTCP: " + ", ".join(f"{k} {v:.0%}" for k, v in r.items())
    return Measured(bool(shrinks and smaller), n=None, note=note)


def draw(fig: Any, counts: Counts) -> None:
    numbers, buffers = axis(counts, 0), axis(counts, 2)
    axes = fig.subplots(len(numbers), 2, sharex=True, sharey=True, squeeze=False)
    for i, n in enumerate(numbers):
        for j, case in enumerate(CASES):
            ax = axes[i][j]
            for cc in CONGESTION_CONTROLS:
                s = look(cc)
                found = [counts[n, case, kb][cc] for kb in buffers]
                ax.errorbar(
                    buffers,
                    [np.mean(v) for v in found],
                    [half(v) if len(v) > 2 else 0.0 for v in found],
                    color=s.color,
                    ls=s.dash,
                    marker=s.marker,
                    label=LABEL[cc],
                )
            ax.set_yscale("symlog", linthresh=10, linscale=0.5)
            ax.set(ylim=(-1.5, 4e4), yticks=[0, 10, 100, 1000, 10000])
            ax.set_yticklabels(["0", "10", "100", "1000", "10 000"])
            ax.minorticks_off()
            ax.set_xscale("log", base=2)
            ax.set_xticks(buffers, [str(b) for b in buffers])
            ax.set_title(f"({'abcdefgh'[2 * i + j]}) {n} connections, {case} case")
            if j == 0:
                ax.set_ylabel("timeouts")
    for ax in axes[-1]:
        ax.set_xlabel("buffer (KB)")
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=6.5)


@paper.figure(
    "11",
    title="High concurrency: timeouts over the buffer",
    uses=["high-concurrency"],
    claims=[
        "trim-fig11-order",
        "trim-fig11-tcp-4mb",
        "trim-fig11-trim-1000",
        "trim-fig11-trim-2mb",
        "trim-fig11-trim-4000",
        "trim-fig11-more-connections-worse",
        "trim-fig11-base-lower",
        "trim-fig11-gap-shrinks",
    ],
    caption="""Timeouts of 64 000 to 256 000 responses; left persistent connections, right one for each response; whiskers: 95 %
    intervals over the seeds of 1000 connections. Gaps log-uniform from 0.2 to 5 ms overload the link four times; the
    next figure has even gaps up to 8 ms. The axis is linear below 10.""",
    width=7.0,
    height=7.4,
)
def _(fig: Any, x: Any) -> None:
    draw(fig, x["high-concurrency"])


@paper.figure(
    "11-even-gaps",
    title="High concurrency with gaps spread evenly over 0.2 to 8 ms",
    uses=["high-concurrency-even-gaps"],
    claims=["trim-fig11-order", "trim-fig11-trim-1000"],
    caption="""As (a) and (b) of Fig. 11 with another reading of "from hundreds of microseconds to several milliseconds": 1000
    connections offer 1.4 times what the link carries. Means of two seeds.""",
    width=7.0,
    height=2.7,
)
def _(fig: Any, x: Any) -> None:
    draw(fig, x["high-concurrency-even-gaps"])
