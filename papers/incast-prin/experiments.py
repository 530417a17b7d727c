"""Simulations. The scenario files say where their values come from."""

from __future__ import annotations

from typing import Any

from forebay.repro import Run

from .base import BLOCKS, BUFFERS, SIZES, paper
from .measure import Curve, Point, point, points
from .traces import Heads, Stalls, first_windows, heads, sent_while_waiting, stalls

LT = {"transport.limited-transmit": True}
STRICT = {"topology.bottleneck.queue": {"kind": "strict-priority", "queues": 2, "buffer-scope": "queue"}}


def shorter(run: Run) -> dict[str, Any]:
    """Blocks: 20 of warm-up and 50 in a quick run, and 100 in a full one, as the files have it."""
    return {"workload.0.rounds": 70} if run.quick else {}


def several(n: int, run: Run) -> int:
    """Seeds: single timeouts decide the goodput of few senders, which cost little."""
    return run.pick(quick=2, full=10 if n <= 12 else 5)


def senders(
    run: Run, file: str, ns: list[int], sets: dict[str, Any] | None = None, seeds: int | None = None
) -> list[tuple[int, Any]]:
    """Ask for a scenario with different numbers of senders."""
    base = {**shorter(run), **(sets or {})}
    return [(n, run(file, {**base, "topology.senders": n}, seeds=seeds or several(n, run))) for n in ns]


def curve(asked: list[tuple[int, Any]]) -> Curve:
    """Wait for the results."""
    return {n: point(r) for n, r in asked}


@paper.experiment("buffers")
def buffers(run: Run) -> dict[int, Curve]:
    """Figs. 7 to 9."""
    quick = {
        64: [*range(1, 7), 8, *range(10, 17), 20, 24, 32, 40, 48],
        128: [2, 4, 5, 6, 8, 10, 13, *range(16, 26), 30, 32, 40, 48],
        256: [2, 4, 6, 8, 10, 12, 16, 20, 24, 28, *range(30, 41, 2), 48],
    }
    full = {b: [*range(1, 33), *range(34, 49 if b == 64 else 65, 2)] for b in BUFFERS}
    asked = {b: senders(run, file, run.pick(quick, full)[b]) for b, file in BUFFERS.items()}
    return {b: curve(a) for b, a in asked.items()}


@paper.experiment("blocks")
def blocks(run: Run) -> dict[int, Curve]:
    """Figs. 10 to 12, and Fig. 7 between them."""
    ns = run.pick([4, 6, *range(8, 19), 20, 22, 24, 26, 32], [*range(1, 33), *range(34, 49, 2)])
    asked = {kb: senders(run, file, ns) for kb, file in {**BLOCKS, 256: BUFFERS[64]}.items()}
    return {kb: curve(asked[kb]) for kb in sorted(asked)}


@paper.experiment("window")
def window(run: Run) -> dict[str, Any]:
    """Fig. 15, and the points that the document's regimes need beside it."""
    ns = run.pick([*range(1, 19), 20, 24, 32], [*range(1, 33), *range(34, 49, 2)])
    asked = senders(run, "fig15.toml", ns)
    # D = 140 us with serialization: eight windows of ten fit into pipe and buffer (spec 2).
    far = {"topology.access.delay": "30.996us", "topology.bottleneck.delay": "30.996us", "workload.0.request-latency": "70us"}
    eight = run("fig15.toml", {**shorter(run), "topology.senders": 8, **far}, seeds=several(8, run))
    limits = [
        (w, run("fig15.toml", {**shorter(run), "topology.senders": 4, "transport.rcv-wnd": f"{w}KB"}, seeds=several(4, run)))
        for w in (2, 10, 1000)
    ]
    return {"curve": curve(asked), "eight at 140 us": point(eight), "limits": {w: point(r) for w, r in limits}}


@paper.experiment("btto-trace")
def btto_trace(run: Run) -> dict[str, Any]:
    """Fig. 2 with every ACK, over few blocks."""
    result = run("fig02.toml", {"workload.0.rounds": 40}, seeds=run.pick(1, 3, 5, of="seeds"))
    return {"result": result, "sent": sent_while_waiting(result, 1024, 1000), "windows": first_windows(result)}


@paper.experiment("btto")
def btto(run: Run) -> dict[str, Stalls]:
    """Timeouts of eight senders with blocks of 1024 KB, as they are and under other readings and explanations."""
    plain = {"observe.tcp.every": "10ms"}
    variants: dict[str, dict[str, Any]] = {
        "plain": {},
        "limited transmit": LT,
        "no window above 12": {"transport.rcv-wnd": "12KB"},
        "halved at block starts": {"transport.shim": {"kind": "prin", "priority": False}},
        "twice the buffer": {"topology.bottleneck.buffer": "128pkt"},
        "256 KB": {"workload.0.block": "256KB"},
    }
    asked = {name: run("fig02.toml", {**plain, **sets}, seeds=run.pick(2, 10)) for name, sets in variants.items()}
    return {name: stalls(r) for name, r in asked.items()}


