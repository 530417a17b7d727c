"""Verdicts of single seeds: their number, and the number that differs from the verdict on all seeds.

The experiments are repeated on the finished runs with one seed at every point, and the claim's function measures those. So a seed
alone is judged by the same code as all of them, conditions included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _basis
from ._measured import Measured
from ._run import Result, Run
from ._simulate import Unit
from ._table import Table
from ._values import NothingMeasuredError, UnjudgedError
from ._verdict import judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ._paper import Paper
    from ._run import Request, Scale
    from ._session import Verdict
    from ._simulate import Simulator
    from ._verdict import Bands

    #: Results of each experiment by request.
    Finished = Mapping[str, Mapping[Request, Result]]


class Alone:
    """The experiments of a paper with each seed alone.

    Parameters
    ----------
    paper
        The paper.
    simulator
        For model predictions; it runs nothing.
    scale
        The scale of the finished runs.
    finished
        Results of each experiment by point.
    """

    def __init__(
        self, paper: Paper, simulator: Simulator, scale: Scale, finished: Mapping[str, Mapping[Request, Result]]
    ) -> None:
        self._paper = paper
        self._simulator = simulator
        self._scale: Scale = scale
        self._finished = finished
        self._made: dict[tuple[str, int], Any] = {}

    def turning(self, v: Verdict, bands: Bands) -> tuple[int, int]:
        """Count the seeds of a verdict, and those that give another one if judged alone.

        (0, 0) if there is one seed only, or no seed has data alone. A seed that decides nothing turns nothing, and neither does
        one without data: the claim may be about the seeds that meet a condition.

        Raises
        ------
        Exception
            The claim's function fails on a seed for any other reason, which is a defect of the function.
        """
        found = self._paper.judges[v.claim.id]
        basis = v.measured[v.by].basis if v.measured else None
        seeds = most_seeds(basis.units) if basis is not None else 0
        if seeds < 2:
            return 0, 0
        turning = empty = 0
        for seed in range(seeds):
            with _basis.watched():
                returned = found.function({name: self._results(name, seed) for name in found.uses})
            measured = list(returned) if isinstance(returned, (list, tuple)) else [returned]
            ours = next((m for m in measured if _same_reading(m, v.measured[v.by])), None)
            if ours is None:
                raise UnjudgedError(f"seed {seed + 1} alone is not measured under the reading of all seeds")
            try:
                alone = judge(v.claim, ours, bands)
            except NothingMeasuredError:
                empty += 1
                continue
            turning += alone.decided and alone.holds != v.judged[v.by].holds
        return (0, 0) if empty == seeds else (seeds, turning)

    def _results(self, experiment: str, seed: int) -> Any:
        if (experiment, seed) not in self._made:
            run = _OneSeedRun(self._paper, self._simulator, self._scale, self._finished[experiment], seed)
            self._made[experiment, seed] = self._paper.experiments[experiment](run)
        return self._made[experiment, seed]


def most_seeds(units: Sequence[Unit]) -> int:
    """Return the largest number of seeds of a point among these runs."""
    seeds: dict[int, int] = {}
    for u in units:
        seeds[id(u.runs)] = seeds.get(id(u.runs), 0) + 1
    return max(seeds.values(), default=0)


def _same_reading(a: Measured, b: Measured) -> bool:
    return (a.reading.text if a.reading else "") == (b.reading.text if b.reading else "")


class _OneSeedRun(Run):
    """Answers an experiment from finished runs, with one seed at every point; points with fewer seeds begin again."""

    def __init__(self, paper: Paper, simulator: Simulator, scale: Scale, finished: Mapping[Request, Result], seed: int) -> None:
        super().__init__(paper.folder, simulator, scale=scale)
        self._finished = finished
        self._seed = seed

    def _submit(self, file: str, sets: dict[str, Any], seeds: int) -> Result:
        request = self.request(file, sets, seeds)
        whole = self._finished[request]
        unit = Unit(request.scenario, request.sets, 1, _OneSeed(whole, self._seed % whole.seeds))
        self.units.append(unit)
        return Result(unit.runs, [unit])


class _OneSeed:
    """One seed of a result, with the tables that it has read."""

    def __init__(self, whole: Result, seed: int) -> None:
        self.variants = whole.variants
        self.changed: dict[str, Any] = {}
        self._whole = whole
        self._seed = seed

    def wait(self) -> None:
        """See :class:`Runs`."""

    def table(self, name: str, columns: Sequence[str] | None) -> Table:
        """See :class:`Runs`."""
        rows = self._whole.table(name, columns)
        if not rows.columns:
            return rows
        run = (rows if "run" in rows else self._whole.table(name, ["run"]))["run"]
        # Tables are in the order of the seeds.
        first, end = np.searchsorted(run, [self._seed, self._seed + 1])
        cut = {c: rows[c][first:end] for c in rows.columns}
        if "run" in cut:
            cut["run"] = np.zeros_like(cut["run"])
        return Table(cut)

    def manifest(self, _run: int) -> dict[str, Any]:
        """See :class:`Runs`."""
        return self._whole.manifests[self._seed]

    def counts(self, _run: int) -> list[tuple[str, int, int]]:
        """See :class:`Runs`."""
        return self._whole.counts(self._seed)
