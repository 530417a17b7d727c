"""A paper of two experiments and a simulator that answers at once."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from forebay.repro import RunError


class Fake:
    """Writes one flow whose completion time is what `--set fct=` says, plus the seed."""

    version = "fake 1"

    def __init__(self, digest: str = "d") -> None:
        self.digest = digest
        self.ran: list[tuple[str, tuple[str, ...], int]] = []
        self._lock = threading.Lock()

    def run(self, scenario: Path, sets: list[str], seed: int, out: Path) -> None:
        with self._lock:
            self.ran.append((scenario.name, tuple(sets), seed))
        if "refuse=true" in sets:
            raise RunError("refused")
        fct = next((float(s.removeprefix("fct=")) for s in sets if s.startswith("fct=")), 0.0)
        out.mkdir(parents=True)
        flows = pa.table({"variant": ["v"], "run": [0], "seed": [seed], "transport": ["tcp"], "fct_ns": [fct + seed], "rtos": [seed]})
        pq.write_table(flows, out / "flows.parquet")
        pq.write_table(flows.slice(0, 0), out / "queue.parquet")
        tables = [{"name": n, "file": f"{n}.parquet", "rows": r} for n, r in (("flows", 1), ("queue", 0))]
        scenario_part = {"variants": [{"variant": "v"}]}
        (out / "manifest.json").write_text(json.dumps({"tables": tables, "fingerprint": f"{seed}", "scenario": scenario_part}))

    def model(self, scenario: Path, sets: list[str]) -> str:
        return json.dumps({"model": scenario.name, "sets": sets})


CLAIMS = """
[[claim]]
id = "c-number"
source = "Sec. 1"
statement = "It is 12."
kind = "numeric"
metric = "mean"
unit = "ns"
expected = 12.0
tolerance = { type = "abs", value = 0.5 }
why_tolerance = "Test."
strength = "headline"

[[claim]]
id = "c-reading"
source = "Sec. 2"
statement = "It is 22."
kind = "numeric"
metric = "mean"
expected = 22.0
tolerance = { type = "abs", value = 0.5 }
strength = "headline"

[[claim]]
id = "c-wrong"
source = "Sec. 3"
statement = "It is 0."
kind = "numeric"
metric = "mean"
expected = 0
tolerance = 1
strength = "supporting"

[[claim]]
id = "c-broken"
source = "Sec. 4"
statement = "It is refused."
kind = "bound"
metric = "mean"
expected = ">= 1"
tolerance = 0
strength = "supporting"
"""

PAPER = """
from forebay.repro import Measured, Paper, Reading
from . import extra

paper = Paper(__file__, title="A document")

@paper.experiment("one")
def one(run):
    return run("fig.toml", {"fct": 10}, seeds=run.pick(quick=2, full=3, document=5, of="seeds"))

@paper.experiment("grid")
def grid(run):
    return run("fig.toml", grid={"fct": [10, 20]}, seeds=3)

@paper.experiment("refused")
def refused(run):
    return run("fig.toml", {"refuse": True})

def fcts(r):
    return r.per_run(lambda t: float(t["fct_ns"][0]), transport="tcp")

@paper.claim("c-number", uses=["one"])
def _(x):
    return Measured.over(fcts(x["one"]))

@paper.claim("c-reading", uses=["grid"])
def _(x):
    (p, a), (q, b) = x["grid"]
    assert (p, q) == ({"fct": 10}, {"fct": 20})
    return [Measured.over(fcts(a)), Measured.over(fcts(b), reading=Reading("twenty", named="specification R9"))]

@paper.claim("c-wrong", uses=["one"], explanation=extra.WHY)
def _(x):
    return Measured.over(fcts(x["one"]))

@paper.claim("c-broken", uses=["refused"])
def _(x):
    return Measured.over(fcts(x["refused"]))

@paper.figure("1", title="A <figure>", uses=["one"], claims=["c-number", "c-wrong"], caption="Look.")
def _(fig, x):
    fig.subplots().plot(fcts(x["one"]))

@paper.figure("extra", title="Slow", uses=["grid"], full_only=True)
def _(fig, x):
    fig.subplots().plot([1, 2])
"""


def write(made: Path) -> Path:
    """Write the paper into a folder."""
    made.mkdir(parents=True)
    (made / "claims.toml").write_text(CLAIMS)
    (made / "paper.py").write_text(PAPER)
    (made / "extra.py").write_text('WHY = "It was\\n  tested."\n')
    (made / "fig.toml").write_text('name = "fig"\ntable = "sizes.txt"\n')
    (made / "sizes.txt").write_text("1 2\n")
    return made
