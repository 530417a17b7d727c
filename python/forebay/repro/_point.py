"""Search for the point of an experiment that decides a disagreement of two backends on a claim."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ._run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ._paper import Paper
    from ._session import Session, Simulated, Verdict
    from ._simulate import Runs, Simulator, Unit
    from ._table import Table

#: Identity of a point: its scenario, its overrides, and the number of seeds.
_Key = tuple["Path", tuple[str, ...], int]


@dataclass(frozen=True)
class Point:
    """A point of an experiment, and the result of a claim with the other world's runs at this point only."""

    experiment: str
    #: Its first run, of the simulator.
    unit: Unit
    #: The claim with the other world's runs at this point, and the simulator's at all others.
    verdict: Verdict
    #: True if that changes the verdict.
    decides: bool


def decisive(session: Session, paper: Paper, own: Verdict, here: Simulated, there: Simulated) -> Point | None:
    """Find the point whose runs of `there`, instead of those of `here`, change the measurement of a claim most.

    Points that change the verdict come first; among equals the first point. `None` if no single point changes the measurement.
    """
    uses = paper.judges[own.claim.id].uses
    mixed = _Mixed(session.simulator, _points(here, uses), _points(there, uses))
    best: tuple[tuple[bool, float], Point] | None = None
    for name in uses:
        for key, unit in _first(here, [name]).items():
            if key not in mixed.there:
                continue
            mixed.other = key
            again = paper.experiments[name](Run(paper.folder, mixed, scale=session.scale))
            found = session.verdict(paper, own.claim.id, replace(here, results={**here.results, name: again}))
            if own.told >= len(found.measured):
                continue
            decides = found.good != own.good
            rank = (decides, distance(own.measured[own.told].value, found.measured[own.told].value))
            if rank > (False, 0.0) and (best is None or rank > best[0]):
                best = rank, Point(name, unit, found, decides)
    return best[1] if best else None


class _Mixed:
    """Runs of the simulator at all points but one, whose runs are the other world's."""

    def __init__(self, own: Simulator, here: dict[_Key, Runs], there: dict[_Key, Runs]) -> None:
        self.version = own.version
        self.there = there
        #: The point with the other world's runs.
        self.other: _Key | None = None
        self._own = own
        self._here = here

    def submit(self, scenario: Path, sets: Sequence[str], seeds: int) -> Runs:
        """Return the runs of a point. See :class:`Simulator`."""
        key = (scenario, tuple(sets), seeds)
        return self.there[key] if key == self.other else self._here[key]

    def model(self, scenario: Path, sets: Sequence[str]) -> str:
        """See :class:`Simulator`."""
        return self._own.model(scenario, sets)

    def counts(self) -> tuple[int, int, int]:
        """See :class:`Simulator`."""
        return 0, 0, 0

    def close(self) -> None:
        """See :class:`Simulator`."""


class _Read:
    """Runs whose tables are read only once."""

    def __init__(self, runs: Runs) -> None:
        self.variants, self.changed = runs.variants, runs.changed
        self.wait, self.counts = runs.wait, runs.counts
        self._runs = runs
        self._tables: dict[tuple[str, tuple[str, ...] | None], Table] = {}
        self._manifests: dict[int, dict[str, Any]] = {}

    def table(self, name: str, columns: Sequence[str] | None) -> Table:
        """See :class:`Runs`."""
        key = (name, tuple(columns) if columns else None)
        if key not in self._tables:
            self._tables[key] = self._runs.table(name, columns)
        return self._tables[key]

    def manifest(self, run: int) -> dict[str, Any]:
        """See :class:`Runs`."""
        if run not in self._manifests:
            self._manifests[run] = self._runs.manifest(run)
        return self._manifests[run]


def _first(found: Simulated, uses: Sequence[str]) -> dict[_Key, Unit]:
    """Return the first run of each point of experiments, in order."""
    units = [u for name in uses for u in found.units.get(name, [])]
    seeds: dict[int, int] = {}
    for u in units:
        seeds[id(u.runs)] = seeds.get(id(u.runs), 0) + 1
    return {(u.scenario, u.sets, seeds[id(u.runs)]): u for u in units if u.index == 0}


def _points(found: Simulated, uses: Sequence[str]) -> dict[_Key, Runs]:
    return {key: _Read(unit.runs) for key, unit in _first(found, uses).items()}


def distance(a: Any, b: Any) -> float:
    """Return the largest difference of two measurements of one shape, relative to the larger number."""
    return max((_apart(x, y) for x, y in zip(_leaves(a), _leaves(b), strict=False)), default=0.0)


def _apart(a: Any, b: Any) -> float:
    if a == b:
        return 0.0
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return 1.0
    if math.isnan(a) or math.isnan(b):
        return 0.0 if math.isnan(a) and math.isnan(b) else 1.0
    return abs(a - b) / max(abs(a), abs(b))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in _leaves(part)]
    # NumPy numbers are compared as Python numbers.
    return [value.item() if hasattr(value, "item") else value]
