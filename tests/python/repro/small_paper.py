"""A paper with one experiment of a scenario with two transports, and one claim."""

from __future__ import annotations

from pathlib import Path

SCENARIO = """
name = "fig"
duration = "{duration}"
[topology]
kind = "many-to-one"
senders = 4
access = {{ rate = "1Gbps", delay = "25us" }}
bottleneck = {{ rate = "1Gbps", delay = "25us", buffer = "64pkt", queue = {{ kind = "dctcp-step", k = "20pkt" }} }}
[transport]
stack = "ns2"
cc = ["newreno", "dctcp"]
[[workload]]
kind = "poisson"
sizes = {{ cdf = "sizes.cdf" }}
load = 0.3
from = "senders"
to = "receiver"
"""

CLAIMS = """
[[claim]]
id = "c-flows"
source = "Sec. 1"
statement = "There are flows."
kind = "bound"
metric = "number"
expected = ">= 1"
tolerance = 0
strength = "headline"
"""

PAPER = """
from forebay.repro import Measured, Paper

paper = Paper(__file__, title="A document")

@paper.experiment("one")
def one(run):
    return run("fig.toml", seeds=12)

@paper.claim("c-flows", uses=["one"])
def _(x):
    return Measured.over(x["one"].per_run(lambda t: float(t["segs_sent"].sum())))
"""


def small_paper(root: Path, duration: str = "5ms") -> Path:
    """Make its folder below `root`; its scenario takes `duration`."""
    made = root / "papers" / "some-paper"
    made.mkdir(parents=True)
    (made / "fig.toml").write_text(SCENARIO.format(duration=duration))
    for name in ("sizes.cdf", "other.cdf"):
        (made / name).write_text("1000 0\n20000 1\n")
    (made / "claims.toml").write_text(CLAIMS)
    (made / "paper.py").write_text(PAPER)
    return made
