"""The reaction to constant marking patterns, and the switch's marking (Two Key Ideas)."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run, look

from .base import QUEUE, TCP_CLASSIC, paper

#: Marked packets of ten, by threshold.
PATTERNS = {"8_of_10": 2, "1_of_10": 9}
NAMES = {"dctcp": "DCTCP", "reno_ecn": "TCP with ECN"}


@paper.experiment("reaction")
def reaction(run: Run) -> dict[str, Result]:
    made = {}
    for pattern, k in PATTERNS.items():
        at = {f"{QUEUE}.k": f"{k}pkt"}
        made[f"dctcp_{pattern}"] = run("reaction.toml", {**at, "transport.cc": {"kind": "dctcp", "g": 0.5}})
        # Nine halvings of 10000 packets leave 19: the tenth message would no longer fit.
        made[f"reno_ecn_{pattern}"] = run("reaction.toml", {**at, "transport.cc": TCP_CLASSIC, "workload.0.trains": 9})
    return made


@paper.experiment("default-gain")
def default_gain(run: Run) -> dict[str, Result]:
    """The gain of RFC 8257, started so that alpha is the marked fraction from the first message on.

    The first observation window is one packet, which is not marked: it takes a sixteenth of alpha.
    """
    return {
        f"dctcp_{pattern}": run(
            "reaction.toml",
            {f"{QUEUE}.k": f"{k}pkt", "transport.cc": {"kind": "dctcp", "alpha": (10 - k) / 10 * 16 / 15}},
        )
        for pattern, k in PATTERNS.items()
    }


@paper.experiment("arrivals")
def arrivals(run: Run) -> Result:
    """The first 10 ms of in-action.toml, slow start included, with a sample of the queue every 50 ns."""
    sets = {
        "duration": "10ms",
        "observe.warmup": "0s",
        "observe.queue": {"port": "bottleneck", "every": "50ns"},
        "transport.cc": "dctcp",
        # A mechanism of the port: processing times of hosts would let arrivals fall between samples.
        "transport.host-clock": 0,
        "transport.host-jitter": "0s",
    }
    return run("in-action.toml", sets, seeds=run.pick(1, 5, 10, of="seeds"))


@paper.experiment("cuts")
def cuts_of_flows(run: Run) -> dict[str, Result]:
    """Windows of long flows under many marking patterns: two to twenty flows, with a sample at every ACK."""
    every = {"duration": "200ms", "observe.warmup": "0s", "transport.cc": "dctcp"}
    return {
        f"{n} flows": run(
            "in-action.toml",
            {**every, "topology.senders": n, "observe.tcp": {"flows": list(range(n)), "every": "ack"}},
            seeds=run.pick(1, 3, 10, of="seeds"),
        )
        for n in (2, 5, 20)
    }


def windows(r: Result, run: int = 0) -> list[np.ndarray]:
    """Congestion window at every ACK, of each connection."""
    t = r.table("tcp", ["run", "conn_id", "cwnd"]).where(run=run)
    return [rows["cwnd"] for _, rows in t.by("conn_id")]


def reductions(cwnd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Windows before and after each reduction."""
    at = np.flatnonzero(np.diff(cwnd) < 0)
    return cwnd[at], cwnd[at + 1]


def last_cut(r: Result) -> float:
    before, after = reductions(windows(r)[0])
    return float(1 - after[-1] / before[-1])


@paper.claim("dctcp-cut-proportional", uses=["reaction", "default-gain"])
def _(x: dict[str, Any]) -> Measured:
    checks = {}
    for name, r in x["reaction"].items():
        t = r.flows
        # The first message is sent before the first cut; from then on each is one window with one cut.
        share = t["ce_acked_bytes"] / t["size_bytes"]
        want = int(name.split("_of_")[0][-1]) / 10
        if name.startswith("dctcp"):
            checks[f"{name}: the marked share of every message is {want}"] = bool(np.all(share == want))
        checks[f"{name}: one cut for each message"] = bool(np.all(t["ecn_reductions"] == 1))
    # With RFC 8257's gain the window is used up before alpha has converged; started there, alpha stays.
    for name, r in x["default-gain"].items():
        checks[f"{name}: the same with g = 1/16"] = abs(last_cut(r) - last_cut(x["reaction"][name])) < 0.001
    return Measured({n: last_cut(r) for n, r in x["reaction"].items()}, note="the last of 13 (TCP: 9) windows", checks=checks)


