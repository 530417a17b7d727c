"""Incast beside two long flows (Fig. 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Measured, Result, Run, Table, interval, look, mean

from .base import QUEUE, over_means, paper

if TYPE_CHECKING:
    from collections.abc import Callable

SENDERS = [10, 20, 30, 40, 50, 60, 70, 80, 90]
QUEUES = {"red": "red", "mchoke": "choke-multi"}
NAMES = {"red": "RED", "mchoke": "modified CHOKe"}


def requests(run: Run, senders: list[int], seeds: int, sets: dict[str, Any] | None = None) -> dict[str, dict[int, Result]]:
    """One request for each seed."""
    points = [
        {"topology.senders": n + 2, "workload.1.from": f"s2..s{n + 1}", "workload.1.size": f"{-(-1_000_000 // n)}B"}
        for n in senders
    ]
    queues = {
        a: {QUEUE: {"kind": kind, "min": "70pkt", "max": "100pkt", "p-max": 0.02, "weight": 0.002}} for a, kind in QUEUES.items()
    }
    return {
        a: dict(
            zip(senders, (r for _, r in run("fig07.toml", {**queue, **(sets or {})}, points=points, seeds=seeds)), strict=True)
        )
        for a, queue in queues.items()
    }


@paper.experiment("incast")
def incast(run: Run) -> dict[str, dict[int, Result]]:
    return requests(run, run.pick([10, 30, 60, 90], SENDERS), run.pick(4, 30, 100, of="requests"))


@paper.experiment("incast-readings")
def incast_readings(run: Run) -> dict[str, dict[str, dict[int, Result]]]:
    readings: dict[str, dict[str, Any]] = {
        "initial window 1": {"transport.init-cwnd": 1},
        "initial window 10": {"transport.init-cwnd": 10},
        "minimum timeout 10 ms": {"transport.rto-min": "10ms"},
        "all at once": {"workload.1.jitter": "0s"},
        "jitter 5 ms": {"workload.1.jitter": "5ms"},
        "exact echo": {"transport.ecn-echo": "exact"},
        "SACK": {"transport.recovery": "sack"},
        "with a SYN": {"transport.handshake": True},
    }
    return {} if run.quick else {name: requests(run, [30, 90], 8, sets) for name, sets in readings.items()}


def afct(r: Result, cc: str) -> list[float]:
    """Mean completion time of the servers' flows of a protocol, of each request, in ms.

    A flow that the end of the run cuts off counts with the time it had; :func:`cut_off` counts those.
    """
    end = r.manifests[0]["runs"][0]["end_ns"]

    def one(t: Table) -> float:
        return float(np.mean(np.where(t["completed"], t["fct_ns"], end - t["start_ns"]))) / 1e6

    return r.per_run(one, transport=cc, **{"class": "incast"})


def cut_off(x: dict[str, dict[int, Result]]) -> int:
    """Flows that did not complete."""
    return sum(
        int((~r.flows.where(**{"class": "incast"})["completed"].astype(bool)).sum()) for by in x.values() for r in by.values()
    )


def times(x: dict[str, dict[int, Result]]) -> dict[str, dict[str, list[float]]]:
    return {f"{NAMES[a]} n={n}": {c: afct(r, c) for c in ("dctcp", "tcp")} for a, by in x.items() for n, r in by.items()}


@paper.claim("coex-incast-order", uses=["incast"])
def _(x: dict[str, Any]) -> Measured:
    m = Measured.over(times(x["incast"]))
    if cut_off(x["incast"]):
        m.note = f"{cut_off(x['incast'])} flows did not complete and count with the time they had"
    for a, by in x["incast"].items():
        gap = {n: mean(afct(r, "tcp")) - mean(afct(r, "dctcp")) for n, r in by.items()}
        few, many = [g for n, g in gap.items() if n <= 30], [g for n, g in gap.items() if n >= 60]
        m.checks[f"under {NAMES[a]} the gap is larger for 60 and more senders than for 30 and fewer"] = float(
            np.mean(many)
        ) > float(np.mean(few))
    return m


@paper.claim("coex-incast-2x", uses=["incast"])
def _(x: dict[str, Any]) -> Measured:
    by = {a: {n: mean(afct(r, "tcp")) / mean(afct(r, "dctcp")) for n, r in at.items()} for a, at in x["incast"].items()}
    return Measured(
        {
            "at_90": {NAMES[a]: v[90] for a, v in by.items()},
            "max_from_40": {NAMES[a]: max(r for n, r in v.items() if n >= 40) for a, v in by.items()},
        },
        n=x["incast"]["red"][90].seeds,
        note="ratio of the means over requests",
    )


@paper.figure(
    "7",
    title="Completion times in incast beside one long flow of each protocol",
    uses=["incast"],
    claims=["coex-incast-order", "coex-incast-2x"],
    caption="""Average completion time of the servers' flows of 1 MB / n, mean over requests with 95 % confidence intervals.
    min_th 70, max_th 100.""",
    width=4.6,
    height=2.9,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    ax = fig.subplots()
    for a, by in x["incast"].items():
        # Side by side, so that intervals do not hide each other.
        n = np.array(list(by)) + (-0.6 if a == "red" else 0.6)
        for cc, name in (("dctcp", "DCTCP"), ("tcp", "TCP")):
            m = [interval(afct(r, cc), least=0.0) for r in by.values()]
            y = [v for v, _, _ in m]
            half = [(h - lo) / 2 if h is not None and lo is not None else 0.0 for _, lo, h in m]
            style = {
                "ls": "-" if a == "red" else (0, (4, 1.6)),
                "marker": "o" if a == "red" else "s",
                "mfc": "none" if a != "red" else None,
            }
            ax.errorbar(n, y, half, color=look(cc).color, capsize=2, elinewidth=0.8, label=f"{name}, {NAMES[a]}", **style)
    ax.set(xlabel="number of senders", ylabel="AFCT [ms]", ylim=(0, None))
    ax.legend(loc="upper left")


@paper.figure(
    "incast-readings",
    title="Incast under other readings of what the document does not say",
    uses=["incast", "incast-readings"],
    claims=["coex-incast-order", "coex-incast-2x"],
    caption="""Not in the document. AFCT of TCP over that of DCTCP, ratio of the means over requests with 95 % confidence
    intervals (jackknife). A flow that did not
    complete in 1.5 s counts with that. As read: initial window 2,
    minimum timeout 200 ms, jitter 1 ms.""",
    height=2.6,
    full_only=True,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    rows = {"as read": x["incast"], **x["incast-readings"]}
    pairs(fig, rows, [(30, "30 senders"), (90, "90 senders")], afct, "log")


def pairs(
    fig: Any,
    rows: dict[str, dict[str, dict[int, Result]]],
    points: list[tuple[int, str]],
    measure: Callable[[Result, str], list[float]],
    scale: str = "linear",
) -> None:
    """A measure of TCP over that of DCTCP: a panel for each point, a row for each reading, a marker for each queue."""
    for ax, (key, title) in zip(fig.subplots(1, 2, sharey=True), points, strict=True):
        for i, a in enumerate(QUEUES):
            for y, by in enumerate(rows.values()):
                ratio, low, high = over_means(measure(by[a][key], "tcp"), measure(by[a][key], "dctcp"))
                ends = [[ratio - low], [high - ratio]]
                style = {"color": look(i).color, "marker": "os"[i], "capsize": 2, "elinewidth": 0.8, "ls": ""}
                ax.errorbar(ratio, y + 0.24 * i - 0.12, xerr=ends, label=NAMES[a] if y == 0 else None, **style)
        ax.axvline(1, color="#000000", lw=0.8, ls=(0, (3, 2)))
        ax.set(
            xscale=scale,
            xlabel="AFCT of TCP / of DCTCP",
            title=title,
            yticks=range(len(rows)),
            yticklabels=list(rows),
            ylim=(len(rows) - 0.5, -0.6),
        )
        if scale == "log":
            ax.set(xlim=(0.4, 30), xticks=[0.5, 1, 2, 5, 10, 20], xticklabels=["0.5", "1", "2", "5", "10", "20"])
            ax.minorticks_off()
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower right", ncols=2)
