"""Short flows beside two long ones (Fig. 8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run, look

from .base import MIN_TH, QUEUE, mean, packets, paper
from .incast import NAMES, QUEUES
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
    caption="Not in the document. AFCT of TCP over that of DCTCP; 1 is equal.",
    height=2.0,
    full_only=True,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    rows = {"as read": x["short"], **x["short-readings"]}
    for ax, v in zip(fig.subplots(1, 2, sharey=True), (30, 90), strict=True):
        for i, a in enumerate(QUEUES):
            values = [mean(afct(by[a][v], "tcp")) / mean(afct(by[a][v], "dctcp")) for by in rows.values()]
            ax.plot(
                values,
                [y + 0.2 * i - 0.1 for y in range(len(values))],
                ls="",
                marker="os"[i],
                color=look(i).color,
                label=NAMES[a],
            )
        ax.axvline(1, color="#000000", lw=0.8, ls=(0, (3, 2)))
        ax.set(
            xlabel="AFCT of TCP / of DCTCP",
            title=f"min$_{{th}}$ {v}",
            yticks=range(len(rows)),
            yticklabels=list(rows),
            ylim=(len(rows) - 0.5, -0.6),
        )
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower right", ncols=2)
