"""Tables of the pages that show what nobody has published: `python papers/evidence.py [PAGE...]` makes them anew.

A page has markers, `<!-- table -->` and `<!-- end -->`; what is between them is written by the functions below that `PAGES`
names, from runs of the papers' scenario files. Finished runs are kept (`--cache`): an interrupted one goes on from there.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Run, interval
from forebay.repro._simulate import Package

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from forebay.repro import Result

HERE = Path(__file__).resolve().parent
Rows = list[list[str]]


def told(values: Sequence[float], digits: int = 3) -> str:
    """Mean over seeds and half width of its 95 % confidence interval."""
    mean, low, high = interval(values, least=0.0)
    text = f"{mean:.{digits}g}"
    return text if low is None or high is None else f"{text} ± {(high - low) / 2:.2g}"


def module(path: Path) -> Any:
    """Load a module of a paper by itself."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    spec.loader.exec_module(made)
    return made


def prin(run: Run) -> Rows:
    """Timeouts per block by place, and goodput, of NewReno and PRIN, and of PRIN under strict priority."""
    measure = module(HERE / "incast-prin" / "measure.py")
    strict = {"topology.bottleneck.queue": {"kind": "strict-priority", "queues": 2, "buffer-of": "queue"}}
    cc = {"transport.cc": ["newreno", {"kind": "newreno", "shim": "prin"}]}
    ns = [2, 4, 8, 10, 12, 13, 14, 15, 16, 20]
    asked = {
        (n, queue): run("prin-base.toml", {**cc, "topology.senders": n, **sets}, seeds=5)
        for n in ns
        for queue, sets in (("protect", {}), ("strict", strict))
    }
    rows = [["senders", "transport", "queue", "goodput / link", "timeouts per block", "head", "middle", "tail"]]
    for (n, queue), r in asked.items():
        for (_, p), name in zip(measure.points(r).items(), ("NewReno", "PRIN"), strict=True):
            if name == "PRIN" or queue == "protect":
                where = "drop-tail" if name == "NewReno" else queue
                rows.append([str(n), name, where, told(p.goodput), *(told(v) for v in (p.timeouts, p.head, p.middle, p.tail))])
    return rows


def prin_testbed(run: Run) -> Rows:
    """Goodput of the testbed's network under strict priority."""
    measure = module(HERE / "incast-prin" / "measure.py")
    strict = {"topology.bottleneck.queue": {"kind": "strict-priority", "queues": 2, "buffer-of": "queue"}}
    asked = {
        (n, kb): run("fig17.toml", {**strict, "topology.senders": n, "workload.0.block": f"{kb}KB"}, seeds=5)
        for kb in (64, 128, 256)
        for n in (4, 8, 12, 15)
    }
    rows = [["block", "senders", "NewReno, goodput / link", "PRIN, strict priority", "timeouts per block, NewReno", "PRIN"]]
    for (n, kb), r in asked.items():
        plain, with_prin = measure.points(r).values()
        rows.append(
            [f"{kb} KB", str(n), *(told(v) for v in (plain.goodput, with_prin.goodput, plain.timeouts, with_prin.timeouts))]
        )
    return rows


def host_jitter(run: Run) -> Rows:
    """How busy the two 10 Gbps links are under TRIM and DCTCP, by the hosts' jitter."""
    sets: dict[str, Any] = {"transport.cc": ["dctcp", {"kind": "trim", "rate": "10Gbps", "buffer": "245pkt"}]}
    jitters = ["0s", "100ns", "500ns", "2us", "5us", "11.68us"]
    asked = {j: run("fig10.toml", {**sets, "transport.send-jitter": j}, seeds=3) for j in jitters}
    rows = [["jitter", "DCTCP, link 1 busy", "link 2 busy", "TRIM, link 1 busy", "link 2 busy"]]
    for j, r in asked.items():
        busy = [
            told(r.per_run(lambda t: 100 * float(t["busy"][0]), "ports", variant=v, port=p)) for v in r.variants for p in LINKS
        ]
        rows.append([j, *(f"{b} %" for b in busy)])
    return rows


LINKS = ("link1", "link2")


def delayed_acks(run: Run) -> Rows:
    """Small flows of the testbed with an ACK for each packet below the shim, and with every second one."""
    laws: dict[str, Any] = {"Reno": "reno", "CUBIC": "cubic", "DCTCP": "dctcp"}
    for name, law in (("Reno + ProBoSCIS", "reno"), ("CUBIC + ProBoSCIS", "cubic")):
        laws[name] = {"kind": law, "shim": {"kind": "proboscis", "elephant-bytes": "100KB"}}
        laws[f"{name}, all throttled"] = {"kind": law, "shim": "proboscis"}
    few = {"workload.0.flows-per-source": 60}
    asked = {
        (name, every): run("fig07.toml", {**few, "transport.cc": cc, "transport.ack-every": every}, seeds=3)
        for name, cc in laws.items()
        for every in (1, 2)
    }

    def small(r: Result, of: Callable[[Any], float]) -> str:
        return told(r.per_run(lambda t: of(t.rows(t["size_bytes"] <= 100_000))))

    rows = [["transport", "an ACK for", "mean FCT of small flows [ms]", "timeouts of small flows", "above 200 ms"]]
    for (name, every), r in asked.items():
        mean = small(r, lambda t: float(np.nanmean(t["fct_ns"].astype(float))) / 1e6)
        late = small(r, lambda t: float((t["rtos"] + t["syn_rtos"]).sum()))
        missed = small(r, lambda t: float((t["fct_ns"].astype(float) > 2e8).sum()))
        rows.append([name, "each packet" if every == 1 else "every second", mean, late, missed])
    return rows


