"""The guideline for K (Eq. 21 to 28), and Fig. 6: thresholds all over the interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Measured, half, look

from .common import PACKET, paper, port

if TYPE_CHECKING:
    from forebay.repro import Run

#: Link types of Fig. 6: rate, delay, buffer. 350 KiB are 245 packets.
LINKS = {"1 Gbps": ("1Gbps", "50us", "100pkt"), "10 Gbps": ("10Gbps", "25us", "245pkt")}
NAMES = ["trim", "idle"]


def links(rate: str, delay: str, buffer: str) -> dict[str, Any]:
    """Overrides for both links of a many-to-one scenario."""
    return {
        "topology.access.rate": rate,
        "topology.access.delay": delay,
        "topology.bottleneck.rate": rate,
        "topology.bottleneck.delay": delay,
        "topology.bottleneck.buffer": buffer,
    }


def model(run: Run, file: str, sets: dict[str, Any]) -> dict[str, float]:
    """Predictions of the trim model, by name."""
    told = run.model(file, sets)["variants"][0]["models"]
    found = next(m for m in told if m["model"] == "trim")
    return {v["name"]: float(v["model"]) for v in found["values"]}


@paper.experiment("guideline")
def guideline(run: Run) -> dict[str, dict[str, float]]:
    return {
        "1 Gbps, 200 us": model(run, "kguide.toml", {}),
        # 100 us with a packet and its ACK serialized twice, 2.4 us.
        "10 Gbps, 100 us": model(run, "kguide.toml", links("10Gbps", "24.4us", "100pkt")),
    }


LOWER, UPPER, LEAST = "K, lower bound", "K, upper bound", "smallest buffer for an interval"


@paper.claim("trim-eq21-lower-bound", uses=["guideline"])
def _(x: Any) -> Any:
    slow, fast = x["guideline"].values()
    return Measured({"lb_1g_200us": slow[LOWER] * 1e6, "lb_10g_100us": fast[LOWER] * 1e6}, note="closed forms")


@paper.claim("trim-eq25-upper-bound", uses=["guideline"])
def _(x: Any) -> Any:
    slow, fast = x["guideline"].values()
    return Measured(
        {"ub_1g_200us_b100": slow[UPPER] * 1e6, "ub_10g_100us_b100": fast[UPPER] * 1e6},
        note="closed forms",
        checks={"the interval is empty for 10 Gbps, 100 us and 100 packets": fast[UPPER] < fast[LOWER]},
    )


@paper.claim(
    "trim-text-min-buffer",
    uses=["guideline"],
    explanation="""Eq. 28 gives 43.7 and 301.5 KB; the printed 52 and 331 KB do not follow from it with any packet size (3.3),
    but are sufficient.""",
)
def _(x: Any) -> Any:
    slow, fast = (m[LEAST] * PACKET / 1000 for m in x["guideline"].values())
    return Measured(
        {"buf_1g_200us": slow, "buf_10g_100us": fast},
        note="Eq. 28, packets of 1460 B",
        checks={"the printed sizes are sufficient": slow <= 52 and fast <= 331},
    )


# ---------------------------------------------------------------------------------------------------------------- Fig. 6


@paper.experiment("k-sweep")
def k_sweep(run: Run) -> Any:
    samples = run.pick(quick=3, full=9)
    seeds = run.pick(quick=1, full=3)
    time = run.pick(quick={"1 Gbps": "500ms", "10 Gbps": "250ms"}, full={"1 Gbps": "1s", "10 Gbps": "1s"})
    found = {}
    for link, ends in LINKS.items():
        bounds = model(run, "fig06.toml", links(*ends) | {"transport.cc": ["trim"]})
        for k in np.linspace(bounds[LOWER], bounds[UPPER], samples):
            name = f"{k * 1e9:.0f}ns"
            cc = [{"kind": "trim", "k": name}, {"kind": "trim", "k": name, "gap-scope": "idle"}]
            for n in (2, 40):
                sets = links(*ends) | {"topology.senders": n, "transport.cc": cc, "duration": time[link]}
                found[link, n, round(float(k) * 1e6, 2)] = run("fig06.toml", sets, seeds=seeds)
    return found


@paper.experiment("k-start")
def k_start(run: Run) -> Any:
    """Losses of the whole run, start included: the sweep's own statistics begin after 0.1 s."""
    found = {}
    for link, ends in LINKS.items():
        bounds = model(run, "fig06.toml", links(*ends) | {"transport.cc": ["trim"]})
        for k in np.linspace(bounds[LOWER], bounds[UPPER], run.pick(quick=3, full=9)):
            name = f"{k * 1e9:.0f}ns"
            cc = [{"kind": "trim", "k": name}, {"kind": "trim", "k": name, "gap-scope": "idle"}]
            for jitter in ("1ms", "0s"):
                for n in (2, 40):
                    sets = links(*ends) | {"topology.senders": n, "transport.cc": cc, "duration": "100ms", "observe.warmup": "0s"}
                    sets["workload.0.jitter"] = jitter
                    found[link, n, round(float(k) * 1e6, 2), jitter] = run("fig06.toml", sets, seeds=run.pick(quick=1, full=5))
    return found


