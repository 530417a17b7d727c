"""Tables of the pages with unpublished results: `python papers/evidence.py [PAGE...]` regenerates them.

A page has markers, `<!-- table -->` and `<!-- end -->`; what is between them is written by the functions below that `PAGES`
names, from runs of the papers' scenario files. Finished runs are kept (`--cache`): an interrupted one goes on from there.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Run, interval
from forebay.repro._simulate import Package

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forebay.repro import Result

HERE = Path(__file__).resolve().parent
Rows = list[list[str]]


def mean_text(values: Sequence[float], digits: int = 3) -> str:
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
    strict = {"topology.bottleneck.queue": {"kind": "strict-priority", "queues": 2, "buffer-scope": "queue"}}
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
                rows.append(
                    [str(n), name, where, mean_text(p.goodput), *(mean_text(v) for v in (p.timeouts, p.head, p.middle, p.tail))]
                )
    return rows


def prin_testbed(run: Run) -> Rows:
    """Goodput of the testbed's network under strict priority."""
    measure = module(HERE / "incast-prin" / "measure.py")
    strict = {"topology.bottleneck.queue": {"kind": "strict-priority", "queues": 2, "buffer-scope": "queue"}}
    asked = {
        (n, kb): run("fig17.toml", {**strict, "topology.senders": n, "workload.0.block": f"{kb}KB"}, seeds=5)
        for kb in (64, 128, 256)
        for n in (4, 8, 12, 15)
    }
    rows = [["block", "senders", "NewReno, goodput / link", "PRIN, strict priority", "timeouts per block, NewReno", "PRIN"]]
    for (n, kb), r in asked.items():
        plain, with_prin = measure.points(r).values()
        rows.append(
            [f"{kb} KB", str(n), *(mean_text(v) for v in (plain.goodput, with_prin.goodput, plain.timeouts, with_prin.timeouts))]
        )
    return rows


def host_jitter(run: Run) -> Rows:
    """Utilization of the two 10 Gbps links under TRIM and DCTCP, by the hosts' jitter."""
    sets: dict[str, Any] = {"transport.cc": ["dctcp", {"kind": "trim", "rate": "10Gbps", "buffer": "245pkt"}]}
    jitters = ["0s", "100ns", "500ns", "2us", "5us", "11.68us"]
    asked = {j: run("fig10.toml", {**sets, "transport.send-jitter": j}, seeds=3) for j in jitters}
    rows = [["jitter", "DCTCP, link 1 busy", "link 2 busy", "TRIM, link 1 busy", "link 2 busy"]]
    for j, r in asked.items():
        busy = [
            mean_text(r.per_run(lambda t: 100 * float(t["utilization"][0]), "ports", variant=v, port=p))
            for v in r.variants
            for p in LINKS
        ]
        rows.append([j, *(f"{b} %" for b in busy)])
    return rows


LINKS = ("link1", "link2")


def delayed_acks(run: Run, linux: Run) -> Rows:
    """Small flows of the testbed by how many packets an ACK is for; below the shim in a kernel, too."""
    ccs: dict[str, Any] = {"Reno": "reno", "CUBIC": "cubic", "DCTCP": "dctcp"}
    for name, cc in (("Reno + ProBoSCIS", "reno"), ("CUBIC + ProBoSCIS", "cubic")):
        ccs[name] = {"kind": cc, "shim": {"kind": "proboscis", "elephant-bytes": "100KB"}}
        ccs[f"{name}, all throttled"] = {"kind": cc, "shim": "proboscis"}
    # The shim's own least window is two segments where not every packet is acknowledged.
    forced = {
        f"{name}, least window 1": {"kind": cc, "shim": {"kind": "proboscis", "elephant-bytes": "100KB", "floor": 1}}
        for name, cc in (("Reno + ProBoSCIS", "reno"), ("CUBIC + ProBoSCIS", "cubic"))
    }
    few = {"workload.0.flows-per-source": 60}
    points = [(name, cc, every) for name, cc in ccs.items() for every in (1, 2)] + [(n, cc, 2) for n, cc in forced.items()]
    in_kernel = [n for n in (*ccs, *forced) if "ProBoSCIS" in n and "throttled" not in n]
    asked = []
    for name, cc, every in points:
        sets = {**few, "transport.cc": cc, "transport.ack-every": every}
        asked.append(
            (name, every, [run("fig07.toml", sets, seeds=3), *([linux("fig07.toml", sets)] if name in in_kernel else [])])
        )

    def small(r: Result, of: Callable[[Any], float]) -> str:
        return mean_text(r.per_run(lambda t: of(t.rows(t["size_bytes"] <= 100_000))))

    what = ("mean FCT of small flows [ms]", "timeouts of small flows", "above 200 ms")
    rows = [["transport", "an ACK for", *what, *(f"Linux: {w}" for w in what)]]
    for name, every, both in asked:
        cells = []
        for r in both:
            cells.append(small(r, lambda t: float(np.nanmean(t["fct_ns"].astype(float))) / 1e6))
            cells.append(small(r, lambda t: float((t["rtos"] + t["syn_rtos"]).sum())))
            cells.append(small(r, lambda t: float((t["fct_ns"].astype(float) > 2e8).sum())))
        rows.append([name, "each packet" if every == 1 else "every second", *cells, *[""] * (2 * len(what) - len(cells))])
    return rows