def five_and_five(run: Run) -> Rows:
    """T_r of the sums of n DCTCP and n TCP flows under each queue."""
    files = {"step marking, K = 65": "fig03.toml", "RED": "fig04.toml", "CHOKe": "fig05.toml", "modified CHOKe": "fig06.toml"}
    asked = {
        (name, n): run(file, {"workload.0.per-pair": n, "workload.1.per-pair": n}, seeds=10)
        for name, file in files.items()
        for n in (1, 2, 5)
    }
    rows = [["queue", "1 + 1", "2 + 2", "5 + 5"]]
    for name in files:
        cells = []
        for n in (1, 2, 5):

            def ratio(t: Any) -> float:
                dctcp, tcp = (float(t.where(transport=cc)["bytes_measured"].sum()) for cc in ("dctcp", "tcp"))
                return dctcp / tcp

            cells.append(told(asked[name, n].per_run(ratio)))
        rows.append([name, *cells])
    return rows


LAWS: list[Any] = ["reno", "newreno", "cubic", "dctcp", "d2tcp", "l2dct", {"kind": "trim", "min-rtt-seed": "idle-data"}]
STACKS = ("ns2", "linux")


def trains(run: Run) -> Rows:
    """Long trains after short ones on the same connections (TRIM, Fig. 4), on both stacks."""
    sets = {"transport.cc": LAWS, "topology.bottleneck.queue": {"kind": "dctcp-step", "k": "20pkt"}, "transport.rto-min": "200ms"}
    asked = {s: run("fig04.toml", {**sets, "transport.stack": s}, seeds=10) for s in STACKS}

    def last(t: Any) -> float:
        long = t.rows(t["size_bytes"] == 140_000)
        return float((long["acked_ns"].astype(float) - long["start_ns"]).max()) / 1e6

    rows = [["law", *(f"{s}: last of five trains [ms]" for s in STACKS), *(f"{s}: timeouts" for s in STACKS)]]
    for i, variant in enumerate(asked["ns2"].variants):
        times = [told(r.per_run(last, variant=r.variants[i])) for r in asked.values()]
        late = [told(r.per_run(lambda t: float(t["rtos"].sum()), variant=r.variants[i])) for r in asked.values()]
        rows.append([variant, *times, *late])
    return rows


def queries(run: Run) -> Rows:
    """1 MB from 40 servers, 100 packets (DCTCP's incast), on both stacks."""
    sets = {"transport.cc": LAWS, "transport.rto-min": "200ms", "workload.0.rounds": 200}
    asked = {s: run("incast.toml", {**sets, "transport.stack": s, "transport.recovery": r}, seeds=3) for s, r in RECOVERY.items()}

    def quantile(q: float) -> Callable[[Any], float]:
        return lambda t: float(np.quantile(t["qct_ns"].astype(float), q)) / 1e6

    rows = [["law", *(f"{s}: {what}" for s in STACKS for what in ("median [ms]", "99th percentile [ms]", "with a timeout [%]"))]]
    for i, variant in enumerate(asked["ns2"].variants):
        cells = []
        for r in asked.values():
            of = {"table": "queries", "variant": r.variants[i]}
            cells += [told(r.per_run(quantile(q), **of)) for q in (0.5, 0.99)]
            cells.append(told(r.per_run(lambda t: 100 * float((t["rtos"] > 0).mean()), **of)))
        rows.append([variant, *cells])
    return rows


RECOVERY = {"ns2": "newreno", "linux": "rack"}

#: The tables of each page, in order, with the paper whose scenarios they run.
PAGES: dict[str, list[tuple[str, Callable[[Run], Rows]]]] = {
    "incast-prin/more-senders.md": [("incast-prin", prin), ("incast-prin", prin_testbed)],
    "trim/host-jitter.md": [("trim", host_jitter)],
    "proboscis/delayed-acks.md": [("proboscis", delayed_acks)],
    "coexistence/five-and-five.md": [("coexistence", five_and_five)],
    "linux-beside-ns2.md": [("trim", trains), ("dctcp", queries)],
}
BEGIN, END = "<!-- table -->", "<!-- end -->"


def markdown(rows: Rows) -> str:
    """Write rows, the first the heads, as a table."""
    lines = ["| " + " | ".join(r) + " |" for r in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Makes the tables of pages with evidence anew.")
    parser.add_argument("page", nargs="*", help=f"of {', '.join(PAGES)} [default: all]")
    parser.add_argument("--cache", default="out/evidence", metavar="DIR", help="finished runs [default: out/evidence]")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="runs at the same time")
    args = parser.parse_args()
    unknown = [p for p in args.page if p not in PAGES]
    if unknown:
        parser.error(f"no page {', '.join(unknown)}: there are {', '.join(PAGES)}")
    simulator = Package(Path(args.cache), args.threads)
    for name in args.page or PAGES:
        page = HERE / name
        parts = page.read_text().split(BEGIN)
        if len(parts) != len(PAGES[name]) + 1:
            raise SystemExit(f"{page} has {len(parts) - 1} places for tables, not {len(PAGES[name])}")
        for i, (paper, table) in enumerate(PAGES[name], 1):
            _, _, rest = parts[i].partition(END)
            parts[i] = f"\n{markdown(table(Run(HERE / paper, simulator)))}\n{END}{rest}"
        page.write_text(BEGIN.join(parts))
        print(page)
    simulator.close()


if __name__ == "__main__":
    main()
