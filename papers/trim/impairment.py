"""Fig. 4 and 7 (a), (b): windows inherited by a long train."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Measured, look

from .common import MS, PACKET, paper, per_run, port, rows

if TYPE_CHECKING:
    from forebay.repro import Result, Run, Table

NAMES = ["reno", "plain", "trim", "idle"]


@paper.experiment("impairment")
def impairment(run: Run) -> Result:
    return run("fig04.toml", seeds=run.pick(quick=3, full=20))


@paper.experiment("impairment-1ms")
def impairment_1ms(run: Run) -> Result:
    sets = {"transport.rto-min": "1ms", "workload.0.last-size": "256KB", "transport.cc": ["newreno"]}
    return run("fig04.toml", sets, seeds=run.pick(quick=2, full=10))


@paper.experiment("first-rtt")
def first_rtt(run: Run) -> Result:
    """Up to 0.2 ms after the long trains arrive, less than the 223 us of the empty path: what a window lets out at once."""
    sets = {"transport.cc": ["trim", "newreno"], "duration": "500.2ms"}
    return run("fig04.toml", sets, seeds=run.pick(quick=3, full=20))


@paper.experiment("pipe")
def pipe(run: Run) -> Any:
    return run("fig04-pipe.toml", points=[{"transport.rcv-wnd": f"{n * PACKET}B"} for n in range(112, 125)])


def timeouts(result: Result, names: list[str], name: str) -> dict[str, list[float]]:
    """Timeouts of connections 1 to 5, one value for each seed."""
    flows = rows(result, "flows", names, ["conn_id", "rtos"])[name]
    return {f"c{c + 1}": per_run(flows.where(conn_id=c), result.seeds, "rtos") for c in range(5)}


def window_at(tcp: Table, conn: int, seeds: int, ns: int) -> list[float]:
    """Last window of a connection before a time, one for each seed."""
    t = tcp.where(conn_id=conn)
    t = t.rows(t["time_ns"] < ns)
    return [float(t.where(run=r)["cwnd"][-1]) for r in range(seeds)]


def bins(tcp: Table, run: int, conns: Any, width_ms: float, end_ms: float) -> tuple[Any, Any]:
    """Mbit/s acknowledged to some connections, in bins: left edges in s, rates."""
    edges = np.arange(0.0, end_ms + width_ms / 2, width_ms)
    total = np.zeros(len(edges))
    for conn in conns:
        t = tcp.where(run=run, conn_id=conn)
        at = np.searchsorted(t["time_ns"], edges * MS, side="right") - 1
        acked = np.where(at >= 0, t["bytes_acked"][np.maximum(at, 0)], 0)
        total += acked
    return edges[:-1] / 1e3, np.diff(total) * 8 / (width_ms * 1e3)


def idle_periods(tcp: Table, run: int, conn: int, least_ms: float = 50.0) -> list[float]:
    """Starts, in s, of pauses in which a connection that has work is acknowledged nothing, after 0.5 s."""
    t = tcp.where(run=run, conn_id=conn)
    t = t.rows(t["time_ns"] >= 499 * MS)
    moved = np.flatnonzero(np.diff(t["bytes_acked"], prepend=-1) > 0)
    times = t["time_ns"][moved]
    # Work ends with the last byte; the pause before the first ACK of the long train begins at 0.5 s.
    times = np.concatenate([[500 * MS], times[times > 500 * MS]])
    gap = np.diff(times) > least_ms * MS
    return [float(s) * 1e-9 for s in times[:-1][gap]]


@paper.claim("trim-fig4-timeouts", uses=["impairment"])
def _(x: Any) -> Any:
    r = x["impairment"]
    return Measured.over(timeouts(r, NAMES, "reno"), note="means over the seeds")


@paper.claim("trim-fig4-stall-times", uses=["impairment"])
def _(x: Any) -> Any:
    r = x["impairment"]
    tcp = rows(r, "tcp", NAMES, ["time_ns", "conn_id", "bytes_acked"])["reno"]
    stalls = [idle_periods(tcp, run, 4) for run in range(r.seeds)]
    return Measured.over(
        {"first": [s[0] for s in stalls if s], "second": [s[1] for s in stalls if len(s) > 1]},
        note=f"starts of the pauses of more than 50 ms; {sum(not s for s in stalls)} of {r.seeds} seeds have none",
        checks={"two stalls in every seed": all(len(s) == 2 for s in stalls)},
    )


@paper.claim("trim-fig4-inherited-window", uses=["impairment"])
def _(x: Any) -> Any:
    r = x["impairment"]
    tcp = rows(r, "tcp", NAMES, ["time_ns", "conn_id", "cwnd"])["reno"]
    others = np.min([window_at(tcp, c, r.seeds, 500 * MS) for c in range(4)], axis=0)
    return Measured.over(
        {
            "c5_at_0_3": window_at(tcp, 4, r.seeds, 300 * MS),
            "c5_at_0_5": window_at(tcp, 4, r.seeds, 500 * MS),
            "others_min": list(others),
        },
        note="others_min: the smallest of the other four at 0.5 s",
    )


@paper.claim("trim-fig4-pipe-size", uses=["pipe"])
def _(x: Any) -> Any:
    fits = [int(p["transport.rcv-wnd"][:-1]) // PACKET for p, r in x["pipe"] if sum(r.ports["dropped_overflow"]) == 0]
    return Measured(max(fits, default=0), note="largest window, in packets, at which nothing is lost; of 112 to 124")


@paper.claim("trim-fig4-small-rto", uses=["impairment-1ms"])
def _(x: Any) -> Any:
    r = x["impairment-1ms"]
    tcp = rows(r, "tcp", ["reno"], ["time_ns", "conn_id", "cwnd"])["reno"]
    before = tcp.rows(tcp["time_ns"] < 500 * MS)
    total = np.sum(list(timeouts(r, ["reno"], "reno").values()), axis=0)
    return Measured.over(
        {"window": [float(before.where(run=i)["cwnd"].max()) for i in range(r.seeds)], "timeouts": list(total)},
        note="long trains of 256 KB",
    )


# ------------------------------------------------------------------------------------------------------------------ TRIM


@paper.claim("trim-fig7-no-loss", uses=["impairment"])
def _(x: Any) -> Any:
    r = x["impairment"]
    total = np.sum(list(timeouts(r, NAMES, "trim").values()), axis=0)
    drops = port(r, NAMES, "dropped_overflow")["trim"]
    return Measured({"drops": max(drops), "timeouts": float(max(total))}, n=r.seeds, note="largest over the seeds")


@paper.claim("trim-fig7-completion", uses=["impairment"])
def _(x: Any) -> Any:
    r = x["impairment"]
    acked = rows(r, "flows", NAMES, ["acked_ns"])["trim"]
    return Measured(float(acked["acked_ns"].max()) * 1e-9, n=r.seeds, note="largest over the seeds")


@paper.claim("trim-fig7-throughput", uses=["impairment"])
def _(x: Any) -> Any:
    r = x["impairment"]
    tcp = rows(r, "tcp", NAMES, ["time_ns", "conn_id", "bytes_acked"])["trim"]
    peak: dict[float, list[float]] = {5.0: [], 10.0: []}
    for width, peaks in peak.items():
        for run in range(r.seeds):
            at, rate = bins(tcp, run, range(5), width, 700)
            peaks.append(float(rate[at >= 0.499].max()))
    low = float(np.mean(peak[10.0]))
    return Measured.over(peak[5.0], note=f"bins of 5 ms; {low:.0f} Mbit/s in bins of 10 ms")


@paper.claim("trim-fig7-queue", uses=["impairment"])
def _(x: Any) -> Any:
    r = x["impairment"]
    return Measured(max(port(r, NAMES, "queue_max_pkts")["trim"]), n=r.seeds, note="largest over the seeds")


@paper.claim("trim-fig7-window", uses=["impairment"])
def _(x: Any) -> Any:
    r = x["impairment"]
    tcp = rows(r, "tcp", NAMES, ["time_ns", "cwnd"])["trim"]
    before = tcp.rows(tcp["time_ns"] < 500 * MS)
    late = before.rows(before["time_ns"] >= 120 * MS)
    return Measured(
        float(before["cwnd"].max()),
        n=r.seeds,
        note=f"largest over the seeds, reached by first responses; {late['cwnd'].max():.1f} from 0.12 s on",
    )


@paper.claim("trim-fig7-probe-window", uses=["first-rtt"])
def _(x: Any) -> Any:
    r = x["first-rtt"]
    sent = {}
    for cc in ("trim", "reno"):
        flows = rows(r, "flows", ["trim", "reno"], ["size_bytes", "segs_sent"])[cc]
        sent[cc] = flows.rows(flows["size_bytes"] == 140_000)["segs_sent"]
    trim = sent["trim"]
    return Measured(
        {f"{of.__name__} over connections and seeds": float(of(trim)) for of in (min, max)},
        n=None,
        note=f"packets of the train sent in the first 0.2 ms, before any ACK; TCP {min(sent['reno'])} to {max(sent['reno'])}",
        checks={"every connection of every seed has begun its train": len(trim) == 5 * r.seeds},
    )


# --------------------------------------------------------------------------------------------------------------- figures


def _windows(ax: Any, tcp: Table, title: str) -> None:
    """Windows over time: that of connection 5, which the document shows, before the others'."""
    for conn in range(5):
        t = tcp.where(run=0, conn_id=conn)
        fifth = conn == 4
        ax.step(
            np.append(t["time_ns"] * 1e-9, 0.95),
            np.append(t["cwnd"], t["cwnd"][-1]),
            where="post",
            color=look("reno").color if fifth else "0.7",
            lw=1.3 if fifth else 0.9,
            label="connection 5" if fifth else "connections 1 to 4" if conn == 0 else None,
        )
    ax.axhline(paper.expected["fig4"]["window_c5_pkts"], color="0.4", ls=":", lw=0.9)
    ax.axhline(paper.expected["fig4"]["pipe_pkts"], color="0.4", ls="--", lw=0.7)
    ax.set(xlim=(0.05, 0.95), ylim=(0, 1150), xlabel="time (s)", ylabel="window (packets)", title=title)