#: Values of the shim's parameters, each beside the defaults, which come first.
SHIM_VALUES: dict[str, list[Any]] = {
    "k": [0.5, 0.25, 0.75, 1.0],
    "kappa1": [0, 0.0625, 0.25],
    "kappa2": [0.9, 0.5, 0.7],
    "alpha-init": [1, 0],
    "beta1": ["4ms", "1ms", "16ms"],
    "beta2": ["16ms", "8ms", "64ms"],
    "beta3": ["8ms", "2ms", "32ms"],
    "hold-on": ["insufficient", "any"],
}


def small_flows(r: Result, of: Callable[[Any], float], **where: Any) -> str:
    """A measure of the flows of at most 100 KB, mean and interval over seeds."""
    return mean_text(r.per_run(lambda t: of(t.rows(t["size_bytes"] <= 100_000)), **where))


def mean_ms(t: Any) -> float:
    """Mean completion time of the flows that are complete."""
    return float(np.nanmean(t["fct_ns"].astype(float))) / 1e6


def until_end_ms(t: Any) -> float:
    """Mean completion time in a run of 1.5 s; that of flows that are not complete ends with it."""
    times = t["fct_ns"].astype(float)
    return float(np.where(np.isnan(times), 1.5e9 - t["start_ns"], times).mean()) / 1e6


def timeouts(t: Any) -> float:
    """Timeouts, those of SYNs included."""
    return float((t["rtos"] + t["syn_rtos"]).sum())


def shim_parameters(run: Run) -> Rows:
    """Thresholds and timers of ProBoSCIS: short flows beside a long one, with trains that arrive or not, cluster, testbed."""
    lossy = {"topology.bottleneck.buffer": "25pkt", "topology.bottleneck.queue": {"kind": "dctcp-step", "k": "20pkt"}}
    trace = {"observe": {}}
    cluster = {"topology.leaves": 3, "workload.0.load": 0.9, "workload.0.flows": 480}
    testbed = {"workload.0.flows-per-source": 20}
    points = [(key, v) for key, values in SHIM_VALUES.items() for v in values]
    asked: dict[tuple[str, Any], list[Result]] = {}
    for key, v in [("without shim", None), *points]:
        cc: dict[str, Any] = {"transport.cc": "newreno"}
        reno: dict[str, Any] = {"transport.cc": "reno"}
        if v is not None:
            shim = {"kind": "proboscis"} if v == SHIM_VALUES[key][0] else {"kind": "proboscis", key: v}
            cc = {"transport.cc": {"kind": "newreno", "shim": shim}}
            reno = {"transport.cc": {"kind": "reno", "shim": {**shim, "elephant-bytes": "100KB"}}}
        asked[key, v] = [
            run("fig04.toml", {**trace, **cc}, seeds=12),
            run("fig04.toml", {**trace, **lossy, **cc}, seeds=12),
            run("fig06.toml", {**cluster, **cc}, seeds=2),
            run("fig07.toml", {**testbed, **reno}, seeds=2),
        ]
    where = [
        "trace: mean FCT [ms]",
        "timeouts",
        "trains lost: mean FCT [ms]",
        "timeouts",
        "cluster: mean FCT [ms]",
        "testbed: mean FCT [ms]",
    ]
    rows = [["parameter", "value", *where]]
    for (key, v), (four, lost, six, seven) in asked.items():
        default = v is not None and v == SHIM_VALUES[key][0]
        rows.append(
            [
                key if v is None else f"`{key}`",
                "" if v is None else f"{v} (default)" if default else str(v),
                small_flows(four, until_end_ms, **{"class": "short"}),
                small_flows(four, timeouts, **{"class": "short"}),
                small_flows(lost, until_end_ms, **{"class": "short"}),
                small_flows(lost, timeouts, **{"class": "short"}),
                small_flows(six, mean_ms),
                small_flows(seven, mean_ms),
            ]
        )
    return rows