@paper.claim("dctcp-decrease-factor", uses=["reaction", "cuts"])
def _(x: dict[str, Any]) -> Measured:
    factors, checks = [], {}
    for name, r in [*((n, r) for n, r in x["reaction"].items() if n.startswith("dctcp")), *x["cuts"].items()]:
        for seed in range(r.seeds):
            t = r.flows.where(run=seed)
            seen = 0
            for cwnd in windows(r, seed):
                before, after = reductions(cwnd)
                seen += len(before)
                factors.append((before / after)[after > 2.0])
            # A cut at the floor, or by an alpha of nearly zero, does not show.
            checks[f"{name}: no losses, every reduction is a cut"] = (
                0 == int(t["loss_reductions"].sum()) < seen <= int(t["ecn_reductions"].sum())
            )
    all_of_them = np.concatenate(factors)
    return Measured({"min": all_of_them.min(), "max": all_of_them.max()}, note=f"{len(all_of_them)} cuts", checks=checks)


def marking(r: Result, run: int, k: int = 20) -> dict[str, int]:
    """Arrivals above and below K and how many of them were marked, from samples close enough to see each event.

    Between samples 50 ns apart the port sends at most one packet (one takes 12 us) and gets at most one from each of the two
    senders. An arrival shows as a longer queue; two, or one together with a departure, are counted as unseen.
    """
    t = r.queue.where(run=run)
    pkts, marks = np.diff(t["pkts"]), np.diff(t["marks"])
    found = t["pkts"][:-1]
    one = pkts == 1
    above = found >= k
    seen = {
        "above": int((one & above).sum()),
        "above_marked": int((one & above & (marks == 1)).sum()),
        "below": int((one & ~above).sum()),
        "below_marked": int((one & ~above & (marks > 0)).sum()),
    }
    arrived = int(r.ports.where(run=run, port="bottleneck")["arrived_pkts"][0])
    return {**seen, "unseen": arrived - seen["above"] - seen["below"]}


@paper.claim("dctcp-instant-marking", uses=["arrivals"])
def _(x: dict[str, Any]) -> Measured:
    r = x["arrivals"]
    counts = [marking(r, run) for run in range(r.seeds)]
    total = {key: sum(c[key] for c in counts) for key in counts[0]}
    first = []
    for run in range(r.seeds):
        t = r.queue.where(run=run)
        reached = np.flatnonzero((t["pkts"][:-1] >= 20) & (np.diff(t["pkts"]) > 0))[0]
        first.append(bool(t["marks"][reached] == 0 and t["marks"][reached + 1] == 1))
    checks = {
        "the first arrival above K is marked": all(first),
        "most arrivals are seen": total["unseen"] < 0.05 * total["above"],
    }
    return Measured(
        {"above": total["above_marked"] / total["above"], "below": total["below_marked"] / total["below"]},
        note=f"{total['above']} arrivals above and {total['below']} below; {total['unseen']} fell together with a departure; "
        "K itself counts as above",
        checks=checks,
    )


@paper.figure(
    "two-key-ideas",
    title="Reaction to constant marking patterns",
    uses=["reaction"],
    claims=["dctcp-cut-proportional", "dctcp-decrease-factor"],
    caption="""Cut of each window of ten packets of which eight or one are marked. DCTCP starts at alpha = 1 and learns the
    fraction (g = 1/2 here); the broken lines are the slides' numbers.""",
    width=3.35,
    height=2.3,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    ax = fig.subplots()
    for name, r in x["reaction"].items():
        before, after = reductions(windows(r)[0])
        cc, marked = ("dctcp", name[6:7]) if name.startswith("dctcp") else ("reno_ecn", name[9:10])
        ax.plot(
            range(1, len(before) + 1),
            100 * (1 - after / before),
            color=look("dctcp" if cc == "dctcp" else "tcp").color,
            marker="o" if marked == "8" else "s",
            mfc=None if marked == "8" else "none",
            label=f"{NAMES[cc]}, {marked} of 10",
        )
    for value in paper.expected["two_key_ideas"]["cut"].values():
        ax.axhline(100 * value, color="#000000", lw=0.8, ls=(0, (3, 2)))
    ax.set(xlabel="window", ylabel="cut [%]", ylim=(0, 55), xlim=(0.5, 13.5))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize=6)
