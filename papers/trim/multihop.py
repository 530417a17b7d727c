"""Fig. 10 and Table I: two bottlenecks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Measured, Reading, half, look

from .common import IDLE as A27
from .common import LABEL, paper, port, rows

if TYPE_CHECKING:
    from forebay.repro import Result, Run

NAMES = ["reno", "dctcp", "l2dct", "trim", "idle"]
CONGESTION_CONTROLS = NAMES[:4]
GROUPS = "ABC"
#: The reading of Table I: one for all of its claims.
SMALL = Reading("100 packets of buffer on every port", named="specification 5.9")
IDLE = Reading(A27.text, sensitivity="the reading of Table I is that of 5.9")


def asked(run: Run, file: str = "fig10.toml", **sets: Any) -> Result:
    time = run.pick(quick=1.0, full=3.0)
    warm = run.pick(quick=0.3, full=0.5)
    sets = {k.replace("__", "."): v for k, v in sets.items()} | {"duration": f"{time}s", "observe.warmup": f"{warm}s"}
    return run(file, sets, seeds=run.pick(quick=1, full=3))


@paper.experiment("multihop")
def multihop(run: Run) -> Result:
    return asked(run)


@paper.experiment("multihop-100")
def multihop_100(run: Run) -> Result:
    """The sensitivity that 5.9 names; "TCP" here is with NewReno and without."""
    buffers = {"topology__link1__buffer": "100pkt", "topology__link2__buffer": "100pkt"}
    trim = {"kind": "trim", "rate": "10Gbps", "buffer": "100pkt"}
    ecn = [{"kind": kind, "no-growth-on-ece": True} for kind in ("dctcp", "l2dct")]
    return asked(run, transport__cc=["newreno", *ecn, trim, "reno"], **buffers)


@paper.experiment("multihop-balanced")
def multihop_balanced(run: Run) -> Any:
    """TRIM where A tolerates as much queue as B and C together: by thresholds, and by latencies with which Eq. 26 says so."""
    keys = [f"transport__group__{i}__cc__k" for i in range(3)]
    found = [
        (name, asked(run, "fig10-balanced.toml", **dict(zip(keys, ks, strict=True))))
        for name, ks in {
            "A 60 us, B 30 us, C 30 us": ("274.4us", "193.2us", "305.2us"),
            "A 120 us, B 60 us, C 60 us": ("334.4us", "223.2us", "335.2us"),
            "A 60 us, B 60 us, C 60 us": ("274.4us", "223.2us", "335.2us"),
        }.items()
    ]
    cc = [{"kind": "trim", "rate": "10Gbps", "buffer": "3000pkt"}]
    link = {f"topology__link{i}__{k}": v for i in (1, 2) for k, v in {"delay": "50us", "buffer": "3000pkt"}.items()}
    found.append((SHORT, asked(run, transport__cc=cc, topology__access__delay="1us", **link)))
    return found


#: Not a reading: the latencies are chosen for what they show.
SHORT = "Eq. 26 with 1 us on 1 Gbps, 50 us on 10 Gbps links, 3000 packets"


def seconds(r: Any) -> float:
    """Length of the measured time."""
    manifest = r.manifests[0]
    warm = 0.3 if manifest["runs"][0]["end_ns"] < 2e9 else 0.5
    return float(manifest["runs"][0]["end_ns"]) * 1e-9 - warm


def groups(r: Any, names: list[str], name: str) -> dict[str, list[float]]:
    """Mbit/s per flow in A, B and C, one for each seed."""
    flows = rows(r, "flows", names, ["class", "bytes_measured"])[name]
    scale = 8 / seconds(r) / 1e6
    return {
        g: [float(flows.where(run=i, **{"class": g})["bytes_measured"].mean()) * scale for i in range(r.seeds)] for g in GROUPS
    }


def mean(r: Any, name: str, names: list[str] = NAMES) -> dict[str, float]:
    return {g: float(np.mean(v)) for g, v in groups(r, names, name).items()}


NAMES_100 = ["reno", "dctcp", "l2dct", "trim", "plain"]
PLAIN = SMALL & Reading("TCP without NewReno's answer to partial ACKs (4)", found_afterwards=True)

WHY_TRIM = """A TRIM flow tolerates a queueing delay of K - D on its path, and K follows from its own path alone (Eq. 26):
    36 us in A, 61 us in B, 5 us in C with 350 KB. A passes the queues of both links, so it cuts more often than B
    and C unless it tolerates what they do together. With thresholds of that kind (60, 30 and 30 us) we measure
    354 / 633 / 289 against the published 343 / 638 / 319; with 60 us for all 103 / 897 / 444. It is not a defect of our
    TRIM: a second simulation of network and congestion control, second.py, gives 127 / 873 / 409 where we measure 127 / 873 /
    409, and 214 / 736 / 373 with 100 packets on every port (ours 213 / 738 / 374). All of the specification's readings of K,
    buffer, cuts, gaps, ssthresh, timer, guard and the seed of the smallest RTT were tried without success (table1.md).
    The delay of the 1 Gbps links decides: with buffers deep enough for Eq. 26 and 50 us on the 10 Gbps links, 1
    us on the others gives 372 / 628 / 314, within the band of all three, 5 us 256 in A and 50 us 40. The document states
    neither latencies nor buffers here, but 50 us for 1 Gbps links everywhere else; latencies chosen to fit do not
    count as a reading."""

WHY_SMALL = (
    """100 packets on every port are the buffer that Section IV.B states for its set-up, and the sensitivity that 5.9 names:
    then all groups tolerate next to nothing and A is better off. "TCP Reno" of ns-2 has no answer to partial ACKs; that
    is the specification's other reading of TCP. That these two are taken together was decided after the failure, and does not
    count. """
    + WHY_TRIM
)

WHY_A = (
    """In neither reading is A the best off under TRIM. With 350 KB it has 127 Mbit/s, the least of all congestion controls
    (DCTCP 180, TCP 213, L2DCT 217; three seeds of 3 s), because of its threshold, see below. With 100 packets TRIM has 213,
    L2DCT 209 and DCTCP 183, in the published order, but TCP has 246 as NewReno and 235 as plain Reno: it fills both links,
    or most of them, where the document's has 73 %. """
    + WHY_SMALL
)