def reused(t: Any) -> float:
    """Flows that are not the first of their connection."""
    return float(len(t) - len(np.unique(t["conn_id"])))


def restarts(t: Any) -> float:
    """Flows that are not the first of their connection and have a train."""
    first = np.unique(t["conn_id"], return_index=True)[1]
    later = np.setdiff1d(np.arange(len(t)), first)
    return float((~np.isnan(t["probes"][later].astype(float))).sum())


def connections(run: Run) -> Rows:
    """The testbed with persistent connections and with one for each flow: completion times by class, and their deviation."""
    shim = {"kind": "proboscis", "elephant-bytes": "100KB"}
    ccs: dict[str, Any] = {
        "Reno": "reno",
        "Reno + ProBoSCIS": {"kind": "reno", "shim": shim},
        "CUBIC": "cubic",
        "CUBIC + ProBoSCIS": {"kind": "cubic", "shim": shim},
        "DCTCP": "dctcp",
    }
    sets = {"one-to-all": ("fig07.toml", 40), "all-to-all": ("fig07g.toml", 10)}
    asked = {
        (name, cc, persistent): run(
            file,
            {"workload.0.flows-per-source": flows, "workload.0.persistent": persistent, "transport.cc": ccs[cc]},
            seeds=2,
        )
        for name, (file, flows) in sets.items()
        for cc in ccs
        for persistent in (True, False)
    }
    classes = ["small flows: mean [ms]", "standard deviation", "longest", "above 200 ms", "medium: mean [ms]", "large: mean [ms]"]
    rows = [["set", "transport", "connections", "reused", "probed restarts", *classes]]
    for (name, cc, persistent), r in asked.items():

        def of(low: float, high: float, measure: Callable[[Any], float], r: Result = r) -> str:
            def one(t: Any) -> float:
                return measure(t.rows((t["size_bytes"] > low) & (t["size_bytes"] <= high))["fct_ns"].astype(float) / 1e6)

            return mean_text(r.per_run(one))

        rows.append(
            [
                name,
                cc,
                "persistent" if persistent else "one for each flow",
                mean_text(r.per_run(reused)),
                mean_text(r.per_run(restarts)),
                *(of(0, 1e5, m) for m in (np.mean, np.std, np.max, lambda v: float((v > 200).sum()))),
                of(1e5, 1e7, np.mean),
                of(1e7, np.inf, np.mean),
            ]
        )
    return rows


def least_rto(run: Run) -> Rows:
    """Small flows of the testbed by the least retransmission timeout, with the shim and without."""
    shim = {"kind": "proboscis", "elephant-bytes": "100KB"}
    ccs: dict[str, Any] = {"Reno": "reno", "Reno + ProBoSCIS": {"kind": "reno", "shim": shim}}
    few = {"workload.0.flows-per-source": 20}
    asked = {
        (name, rto): run("fig07.toml", {**few, "transport.cc": cc, "transport.rto-min": rto}, seeds=3)
        for name, cc in ccs.items()
        for rto in ("200ms", "10ms", "2ms", "1ms")
    }
    what = [
        "mean FCT of small flows [ms]",
        "longest [ms]",
        "timeouts of small flows",
        "timeouts of all flows",
        "mean FCT of all flows [ms]",
    ]
    rows = [["transport", "least RTO", *what]]
    for (name, rto), r in asked.items():
        rows.append(
            [
                name,
                rto,
                small_flows(r, mean_ms),
                small_flows(r, lambda t: float(np.nanmax(t["fct_ns"].astype(float))) / 1e6),
                small_flows(r, timeouts),
                mean_text(r.per_run(timeouts)),
                mean_text(r.per_run(mean_ms)),
            ]
        )
    return rows


def answers(run: Run) -> Rows:
    """Answers of servers on new connections, with the shim below both directions, below requests only, and without."""
    ccs: dict[str, Any] = {
        "Reno": "newreno",
        "Reno + ProBoSCIS, requests only": {"kind": "newreno", "shim": {"kind": "proboscis", "answers": False}},
        "Reno + ProBoSCIS": {"kind": "newreno", "shim": "proboscis"},
        "DCTCP": "dctcp",
    }
    asked = {
        (n, name): run(
            "pull.toml",
            {
                "topology.senders": n + 4,
                "workload.0.from": f"s0..s{n - 1}",
                "workload.1.from": f"s{n}..s{n + 3}",
                "transport.group.0.cc": cc,
            },
            seeds=10,
        )
        for n in (10, 20, 40)
        for name, cc in ccs.items()
    }
    what = (
        "first window [segments]",
        "mean time of an answer [ms]",
        "from handshake to last answer [ms]",
        "segments sent again",
        "timeouts of answers",
    )
    rows = [["servers", "transport", *what]]
    for (n, name), r in asked.items():
        cells = [
            mean_text(r.per_run(first_window)),
            mean_text(r.per_run(lambda t: mean_ms(responses(t)))),
            mean_text(r.per_run(lambda q: float(q["qct_ns"].astype(float).max()) / 1e6, "queries")),
            mean_text(r.per_run(lambda t: float(responses(t)["segs_retx"].sum()))),
            mean_text(r.per_run(lambda t: timeouts(responses(t)))),
        ]
        rows.append([str(n), name, *cells])
    return rows


