"""The model (Fig. 1), drop-tail (Fig. 2) and the DCTCP AQM (Fig. 3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.repro import Measured, Result, Run, interval, look, mean

from .base import GROWS, HELD, QUEUE, K, dctcp_share, goodput, packets, paper, queue, ratio

# -------------------------------------------------------------------------------------------------------------- model


def model(beta: float) -> float:
    """T_r of the AIMD model, Eq. (4) with a = 1 and beta_tcp = 0.5; beta is the part of the window that remains."""
    return (1 - 0.5) / (1 - beta)


@paper.claim("coex-model-curve")
def _(x: dict[str, Any]) -> Measured:
    return Measured({f"beta_0_{b}": model(b / 100) for b in (50, 60, 75, 80, 90)}, note="Eq. (4)")


@paper.claim("coex-model-monotone")
def _(x: dict[str, Any]) -> Measured:
    return Measured({f"beta={b}": model(b) for b in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)}, note="Eq. (4)")


@paper.claim("coex-model-4-6")
def _(x: dict[str, Any]) -> Measured:
    return Measured(model(1 - 0.215 / 2), note="Eq. (4), 0.215 taken as alpha")


@paper.figure(
    "1",
    title="Throughput ratio of the AIMD model against DCTCP's back-off factor",
    claims=["coex-model-curve", "coex-model-monotone", "coex-model-4-6"],
    caption="The factor is the part of the window that remains. The model diverges at 1; the curve is drawn to 0.95.",
    width=3.35,
    height=2.2,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    ax = fig.subplots()
    beta = np.linspace(0.5, 0.95, 200)
    ax.plot(beta, [model(b) for b in beta], color=look("dctcp").color)
    given = paper.expected["model"]
    published(
        ax, [given["equal"]["beta"], 1 - given["at_alpha"]["alpha"] / 2], [given["equal"]["ratio"], given["at_alpha"]["ratio"]]
    )
    alpha = given["at_alpha"]["alpha"]
    ax.annotate(
        f"α = {alpha:g}", (1 - alpha / 2, given["at_alpha"]["ratio"]), (-8, 4), textcoords="offset points", ha="right", fontsize=7
    )
    ax.set(xlabel="remaining window β of DCTCP", ylabel="T$_r$ (DCTCP / TCP)", xlim=(0.49, 0.96), ylim=(0, 10.5))
    ax.legend(loc="upper left")


# ---------------------------------------------------------------------------------------------------------- experiments


@paper.experiment("droptail")
def droptail(run: Run) -> Result:
    return run("fig02.toml", {"duration": run.pick("4s", "6s")}, seeds=run.pick(3, 10, of="seeds"))


@paper.experiment("step")
def step(run: Run) -> dict[int, Result]:
    return k_sweep(run, run.pick([20, 40, 65, 100, 150], K), {})


@paper.experiment("step-grows")
def step_grows(run: Run) -> dict[int, Result]:
    return k_sweep(run, [65], GROWS)


@paper.experiment("step-readings")
def step_readings(run: Run) -> dict[str, dict[int, Result]]:
    """T_r under other readings of what the document does not say."""
    readings: dict[str, dict[str, Any]] = {
        "jitter 12 us": {"transport.send-jitter": "12us"},
        "jitter 25 us": {"transport.send-jitter": "25us"},
        "jitter 50 us": {"transport.send-jitter": "50us"},
        "DCTCP grows on ACKs with echo": GROWS,
        "round trip 265 us": {"topology.bottleneck.delay": "45us"},
        "exact echo": {"transport.ecn-echo": "exact"},
        "g = 1/4": {"transport.group.1.cc.g": 0.25},
        "delayed ACKs": {"transport.ack-every": 2},
    }
    return {name: k_sweep(run, [20, 150], sets, seeds=5) for name, sets in ({} if run.quick else readings).items()}


def k_sweep(run: Run, ks: list[int], sets: dict[str, Any], seeds: int = 10) -> dict[int, Result]:
    # The packet in service counts in forebay's k, not in the document's K as read here.
    points = [{f"{QUEUE}.k": packets(k + 1)} for k in ks]
    sets = {"duration": run.pick("3s", "6s"), **sets}
    return dict(
        zip(ks, (r for _, r in run("fig03.toml", sets, points=points, seeds=run.pick(3, seeds, 10, of="seeds"))), strict=True)
    )


@paper.experiment("traces")
def traces(run: Run) -> dict[str, Result]:
    """Figs. 2, 3(a) and 4(a) with a sample at each ACK."""
    sets = {"observe.tcp": {"flows": [0, 1], "every": "ack"}, "duration": run.pick("3s", "6s")}
    seeds = run.pick(2, 3, 10, of="seeds")
    return {
        name: run(file, sets, seeds=seeds)
        for name, file in [("droptail", "fig02.toml"), ("step", "fig03.toml"), ("red", "fig04.toml")]
    }


# ---------------------------------------------------------------------------------------------------------- drop-tail


@paper.claim("coex-droptail-equal", uses=["droptail"])
def _(x: dict[str, Any]) -> Measured:
    return Measured.over(ratio(x["droptail"]))


@paper.claim("coex-droptail-queue", uses=["droptail"])
def _(x: dict[str, Any]) -> Measured:
    return Measured.over([q / 250 for q in queue(x["droptail"])], note="without the packet in service")


@paper.claim("coex-droptail-halving", uses=["traces"])
def _(x: dict[str, Any]) -> Measured:
    r: Result = x["traces"]["droptail"]
    given_up = []
    for run in range(r.seeds):
        conn = r.flows.where(transport="dctcp", run=run)["conn_id"][0]
        t = r.table("tcp", ["run", "conn_id", "time_ns", "cwnd", "ssthresh"]).where(conn_id=conn, run=run)
        new = t["ssthresh"][1:]
        # A reduction sets a new threshold, after the start's, which has none before it.
        at = np.flatnonzero((new != t["ssthresh"][:-1]) & ~np.isnan(t["ssthresh"][:-1]) & (t["time_ns"][1:] > 1_000_000_000))
        given_up.append(float(np.mean(1 - new[at] / t["cwnd"][at])) if len(at) else np.nan)
    return Measured.over(given_up, note="1 - new threshold / window before, at each reduction after the first second")


@paper.figure(
    "2",
    title="Throughput of one DCTCP and one TCP flow under a drop-tail queue",
    uses=["traces"],
    claims=["coex-droptail-equal", "coex-droptail-queue", "coex-droptail-halving"],
    caption="""One run, over 10 ms. Over the document's 250 us, a base round trip, the flows take turns with whole windows,
    anywhere between 0 and 1 Gbps. The first second, in which losses of the first slow start are repaired, does not count.""",
    width=7.0,
    height=2.2,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    over_time(fig.subplots(), x["traces"]["droptail"])


# ---------------------------------------------------------------------------------------------------------- DCTCP AQM

LIMIT_CYCLE = """Under step marking the two flows are locked in one deterministic limit cycle: seeds differ by less than 1 %, or
fall into one of two cycles (T_r 7.7 or 10.0 at K = 20), in which TCP goes back and forth between 3.0 and 6.8
segments, so single packets decide; the mean over seeds is that of how many fall into each, 9.5 with ten seeds,
and three seeds can give 8.5. Tested: the round trip (250, 265 us), g = 1/4, exact echo, up to 12 us of random
processing in hosts move T_r(20) by about 1 at most; growth of DCTCP on echoes and delayed ACKs raise it.
More randomness in the hosts lowers it: 25 us of random processing gives 8.0 and 50 us 6.9 at K = 20 (14.8
and 13.8 at 150), while RED, which is random itself, does not move. The document randomized the starts against
phase effects, which does not break the locking. Jitter is our own reading, found by trying about 25
variations after the claim had failed; it is none here, and the claim counts as not reproduced. See step-marking.md."""


STARVE = """The band ends at 12. With growth on ACKs with echo, which the specification of DCTCP recommends (2.3), T_r is
13.3; without, 11.4, as the specification's own quick check has it. The document's simulator, ns-2, opens no window on
an ACK with echo, whatever the agent (recv_newack_helper of its tcp.cc), and of TCP the document's specification
says the same (1.6). The reading was looked for after the first had failed, and ns-2's source was read later still."""