@paper.claim(
    "trim-table1-tcp",
    uses=["multihop", "multihop-100"],
    explanation="""Decided by timeouts, which the document blames too. NewReno repairs its losses and uses both links fully,
    with 350 KB and, nearly, with 100 packets; published are 73 % of both. Plain Reno has timeouts and
    comes near: 228 / 499 / 299 with 350 KB and 235 / 489 / 301 with 100 packets (three seeds of 3 s), within the band of all
    three. With a minimum RTO of 10 ms instead of the stated 200 NewReno has 220 / 780 / 390. Plain Reno was looked
    for after the failure.""",
)
def _(x: Any) -> Any:
    return [
        Measured.over(groups(x["multihop"], NAMES, "reno")),
        Measured.over(groups(x["multihop-100"], NAMES_100, "reno"), reading=SMALL),
        Measured.over(groups(x["multihop-100"], NAMES_100, "plain"), reading=PLAIN),
    ]


@paper.claim(
    "trim-table1-dctcp",
    uses=["multihop", "multihop-100"],
    explanation="""B and C are as published; A has 180 Mbit/s rather than 139, or 183 with 100 packets on every port (three
    seeds of 3 s), and the band ends at 188. The proportionally fair allocation, 250 / 750 / 375, lies on the other side of
    both.""",
)
def _(x: Any) -> Any:
    return [
        Measured.over(groups(x["multihop"], NAMES, "dctcp")),
        Measured.over(groups(x["multihop-100"], NAMES_100, "dctcp"), reading=SMALL),
    ]


@paper.claim("trim-table1-l2dct", uses=["multihop"])
def _(x: Any) -> Any:
    return Measured.over(groups(x["multihop"], NAMES, "l2dct"))


@paper.claim("trim-table1-trim", uses=["multihop", "multihop-100", "multihop-balanced"], explanation=WHY_TRIM)
def _(x: Any) -> Any:
    def told(r: Any) -> str:
        return " / ".join(f"{np.mean(v):.0f}" for v in groups(r, ["trim"], "trim").values())

    note = "tests, with K that tolerates " + "; ".join(f"{name}: {told(r)}" for name, r in x["multihop-balanced"])
    return [
        Measured.over(groups(x["multihop"], NAMES, "trim"), note=note),
        Measured.over(groups(x["multihop"], NAMES, "idle"), reading=IDLE),
        Measured.over(groups(x["multihop-100"], NAMES_100, "trim"), reading=SMALL),
    ]