def responses(t: Any) -> Any:
    """Messages of servers; long flows are no requests and no answers."""
    return t.rows((t["size_bytes"] == 14_600) & ~np.isnan(t["fct_ns"].astype(float)))


def first_window(t: Any) -> float:
    """Mean window of the third packets, in segments; the guest's own where there is no shim for answers."""
    window = responses(t)["syn_ack_window_bytes"].astype(float)
    return 10.0 if np.isnan(window).all() else float(np.nanmean(window)) / 1460


def pulled(run: Run, linux: Run) -> Rows:
    """The testbed's sets with answers of servers: requests for small flows, by transport; the first set in a kernel, too."""
    everywhere = {"workload.0.aggregators": "all", "workload.0.workers": ["h0", "h21", "h42", "h63"], "workload.0.count": 8}
    sets: dict[str, tuple[str, dict[str, Any], int]] = {
        "one-to-all, websearch, 2 answers a connection": ("pull-testbed.toml", {"workload.0.count": 6}, 8),
        "one-to-all, websearch, 10 answers": ("pull-testbed.toml", {}, 3),
        "one-to-all, datamining, 10 answers": ("pull-testbed.toml", {"workload.0.response": {"cdf": "datamining-100mb.cdf"}}, 3),
        "all-to-all, websearch, 2 answers": ("pull-testbed.toml", everywhere, 3),
        "one-to-all with background, 2 answers": ("pull-background.toml", {"workload.0.count": 6}, 3),
    }
    asked = {
        (name, cc): run(file, {**changed, "transport.cc": SHIMMED[cc]}, seeds=seeds)
        for name, (file, changed, seeds) in sets.items()
        for cc in SHIMMED
    }
    first, (file, changed, _) = next(iter(sets.items()))
    in_kernel = {cc: linux(file, {**changed, "transport.cc": SHIMMED[cc]}, seeds=3) for cc in SHIMMED}

    def times(r: Result, measure: Callable[[Any], float]) -> list[float]:
        """`measure` of the times from a request to the end of its answer, ms; of those cut off, the time until the end.

        Without the first requests, which all clients send at the same instant.
        """
        found = []
        for seed in range(r.seeds):
            q = r.queries.where(run=seed)
            q = q.rows((q["bytes"] <= SMALL_ANSWER) & (q["start_ns"] > FIRST_REQUESTS))
            took = q["qct_ns"].astype(float)
            end = r.manifests[seed]["runs"][0]["end_ns"]
            found.append(measure(np.where(np.isnan(took), end - q["start_ns"], took) / 1e6))
        return found

    def probed(t: Any) -> float:
        answers = t.rows((t["request"].astype(float) == 0) & (t["size_bytes"] <= 100_000))
        return 100 * float((~np.isnan(answers["probes"].astype(float))).mean())

    def above(v: Any) -> float:
        return 100 * float((v > 200).mean())

    what = ("mean [ms]", "less than without shim", "longest [ms]", "above 200 ms [%]", "answers with a train [%]")
    what += ("Linux: mean [ms]", "Linux: above 200 ms [%]")
    rows = [["set", "transport", *what]]
    for (name, cc), r in asked.items():
        plain, _, shim = cc.partition(" + ")
        mean = times(r, np.mean)
        saved = 100 * (1 - np.mean(mean) / np.mean(times(asked[name, plain], np.mean)))
        cells = [
            mean_text(mean),
            f"{saved:.0f} %" if shim else "",
            mean_text(times(r, np.max)),
            mean_text(times(r, above)),
            mean_text(r.per_run(probed)) if shim else "",
            *(mean_text(times(in_kernel[cc], of)) if name == first else "" for of in (np.mean, above)),
        ]
        rows.append([name, cc, *cells])
    return rows


#: An answer of 100 KB and its request.
SMALL_ANSWER = 100_100
#: Start of the requests of `pull-testbed.toml`, ns, and a moment more, as hosts take time.
FIRST_REQUESTS = 2_001_000_000


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

            cells.append(mean_text(asked[name, n].per_run(ratio)))
        rows.append([name, *cells])
    return rows


