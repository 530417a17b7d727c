"""Figs. 2 to 6: windows, ACKs and the queue over time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .base import paper
from .model import Incast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebay.repro import Table

COLORS = ("#0072B2", "#D55E00", "#009E73")
QUIET = "#69707a"


def window(
    ax: Axes, t: Table, starts: Any, block: int, label: str, color: str, begin: float, end: float, *, cross: float = 2.0
) -> None:
    """Draw a window at each ACK, and a cross where a timer ran out: 0.15 s of silence in a block, or from its start.

    In fast recovery the threshold is drawn, which is the window without its inflation by duplicate ACKs: what ns-2 traces.
    """
    s = t["time_ns"] * 1e-9
    keep = (s >= begin - 0.5) & (s <= end + 0.5)
    s, w, acked = s[keep], np.where(t["ca_state"] == 3, t["ssthresh"], t["cwnd"])[keep], t["bytes_acked"][keep]
    ax.step(s, w, where="post", color=color, lw=1, label=label)
    asked = starts[np.maximum(np.searchsorted(starts, s[1:]) - 1, 0)]
    since = np.where(acked[:-1] % block == 0, np.maximum(s[:-1], asked), s[:-1])
    fired = np.flatnonzero(s[1:] - since > 0.15) + 1
    fired = fired[(s[fired] >= begin) & (s[fired] <= end)]
    ax.plot(s[fired], np.full(len(fired), cross), ls="", marker="X", ms=8, color=color, mec="white", mew=0.6, zorder=5)


def completions(ax: Axes, q: Table, begin: float, end: float) -> None:
    """Put a star, and the block's number, where a block is complete."""
    done = q["end_ns"] * 1e-9
    at = ax.get_xaxis_transform()
    for b in np.flatnonzero((done >= begin) & (done <= end)):
        ax.plot([done[b]], [0.88], ls="", marker="*", ms=9, color="#1c1f23", zorder=6, transform=at)
        ax.text(done[b], 0.93, str(b + 1), ha="center", va="bottom", fontsize=6.5, transform=at)