@paper.claim("coex-dctcpaqm-starve", uses=["step-grows", "step"], explanation=STARVE)
def _(x: dict[str, Any]) -> list[Measured]:
    return [
        Measured.over(ratio(x["step-grows"][65]), note="DCTCP grows on ACKs with echo"),
        Measured.over(ratio(x["step"][65]), reading=HELD),
    ]


@paper.claim("coex-dctcpaqm-aggregate", uses=["traces"])
def _(x: dict[str, Any]) -> Measured:
    r: Result = x["traces"]["step"]
    lows, means = [], []
    for run in range(r.seeds):
        t, d = goodput(r, "dctcp", 10_000_000, run)
        total = (d + goodput(r, "tcp", 10_000_000, run)[1])[t > 1]
        lows.append(float(total.min()))
        means.append(float(total.mean()))
    return Measured.over({"mean": means, "minimum": [min(lows)]}, note="acknowledged packets of 1500 B over 1 Gbps")


@paper.claim("coex-k-20", uses=["step"], explanation=LIMIT_CYCLE)
def _(x: dict[str, Any]) -> Measured:
    return Measured.over(ratio(x["step"][20]))


@paper.claim("coex-k-150", uses=["step"], explanation=LIMIT_CYCLE)
def _(x: dict[str, Any]) -> Measured:
    return Measured.over(ratio(x["step"][150]))