#: The queues of the coexistence document with its scenario files.
PAIRS = {
    "drop-tail": "fig02.toml",
    "step marking, K = 65": "fig03.toml",
    "RED": "fig04.toml",
    "CHOKe": "fig05.toml",
    "modified CHOKe": "fig06.toml",
}


def aggregate(run: Run) -> Rows:
    """T_a and T_r of one DCTCP and one TCP flow under each queue, after the first second of six."""
    asked = {name: run(file, seeds=5) for name, file in PAIRS.items()}

    def rate(ccs: tuple[str, ...], r: Result) -> list[float]:
        seconds = 1e-9 * (r.manifests[0]["runs"][0]["end_ns"] - r.manifests[0]["runs"][0]["measured_from_ns"])
        return r.per_run(lambda t: sum(float(t.where(transport=cc)["bytes_measured"].sum()) for cc in ccs) * 8e-6 / seconds)

    rows = [["queue", "T_a [Mbit/s of payload]", "DCTCP", "TCP", "busy"]]
    for name, r in asked.items():
        both, one, other = (mean_text(rate(ccs, r), 4) for ccs in (("dctcp", "tcp"), ("dctcp",), ("tcp",)))
        busy = mean_text(r.per_run(lambda t: 100 * float(t["utilization"][0]), "ports", port="bottleneck"), 4)
        rows.append([name, both, one, other, f"{busy} %"])
    return rows


def by_load(run: Run) -> Rows:
    """AFCT of short flows by their load (Fig. 8 has 20 %), min_th 50, without SYNs, whose losses would decide."""
    queues = {
        "RED": {"kind": "red", "p-max": 0.02, "weight": 0.002},
        "modified CHOKe": {"kind": "choke-multi", "p-max": 0.02, "weight": 0.002},
    }
    both = {"min": "50pkt", "max": "100pkt"}
    asked = {
        (name, load): run(
            "fig08.toml",
            {
                "transport.handshake": False,
                "topology.bottleneck.queue": {**queue, **both},
                "workload.2.load": load / 200,
                "workload.3.load": load / 200,
                "duration": "6s",
            },
            seeds=3,
        )
        for name, queue in queues.items()
        for load in (5, 10, 20, 40, 60)
    }

    def afct(r: Result, cc: str) -> str:
        of = {"transport": cc, "class": f"short-{cc}"}
        return mean_text(r.per_run(lambda t: float(np.nanmean(t["fct_ns"].astype(float))) / 1e6, **of))

    rows = [["queue", "load of short flows", "AFCT of DCTCP [ms]", "AFCT of TCP [ms]"]]
    rows += [[name, f"{load} %", afct(r, "dctcp"), afct(r, "tcp")] for (name, load), r in asked.items()]
    return rows


def fragments(run: Run) -> Rows:
    """PRIN's tail as three full segments, and as the last segment cut into three (6.2.3), on the testbed's network."""
    measure = module(HERE / "incast-prin" / "measure.py")
    prin = {tail: {"kind": "newreno", "shim": {"kind": "prin", "floor": 2, "tail": tail}} for tail in ("segments", "fragments")}
    # 45 segments of 1460 B less 100 B: a remainder. 43 810 B are 30 segments and 10 B: three packets of three or four bytes.
    asked = {
        (size, n): run(
            "fig17.toml", {"transport.cc": ["newreno", *prin.values()], "topology.senders": n, "workload.0.block": size}, seeds=5
        )
        for size in ("64KB", "43810B", "256KB")
        for n in (4, 8, 12)
    }
    what = ("goodput / link", "timeouts per block, at tails", "all")
    rows = [["block", "senders", "tail", *what]]
    for (size, n), r in asked.items():
        for name, p in zip(("NewReno", "three segments", "fragments"), measure.points(r).values(), strict=True):
            every = [a + b + c for a, b, c in zip(p.head, p.middle, p.tail, strict=True)]
            rows.append([size, str(n), name, mean_text(p.goodput), mean_text(p.tail), mean_text(every)])
    return rows


CONGESTION_CONTROLS: list[Any] = [
    "reno",
    "newreno",
    "cubic",
    "dctcp",
    "d2tcp",
    "l2dct",
    {"kind": "trim", "min-rtt-seed": "idle-data"},
]
STACKS = ("ns2", "linux")


