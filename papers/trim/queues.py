"""Fig. 8: the queue of long flows, its average, drops and goodput over their number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Measured, Reading, half, look, spearman

from .common import LABEL, MS, means, paper, per_run, port, rows, rtos

if TYPE_CHECKING:
    from forebay.repro import Result, Run, Table

NAMES = ["reno", "dctcp", "l2dct", "trim", "idle"]
CONGESTION_CONTROLS = ["reno", "dctcp", "l2dct", "trim"]
CALM = ["dctcp", "l2dct", "trim"]


@paper.experiment("queue")
def queue(run: Run) -> Result:
    return run("fig08.toml", seeds=run.pick(quick=2, full=10))


@paper.experiment("aql")
def aql(run: Run) -> dict[str, dict[int, Result]]:
    numbers = run.pick(quick=[2, 10, 20, 40], full=[2, 5, 10, 15, 20, 30, 40])
    seeds = run.pick(quick=1, full=5)
    found: dict[str, dict[int, Result]] = {"whole": {}, "steady": {}}
    for n in numbers:
        sets = {"topology.senders": n, "transport.rto-min": "1ms"}
        # Drops count from the first packet on; the averages leave out the first 10 %.
        found["whole"][n] = run("fig08.toml", sets | {"observe.warmup": "0s"}, seeds=seeds)
        found["steady"][n] = run("fig08.toml", sets, seeds=seeds)
    return found


def series(result: Result, name: str, run: int, from_ms: int = 180) -> Table:
    """Queue samples of a variant and seed from a time on."""
    t = rows(result, "queue", NAMES, ["time_ns", "pkts", "drops"])[name].where(run=run)
    return t.rows(t["time_ns"] >= from_ms * MS)


def visits(pkts: Any, limit: int = 100) -> int:
    """Number of times that the queue reaches the limit from below 90 % of it."""
    count, armed = 0, True
    for q in pkts.tolist():
        if armed and q >= limit - 1:
            count, armed = count + 1, False
        elif q < 0.9 * limit:
            armed = True
    return count


FEWER = Reading("up to 30 trains, as the document gives no numbers (5.7)", found_afterwards=True)


@paper.claim("trim-fig8a-tcp-sawtooth", uses=["queue"])
def _(x: Any) -> Any:
    r = x["queue"]
    seen = [visits(series(r, "reno", i, 100)["pkts"]) for i in range(r.seeds)]
    return Measured.over(
        {"visits": seen, "drops": port(r, NAMES, "dropped_overflow")["reno"]}, note="drops without the first 10 %"
    )


@paper.claim(
    "trim-fig8b-ecn-queue-20",
    uses=["queue"],
    explanation="""DCTCP stands at the threshold. L2DCT stands below it, because a connection that has sent more than 1 MB cuts
    by alpha to the power 1/8, which is far more than alpha. ns-2 has 19.2 and 14.6 packets waiting, 20.2 and 15.6 with the
    one in service.""",
)
def _(x: Any) -> Any:
    q = port(x["queue"], NAMES, "queue_mean_pkts")
    return Measured.over({"dctcp": q["dctcp"], "l2dct": q["l2dct"]})


@paper.claim("trim-fig8-stability", uses=["queue"])
def _(x: Any) -> Any:
    r = x["queue"]
    deviation = {n: [float(series(r, n, i)["pkts"].std()) for i in range(r.seeds)] for n in CONGESTION_CONTROLS}
    worst = {n: float(np.mean(v)) for n, v in deviation.items()}
    q = port(r, NAMES, "queue_mean_pkts")
    return Measured.over(
        {n: q[n] for n in CONGESTION_CONTROLS},
        note="standard deviations " + ", ".join(f"{n} {v:.1f}" for n, v in worst.items()),
        checks={"TCP is the least steady": worst["reno"] == max(worst.values())},
    )


def average(x: Any, name: str) -> tuple[list[int], list[float]]:
    """Numbers of flows and the average queue of a congestion control."""
    steady = x["aql"]["steady"]
    return list(steady), [float(np.mean(port(r, NAMES, "queue_mean_pkts")[name])) for r in steady.values()]


@paper.claim("trim-fig8e-aql-rising", uses=["aql"])
def _(x: Any) -> Any:
    rank = {n: spearman(*average(x, n)) for n in CONGESTION_CONTROLS}
    return Measured(rank, n=len(x["aql"]["steady"]), note="rank correlation over the numbers of flows, per congestion control")


@paper.claim("trim-fig8e-aql-order", uses=["aql"])
def _(x: Any) -> Any:
    queues = {n: average(x, n)[1] for n in CONGESTION_CONTROLS}
    numbers = average(x, "trim")[0]
    points = {f"N = {n}": {cc: q[i] for cc, q in queues.items()} for i, n in enumerate(numbers)}
    above = all(queues["reno"][i] >= 1.3 * max(queues[c][i] for c in CALM) for i, n in enumerate(numbers) if n <= 20)
    seeds = next(iter(x["aql"]["steady"].values())).seeds
    return Measured(points, n=seeds, checks={"TCP is 30 % above the others up to 20 flows": above})


def dropped(x: Any, name: str, part: str = "whole") -> dict[int, float]:
    """Mean drops of whole runs by number of flows."""
    return {n: float(np.mean(port(r, NAMES, "dropped_overflow")[name])) for n, r in x["aql"][part].items()}


@paper.claim("trim-fig8f-tcp-drops", uses=["aql"])
def _(x: Any) -> Any:
    d = dropped(x, "reno")
    return Measured(
        spearman(list(d), list(d.values())),
        n=len(d),
        note=f"{d[min(d)]:.0f} drops with {min(d)} flows, {d[max(d)]:.0f} with {max(d)}",
    )


@paper.claim(
    "trim-fig8f-zero-drops",
    uses=["aql"],
    explanation="""With 40 flows that start within 1 ms, slow start fills the queue to 97 to 100 packets of 100 under DCTCP and
    L2DCT before the first marks are back: in some seeds a packet or two are lost, and there are spurious timeouts, as
    the RTT comes to the minimum RTO of 1 ms (none with 200 ms). After the start no congestion control has any; TRIM has none
    at all, its queue stays below 80. With starts spread over 2, 5 or 10 ms the losses move to other numbers of flows (a single
    flow's slow start), with an initial window of one they vanish. The document does not say how many trains it went up
    to; up to 30 there is nothing. That this counts as a reading was decided after the failure.""",
)
def _(x: Any) -> Any:
    lost = {}
    for n, r in x["aql"]["whole"].items():
        drops, late = port(r, NAMES, "dropped_overflow"), rtos(r, NAMES)
        for cc in CALM:
            lost[f"{cc} {n} flows"] = max(a + b for a, b in zip(drops[cc], late[cc], strict=True))
    n = next(iter(x["aql"]["whole"].values())).seeds
    trim = max(v for k, v in lost.items() if k.startswith("trim"))
    fewer = {k: v for k, v in lost.items() if not k.endswith(" 40 flows")}
    return [
        Measured(lost, n=None, note=f"drops and timeouts of whole runs, largest of {n} seeds; TRIM {trim:.0f}"),
        Measured(fewer, n=None, note="as above", reading=FEWER),
    ]


def goodput(r: Any) -> dict[str, list[float]]:
    """Mbit/s after the first 10 %, by congestion control, for each seed."""
    found = rows(r, "flows", NAMES, ["bytes_measured"])
    return {n: [v * 8 / 0.72 / 1e6 for v in per_run(t, r.seeds, "bytes_measured")] for n, t in found.items()}


@paper.claim("trim-fig8g-goodput-order", uses=["aql"])
def _(x: Any) -> Any:
    steady = x["aql"]["steady"]
    points = {f"N = {n}": {k: v for k, v in means(goodput(r)).items() if k in CONGESTION_CONTROLS} for n, r in steady.items()}
    return Measured(points, n=next(iter(steady.values())).seeds, note="Mbit/s")


@paper.claim("trim-fig8g-utilisation-98", uses=["aql"])
def _(x: Any) -> Any:
    busy = {n: means(port(r, NAMES, "utilization")) for n, r in x["aql"]["steady"].items()}
    low = min(b[cc] for b in busy.values() for cc in CALM)
    mean = float(np.mean([b[cc] for b in busy.values() for cc in CALM]))
    return Measured(
        low,
        n=len(busy),
        note=f"busy fraction, the smallest of all; mean {mean:.3f}; 0.973 of it is payload with 40 B headers",
    )


@paper.figure(
    "8",
    title="Queues of long flows",
    uses=["queue", "aql"],
    claims=[
        "trim-fig8a-tcp-sawtooth",
        "trim-fig8b-ecn-queue-20",
        "trim-fig8-stability",
        "trim-fig8e-aql-rising",
        "trim-fig8e-aql-order",
        "trim-fig8f-tcp-drops",
        "trim-fig8f-zero-drops",
        "trim-fig8g-goodput-order",
        "trim-fig8g-utilisation-98",
    ],
    caption="""(a) to (d) The queue of five flows from 0.1 to 0.9 s, one seed; dotted: the buffer of 100 packets and the
    marking threshold of 20. (e) Average queue, (f) drops, (g) goodput over the number of flows, RTO 1 ms, with 95 %
    intervals over the seeds; dotted in (g): the published 98 %; its axis does not begin at 0. From 20 flows on all congestion
    controls with a floor of two packets stand at 2 N - C D packets.""",
    width=7.0,
    height=6.2,
)
def _(fig: Any, x: Any) -> None:
    above, below = fig.subfigures(2, 1, height_ratios=[2, 1.1])
    for i, (cc, ax) in enumerate(zip(CONGESTION_CONTROLS, above.subplots(2, 2, sharex=True, sharey=True).flat, strict=True)):
        t = series(x["queue"], cc, 0, 0)
        ax.plot(t["time_ns"] * 1e-9, t["pkts"], color=look(cc).color, lw=0.6)
        for level in (paper.expected["fig8"]["limit_pkts"], paper.expected["fig8"]["marking_pkts"]):
            ax.axhline(level, color="0.5", ls=":", lw=0.9)
        ax.set(
            xlim=(0.05, 0.9), ylim=(0, 108), title=f"({'abcd'[i]}) {LABEL[cc]}", ylabel="queue (packets)" if i % 2 == 0 else ""
        )
        if i > 1:
            ax.set_xlabel("time (s)")
    e, f, g = below.subplots(1, 3)
    numbers = list(x["aql"]["steady"])
    for cc in CONGESTION_CONTROLS:
        s = look(cc)
        style = {"color": s.color, "marker": s.marker, "ls": s.dash}
        queues = [port(r, NAMES, "queue_mean_pkts")[cc] for r in x["aql"]["steady"].values()]
        e.errorbar(numbers, [np.mean(q) for q in queues], [half(q) for q in queues], label=LABEL[cc], **style)
        drops = [port(r, NAMES, "dropped_overflow")[cc] for r in x["aql"]["whole"].values()]
        f.errorbar(numbers, [np.mean(d) for d in drops], [half(d) for d in drops], **style)
        rates = [goodput(r)[cc] for r in x["aql"]["steady"].values()]
        g.errorbar(numbers, [np.mean(v) for v in rates], [half(v) for v in rates], **style)
    e.set(xlabel="flows", ylabel="average queue (packets)", title="(e)", ylim=(0, 108))
    f.set(xlabel="flows", ylabel="packets dropped", title="(f)")
    g.set(xlabel="flows", ylabel="goodput (Mbit/s)", title="(g)", ylim=(880, 1010))
    g.axhline(1000 * paper.expected["fig8"]["utilisation"], color="0.5", ls=":", lw=0.9)
    f.legend(*e.get_legend_handles_labels(), fontsize=6.5, loc="upper left")