def losses(x: Any, name: str, jitter: str) -> dict[str, float]:
    """Mean drops of a whole run at each point: those of the first 0.1 s, and those after it."""
    found = {}
    for (link, n, k), r in x["k-sweep"].items():
        start = port(x["k-start"][link, n, k, jitter], NAMES, "dropped_overflow")[name]
        after = port(r, NAMES, "dropped_overflow")[name]
        found[f"{link}, N = {n}, K = {k:g} us"] = float(np.mean(start) + np.mean(after))
    return found


@paper.claim("trim-fig6-no-loss", uses=["k-sweep", "k-start"])
def _(x: Any) -> Any:
    n = next(iter(x["k-sweep"].values())).seeds
    spread, together, idle = (losses(x, *a) for a in (("trim", "1ms"), ("trim", "0s"), ("idle", "1ms")))
    note = f"{len(spread)} points; at most {max(together.values()):.1f} where all start at once"
    note += f", {max(idle.values()):.0f} with gaps when idle only"
    return Measured(max(spread.values()), n=n, note=note)


@paper.claim("trim-fig6-utilisation", uses=["k-sweep"])
def _(x: Any) -> Any:
    busy = {f"{link}, N = {n}, K = {k:g} us": port(r, NAMES, "utilization") for (link, n, k), r in x["k-sweep"].items()}
    n = next(iter(x["k-sweep"].values())).seeds
    least = {name: min(float(np.mean(b[name])) for b in busy.values()) for name in NAMES}
    return Measured(least["trim"], n=n, note=f"smallest of {len(busy)} points; {least['idle']:.3f} with gaps when idle only")


@paper.figure(
    "6",
    title="TRIM with thresholds all over the interval of Eq. 26",
    uses=["k-sweep", "k-start"],
    claims=["trim-fig6-no-loss", "trim-fig6-utilisation"],
    caption="""Above: utilization with 2 senders, the critical case; below: packets dropped with 40, starts spread over 1 ms.
    Left 1 Gbps, right 10 Gbps. Dashed: gaps count only with nothing unacknowledged; without the probing in
    continuous transfer that the literal rule causes, 40 flows in slow start lose some packets near the upper end.""",
    width=7.0,
    height=3.6,
)
def _(fig: Any, x: Any) -> None:
    axes = fig.subplots(2, 2, sharex="col")
    for column, link in enumerate(LINKS):
        points = [(k, r) for (at, n, k), r in x["k-sweep"].items() if at == link and n == 2]
        for name, label in (("trim", "TRIM"), ("idle", "TRIM, gaps when idle")):
            s = look("trim" if name == "trim" else "idle")
            ks = [k for k, _ in points]
            busy = [port(r, NAMES, "utilization")[name] for _, r in points]
            axes[0][column].errorbar(
                ks,
                [np.mean(b) for b in busy],
                [half(b) for b in busy],
                color=s.color,
                marker=s.marker,
                ls="-" if name == "trim" else "--",
                label=label,
            )
            lost = losses(x, name, "1ms")
            drops = [lost[f"{link}, N = 40, K = {k:g} us"] for k in ks]
            axes[1][column].plot(ks, drops, color=s.color, marker=s.marker, ls="-" if name == "trim" else "--")
        axes[0][column].set(ylim=(0.9, 1.005), title=f"[{link}, {LINKS[link][1].replace('us', ' us')}]")
        axes[1][column].set(ylim=(-2, 60), xlabel="K (us)")
        axes[1][column].locator_params(axis="x", nbins=6, integer=True)
    axes[0][0].set_ylabel("utilisation, 2 senders")
    axes[1][0].set_ylabel("drops, 40 senders")
    axes[0][0].legend(loc="lower right")