def trains(run: Run) -> Rows:
    """Long trains after short ones on the same connections (TRIM, Fig. 4), on both stacks."""
    sets = {
        "transport.cc": CONGESTION_CONTROLS,
        "topology.bottleneck.queue": {"kind": "dctcp-step", "k": "20pkt"},
        "transport.rto-min": "200ms",
    }
    asked = {s: run("fig04.toml", {**sets, "transport.stack": s}, seeds=10) for s in STACKS}

    def last(t: Any) -> float:
        long = t.rows(t["size_bytes"] == 140_000)
        return float((long["acked_ns"].astype(float) - long["start_ns"]).max()) / 1e6

    rows = [["congestion control", *(f"{s}: last of five trains [ms]" for s in STACKS), *(f"{s}: timeouts" for s in STACKS)]]
    for i, variant in enumerate(asked["ns2"].variants):
        times = [mean_text(r.per_run(last, variant=r.variants[i])) for r in asked.values()]
        late = [mean_text(r.per_run(lambda t: float(t["rtos"].sum()), variant=r.variants[i])) for r in asked.values()]
        rows.append([variant, *times, *late])
    return rows


def queries(run: Run) -> Rows:
    """1 MB from 40 servers, 100 packets (DCTCP's incast), on both stacks."""
    sets = {"transport.cc": CONGESTION_CONTROLS, "transport.rto-min": "200ms", "workload.0.rounds": 200}
    asked = {s: run("incast.toml", {**sets, "transport.stack": s, "transport.recovery": r}, seeds=3) for s, r in RECOVERY.items()}

    def quantile(q: float) -> Callable[[Any], float]:
        return lambda t: float(np.quantile(t["qct_ns"].astype(float), q)) / 1e6

    rows = [
        [
            "congestion control",
            *(f"{s}: {what}" for s in STACKS for what in ("median [ms]", "99th percentile [ms]", "with a timeout [%]")),
        ]
    ]
    for i, variant in enumerate(asked["ns2"].variants):
        cells = []
        for r in asked.values():
            of = {"table": "queries", "variant": r.variants[i]}
            cells += [mean_text(r.per_run(quantile(q), **of)) for q in (0.5, 0.99)]
            cells.append(mean_text(r.per_run(lambda t: 100 * float((t["rtos"] > 0).mean()), **of)))
        rows.append([variant, *cells])
    return rows


RECOVERY = {"ns2": "newreno", "linux": "rack"}

SHIMMED: dict[str, Any] = {
    "Reno": "reno",
    "CUBIC": "cubic",
    "DCTCP": "dctcp",
    "Reno + ProBoSCIS": {"kind": "reno", "shim": {"kind": "proboscis", "elephant-bytes": "100KB"}},
    "CUBIC + ProBoSCIS": {"kind": "cubic", "shim": {"kind": "proboscis", "elephant-bytes": "100KB"}},
    "Reno + ProBoSCIS, all throttled": {"kind": "reno", "shim": "proboscis"},
    "CUBIC + ProBoSCIS, all throttled": {"kind": "cubic", "shim": "proboscis"},
}


def background(run: Run, linux: Run) -> Rows:
    """ProBoSCIS beside endless flows (Fig. 9): completion times of all test flows."""
    sets = {"duration": "5s", "workload.0.stop": "2s", "workload.0.flows-per-source": 100}
    asked = {n: [w("fig09.toml", {**sets, "transport.cc": cc}) for w in (run, linux)] for n, cc in SHIMMED.items()}

    def of(r: Result, measure: Callable[[Any], float]) -> str:
        return mean_text(r.per_run(lambda t: measure(t.where(**{"class": "test"}))))

    what = ("mean FCT [ms]", "of flows to 100 KB [ms]", "timeouts", "not finished")
    rows = [["transport", *(f"{where}: {w}" for where in ("simulator", "Linux") for w in what)]]
    for name, both in asked.items():
        cells = []
        for r in both:
            # Of flows that were cut off, the time until the end.
            times = [lasted(r, i) for i in range(r.seeds)]
            cells.append(mean_text([float(t.mean()) for t, _ in times], 4))
            cells.append(mean_text([float(t[small].mean()) for t, small in times]))
            cells.append(of(r, lambda t: float((t["rtos"] + t["syn_rtos"]).sum())))
            cells.append(of(r, lambda t: float(np.isnan(t["fct_ns"].astype(float)).sum())))
        rows.append([name, *cells])
    return rows


