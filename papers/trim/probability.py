"""Fig. 5 and 7 (c): whether a run sees a timeout, with and without ON/OFF traffic before the long train."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Measured, look

from .common import LABEL, PACKET, paper, rows
from .impairment import draw_fig7

if TYPE_CHECKING:
    from forebay.repro import Result, Run

NAMES = ["reno", "dctcp", "l2dct", "trim"]
LINKS = {"1 Gbps": ("1Gbps", "50us", 20), "10 Gbps": ("10Gbps", "25us", 65)}
#: Hits by (link, whether with ON/OFF, senders, buffer in KB, size in KB) and congestion control: a value for each seed.
Hits = dict[tuple[str, bool, int, int, int], dict[str, list[bool]]]


def point(link: str, on_off: bool, senders: int, buffer_kb: int, size_kb: int) -> tuple[str, dict[str, Any]]:
    """Scenario file and overrides of a point of the grid."""
    rate, delay, k = LINKS[link]
    packets = buffer_kb * 1024 // PACKET
    sets = {
        "topology.senders": senders,
        "topology.bottleneck.buffer": f"{packets}pkt",
        # ns-2 counts the packets that wait, forebay the one in service, too.
        "topology.bottleneck.queue.k": f"{min(k, packets * 65 // 100) + 1}pkt",
        "topology.access.rate": rate,
        "topology.access.delay": delay,
        "topology.bottleneck.rate": rate,
        "topology.bottleneck.delay": delay,
        "workload.0.last-size" if on_off else "workload.0.size": f"{size_kb}KiB",
    }
    return ("fig05.toml" if on_off else "fig05b.toml"), sets


@paper.experiment("timeout-probability")
def timeout_probability(run: Run) -> Hits:
    seeds = run.pick(quick=1, full=4, document=40, of="seeds")
    senders = run.pick(quick=[2, 10, 20, 40], full=[2, 5, 10, 20, 30, 40])
    buffers = run.pick(quick=[32, 256, 1024], full=[32, 64, 128, 256, 512, 1024])
    sizes = run.pick(quick=[64, 256], full=[32, 64, 128, 256])
    asked: dict[Any, Result] = {}
    for key in itertools.product(LINKS, (False, True), senders, buffers, sizes):
        file, sets = point(*key)
        asked[key] = run(file, sets, seeds=seeds)
    hits: Hits = {}
    for key, r in asked.items():
        flows = rows(r, "flows", NAMES, ["rtos", "syn_rtos"])
        hits[key] = {n: [bool((t["rtos"][t["run"] == i] > 0).any()) for i in range(seeds)] for n, t in flows.items()}
    return hits


def probability(hits: Hits, cc: str, **where: Any) -> float:
    """Share of runs with a timeout among the points whose link, on_off, senders, buffer and size are the given ones."""
    at = {"link": 0, "on_off": 1, "senders": 2, "buffer": 3, "size": 4}
    runs = [h for key, ccs in hits.items() if all(key[at[w]] == v for w, v in where.items()) for h in ccs[cc]]
    return float(np.mean(runs))


def values(hits: Hits, index: int) -> list[Any]:
    """The values that occur of a coordinate."""
    return list(dict.fromkeys(key[index] for key in hits))


@paper.claim("trim-fig5-tcp-60pct", uses=["timeout-probability"])
def _(x: Any) -> Any:
    hits = x["timeout-probability"]
    by_link = {link: probability(hits, "reno", link=link, on_off=True, buffer=1024) for link in values(hits, 0)}
    n = sum(len(h["reno"]) for key, h in hits.items() if key[1] and key[3] == 1024)
    p = float(np.mean(list(by_link.values())))
    spread = 1.96 * np.sqrt(p * (1 - p) / n)
    note = ", ".join(f"{link} {v:.2f}" for link, v in by_link.items())
    return Measured(
        p, p - spread, p + spread, n=n, note=f"both link types: {note}; decided by senders times window against the buffer"
    )


@paper.claim("trim-fig5-onoff-worse", uses=["timeout-probability"])
def _(x: Any) -> Any:
    hits = x["timeout-probability"]
    points = {}
    for cc in ("reno", "dctcp", "l2dct"):
        for link, buffer in itertools.product(values(hits, 0), values(hits, 3)):
            pair = [probability(hits, cc, link=link, on_off=o, buffer=buffer) for o in (False, True)]
            points[f"{cc} {link} {buffer} KB"] = {"without ON/OFF": pair[0], "with ON/OFF": pair[1]}
    n = sum(len(h["reno"]) for h in hits.values())
    return Measured(points, n=n, note="over senders and sizes, by congestion control, link type and buffer")


@paper.claim("trim-fig5-ecn-between", uses=["timeout-probability"])
def _(x: Any) -> Any:
    hits = x["timeout-probability"]
    value = {cc: probability(hits, cc, on_off=True) for cc in ("dctcp", "l2dct", "reno")}
    n = sum(len(h["reno"]) for key, h in hits.items() if key[1])
    return Measured({"zero": 0.0, **value}, n=n, note="over links, senders, sizes and buffers")


@paper.claim(
    "trim-fig7c-order",
    uses=["timeout-probability"],
    explanation="""DCTCP and L2DCT are equal to TCP at 10 Gbps, where the trains arrive before any mark has come back; the
    document's sentence sets TRIM apart from the three, which is what is judged.""",
)
def _(x: Any) -> Any:
    hits = x["timeout-probability"]
    literal, led = {}, {}
    margin = paper.claims["trim-fig7c-order"].tolerance["value"]
    for link, buffer in itertools.product(values(hits, 0), values(hits, 3)):
        p = {cc: probability(hits, cc, link=link, on_off=True, buffer=buffer) for cc in NAMES}
        literal[f"{link} {buffer} KB"] = p
        led[f"{link} {buffer} KB"] = p["trim"] <= (1 - margin) * min(p["reno"], p["dctcp"], p["l2dct"])
    n = sum(len(h["reno"]) for key, h in hits.items() if key[1])
    share = float(np.mean(list(led.values())))
    return Measured(literal, n=n, note=f"TRIM at least {margin:.0%} below each of the others at {share:.0%} of the points")


