"""Long flows: in action, the threshold, AQM, convergence."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run, interval

from .base import DCTCP, QUEUE, STATIC, TCP, TCP_CLASSIC, goodput, paper, port, queue, variant

# ------------------------------------------------------------------------------------------------------------ in action


@paper.experiment("in-action")
def in_action(run: Run) -> dict[str, Result]:
    seeds = run.pick(3, 10)
    return {"dynamic": run("in-action.toml", seeds=seeds), "static": run("in-action.toml", STATIC, seeds=seeds)}


def mean(values: list[float]) -> float:
    return interval(values)[0]


@paper.claim("dctcp-in-action-queue", uses=["in-action"])
def _(x: dict[str, Any]) -> Measured:
    return Measured.over(port(x["in-action"]["dynamic"], "queue_mean_pkts", DCTCP), note="time average, in service included")


@paper.claim("dctcp-in-action-vs-tcp", uses=["in-action"])
def _(x: dict[str, Any]) -> Measured:
    samples = {}
    for name, r in x["in-action"].items():
        cc = {"dctcp": DCTCP, "reno": TCP}
        samples[f"mean, {name}"] = {c: port(r, "queue_mean_pkts", v) for c, v in cc.items()}
        samples[f"deviation, {name}"] = {c: [float(np.std(q)) for q in queue(r, v)] for c, v in cc.items()}
    return Measured.over(samples)


@paper.claim("dctcp-in-action-throughput", uses=["in-action"])
def _(x: dict[str, Any]) -> Measured:
    samples = {
        name: [d / t for d, t in zip(goodput(r, DCTCP), goodput(r, TCP), strict=True)] for name, r in x["in-action"].items()
    }
    return Measured.over(samples, note="after the first slow start")


# ------------------------------------------------------------------------------------------------------------ threshold

K_TEN = [1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 80, 100]
K_ONE = [1, 2, 3, 5, 8, 12, 20, 40, 100]
BUFFERS_TEN = [40, 100, 150, 200, 250, 270, 290, 310, 330, 350, 380, 417]
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
        return dict(zip(ks, (r for _, r in run("k-sweep.toml", sets, points=points, seeds=run.pick(1, 3))), strict=True))

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
    """What TCP needs: one flow, drop-tail."""
    sets = {
        "topology.senders": 1,
        "transport.cc": "newreno",
        QUEUE: "drop-tail",
        "duration": run.pick("2500ms", "6s"),
        "observe.warmup": "1s",
    }
    values = run.pick([100, 250, 290, 330, 417], BUFFERS_TEN)
    points = [{"topology.bottleneck.buffer": f"{b}pkt"} for b in values]
    return dict(zip(values, (r for _, r in run("k-sweep.toml", sets, points=points, seeds=run.pick(1, 3))), strict=True))


def busy(r: Result) -> list[float]:
    return r.per_run(lambda t: float(t["busy"][0]), "ports", port="bottleneck")


@paper.claim("dctcp-k-guideline", uses=["k-sweep"])
def _(x: dict[str, Any]) -> Measured:
    guideline = int(np.ceil(BDP["10 Gbps"] / 7))
    by = {n: x["k-sweep"][f"{n} flows, 10 Gbps"][guideline] for n in (2, 20)}
    return Measured.over({f"{n} flows": busy(r) for n, r in by.items()}, note=f"K = {guideline} packets")


def smallest(by: dict[int, Result]) -> int:
    """The smallest value from which on the link is at least 99 % busy."""
    enough = [v for v, r in by.items() if mean(busy(r)) >= 0.99]
    return min(enough)


@paper.claim("dctcp-85pct-less-buffer", uses=["k-sweep", "buffer-sweep"])
def _(x: dict[str, Any]) -> Measured:
    k, b = smallest(x["k-sweep"]["1 flows, 10 Gbps"]), smallest(x["buffer-sweep"])
    return Measured(1 - k / b, n=x["buffer-sweep"][b].seeds, note=f"K = {k} packets against a buffer of {b}")


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
    seeds = run.pick(1, 3)
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


# --------------------------------------------------------------------------------------------------------- convergence


@paper.experiment("convergence")
def convergence(run: Run) -> dict[str, Result]:
    fast = {"topology.access.rate": "10Gbps"}
    return {
        "1 Gbps": run("convergence.toml", seeds=run.pick(2, 10)),
        "10 Gbps": run("convergence.toml", fast, seeds=run.pick(1, 10)),
    }


def phases(r: Result, cc: str, run: int) -> list[tuple[float, np.ndarray]]:
    """Start of each phase of 2 s, and goodput of the flows active in it over its second half, in Mbps."""
    t = r.table("tcp", ["run", "variant", "conn_id", "time_ns", "bytes_acked"]).where(variant=variant(r, cc), run=run)
    found = []
    for start in range(0, 18, 2):
        rates = []
        for conn, rows in t.by("conn_id"):
            if not 2 * conn <= start < 2 * conn + 10:
                continue
            at = [np.searchsorted(rows["time_ns"], s * 1_000_000_000, side="right") - 1 for s in (start + 1, start + 1.98)]
            rates.append(float(rows["bytes_acked"][at[1]] - rows["bytes_acked"][at[0]]) * 8 / 0.98e6)
        found.append((float(start), np.array(rates)))
    return found


def jain(v: np.ndarray) -> float:
    return float(v.sum() ** 2 / (len(v) * (v**2).sum()))


@paper.claim("dctcp-convergence-fairness", uses=["convergence"])
def _(x: dict[str, Any]) -> list[Measured]:
    def over(rate: str, reading: str | None) -> Measured:
        r = x["convergence"][rate]
        by: dict[str, list[float]] = {}
        for run in range(r.seeds):
            for start, rates in phases(r, DCTCP, run):
                if len(rates) > 1:
                    by.setdefault(f"{len(rates)} flows from {start:.0f} s", []).append(jain(rates))
        return Measured.over(by, reading=reading)

    return [over("1 Gbps", None), over("10 Gbps", "4.10: servers' links of 10 Gbps")]
