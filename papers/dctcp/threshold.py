"""The threshold, what TCP needs instead, and AQM."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run, look, mean

from .base import DCTCP, QUEUE, TCP, TCP_CLASSIC, busy, paper, queue
from .draw import GIVEN, curve

# ------------------------------------------------------------------------------------------------------------ threshold

K_TEN = [1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 80, 100]
K_ONE = [1, 2, 3, 5, 8, 12, 20, 40, 100]
BUFFERS_TEN = [60, 100, 150, 200, 250, 270, 290, 310, 330, 370, 417]
#: 1 Gbps and 100 us, as in the rack.
ONE_GBPS = {
    "topology.access": {"rate": "4Gbps", "delay": "25us"},
    "topology.bottleneck.rate": "1Gbps",
    "topology.bottleneck.delay": "25us",
}
#: C RTT in packets of 1500 B.
BDP = {"10 Gbps": 10e9 * 500e-6 / 12_000, "1 Gbps": 1e9 * 100e-6 / 12_000}


@paper.experiment("k-sweep")
def k_sweep(run: Run) -> dict[str, dict[int, Result]]:
    def sweep(ks: list[int], sets: dict[str, Any]) -> dict[int, Result]:
        points = [{f"{QUEUE}.k": f"{k}pkt"} for k in ks]
        return dict(
            zip(ks, (r for _, r in run("k-sweep.toml", sets, points=points, seeds=run.pick(1, 3, 10, of="seeds"))), strict=True)
        )

    ten = run.pick([1, 2, 3, 5, 10, 20, 60], K_TEN)
    made = {
        f"{n} flows, 10 Gbps": sweep(
            ten if n == 1 else run.pick([10, 60], K_TEN), {"topology.senders": n, "duration": run.pick("600ms", "1s")}
        )
        for n in (1, 2, 20)
    }
    if not run.quick:
        made |= {f"{n} flows, 1 Gbps": sweep(K_ONE, {**ONE_GBPS, "topology.senders": n}) for n in (1, 2, 20)}
    return made


@paper.experiment("buffer-sweep")
def buffer_sweep(run: Run) -> dict[int, Result]:
    """Buffer that TCP needs: one flow, drop-tail.

    Proportional rate reduction (RFC 6937) is on, as in kernels. With RFC 6675 alone the loss of a whole first slow start ends in
    one timeout after the other (README), for any size of the buffer.
    """
    sets = {
        "topology.senders": 1,
        "transport.cc": "newreno",
        "transport.prr": True,
        QUEUE: "drop-tail",
        "duration": run.pick("2500ms", "5s"),
        "observe.warmup": "1s",
    }
    values = run.pick([250, 290, 330, 417], BUFFERS_TEN)
    points = [{"topology.bottleneck.buffer": f"{b}pkt"} for b in values]
    return dict(
        zip(values, (r for _, r in run("k-sweep.toml", sets, points=points, seeds=run.pick(1, 3, 10, of="seeds"))), strict=True)
    )


@paper.claim("dctcp-k-guideline", uses=["k-sweep"])
def _(x: dict[str, Any]) -> Measured:
    guideline = int(np.ceil(BDP["10 Gbps"] / 7))
    by = {n: x["k-sweep"][f"{n} flows, 10 Gbps"][guideline] for n in (2, 20)}
    return Measured.over({f"{n} flows": busy(r) for n, r in by.items()}, note=f"K = {guideline} packets")


def smallest(by: dict[int, Result]) -> int:
    """The smallest value from which on the link is at least 99 % busy."""
    found = None
    for v in sorted(by, reverse=True):
        if mean(busy(by[v])) < 0.99:
            break
        found = v
    if found is None:
        raise ValueError("not even the largest value fills the link")
    return found


@paper.claim("dctcp-85pct-less-buffer", uses=["k-sweep", "buffer-sweep"])
def _(x: dict[str, Any]) -> Measured:
    k, b = smallest(x["k-sweep"]["1 flows, 10 Gbps"]), smallest(x["buffer-sweep"])
    return Measured(1 - k / b, n=x["buffer-sweep"][b].seeds, note=f"K = {k} packets against a buffer of {b}")


@paper.figure(
    "analysis",
    title="How much queue full throughput needs",
    uses=["k-sweep", "buffer-sweep"],
    claims=["dctcp-k-guideline", "dctcp-85pct-less-buffer"],
    caption="""Share of the time in which the port sends, against DCTCP's threshold and, for one TCP flow, against the
    drop-tail buffer. Broken: C RTT / 7 (the slides' formula is an image; their 85 % is 1 - 1/7); thin: 99 %. Mean over seeds
    with 95 % confidence bands.""",
    height=2.4,
    full_only=True,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    for ax, rate in zip(fig.subplots(1, 2, sharey=True), ("10 Gbps", "1 Gbps"), strict=True):
        for i, n in enumerate((1, 2, 20)):
            by = {k: [100 * b for b in busy(r)] for k, r in x["k-sweep"][f"{n} flows, {rate}"].items()}
            label = f"DCTCP, {n} flow{'s' if n > 1 else ''}, K"
            curve(ax, by, "dctcp", label, marker="os^"[i], ls=("-", (0, (5, 1.6)), (0, (1.6, 1.2)))[i], ms=3)
        if rate == "10 Gbps":
            sweep = {b: [100 * v for v in busy(r)] for b, r in x["buffer-sweep"].items()}
            curve(ax, sweep, "newreno", "TCP, 1 flow, buffer", marker="D", ms=3)
        ax.axvline(BDP[rate] / 7, **GIVEN)
        ax.axhline(99, color="#000000", lw=0.5)
        ax.set(
            xscale="log",
            xlabel="K or buffer [packets]",
            title=f"{rate}, {'500' if rate == '10 Gbps' else '100'} us",
            ylim=(70, 101),
        )
    fig.axes[0].set_ylabel("busy [%]")
    fig.legend(*fig.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)


# ----------------------------------------------------------------------------------------------------------------- AQM


def red(low: int, high: int, p: float, weight: float) -> dict[str, Any]:
    return {"kind": "red", "min": f"{low}pkt", "max": f"{high}pkt", "p-max": p, "weight": weight}


#: Thresholds, p_max and weight: low and high thresholds, gentle and hard marking, slow and instantaneous averages.
RED = [
    (low, high, p, weight)
    for low, high in ((20, 60), (65, 195), (150, 450), (300, 900))
    for p in (0.02, 0.1)
    for weight in (0.0002, 0.002, 1.0)
]
RED_QUICK = [(20, 60, 0.1, 0.002), (65, 195, 0.1, 0.002), (150, 450, 0.1, 0.002), (150, 450, 0.1, 1.0), (300, 900, 0.02, 0.0002)]


@paper.experiment("aqm")
def aqm(run: Run) -> dict[str, Any]:
    sets = {"duration": run.pick("2s", "4s")}
    seeds = run.pick(1, 3, 10, of="seeds")
    settings = run.pick(RED_QUICK, RED)
    points = [{QUEUE: red(*s)} for s in settings]
    reds = run("aqm.toml", {**sets, "transport.cc": TCP_CLASSIC}, points=points, seeds=seeds)
    return {
        "dctcp": run("aqm.toml", sets, seeds=seeds),
        "red": {s: r for s, (_, r) in zip(settings, reds, strict=True)},
    }


def spread(r: Result, cc: str) -> list[float]:
    """5th to 95th percentile of the queue, of each seed."""
    return [float(np.quantile(q, 0.95) - np.quantile(q, 0.05)) for q in queue(r, cc)]


@paper.claim("dctcp-aqm-not-enough", uses=["aqm"])
def _(x: dict[str, Any]) -> Measured:
    full = {s: spread(r, TCP) for s, r in x["aqm"]["red"].items() if mean(busy(r)) >= 0.99}
    best = min(full, key=lambda s: mean(full[s]))
    checks = {"DCTCP fills the link": mean(busy(x["aqm"]["dctcp"])) >= 0.99}
    return Measured.over(
        {"dctcp": spread(x["aqm"]["dctcp"], DCTCP), "reno_red": full[best]},
        note=f"{len(full)} of {len(x['aqm']['red'])} settings fill the link; the best of them: min {best[0]}, max {best[1]}, "
        f"p_max {best[2]}, weight {best[3]}",
        checks=checks,
    )


@paper.figure(
    "aqm",
    title="AQM is not enough: queue of two long flows at 10 Gbps and 500 us",
    uses=["aqm"],
    claims=["dctcp-aqm-not-enough"],
    caption="""Left: one run of DCTCP, K = 65, and of TCP with the RED setting that varies least of those that fill the link.
    Right: all settings (thresholds, p_max, weight): utilization against the 5th to 95th percentile of the queue, mean over
    seeds. Best is the lower right corner.""",
    height=2.4,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    trace, all_of_them = fig.subplots(1, 2, width_ratios=[1.3, 1])
    reds = x["aqm"]["red"]
    full = {s: mean(spread(r, TCP)) for s, r in reds.items() if mean(busy(r)) >= 0.99}
    best = reds[min(full, key=full.__getitem__)]
    for r, name, label in ((best, "red", "TCP with RED"), (x["aqm"]["dctcp"], "dctcp", "DCTCP")):
        t = r.queue.where(run=0)
        s = t["time_ns"] / 1e9
        shown = (s >= 1.0) & (s < 1.5)
        trace.plot(s[shown], t["pkts"][shown], color=look(name).color, lw=0.8, label=label)
        others = reds.values() if name == "red" else [r]
        at = [(100 * mean(busy(o)), mean(spread(o, TCP if name == "red" else DCTCP))) for o in others]
        all_of_them.plot(*zip(*at, strict=True), ls="", color=look(name).color, marker=look(name).marker, ms=4, mew=0, alpha=0.8)
    trace.axhline(65, **GIVEN)
    trace.set(xlabel="time [s]", ylabel="queue [packets]", ylim=(0, None))
    fig.legend(*trace.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    all_of_them.axvline(99, color="#000000", lw=0.5)
    all_of_them.set(xlabel="busy [%]", ylabel="queue, 5th to 95th\npercentile [packets]", ylim=(0, None))
