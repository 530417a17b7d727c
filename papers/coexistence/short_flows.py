"""Short flows beside two long ones (Fig. 8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run

from .base import MIN_TH, QUEUE, mean, packets, paper
from .incast import NAMES, QUEUES, pairs
from .long_flows import sweep


def load(run: Run, values: list[int], sets: dict[str, Any] | None = None) -> dict[str, dict[int, Result]]:
    made = {}
    for a, kind in QUEUES.items():
        points = [{QUEUE: {"kind": kind, "min": packets(v), "max": "100pkt", "p-max": 0.02, "weight": 0.002}} for v in values]
        results = run("fig08.toml", {"duration": run.pick("5s", "11s"), **(sets or {})}, points=points, seeds=run.pick(2, 6))
        made[a] = dict(zip(values, (r for _, r in results), strict=True))
    return made


@paper.experiment("short")
def short(run: Run) -> dict[str, dict[int, Result]]:
    return load(run, run.pick([30, 50, 70, 90], MIN_TH))


@paper.experiment("short-readings")
def short_readings(run: Run) -> dict[str, dict[str, dict[int, Result]]]:
    readings: dict[str, dict[str, Any]] = {"with a SYN": {"transport.handshake": True}, "exact echo": {"transport.echo": "exact"}}
    return {} if run.quick else {name: load(run, [30, 90], sets) for name, sets in readings.items()}


def afct(r: Result, cc: str) -> list[float]:
    """Mean completion time of a protocol's short flows, of each seed, in ms; without those that the end cut off."""
    return r.per_run(lambda t: float(np.nanmean(t["fct_ns"].astype(float))) / 1e6, cc=cc, **{"class": f"short-{cc}"})


@paper.claim("coex-short-minth", uses=["short"])
def _(x: dict[str, Any]) -> Measured:
    samples = {
        f"{cc} {NAMES[a]}": {f"min_th={v}": afct(by[v], cc) for v in (30, 50, 70, 90)}
        for a, by in x["short"].items()
        for cc in ("tcp", "dctcp")
    }
    return Measured.over(samples)


@paper.claim("coex-short-fair", uses=["short"])
def _(x: dict[str, Any]) -> Measured:
    value = {
        f"min_th={v}": {a: abs(mean(afct(x["short"][a][v], "tcp")) / mean(afct(x["short"][a][v], "dctcp")) - 1) for a in QUEUES}
        for v in (70, 90)
    }
    return Measured(value, n=x["short"]["red"][70].seeds)


@paper.figure(
    "8",
    title="Completion times of short flows beside one long flow of each protocol",
    uses=["short"],
    claims=["coex-short-minth", "coex-short-fair"],
    caption="""Short flows of 10 to 50 KB offer 20 % of the link, half of them TCP. max_th 100. Means over seeds with 95 %
    confidence intervals.""",
    width=5.6,
    height=2.4,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    axes = fig.subplots(1, 2, sharey=True)
    for ax, a, letter in zip(axes, QUEUES, "ab", strict=True):
        for cc, name in (("dctcp", "DCTCP"), ("tcp", "TCP")):
            sweep(ax, {v: afct(r, cc) for v, r in x["short"][a].items()}, name, cc)
        ax.set(xlabel="min$_{th}$ [packets]", ylim=(0, None), title=f"({letter}) {NAMES[a]}")
        ax.legend(loc="upper left")
    axes[0].set_ylabel("AFCT of short flows [ms]")


@paper.figure(
    "short-readings",
    title="Short flows under other readings",
    uses=["short", "short-readings"],
    claims=["coex-short-minth", "coex-short-fair"],
    caption="Not in the document. AFCT of TCP over that of DCTCP with 95 % confidence intervals over seeds; 1 is equal.",
    height=2.0,
    full_only=True,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    rows = {"as read": x["short"], **x["short-readings"]}
    pairs(fig, rows, [(30, "min$_{th}$ 30"), (90, "min$_{th}$ 90")], afct)