@paper.experiment("btto-mechanism")
def btto_mechanism(run: Run) -> list[Any]:
    """One loss, 0 to 4 places before the last of 16 packets."""
    at = [15 - i for i in range(5)]
    return [run("btto-mechanism.toml", {"workload.1.start": f"{6 + 16 * j}us", "workload.1.stop": f"{7 + 16 * j}us"}) for j in at]


@paper.experiment("bhto-trace")
def bhto_trace(run: Run) -> dict[str, Any]:
    """Fig. 3 with every ACK, over few blocks, from the first on as the document shows them."""
    result = run("fig03.toml", {"workload.0.rounds": run.pick(24, 40, 100, of="blocks")}, seeds=run.pick(1, 2, 5, of="seeds"))
    return {"result": result, "heads": heads(result, 1)}


@paper.experiment("bhto")
def bhto(run: Run) -> dict[str, Heads]:
    """Take the first twelve blocks of 32 senders, as the document shows the second to the fourth: plain, and limited transmit."""
    base = {"observe.tcp.every": "1s", "workload.0.rounds": 12}
    variants: dict[str, dict[str, Any]] = {"plain": {}, "limited transmit": LT}
    asked = {name: run("fig03.toml", {**base, **sets}, seeds=run.pick(25, 100)) for name, sets in variants.items()}
    return {name: heads(r, 0, series=False) for name, r in asked.items()}


@paper.experiment("sawtooth")
def sawtooth(run: Run) -> Any:
    """Fig. 4."""
    return run("fig04.toml")


@paper.experiment("first-windows")
def block_starts(run: Run) -> Any:
    """Fig. 6."""
    return run("fig06.toml")


@paper.experiment("model-cli")
def model_cli(run: Run) -> dict[str, dict[Any, dict[str, float]]]:
    """`forebay run --world model` on the scenarios: the same model, written apart from model.py."""

    def ask(file: str, sets: dict[str, Any]) -> dict[str, float]:
        variant = run.model(file, sets)["variants"][0]
        found = next(m for m in variant["models"] if m["model"] == "incast")
        return {v["name"]: v["model"] for v in found["values"]}

    n = "topology.senders"
    b = "topology.bottleneck.buffer"
    return {
        "1 Gbit/s": {k: ask("fig13.toml", {b: f"{k}pkt"}) for k in range(32, 257, 32)},
        "10 Gbit/s": {k: ask("fig14.toml", {b: f"{k}pkt"}) for k in (32, 96, 160, 256)},
        "base": {k: ask("fig07.toml", {n: k}) for k in (1, 2, 8, 9, 10, 13, 32)},
    }


@paper.experiment("prin-base")
def prin_base(run: Run) -> dict[str, dict[int, Point]]:
    """PRIN, its halves and NewReno in the setting of Fig. 7; `strict` is PRIN with two queues."""
    ns = list(range(2, 17))
    fifo = senders(run, "prin-base.toml", ns, seeds=run.pick(2, 5, of="seeds"))
    prin = {"transport.cc": [{"kind": "newreno", "shim": "prin"}], **STRICT}
    strict = senders(run, "prin-base.toml", ns, prin, seeds=run.pick(2, 5, of="seeds"))
    names = ("newreno", "protect", "halving", "priority")
    out: dict[str, dict[int, Point]] = {name: {} for name in names}
    for n, r in fifo:
        for name, p in zip(names, points(r).values(), strict=True):
            out[name][n] = p
    out["strict"] = curve(strict)
    return out


@paper.experiment("prin-mechanism")
def prin_mechanism(run: Run) -> dict[str, Any]:
    """Windows around the start of a block, and PRIN switched off against no PRIN."""
    # A window of 1 at the end of a block: TCP leaves no such window, unlike a cc that reduces to 1 at every mark.
    least = {
        "transport.init-cwnd": 1,
        "transport.cc": [
            {"kind": "dctcp", "min-cwnd": 1, "no-growth-on-ece": True, "shim": {"kind": "prin", "floor": 2, "split-short": False}}
        ],
        "topology.bottleneck.queue": {"kind": "dctcp-step", "k": "0pkt"},
        "workload.0.block": "2920B",
    }
    windows = {w: run("prin-mechanism.toml", {"transport.init-cwnd": w}) for w in (2, 3, 5, 16)}
    off = {"kind": "newreno", "shim": {"kind": "prin", "halve": False, "priority": False}}
    both = run("prin-base.toml", {"topology.senders": 8, "workload.0.rounds": 20, "transport.cc": [off, "newreno"]})
    return {"windows": {1: run("prin-mechanism.toml", least), **windows}, "off": both}


@paper.experiment("vlan")
def vlan(run: Run) -> dict[int, Any]:
    """See what passes a full port whose reserve is for packets of at least this 802.1p value; 0 stands for the run to its end."""
    seen = {high: run("fig16.toml", {"topology.bottleneck.queue.high": high}) for high in range(1, 8)}
    return {**seen, 0: run("fig16.toml", {"duration": "60s"})}


