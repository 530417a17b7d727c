"""Draws the figures of docs/reference/python.md: `python docs/snippets/figures.py [FOLDER]`, in the root of the repository."""

import sys
from pathlib import Path

import forebay as fb
from forebay import plot

plot.style.names("newreno", "cubic", "dctcp")

web = fb.Scenario.load("scenarios/quickstart.toml").with_(runs=5).run()
sawtooth = fb.Scenario.load("scenarios/two-flows.toml").run()
tenants = fb.Scenario.load("scenarios/coexistence.toml").with_({"topology.left": 8}).run()
incast = fb.Scenario.load("scenarios/incast.toml").with_(
    {
        "topology.bottleneck.queue": {"kind": "dctcp-step", "k": "20pkt"},
        "transport.cc": ["newreno", "dctcp", {"kind": "newreno", "rto-min": "10ms"}],
        "workload.0.rounds": 20,
    },
    runs=5,
)
senders = [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48]
results = fb.run_many(incast.with_({"topology.senders": n}) for n in senders)
curve = dict(zip(senders, results, strict=True))

figures = {
    "fct_slowdown": plot.fct_slowdown(web, bins="small-medium-large"),
    "fct_cdf": plot.fct_cdf(web, sizes="small", tail=True),
    "queue_cdf": plot.queue_cdf(sawtooth),
    "time_series": plot.time_series(sawtooth, ["queue", "cwnd"], span=(1.2, 1.6))[0, 0],
    "incast_curve": plot.incast_curve(curve, x="Number of senders"),
    "fairness": plot.fairness(tenants),
    "queries": plot.queries(web),
    "compare": plot.compare(web, "qct_p99_s"),
}

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures")
folder.mkdir(parents=True, exist_ok=True)
for name, ax in figures.items():
    ax.figure.savefig(folder / f"{name}.png", dpi=150)