def views(x: Any) -> list[tuple[Reading | None, dict[str, dict[str, float]]]]:
    """Averages by congestion control under the recommended reading and under the named ones."""
    first = {cc: mean(x["multihop"], cc) for cc in CONGESTION_CONTROLS}
    idle = first | {"trim": mean(x["multihop"], "idle")}
    small = {cc: mean(x["multihop-100"], cc, NAMES_100) for cc in CONGESTION_CONTROLS}
    plain = small | {"reno": mean(x["multihop-100"], "plain", NAMES_100)}
    return [(None, first), (IDLE, idle), (SMALL, small), (PLAIN, plain)]


def compared(x: Any, measure: Any) -> list[Measured]:
    n = x["multihop"].seeds
    # Balance of what is not used is none: Table I has TRIM at 98 % of both links.
    used = {None: ("multihop", NAMES, "trim"), IDLE: ("multihop", NAMES, "idle")}
    found = []
    for reading, view in views(x):
        experiment, names, name = used.get(reading, ("multihop-100", NAMES_100, "trim"))
        busy = [float(np.mean(port(x[experiment], names, "utilization", link)[name])) for link in ("link1", "link2")]
        value = {cc: measure(v) for cc, v in view.items()}
        found.append(Measured(value, n=n, reading=reading, note=f"links busy under TRIM {busy[0]:.0%} and {busy[1]:.0%}"))
    return found


@paper.claim("trim-table1-total-order", uses=["multihop", "multihop-100"], explanation=WHY_SMALL)
def _(x: Any) -> Any:
    return compared(x, lambda v: sum(v.values()))


@paper.claim("trim-table1-sd-order", uses=["multihop", "multihop-100"], explanation=WHY_SMALL)
def _(x: Any) -> Any:
    return compared(x, lambda v: float(np.std(list(v.values()))))


@paper.claim("trim-table1-group-a-weakest", uses=["multihop", "multihop-100"], explanation=WHY_A)
def _(x: Any) -> Any:
    return compared(x, lambda v: v["A"])


@paper.claim("trim-table1-balance", uses=["multihop", "multihop-100"], explanation=WHY_SMALL)
def _(x: Any) -> Any:
    fair = np.array([1000 / 3, 2000 / 3, 1000 / 3])
    return compared(x, lambda v: float(np.linalg.norm(np.array([v[g] for g in GROUPS]) - fair) / np.linalg.norm(fair)))


TABLE = [
    "trim-table1-tcp",
    "trim-table1-dctcp",
    "trim-table1-l2dct",
    "trim-table1-trim",
    "trim-table1-group-a-weakest",
    "trim-table1-balance",
]


def beside(ax: Any, at: float, ours: list[float], published: float, color: str, *, whiskers: bool) -> None:
    """Our bar and, hatched, the published one to its right."""
    error = {"yerr": half(ours), "error_kw": {"lw": 0.8, "capsize": 1.5}} if whiskers and len(ours) > 1 else {}
    ax.bar(at - 0.2, np.mean(ours), 0.38, color=color, **error)
    ax.bar(at + 0.2, published, 0.38, facecolor="white", edgecolor=color, hatch="////", lw=0.8)


def legend(ax: Any, **how: Any) -> None:
    """Legend of our bars."""
    ax.bar(0, 0, 0, color="0.4", label="ours")
    ax.bar(0, 0, 0, facecolor="white", edgecolor="0.4", hatch="////", lw=0.8, label="published")
    ax.legend(fontsize=6.5, **how)