@paper.claim("trim-fig7c-mostly-zero", uses=["timeout-probability"])
def _(x: Any) -> Any:
    hits = x["timeout-probability"]
    zero = [not any(h["trim"]) for key, h in hits.items() if key[1]]
    return Measured(
        float(np.mean(zero)), n=len(zero), note="points of the grid; the others have 20 and more senders and 32 or 64 KB"
    )


def half_width(hits: Hits, p: float, **where: Any) -> float:
    """Half width of the 95 % confidence interval of a probability over the runs of the given points."""
    at = {"link": 0, "on_off": 1, "buffer": 3}
    n = sum(len(ccs["reno"]) for key, ccs in hits.items() if all(key[at[w]] == v for w, v in where.items()))
    return float(1.96 * np.sqrt(p * (1 - p) / n))


#: Congestion controls that come to the same lie on one another: the one below is drawn wider.
WIDTHS = {"reno": (2.4, 6.4), "dctcp": (1.5, 4.4), "l2dct": (0.7, 2.6), "trim": (1.4, 4.0)}


def draw_probability(ax: Any, hits: Hits, link: str, cc: str, *, on_off: bool, label: str, dash: Any = None) -> None:
    """Probability of a congestion control over the buffer size, with a confidence band."""
    buffers = values(hits, 3)
    s = look(cc)
    width, size = WIDTHS[cc]
    y = np.array([probability(hits, cc, link=link, on_off=on_off, buffer=b) for b in buffers])
    d = np.array([half_width(hits, p, link=link, on_off=on_off, buffer=b) for p, b in zip(y, buffers, strict=True)])
    ax.fill_between(buffers, y - d, y + d, color=s.color, alpha=0.12, lw=0)
    ax.plot(
        buffers,
        y,
        color=s.color,
        marker=s.marker,
        ls=dash or ("-" if on_off else ":"),
        lw=width,
        ms=size,
        mfc=s.color if on_off else "white",
        label=label,
    )
    ax.set_xscale("log", base=2)
    ax.set_xticks(buffers, [str(b) for b in buffers])
    ax.set(xlabel="buffer (KB)", ylim=(-0.03, 1.05))


@paper.figure(
    "5",
    title="Probability that a run of TCP, DCTCP or L2DCT sees a timeout",
    uses=["timeout-probability"],
    claims=["trim-fig5-tcp-60pct", "trim-fig5-onoff-worse", "trim-fig5-ecn-between"],
    caption="""Full lines: long trains on connections that have sent 200 small responses; dotted: on fresh ones. Each point
    is over 2 to 40 senders and trains of 32 to 256 KB, with 95 % bands. Lines of congestion controls that come to the same lie
    on one another, TCP's the widest. The gray line is the document's "more than 60 %" of TCP with ON/OFF traffic, even with
    1 MB.""",
    width=7.0,
    height=3.1,
)
def _(fig: Any, x: Any) -> None:
    axes = fig.subplots(1, 2, sharey=True)
    for ax, link in zip(axes, LINKS, strict=True):
        for on_off in (True, False):
            for cc in ("reno", "dctcp", "l2dct"):
                label = LABEL[cc] + (" with ON/OFF" if on_off else " without")
                draw_probability(ax, x["timeout-probability"], link, cc, on_off=on_off, label=label)
        ax.axhline(paper.expected["fig5"]["tcp_1mb"], color="0.6", lw=0.9)
        ax.set_title(f"[{link}, {LINKS[link][1].replace('us', ' us')}]")
    axes[0].set_ylabel("probability of a timeout")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=6.5, columnspacing=1.4)


@paper.figure(
    "7",
    title="TRIM: throughput and windows in the set-up of Fig. 4, and its probability of a timeout",
    uses=["impairment", "timeout-probability"],
    claims=[
        "trim-fig7-no-loss",
        "trim-fig7-completion",
        "trim-fig7-throughput",
        "trim-fig7-queue",
        "trim-fig7-window",
        "trim-fig7-probe-window",
        "trim-fig7c-order",
        "trim-fig7c-mostly-zero",
    ],
    caption="""(a) One spike at 0.5 s (dotted: about 800 Mbit/s published; the height depends on the bin). (b) Windows of one
    seed; dotted: the published bound of 20. (c) As Fig. 5 with ON/OFF traffic; dashed: 10 Gbps, where DCTCP and L2DCT
    come to the same as TCP. The timeouts of TRIM that remain are those of buffers smaller than two packets a
    sender.""",
    width=7.0,
    height=2.9,
)
def _(fig: Any, x: Any) -> None:
    def draw(ax: Any) -> None:
        for link, dash in zip(LINKS, ("-", (0, (4, 1.5))), strict=True):
            for cc in ("reno", "trim"):
                draw_probability(ax, x["timeout-probability"], link, cc, on_off=True, label=f"{LABEL[cc]}, {link}", dash=dash)
        for line in ax.lines:
            line.set(linewidth=1.2, markersize=3.8)
        ax.set(ylabel="probability of a timeout", title="(c) with ON/OFF traffic")
        ax.legend(fontsize=6, handlelength=3.2, loc="upper right", bbox_to_anchor=(1.0, 0.45))

    draw_fig7(fig, x, draw)
