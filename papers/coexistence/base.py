"""The paper, and measures of the pair of long flows that share a bottleneck."""

from __future__ import annotations

import numpy as np

from forebay.repro import Paper, Reading, Result, Table, interval, mean

paper = Paper(__file__, title="On the coexistence of transport protocols in data centers (DCTCP beside TCP)")

QUEUE = "topology.bottleneck.queue"
MIN_TH = [30, 40, 50, 60, 70, 80, 90]
MAX_TH = [65, 80, 100, 125, 150, 175, 200]
K = [20, 40, 65, 80, 100, 120, 150]

#: The reading under which DCTCP's window rests on ACKs with echo. All claims of the paper are measured under it; the three that
#: the other one decides are measured under both.
HELD = Reading(
    "DCTCP increases as TCP, so its window does not grow on ACKs with echo either, as in ns-2", named="specification 1.6"
)
#: The specification of DCTCP (dctcp 2.3) lets the window grow on every ACK that does not cut.
GROWS = {"transport.group.1.cc.no-growth-on-ece": False}


def packets(n: int) -> str:
    return f"{n}pkt"


def ratio(r: Result) -> list[float]:
    """T_r of each seed: goodput of the DCTCP flow over that of the TCP flow, after the warm-up."""
    return r.per_run(
        lambda t: float(t.where(transport="dctcp")["bytes_measured"].sum() / t.where(transport="tcp")["bytes_measured"].sum())
    )


def queue(r: Result) -> list[float]:
    """Time average of the packets that wait, without the one in service, of each seed."""
    return r.per_run(lambda t: float(t["queue_mean_pkts"][0] - t["utilization"][0]), "ports", port="bottleneck")


def busy(r: Result) -> list[float]:
    """Utilization of the bottleneck, of each seed."""
    return r.per_run(lambda t: float(t["utilization"][0]), "ports", port="bottleneck")


def alpha(r: Result) -> list[float]:
    """Time average of DCTCP's alpha after the first second, of each seed."""

    def mean(t: Table) -> float:
        a = t["alpha"][t["time_ns"] >= 1_000_000_000]
        return float(np.nanmean(a))

    # Only DCTCP has an alpha: the other connection's rows are NaN.
    return r.per_run(mean, "tcp")


def dctcp_share(r: Result) -> list[float]:
    """DCTCP's share of the queued packets, of each seed.

    Little's law for each flow: packets queued = packets a second * mean wait; a wait is the RTT less that of the idle path.
    """

    def share(t: Table) -> float:
        held = {c: float(f["bytes_acked"][0] * (f["rtt_mean_ns"][0] - 250_000)) for c, f in t.by("transport")}
        return held["dctcp"] / sum(held.values())

    return r.per_run(share)


def cuts(r: Result) -> dict[str, list[float]]:
    """Window reductions of each seed, by protocol."""
    return {c: r.per_run(lambda t: float((t["ecn_reductions"] + t["loss_reductions"])[0]), transport=c) for c in ("dctcp", "tcp")}


def over_means(a: list[float], b: list[float]) -> tuple[float, float, float]:
    """Return mean(a) / mean(b), one pair a seed, and the ends of its 95 % interval: jackknife of the logarithm."""
    n, ratio = len(a), mean(a) / mean(b)
    if n < 2:
        return ratio, ratio, ratio
    rest = [np.log((sum(a) - x) / (sum(b) - y)) for x, y in zip(a, b, strict=True)]
    _, low, high = interval([n * np.log(ratio) - (n - 1) * r for r in rest])
    half = (high - low) / 2 if high is not None and low is not None else 0.0
    return ratio, ratio / float(np.exp(half)), ratio * float(np.exp(half))


def goodput(r: Result, cc: str, every_ns: int, run: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ends of windows of `every_ns` in seconds, and Gbps on the wire in them, from samples at every ACK."""
    conn = r.flows.where(transport=cc, run=run)["conn_id"][0]
    t = r.table("tcp", ["run", "conn_id", "time_ns", "bytes_acked"]).where(conn_id=conn, run=run)
    edges = np.arange(0, r.manifests[run]["runs"][0]["end_ns"], every_ns)
    last = np.searchsorted(t["time_ns"], edges, side="right") - 1
    acked = np.where(last < 0, 0, t["bytes_acked"][np.maximum(last, 0)])
    return edges[1:] / 1e9, np.diff(acked) * 8 / every_ns * 1500 / 1460