def _throughput(ax: Any, tcp: Table, title: str, end: float = 950) -> None:
    at, rate = bins(tcp, 0, [4], 10, end)
    ax.stairs(rate, np.append(at, end / 1e3), color=look("reno").color, lw=1.2)
    ax.set(xlim=(0.05, end / 1e3), ylim=(0, 125), xlabel="time (s)", ylabel="throughput (Mbit/s)", title=title)


@paper.figure(
    "4",
    title="TCP: windows inherited from small responses, and what becomes of the long trains",
    uses=["impairment", "impairment-1ms"],
    claims=[
        "trim-fig4-timeouts",
        "trim-fig4-stall-times",
        "trim-fig4-inherited-window",
        "trim-fig4-pipe-size",
        "trim-fig4-small-rto",
    ],
    caption="""One seed. (a) Throughput of connection 5 in bins of 10 ms: 200 small responses until about 0.3 s, the long
    train at 0.5 s, and two stalls of 200 ms. Published: two timeouts, stalls from 0.5 and 0.7 s (dotted). (b) The
    windows grow with every acknowledged packet to about 900 (dotted: the published 900 of connection 5), far
    beyond the 118 packets of the path (dashed). (c), (d) The same with a minimum RTO of 1 ms and trains of 256 KB.""",
    width=7.0,
    height=4.6,
)
def _(fig: Any, x: Any) -> None:
    axes = fig.subplots(2, 2)
    tcp = rows(x["impairment"], "tcp", NAMES)["reno"]
    short = rows(x["impairment-1ms"], "tcp", ["reno"])["reno"]
    _throughput(axes[0][0], tcp, "(a) connection 5, RTO 200 ms")
    stalls = paper.expected["fig4"]["stalls_s"]
    for s in stalls:
        axes[0][0].axvline(s, color="0.5", ls=":", lw=0.9)
    _windows(axes[0][1], tcp, "(b) windows, RTO 200 ms")
    axes[0][1].legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(0.26, 0.6))
    _throughput(axes[1][0], short, "(c) connection 5, RTO 1 ms")
    _windows(axes[1][1], short, "(d) windows, RTO 1 ms")