@paper.claim("coex-k-monotone", uses=["step"], explanation=LIMIT_CYCLE)
def _(x: dict[str, Any]) -> Measured:
    return Measured.over({f"K={k}": ratio(x["step"][k]) for k in (20, 40, 65, 100, 150)})


@paper.claim("coex-k-queue", uses=["step"])
def _(x: dict[str, Any]) -> Measured:
    over = {k: mean([q / k for q in queue(r)]) for k, r in x["step"].items()}
    return Measured(
        {"lower": min(over.values()), "upper": max(over.values())}, n=x["step"][20].seeds, note="smallest and largest over K"
    )


@paper.claim(
    "coex-k-share",
    uses=["step"],
    explanation="""The share is counted over the whole run, with the first second, in which the flows start up to 100 ms apart.
    At K = 150 it is 0.902 in the eight of ten seeds in which the TCP flow starts first, as the DCTCP flow then has little of that
    second, and 0.941 in the other two; at K = 65 0.906 to 0.920. Counted after the first second, which elsewhere does not count,
    the ten seeds give 0.904, 0.920 and 0.942 at K = 20, 65 and 150, the document's order. Tested: samples of the RTT from every
    ACK (timestamps) instead of one a round trip make no difference.""",
)
def _(x: dict[str, Any]) -> Measured:
    return Measured.over({f"K={k}": dctcp_share(x["step"][k]) for k in (20, 65, 150)}, note="by Little's law for each flow")