def variation(run: Run) -> Rows:
    """Spread of the completion times of small flows on the testbed (Fig. 7, error bars)."""
    asked = {
        name: run("fig07.toml", {"workload.0.flows-per-source": 30, "transport.cc": cc}, seeds=3) for name, cc in SHIMMED.items()
    }

    def small(r: Result, of: Callable[[Any], float]) -> str:
        return mean_text(r.per_run(lambda t: of(t.rows(t["size_bytes"] <= 100_000)["fct_ns"].astype(float) / 1e6)))

    rows = [
        ["transport", "mean [ms]", "standard deviation [ms]", "over the mean", "99th percentile [ms]", "longest [ms]", "timeouts"]
    ]
    for name, r in asked.items():
        cells = [
            small(r, f)
            for f in (
                np.nanmean,
                np.nanstd,
                lambda v: float(np.nanstd(v) / np.nanmean(v)),
                lambda v: float(np.nanquantile(v, 0.99)),
                np.nanmax,
            )
        ]
        late = r.per_run(lambda t: float((t["rtos"] + t["syn_rtos"])[t["size_bytes"] <= 100_000].sum()))
        rows.append([name, *cells, mean_text(late)])
    return rows


def lasted(r: Result, seed: int) -> tuple[Any, Any]:
    """Times of a seed's test flows until they or the run ended, ms, with a mask of those of at most 100 KB."""
    t = r.flows.where(run=seed, **{"class": "test"})
    end = r.manifests[seed]["runs"][0]["end_ns"]
    fct = t["fct_ns"].astype(float)
    return np.where(np.isnan(fct), end - t["start_ns"], fct) / 1e6, t["size_bytes"] <= 100_000


def reordered(run: Run, linux: Run) -> Rows:
    """PRIN's marked packets overtake under strict priority: what a kernel makes of it (fig17.toml, 64 KB)."""
    strict = {"topology.bottleneck.queue": {"kind": "strict-priority", "queues": 2, "buffer-scope": "queue"}}
    queues = {"keeps the order": {}, "strict priority": strict}
    recoveries = {"without SACK": "newreno", "SACK and RACK": "rack"}
    base = {"transport.cc": {"kind": "newreno", "shim": {"kind": "prin", "floor": 2}}, "transport.handshake": True}
    asked = {
        (n, queue, how): [
            w("fig17.toml", {**base, **sets, "transport.recovery": recovery, "topology.senders": n}, seeds=5)
            for w in (run, linux)
        ]
        for n in (4, 8, 12)
        for how, recovery in recoveries.items()
        for queue, sets in queues.items()
    }
    what = ("goodput / link", "timeouts a block", "retransmissions a block", "of these no loss")
    rows = [["senders", "recovery", "queue", *(f"{where}: {w}" for where in ("simulator", "Linux") for w in what)]]
    for (n, queue, how), both in asked.items():
        cells = []
        for r in both:
            blocks = float(len(r.queries)) / r.seeds
            lost = r.per_run(lambda t: float(t["dropped_overflow"].sum()), "ports", port="bottleneck")
            again = r.per_run(lambda t: float(t["segs_retx"].sum()))
            cells.append(mean_text(r.per_run(goodput, "queries")))
            cells.append(mean_text([v / blocks for v in r.per_run(lambda t: float(t["rtos"].sum()))]))
            cells.append(mean_text([v / blocks for v in again]))
            cells.append(mean_text([max(0.0, a - b) / blocks for a, b in zip(again, lost, strict=True)]))
        rows.append([str(n), how, queue, *cells])
    return rows


def goodput(blocks: Any) -> float:
    """Payload of blocks over 1 Gbps, in the time that they took."""
    return float(blocks["bytes"].sum()) * 8 / float(blocks["qct_ns"].sum())


TRIM = {"kind": "trim", "min-rtt-seed": "idle-data"}


def offloaded(run: Run, linux: Run) -> Rows:
    """TRIM's two probes where hosts join segments: trains after pauses (Fig. 4), stack `linux`."""
    ways: dict[str, dict[str, Any]] = {
        "neither": {},
        "TSO": {"transport.tso": "64KB"},
        "GRO, 20 us": {"transport.gro": "20us"},
        "TSO and GRO": {"transport.tso": "64KB", "transport.gro": "20us"},
    }
    base = {"transport.stack": "linux", "transport.rto-min": "200ms", "transport.cc": [TRIM, "newreno"]}
    asked = {n: [w("fig04.toml", {**base, **sets}, seeds=5) for w in (run, linux)] for n, sets in ways.items()}
    what = ("short trains [ms]", "last of five long trains [ms]", "lost", "timeouts")
    rows = [["offload", "congestion control", *(f"{where}: {w}" for where in ("simulator", "Linux") for w in what)]]
    for name, both in asked.items():
        for i, cc in enumerate(("TRIM", "Reno")):
            cells = []
            for r in both:
                of = {"variant": r.variants[i]}
                cells.append(mean_text(r.per_run(short_trains, **of)))
                cells.append(mean_text(r.per_run(last_train, **of)))
                cells.append(mean_text(r.per_run(lambda t: float(t["dropped_overflow"].sum()), "ports", port="bottleneck", **of)))
                cells.append(mean_text(r.per_run(lambda t: float(t["rtos"].sum()), **of)))
            rows.append([name, cc, *cells])
    return rows


