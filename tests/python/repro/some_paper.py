"""A paper of two experiments, and a simulator that answers at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forebay.repro import RunError, Table


class FakeRuns:
    """One flow for each seed, whose completion time is what `--set fct=` says, plus the seed; as many timeouts as the seed."""

    def __init__(self, sets: Sequence[str], seeds: int, hops: int = 0) -> None:
        self.variants = ["v"]
        self.changed: dict[str, Any] = {}
        self._sets = sets
        self._seeds = seeds
        self._hops = hops

    def wait(self) -> None:
        if "refuse=true" in self._sets:
            raise RunError("refused")

    def table(self, name: str, columns: Sequence[str] | None) -> Table:
        self.wait()
        if name != "flows":
            return Table({})
        n, seed = self._seeds, np.arange(1, self._seeds + 1)
        fct = next((float(s.removeprefix("fct=")) for s in self._sets if s.startswith("fct=")), 0.0)
        names = {"variant": np.array(["v"] * n, object), "transport": np.array(["tcp"] * n, object)}
        all_of = {**names, "run": seed - 1, "seed": seed, "fct_ns": fct + seed, "rtos": seed}
        return Table({c: v for c, v in all_of.items() if columns is None or c in columns})

    def manifest(self, run: int) -> dict[str, Any]:
        self.wait()
        return {
            "runs": [{"variant": "v", "seed": run + 1, "packet_hops": self._hops}],
            "fingerprint": f"{run + 1}",
            "scenario": {"variants": []},
        }

    def counts(self, run: int) -> list[tuple[str, int, int]]:
        self.wait()
        return [("v", 1, run + 1)]


class Fake:
    """Answers at once."""

    version = "fake 1"
    #: Packet hops of a run: so many that no claim is judged on more seeds.
    hops = 10**12

    def submit(self, scenario: Path, sets: Sequence[str], seeds: int) -> FakeRuns:
        return FakeRuns(sets, seeds, self.hops)

    def model(self, scenario: Path, sets: Sequence[str]) -> str:
        return json.dumps({"model": scenario.name, "sets": list(sets)})

    def counts(self) -> tuple[int, int, int]:
        return 0, 0, 0

    def close(self) -> None:
        pass


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