@paper.figure(
    "10",
    title="Two bottlenecks",
    uses=["multihop"],
    claims=["trim-table1-total-order", "trim-table1-sd-order"],
    caption="""(a) The network: A and C cross link 1, A and B link 2, 10 Gbps each; all other links 1 Gbps. (b) Sum of the
    groups' average throughputs, and their standard deviation; whiskers: 95 % intervals over the seeds; hatched: from the
    published averages of Table I.""",
    width=7.0,
    height=2.7,
)
def _(fig: Any, x: Any) -> None:
    net, total, spread = fig.subplots(1, 3, gridspec_kw={"width_ratios": [1.35, 1, 1]})
    net.axis("off")
    net.set(xlim=(0, 10), ylim=(0.4, 6.6), title="(a)")
    at = {
        "A (10)": (1, 5.6),
        "C (20)": (1, 1.4),
        "switch 1": (3.3, 3.5),
        "switch 2": (6.4, 3.5),
        "front end": (9.2, 3.5),
        "B (10)": (6.4, 5.9),
        "D (20)": (6.4, 1.1),
    }
    pairs = [
        ("A (10)", "switch 1"),
        ("C (20)", "switch 1"),
        ("B (10)", "switch 2"),
        ("D (20)", "switch 2"),
        ("switch 1", "switch 2"),
        ("switch 2", "front end"),
    ]
    for a, b in pairs:
        thick = a.startswith("switch")
        net.plot(*zip(at[a], at[b], strict=True), color="0.3" if thick else "0.6", lw=2.4 if thick else 1, zorder=1)
    for name, where in at.items():
        net.text(
            *where,
            name,
            ha="center",
            va="center",
            fontsize=6.5,
            bbox={"fc": "white", "ec": "0.4", "boxstyle": "round,pad=0.25", "lw": 0.7},
        )
    net.text(4.85, 2.75, "link 1", ha="center", fontsize=6)
    net.text(7.75, 2.75, "link 2", ha="center", fontsize=6)
    published = {cc: paper.expected["table1"][cc] for cc in CONGESTION_CONTROLS}
    for ax, measure, label in ((total, sum, "sum of averages (Mbit/s)"), (spread, np.std, "standard deviation (Mbit/s)")):
        for i, cc in enumerate(CONGESTION_CONTROLS):
            ours = [float(measure(seed)) for seed in zip(*groups(x["multihop"], NAMES, cc).values(), strict=True)]
            beside(ax, i, ours, float(measure(published[cc])), look(cc).color, whiskers=True)
        ax.set_xticks(range(4), [LABEL[cc] for cc in CONGESTION_CONTROLS])
        ax.tick_params(axis="x", length=0)
        ax.set_ylabel(label)
        ax.grid(axis="x", visible=False)
    total.set_title("(b) total", loc="center")
    spread.set_title("(b) spread")
    total.set_ylim(0, 1750)
    legend(total, loc="upper left", ncols=2)


@paper.figure(
    "table-1",
    title="Throughput per flow in each group",
    uses=["multihop", "multihop-balanced"],
    claims=TABLE,
    caption="""Mbit/s per flow in groups A, B and C: ours, with 95 % intervals over the seeds, beside the published
    (hatched). Gray: tests of why ours differs: TRIM with thresholds set by hand (K - D in A, B and C), of which the
    first two let A tolerate the queues of B and C together, and TRIM with Eq. 26, deep buffers and latencies that make it
    do so (1 us on the 1 Gbps, 50 us on the 10 Gbps links).""",
    width=7.0,
    height=3.0,
)
def _(fig: Any, x: Any) -> None:
    ax = fig.subplots()
    series = [
        (LABEL[cc], groups(x["multihop"], NAMES, cc), paper.expected["table1"][cc], look(cc).color) for cc in CONGESTION_CONTROLS
    ]
    for name, r in x["multihop-balanced"]:
        delays = ", ".join(name.split()[1::3])
        label = "TRIM,\nlinks of 1\nand 50 us" if name == SHORT else f"TRIM,\nK - D of\n{delays} us"
        series.append((label, groups(r, ["trim"], "trim"), paper.expected["table1"]["trim"], "0.55"))
    ticks, labels = [], []
    for i, (name, ours, published, color) in enumerate(series):
        for j, g in enumerate(GROUPS):
            beside(ax, 3.6 * i + j, ours[g], published[j], color, whiskers=True)
            ticks.append(3.6 * i + j)
            labels.append(f"{g}\n{name}" if j == 1 else g)
    ax.set_xticks(ticks, labels, fontsize=6.5)
    ax.tick_params(axis="x", length=0)
    ax.set(ylabel="Mbit/s per flow", ylim=(0, 1000), xlim=(-0.8, ticks[-1] + 0.8))
    ax.grid(axis="x", visible=False)
    legend(ax, loc="upper left", ncols=2)