@paper.experiment("baseline")
def baseline(run: Run) -> Any:
    """One connection alone on the testbed's link."""
    return run("testbed-baseline.toml")


def grid(run: Run, file: str, sets: Any, ns: list[int], more: dict[str, Any] | None = None) -> dict[int, dict[str, Curve]]:
    """Ask for a scenario of the testbed over blocks and senders: by block size, by scheme."""
    base = {**shorter(run), **(more or {})}
    asked = {
        kb: [(n, run(file, {**base, "workload.0.block": f"{kb}KB", **sets(n)}, seeds=run.pick(2, 5, 10, of="seeds"))) for n in ns]
        for kb in SIZES
    }
    out: dict[int, dict[str, Curve]] = {}
    for kb, results in asked.items():
        schemes: dict[str, Curve] = {}
        for n, r in results:
            for name, p in points(r).items():
                schemes.setdefault("prin" if "prin" in name else "newreno", {})[n] = p
        out[kb] = schemes
    return out


#: Receivers that do not delay ACKs; the document's do, and its floor of two packets is because of them.
EACH_PACKET = {"transport.ack-every": 1, "transport.quickack": False, "transport.quickack-count": 0}


#: The stack of ns-2 instead of that of the document's hosts, with their delayed ACKs and growing receive buffers.
NS2_HOSTS = {
    "transport.stack": "ns2",
    "transport.host": "ns2",
    "transport.ssthresh-from": "window",
    "transport.rcv-autotune": True,
    "transport.ack-every": 2,
    "transport.ack-delay": "40ms",
    "transport.quickack": True,
    "transport.quickack-count": 16,
}


@paper.experiment("overtaking")
def overtaking(run: Run) -> dict[str, Curve]:
    """PRIN with blocks of 64 KB: one FIFO, two queues, and two queues with a sender that waits for the rest of its block.

    On the stack of ns-2: that of Linux does not wait (`tail-reorder-wait`).
    """
    ns = run.pick([2, 3, 4, 6, 8, 12], list(range(2, 16)))

    def prin(**more: Any) -> dict[str, Any]:
        return {"transport.cc": [{"kind": "newreno", "shim": {"kind": "prin", "floor": 2, **more}}]}

    # 96 packets of 12.3 us, and a little: the longest that the tail can be ahead.
    variants = {
        "protect": prin(),
        "strict": {**prin(), **STRICT},
        "strict, patient": {**prin(**{"tail-reorder-wait": "1300us"}), **STRICT},
    }
    asked = {n: senders(run, "fig17.toml", ns, {**sets, **NS2_HOSTS}, seeds=run.pick(2, 10)) for n, sets in variants.items()}
    return {name: curve(a) for name, a in asked.items()}


def hosts(letter: str, n: int) -> str:
    """Name the first n hosts of a group."""
    return f"{letter}0" if n == 1 else f"{letter}0..{letter}{n - 1}"


def alone(n: int) -> dict[str, Any]:
    """N senders."""
    return {"topology.senders": n}


def beside(n: int) -> dict[str, Any]:
    """N senders, and one host with UDP."""
    return {"topology.senders": n + 1, "workload.0.senders": hosts("s", n), "workload.1.from": f"s{n}"}


def across(n: int) -> dict[str, Any]:
    """N senders, and one host with UDP, over two switches."""
    return {"topology.left": n + 1, "workload.0.senders": hosts("l", n), "workload.1.from": f"l{n}"}


def counts(run: Run) -> list[int]:
    """Numbers of senders of the testbed."""
    return run.pick([*range(1, 9), 10, 12, 15], list(range(1, 16)))


@paper.experiment("single")
def single(run: Run) -> dict[str, Any]:
    """Figs. 17 and 18: `protect`, and `strict` priority for PRIN."""
    prin = {"transport.cc": [{"kind": "newreno", "shim": {"kind": "prin", "floor": 2}}], **STRICT}
    cap = [{"kind": "newreno", "shim": {"kind": "prin", "floor": 2, "ssthresh": "cap"}}]
    ones = {
        kb: run(
            "fig17.toml", {**shorter(run), "topology.senders": 1, "workload.0.block": f"{kb}KB", "transport.cc": cap}, seeds=2
        )
        for kb in SIZES
    }
    return {
        "protect": grid(run, "fig17.toml", alone, counts(run)),
        "strict": grid(run, "fig17.toml", alone, counts(run), prin),
        "cap": {kb: point(r) for kb, r in ones.items()},
        "quick": run.quick,
    }


@paper.experiment("udp")
def udp(run: Run) -> dict[int, dict[str, Curve]]:
    """Figs. 19 and 21."""
    return grid(run, "fig19.toml", beside, counts(run))


@paper.experiment("multihop")
def multihop(run: Run) -> dict[int, dict[str, Curve]]:
    """Figs. 22 and 23."""
    return grid(run, "fig22.toml", across, counts(run))