@paper.figure(
    "3",
    title="One DCTCP and one TCP flow under the DCTCP AQM",
    uses=["traces", "step"],
    claims=[
        "coex-dctcpaqm-starve",
        "coex-dctcpaqm-aggregate",
        "coex-k-20",
        "coex-k-150",
        "coex-k-monotone",
        "coex-k-queue",
        "coex-k-share",
    ],
    caption="""(a), (b): one run at K = 65; lines: over 10 ms, shaded: 90 % of the values over 250 us. (c): mean over seeds
    with 95 % confidence intervals. The document's values at both ends are lower by a third.""",
    height=2.3,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    a, b, c = fig.subplots(1, 3)
    over_time(a, x["traces"]["step"], title="(a)", shade=True)
    total = {}
    for every in (BASE_RTT_NS, 10_000_000):
        t, d = goodput(x["traces"]["step"], "dctcp", every)
        total[every] = t, d + goodput(x["traces"]["step"], "tcp", every)[1]
    spread(b, *total[BASE_RTT_NS], "#000000")
    b.plot(*total[10_000_000], color="#000000", lw=1.2)
    given = paper.expected["dctcp_aqm"]["total_gbps"]
    b.axhline(given, color="#D55E00", lw=0.9, ls=(0, (4, 3)), label=f"text: {given:g} Gbps")
    b.legend(loc="lower right")
    b.set(xlabel="time [s]", ylabel="T$_a$ [Gbps]", xlim=(0, t[-1]), ylim=(0, 1.3), title="(b)")
    sweep(c, {k: ratio(r) for k, r in x["step"].items()}, "as read", 1)
    given = paper.expected["dctcp_aqm"]["ratio"]
    published(c, [int(k) for k in given], list(given.values()))
    c.set(xlabel="marking threshold K [packets]", ylabel="T$_r$ (DCTCP / TCP)", ylim=(0, None), title="(c)")
    c.legend(loc="lower right", fontsize=6.5)


@paper.figure(
    "step-readings",
    title="The DCTCP AQM under other readings of what the document does not say",
    uses=["step", "step-readings"],
    claims=["coex-dctcpaqm-starve", "coex-k-20", "coex-k-150"],
    caption="Not in the document. Mean T_r over seeds with 95 % confidence intervals at both ends of Fig. 3(c).",
    height=2.6,
    full_only=True,
)
def _(fig: Any, x: dict[str, Any]) -> None:
    rows = {"as read": x["step"], **x["step-readings"]}
    dots(fig.subplots(1, 2, sharey=True), rows, [(20, "K = 20"), (150, "K = 150")], paper.expected["dctcp_aqm"]["ratio"])


# ------------------------------------------------------------------------------------------------------------ drawing


def over_time(ax: Any, r: Result, title: str = "", *, shade: bool = False) -> None:
    """Throughput of both flows over time, of one run; shaded as in :func:`spread`, where the flows' values do not overlap."""
    for cc, name in (("dctcp", "DCTCP"), ("tcp", "TCP")):
        color = look(cc).color
        if shade:
            spread(ax, *goodput(r, cc, BASE_RTT_NS), color)
        t, g = goodput(r, cc, 10_000_000)
        ax.plot(t, g, lw=1.2, color=color, label=name)
    ax.set(xlabel="time [s]", ylabel="throughput [Gbps]", xlim=(0, t[-1]), ylim=(0, 1.3), title=title)
    ax.legend(loc="upper right", ncols=2)


#: The time scale of the document's throughput curves.
BASE_RTT_NS = 250_000


def spread(ax: Any, t: np.ndarray, g: np.ndarray, color: str) -> None:
    """Shade where nine of ten values over a base round trip lie, of every 80 of them (20 ms): as lines they would be one area."""
    whole = len(g) // 80 * 80
    low, high = np.percentile(g[:whole].reshape(-1, 80), [5, 95], axis=1)
    ax.fill_between(t[79:whole:80], low, high, color=color, alpha=0.2, lw=0)


def sweep(ax: Any, samples: dict[int, list[float]], label: str, i: int | str) -> None:
    """Means with 95 % confidence intervals."""
    m = Measured.over({str(k): v for k, v in samples.items()})
    keys = list(samples)
    y = [m.value[str(k)] for k in keys]
    half = [(m.high[str(k)] - m.low[str(k)]) / 2 if m.high[str(k)] is not None else 0.0 for k in keys]
    style = look(i)
    ax.errorbar(keys, y, half, color=style.color, ls=style.dash, marker=style.marker, capsize=2, elinewidth=0.8, label=label)


def dots(axes: Any, rows: dict[str, dict[int, Result]], points: list[tuple[int, str]], given: dict[str, float]) -> None:
    """T_r of several readings at a few points: a panel for each point, a row for each reading."""
    for ax, (key, title) in zip(axes, points, strict=True):
        for y, by in enumerate(rows.values()):
            mean_, low, high = interval(ratio(by[key]), least=0.0)
            half = (high - low) / 2 if high is not None and low is not None else 0.0
            ax.errorbar(mean_, y, xerr=half, color=look(0).color, marker="o", capsize=2, elinewidth=0.8)
        if str(key) in given:
            ax.axvline(given[str(key)], color="#000000", lw=0.8, ls=(0, (3, 2)))
            ax.annotate(" published", (given[str(key)], -0.55), fontsize=6.5, ha="left")
        ax.set(
            xlabel="T$_r$ (DCTCP / TCP)",
            title=title,
            yticks=range(len(rows)),
            yticklabels=list(rows),
            ylim=(len(rows) - 0.5, -0.9),
        )


def published(ax: Any, x: list[float], y: list[float]) -> None:
    """Values that the document's text gives."""
    ax.plot(x, y, ls="", marker="*", ms=9, mfc="none", mec="#000000", mew=0.9, label="published", zorder=5)
