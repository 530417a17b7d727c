"""The incast curve: goodput against the number of senders, for two transports and a shorter timer."""

import forebay as fb

incast = fb.Scenario.load("scenarios/incast.toml").with_({
    "topology.bottleneck.queue": {"kind": "dctcp-step", "k": "20pkt"},
    "transport.cc": ["newreno", "dctcp", {"kind": "newreno", "rto-min": "10ms"}],
    "workload.0.rounds": 20,
}, runs=5)
senders = [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48]
results = fb.run_many(incast.with_({"topology.senders": n}) for n in senders)
ax = fb.plot.incast_curve(dict(zip(senders, results)), x="Number of senders")
ax.figure.savefig("incast.svg")