def stretch(ax: Axes, begin: float, end: float, height: float, text: str) -> None:
    """Mark a stretch of time; `height` is a share of the axes."""
    at = ax.get_xaxis_transform()
    style = {"arrowstyle": "<->", "color": QUIET, "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (end, height), (begin, height), xycoords=at, textcoords=at, arrowprops=style)
    ax.text((begin + end) / 2, height + 0.015, text, ha="center", va="bottom", fontsize=6.5, color=QUIET, transform=at)


@paper.figure(
    "2",
    title="The scenario where a block-tail timeout happens: N = 8, B = 64, blocks of 1024 KB",
    uses=["btto-trace"],
    claims=["btto-stalls-everyone", "btto-stall-length", "btto-occurs-repeatedly-small-n"],
    caption="""Windows of a sender that loses one of the last packets of its block and of one that does not; a star is the end
    of a block, with its number, a cross a timer that runs out. Both stand still for nearly 0.2 s, as in the document's Blocks
    10 and 14. The blocks beside it show what the document's trace does not have: timeouts in the middle of blocks, in nearly
    every one of them.""",
    height=2.5,
)
def _(fig: Figure, x: dict[str, Any]) -> None:
    result = x["btto-trace"]["result"]
    m = result.table("flows", ("run", "query_id", "conn_id", "end_ns", "rtos", "rtos_tail"))
    tails = m.rows((m["rtos_tail"] > 0) & (m["query_id"].astype(int) >= 3))
    # The block in which fewest others timed out.
    best = min(
        range(len(tails)),
        key=lambda i: (m.where(run=tails["run"][i], query_id=tails["query_id"][i])["rtos"].sum(), i),
    )
    run, block, hit = int(tails["run"][best]), int(tails["query_id"][best]), int(tails["conn_id"][best])
    q = result.queries.where(run=run)
    others = m.where(run=run, query_id=block)
    other = int(others["conn_id"][others["rtos"] == 0][0])
    begin = float(q["start_ns"][max(block - 1, 0)]) * 1e-9 - 0.02
    end = float(q["end_ns"][min(block + 1, len(q) - 1)]) * 1e-9 + 0.02
    ax = fig.subplots()
    series = result.table("tcp", ("run", "conn_id", "time_ns", "cwnd", "ssthresh", "ca_state", "bytes_acked")).where(run=run)
    starts = q["start_ns"] * 1e-9
    window(ax, series.where(conn_id=other), starts, 1024_000, f"sender {other + 1}", COLORS[0], begin, end)
    window(
        ax,
        series.where(conn_id=hit),
        starts,
        1024_000,
        f"sender {hit + 1}, timeout at the tail of block {block + 1}",
        COLORS[1],
        begin,
        end,
    )
    completions(ax, q, begin, end)
    last = others["end_ns"][others["conn_id"] != hit].max() * 1e-9
    ended = float(q["end_ns"][block]) * 1e-9
    given = paper.expected["fig02"]["stall"]
    stretch(ax, float(last), ended, 0.72, f"{ended - last:.2f} s; document: {given:.2f} s")
    ax.set(xlabel="time (s)", ylabel="window (packets)", xlim=(begin, end), ylim=(0, 50))
    fig.legend(loc="outside upper center", ncols=3, fontsize=7)


@paper.figure(
    "3",
    title="The scenario where block-head timeouts happen: N = 32, B = 64, blocks of 256 KB",
    uses=["bhto-trace"],
    claims=["bhto-full-window-loss", "bhto-lucky-flow-and-block-duration"],
    caption="""Two senders that lose their whole first window of a block, one that is done early and waits. A star is the end
    of a block, a cross a timer that runs out. The document's blocks take one timeout each; here the senders that recover meet
    again and some time out a second time.""",
    height=2.5,
)
def _(fig: Figure, x: dict[str, Any]) -> None:
    result = x["bhto-trace"]["result"]
    q = result.queries.where(run=0)
    m = result.table("flows", ("run", "query_id", "conn_id", "rtos", "rtos_head")).where(run=0)
    block = 2
    mine = m.where(query_id=block)
    lost = [int(c) for c in mine["conn_id"][mine["rtos_head"] > 0]][:2]
    lucky = int(mine["conn_id"][mine["rtos"] == 0][0])
    begin = float(q["end_ns"][block - 2]) * 1e-9 - 0.03
    end = float(q["end_ns"][block + 1]) * 1e-9 + 0.03
    ax = fig.subplots()
    series = result.table("tcp", ("run", "conn_id", "time_ns", "cwnd", "ssthresh", "ca_state", "bytes_acked")).where(run=0)
    for i, conn in enumerate([*lost, lucky]):
        one = series.where(conn_id=conn)
        starts = q["start_ns"] * 1e-9
        window(ax, one, starts, 256_000, f"sender {conn + 1}", COLORS[i], begin, end, cross=1.0 + 1.4 * i)
    completions(ax, q, begin, end)
    started, ended = (float(q[c][block]) * 1e-9 for c in ("start_ns", "end_ns"))
    given = paper.expected["fig03"]
    took = given["block_3_starts"] - given["block_2_starts"]
    stretch(ax, started, ended, 0.74, f"{ended - started:.2f} s")
    stretch(ax, started, started + took, 0.62, f"document: {took:.3f} s")
    ax.set(xlabel="time (s)", ylabel="window (packets)", xlim=(begin, end), ylim=(0, 26))
    fig.legend(loc="outside upper center", ncols=3, fontsize=7)


@paper.figure(
    "4",
    title="Congestion window evolution during a congestion avoidance period",
    uses=["sawtooth"],
    caption="""One of four senders with B = 64: the window climbs by one a round from half its peak; at the peak the buffer
    overflows (W_m = 20 in the model), and one round later the loss is seen.""",
    width=4.6,
    height=2.4,
)
def _(fig: Figure, x: dict[str, Any]) -> None:
    t = x["sawtooth"].table("tcp", ("conn_id", "time_ns", "cwnd", "ca_state")).where(conn_id=0)
    s, w, state = t["time_ns"] * 1e-3, t["cwnd"], t["ca_state"]
    losses = np.flatnonzero((state[1:] == 3) & (state[:-1] != 3)) + 1
    # Of the periods without a timeout the one that comes nearest to the model's: from half its peak.
    whole = []
    for a, b in pairwise(losses.tolist()):
        begin = a + int(np.flatnonzero(state[a:] != 3)[0])
        if not (state[a:b] == 4).any() and begin < b - 1:
            whole.append((abs(float(w[begin] / w[b - 1]) - 0.5), a, begin, b))
    _, a, begin, b = min(whole)
    zero = s[begin]
    ax = fig.subplots()
    show = slice(max(a - 60, 0), min(b + 150, len(s)))
    ax.plot((s[show] - zero) / 1000, np.where(state[show] == 3, np.nan, w[show]), color=COLORS[0], lw=1)
    peak, low = float(w[b - 1]), float(w[begin])
    for height, text in ((peak, f"$W_n$ = {peak:.0f}"), (low, f"$W_n$/2 = {low:.1f}")):
        ax.axhline(height, color=QUIET, lw=0.7, ls=":")
        ax.text(1.01, height, text, fontsize=7, color=QUIET, va="center", transform=ax.get_yaxis_transform())
    for i, text in ((begin, "period begins"), (b, "loss seen")):
        ax.axvline((s[i] - zero) / 1000, color=QUIET, lw=0.7, ls=":")
        ax.text((s[i] - zero) / 1000, 1, " " + text, fontsize=7, color=QUIET)
    ax.set(xlabel="time (ms)", ylabel="window (packets)", ylim=(0, 1.25 * peak))


@paper.figure(
    "5",
    title="The scenario where a block-tail timeout happens: what one lost packet does",
    uses=["btto-mechanism"],
    claims=["btto-penultimate-loss-one-dupack"],
    caption="""ACKs of a block of 16 packets, one of which is lost: the last, or 1, 2, 3 or 4 places before. With at most two
    packets behind the lost one there are too few duplicate ACKs, and the sender waits for its timer of 200 ms.""",
    width=4.6,
    height=2.6,
)
def _(fig: Figure, x: dict[str, Any]) -> None:
    ax = fig.subplots()
    for i, result in enumerate(x["btto-mechanism"]):
        t = result.tcp
        color = ("#D55E00", "#E69F00", "#CC79A7", "#0072B2", "#009E73")[i]
        at, acked = t["time_ns"] * 1e-6, t["bytes_acked"] // 1000
        label = "the last lost" if i == 0 else f"{i} before the last"
        ax.step(at, acked, where="post", color=color, lw=0.9)
        ax.plot(at, acked, ls="", marker="os^Dv"[i], ms=3.4, color=color, label=label)
    ax.set(xscale="log", xlabel="time since the request (ms)", ylabel="packets acknowledged", ylim=(9.5, 16.8))
    ax.legend(loc="lower right", bbox_to_anchor=(0.85, 0.0), title="packet lost", fontsize=6.5, title_fontsize=6.5)


@paper.figure(
    "6",
    title="The first windows of all flows at the beginning of a block",
    uses=["first-windows"],
    caption="""The queue at the bottleneck when block 25 of 16 senders begins, B = 64. I_1 are the packets that arrive before
    the buffer is first full, I_2 those after; some flows send their whole first window in the second part.""",
    width=4.6,
    height=2.4,
)
def _(fig: Figure, x: dict[str, Any]) -> None:
    result = x["first-windows"]
    q, queue, t = result.queries, result.queue, result.tcp
    block = 24
    start = int(q["start_ns"][block])
    inside = (queue["time_ns"] >= start) & (queue["time_ns"] <= start + 1_300_000)
    s = (queue["time_ns"][inside] - start) * 1e-3
    n = queue["pkts"][inside]
    ax = fig.subplots()
    ax.step(s, n, where="post", color=COLORS[0], lw=1)
    ax.axhline(64, color=QUIET, lw=0.7, ls=":")
    ax.text(1290, 65, "B", color=QUIET, fontsize=7, ha="right")
    full = np.flatnonzero(n >= 64)
    first = sum(float(one["cwnd"][np.searchsorted(one["time_ns"], start) - 1]) for _, one in t.by("conn_id"))
    drops = queue["drops"][inside]
    if len(full):
        first_full, last = float(s[full[0]]), float(s[int(np.flatnonzero(drops == drops[-1])[0])])
        ax.axvspan(0, first_full, color=COLORS[2], alpha=0.10, lw=0)
        ax.axvspan(first_full, last, color=COLORS[1], alpha=0.12, lw=0)
        ax.text(first_full / 2, 72, "$I_1$", ha="center", fontsize=7.5)
        ax.text((first_full + last) / 2, 72, "$I_2$", ha="center", fontsize=7.5)
    model = Incast.base().head(16)
    asked = f"first windows together: {first:.0f}, model $A_b$ = {float(model.a):.0f}"
    lost = f"lost: {int(drops[-1] - drops[0])}, model $D_b$ = {float(model.d):.0f}"
    words = f"{asked}\n{lost}"
    ax.text(240, 8, words, fontsize=7, ha="left", va="bottom", color=QUIET)
    ax.set(xlabel="time since the request (us)", ylabel="queue (packets)", ylim=(0, 80), xlim=(0, 1300))