def draw_fig7(fig: Any, x: Any, probability: Any) -> None:
    """Fig. 7: (a) throughput, (b) windows, (c) probability of a timeout, which another module draws."""
    axes = fig.subplots(1, 3, gridspec_kw={"width_ratios": [1, 1, 1.15]})
    r = x["impairment"]
    tcp = rows(r, "tcp", NAMES)["trim"]
    for width, shade in ((5.0, 0), (10.0, 1)):
        at, rate = bins(tcp, 0, range(5), width, 600)
        s = look(shade)
        axes[0].stairs(rate, np.append(at, 0.6), color=s.color, ls=s.dash, lw=1.0, label=f"bins of {width:.0f} ms")
    axes[0].axhline(paper.expected["fig7"]["peak_mbps"], color="0.5", ls=":", lw=0.9)
    axes[0].set(xlim=(0.05, 0.6), ylim=(0, 1050), xlabel="time (s)", ylabel="total throughput (Mbit/s)", title="(a) TRIM")
    axes[0].legend(loc="upper left", fontsize=6.5)
    for conn in range(5):
        t = tcp.where(run=0, conn_id=conn)
        s = look(conn)
        axes[1].step(t["time_ns"] * 1e-9, t["cwnd"], where="post", color=s.color, lw=0.6, label=f"connection {conn + 1}")
    axes[1].axhline(paper.expected["fig7"]["window_max_pkts"], color="0.5", ls=":", lw=0.9)
    axes[1].set(xlim=(0.05, 0.6), ylim=(0, 36), xlabel="time (s)", ylabel="window (packets)", title="(b) TRIM")
    axes[1].legend(fontsize=6, ncols=2, loc="upper left", columnspacing=1.0, handlelength=1.2)
    probability(axes[2])
