"""Tables of further measurements beside ProBoSCIS; `papers/evidence.py` runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from evidence_table import mean_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from evidence_table import Rows

    from forebay.repro import Result, Run


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
