"""Fig. 9: flows join and leave every two seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Measured, jain, look

from .common import IDLE, LABEL, paper, rows

if TYPE_CHECKING:
    from forebay.repro import Result, Run, Table

NAMES = ["reno", "dctcp", "l2dct", "trim", "idle"]
CONGESTION_CONTROLS = NAMES[:4]
#: Phases of 2 s: flows 1 to 5 join, then leave in the order in which they came. The last has one flow.
PHASES = 9


@paper.experiment("convergence")
def convergence(run: Run) -> Result:
    return run("fig09.toml", seeds=run.pick(quick=1, full=5))


@paper.experiment("convergence-weights")
def convergence_weights(run: Run) -> Result:
    """Effect of L2DCT's weights: they reach their floor after 1 MB, 8 ms of this link; here after 200 MB."""
    cc = [{"kind": "l2dct", "no-growth-on-ece": True, "light": "20MB", "heavy": "200MB"}]
    return run("fig09.toml", {"transport.cc": cc}, seeds=run.pick(quick=1, full=3))


def active(phase: int) -> list[int]:
    """Flows of a phase."""
    return [c for c in range(5) if c <= phase and 6 + c > phase]


def rates(tcp: Table, run: int) -> Any:
    """Mbit/s of the five flows in bins of 100 ms from 0.1 s on: one row for each bin."""
    edges = (np.arange(0, 200) * 0.1 + 0.1) * 1e9
    columns = []
    for c in range(5):
        t = tcp.where(run=run, conn_id=c)
        # Samples are 10 ms apart, taken at the next ACK: between them the rate is steady enough.
        columns.append(np.interp(edges, t["time_ns"], t["bytes_acked"], left=0.0))
    return np.diff(np.array(columns).T, axis=0) * 8 / 0.1 / 1e6


def judged(tcp: Table, run: int) -> dict[str, Any]:
    """Per phase: Jain's index of the last second; time until all stay within 20 % of the fair share for 0.5 s; variation."""
    r = rates(tcp, run)
    found: dict[str, Any] = {"jain": [], "time": [], "variation": []}
    for phase in range(PHASES):
        flows = active(phase)
        block = r[20 * phase : 20 * phase + 20][:, flows]
        found["jain"].append(jain(block[10:].mean(0)))
        found["variation"].append(float((block.std(0) / block.mean(0)).mean()))
        fair = 1000 / len(flows)
        near = (np.abs(block - fair) <= 0.2 * fair).all(1)
        first = next((i for i in range(16) if near[i : i + 5].all()), 20)
        found["time"].append(first * 0.1)
    return found


def all_of(result: Result, names: list[str], name: str, what: str) -> list[list[float]]:
    """A quantity of each seed by phase."""
    tcp = rows(result, "tcp", names, ["time_ns", "conn_id", "bytes_acked"])[name]
    return [judged(tcp, i)[what] for i in range(result.seeds)]


@paper.claim(
    "trim-fig9-trim-converges",
    uses=["convergence"],
    explanation="""The literal gap rule can hold one of five flows at two packets a round trip (Jain's index 0.93, gap-rule.md),
    which then does not come near its share; with gaps that count only with nothing unacknowledged all flows are
    at their share at once.""",
)
def _(x: Any) -> Any:
    r = x["convergence"]

    def worst(name: str) -> dict[str, float]:
        return {
            "jain": float(np.min(all_of(r, NAMES, name, "jain"))),
            "convergence_time": float(np.max(all_of(r, NAMES, name, "time"))),
        }

    return [
        Measured(worst("trim"), n=r.seeds, note="worst phase of all seeds, gaps before any new segment"),
        Measured(worst("idle"), n=r.seeds, note="worst phase of all seeds", reading=IDLE),
    ]


@paper.claim("trim-fig9-tcp-dctcp-variation", uses=["convergence"])
def _(x: Any) -> Any:
    r = x["convergence"]
    return Measured.over(
        {n: list(np.mean(all_of(r, NAMES, n, "variation"), axis=1)) for n in ("trim", "dctcp", "reno")}, note="bins of 100 ms"
    )


@paper.claim(
    "trim-fig9-l2dct-worst",
    uses=["convergence", "convergence-weights"],
    explanation="""L2DCT prefers connections that have sent less than 1 MB, and these flows pass that in their first 30 ms:
    afterwards all have the smallest weight and are as fair as DCTCP. The least fair is TRIM, by its gap rule (0.98 in
    a quick run; gap-rule.md). Weights that fall between 20 and 200 MB
    instead make L2DCT less fair than DCTCP and TRIM; the document does not say how it counted.""",
)
def _(x: Any) -> Any:
    r = x["convergence"]
    index = {n: list(np.mean(all_of(r, NAMES, n, "jain"), axis=1)) for n in CONGESTION_CONTROLS}
    long = [float(np.mean(v)) for v in all_of(x["convergence-weights"], ["l2dct"], "l2dct", "jain")]
    return Measured.over(
        index, note=f"mean over the phases; L2DCT with weights that fall between 20 and 200 MB: {np.mean(long):.3f}"
    )


@paper.figure(
    "9",
    title="Convergence",
    uses=["convergence"],
    claims=["trim-fig9-trim-converges", "trim-fig9-tcp-dctcp-variation", "trim-fig9-l2dct-worst"],
    caption="""Throughput of each of five connections, c1 to c5, in bins of 100 ms, one seed. One joins every 2 s
    from 0.1 s and one leaves every 2 s from 12.1 s. (d) c1 falls to 90 Mbit/s at 12 s: the literal gap rule holds
    it (gap-rule.md).""",
    width=7.0,
    height=4.4,
)
def _(fig: Any, x: Any) -> None:
    axes = fig.subplots(2, 2, sharex=True, sharey=True)
    tcp = rows(x["convergence"], "tcp", NAMES, ["time_ns", "conn_id", "bytes_acked"])
    for ax, cc, letter in zip(axes.flat, CONGESTION_CONTROLS, "abcd", strict=True):
        r = rates(tcp[cc], 0)
        at = np.arange(len(r)) * 0.1 + 0.1
        for c in range(5):
            keep = (at >= 0.1 + 2 * c - 1e-6) & (at < 12.1 + 2 * c - 1e-6)
            edges = np.append(at[keep], at[keep][-1] + 0.1)
            ax.stairs(r[keep, c], edges, baseline=None, color=look(c).color, lw=0.9, label=f"c{c + 1}")
        ax.set(title=f"({letter}) {LABEL[cc]}", ylim=(0, 1050), xlim=(0, 20.2), xticks=range(0, 21, 4))
    for ax in axes[1]:
        ax.set_xlabel("time (s)")
    for row in axes:
        row[0].set_ylabel("throughput (Mbit/s)")
    axes[0][0].legend(fontsize=6, ncols=3, loc="upper center")