def short_trains(t: Any) -> float:
    """Mean time of a short train, ms."""
    return float(np.nanmean(t.rows(t["size_bytes"] < 20_000)["fct_ns"].astype(float))) / 1e6


def last_train(t: Any) -> float:
    """When the last of the long trains was acknowledged, ms after it began; TRIM's figure of merit."""
    long = t.rows(t["size_bytes"] == 140_000)
    return float((long["acked_ns"].astype(float) - long["start_ns"]).max()) / 1e6


def inherited(run: Run, linux: Run) -> Rows:
    """Windows that long trains inherit from short ones (Fig. 4), on stacks that validate windows and that do not."""
    ways: dict[str, dict[str, Any]] = {
        "ns2": {"transport.stack": "ns2", "transport.handshake": True, "transport.limited-transmit": True},
        "linux, windows not validated": {"transport.stack": "linux", "transport.cwnd-validation": False},
        "linux": {"transport.stack": "linux"},
    }
    base = {"transport.rto-min": "200ms", "transport.cc": ["newreno", TRIM]}
    asked = {n: [w("fig04.toml", {**base, **sets}, seeds=5) for w in (run, linux)] for n, sets in ways.items()}
    what = ("largest window inherited", "last of five long trains [ms]", "lost", "timeouts")
    rows = [["stack", "congestion control", *(f"{where}: {w}" for where in ("simulator", "Linux") for w in what)]]
    for name, both in asked.items():
        for i, cc in enumerate(("Reno", "TRIM")):
            cells = []
            for r in both:
                of = {"variant": r.variants[i]}
                cells.append(mean_text(r.per_run(lambda t: float(t.rows(t["time_ns"] < 500_000_000)["cwnd"].max()), "tcp", **of)))
                cells.append(mean_text(r.per_run(last_train, **of)))
                cells.append(mean_text(r.per_run(lambda t: float(t["dropped_overflow"].sum()), "ports", port="bottleneck", **of)))
                cells.append(mean_text(r.per_run(lambda t: float(t["rtos"].sum()), **of)))
            rows.append([name, cc, *cells])
    return rows


#: What makes a table: of the simulator's runs, or of those and the kernel's.
Table = Callable[[Run], Rows] | Callable[[Run, Run], Rows]
#: The tables of each page, in order, with the paper whose scenarios they run.
PAGES: dict[str, list[tuple[str, Table]]] = {
    "incast-prin/more-senders.md": [("incast-prin", prin), ("incast-prin", prin_testbed)],
    "trim/host-jitter.md": [("trim", host_jitter)],
    "proboscis/delayed-acks.md": [("proboscis", delayed_acks)],
    "proboscis/parameters.md": [("proboscis", shim_parameters)],
    "proboscis/least-rto.md": [("proboscis", least_rto)],
    "proboscis/persistent.md": [("proboscis", connections)],
    "proboscis/pull.md": [("proboscis", answers), ("proboscis", pulled)],
    "coexistence/five-and-five.md": [("coexistence", five_and_five)],
    "coexistence/throughput-and-load.md": [("coexistence", aggregate), ("coexistence", by_load)],
    "incast-prin/tail-fragments.md": [("incast-prin", fragments)],
    "proboscis/variation.md": [("proboscis", variation)],
    "linux-beside-ns2.md": [("trim", trains), ("dctcp", queries)],
    "on-linux.md": [("proboscis", background), ("incast-prin", reordered), ("trim", offloaded), ("trim", inherited)],
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
    worlds = [Package(Path(args.cache), args.threads, w) for w in ("sim", "linux")]
    for name in args.page or PAGES:
        page = HERE / name
        parts = page.read_text().split(BEGIN)
        if len(parts) != len(PAGES[name]) + 1:
            raise SystemExit(f"{page} has {len(parts) - 1} places for tables, not {len(PAGES[name])}")
        for i, (paper, table) in enumerate(PAGES[name], 1):
            _, _, rest = parts[i].partition(END)
            runs = [Run(HERE / paper, w) for w in worlds][: len(signature(table).parameters)]
            parts[i] = f"\n{markdown(table(*runs))}\n{END}{rest}"
        page.write_text(BEGIN.join(parts))
        print(page)
    for world in worlds:
        world.close()


if __name__ == "__main__":
    main()
