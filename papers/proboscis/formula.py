"""Algorithm 2's window formula as printed and as repaired: window-formula.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.repro import Result, Run, Table, look, mean

from .base import average, fct, paper
from .cluster import Grid, size
from .trace import injected, timeouts

KAPPA2, ICWND = 0.9, 10
CONGESTION_CONTROLS: dict[str, Any] = {
    "repaired": {"kind": "newreno", "shim": "proboscis"},
    # One segment for every flow: the largest window that the printed formula gives.
    "printed": {"kind": "newreno", "shim": {"kind": "proboscis", "icwnd": 1}},
}
VARIANT = "newreno+proboscis"


def printed(beta: float) -> float:
    """Lines 18 to 21: the window in segments."""
    return min(1.0, beta * ICWND) if beta <= KAPPA2 else 1.0


def maximum(beta: float) -> float:
    """The same with the maximum in place of the minimum."""
    return max(1.0, beta * ICWND) if beta <= KAPPA2 else 1.0


def repaired(marked: float, kappa2: float = KAPPA2) -> float:
    """The reading taken: tests the marked share, multiplies by the unmarked one."""
    return float(max(1, round(ICWND * (1 - marked)))) if marked <= kappa2 else 1.0


#: Window by the marked share, for each way to read the listing.
READINGS: dict[str, Callable[[float], float]] = {
    "printed, $\\beta$ the marked share": printed,
    "printed, $\\beta$ the unmarked share": lambda m: printed(1 - m),
    "max for min, $\\beta$ the marked share": maximum,
    "max for min, $\\beta$ the unmarked share": lambda m: maximum(1 - m),
    "repaired": repaired,
    "repaired, $\\kappa_2$ = 0.5": lambda m: repaired(m, 0.5),
}


@paper.experiment("formula")
def formula(run: Run) -> dict[str, dict[str, Result]]:
    """One flow on an idle path, twenty beside a long one, and the cluster at half load."""
    one = {"kind": "long", "class": "short", "from": "s1", "to": "recv", "size": "14600B", "start": "1ms"}
    made: dict[str, dict[str, Result]] = {"idle": {}, "trace": {}, "cluster": {}}
    for name, cc in CONGESTION_CONTROLS.items():
        made["idle"][name] = run("fig04.toml", {"transport.cc": cc, "workload": [one], "observe": {}})
        made["trace"][name] = run("fig04.toml", {"transport.cc": cc}, seeds=run.pick(3, 12, of="seeds"))
    # As `load`, whose run at half load has the repaired formula.
    sets = {**size(run, "websearch"), "workload.0.load": 0.5, "transport.cc": CONGESTION_CONTROLS["printed"]}
    made["cluster"]["printed"] = run("fig06.toml", sets, seeds=run.pick(1, 3, of="seeds"))
    return made


@paper.figure(
    "window-formula",
    title="Algorithm 2's window",
    uses=["formula", "load"],
    claims=["prob-window-map"],
    caption="""Left: the window in the SYN-ACK by the number of marked probes of ten, for each way to read the listing (lines
    set apart a little). Right: completion times with one segment, the most that the printed formula gives, over those with
    the repaired one.""",
    height=3.2,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    left, right = fig.subplots(1, 2, width_ratios=[1.6, 1])
    marked = range(11)
    for i, (name, window) in enumerate(READINGS.items()):
        k = look(i)
        values = [window(round(m / 10, 9)) + 0.06 * i for m in marked]
        left.plot(marked, values, marker=k.marker, ls=k.dash, ms=3.5, lw=1, color=k.color, label=name)
    left.set(xlabel="marked probes of 10", ylabel="window [segments]", ylim=(-0.3, 10.8), xticks=range(0, 11, 2))
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=6.5)
    ratios = gains(x["formula"], x["load"])
    right.barh(list(ratios), list(ratios.values()), 0.6, color=look(0).color)
    right.axvline(1, color="0.4", lw=0.8)
    right.set(xlabel="completion time, ratio", xlim=(0, 1.6))
    right.grid(axis="y", visible=False)


def shorts(t: Table) -> float:
    return float(fct(t).mean())


def gains(x: dict[str, dict[str, Result]], load: Grid) -> dict[str, float]:
    """Completion times with one segment for every flow over those with the repaired formula."""
    made = {}
    for name in ("idle", "trace"):
        times = {cc: mean(r.per_run(shorts, **{"class": "short"})) for cc, r in x[name].items()}
        made[{"idle": "10 segments, idle path", "trace": "20 flows beside a long one"}[name]] = (
            times["printed"] / times["repaired"]
        )
    plain = mean(average(load["websearch", 5, 0.5, 10]["proboscis"]))
    made["small flows, cluster"] = mean(average(x["cluster"]["printed"])) / plain
    return made


def burst(x: dict[str, dict[str, Result]]) -> dict[str, tuple[float, float]]:
    """First windows relative to ten segments a flow, and timeouts, of the twenty flows."""
    return {cc: (mean(injected(r, VARIANT)), mean(timeouts(r, VARIANT))) for cc, r in x["trace"].items()}
