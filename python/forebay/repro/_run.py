"""Interface of an experiment to simulations."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from forebay import _toml
from forebay._tables import Tables

from . import _basis
from ._simulate import Unit
from ._table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ._simulate import Runs, Simulator

T = TypeVar("T")

#: Scales of an evaluation: few seeds and short runs, judged in wider bands; half an hour of runs; all runs of the
#: specification, which take hours.
Scale = Literal["quick", "full", "document"]
SCALES: tuple[Scale, ...] = ("quick", "full", "document")


@dataclass(frozen=True)
class Request:
    """A scenario with its overrides and its number of seeds."""

    scenario: Path
    sets: tuple[str, ...]
    seeds: int


class Result(Tables[Table]):
    """Results of a scenario: all its variants, and one run for each seed.

    Simulations continue while the experiment runs; the first access to a result waits for them.
    """

    def __init__(self, runs: Runs, units: Sequence[Unit]) -> None:
        self._runs = runs
        self._units = list(units)
        self._tables: dict[tuple[str, tuple[str, ...] | None], Table] = {}

    def table(self, name: str, columns: Sequence[str] | None = None) -> Table:
        """Return a result table (docs/reference/results.md), the rows of all variants and seeds; `columns` reads only those.

        `run` counts the seeds from 0. A table without rows has no columns.
        """
        _basis.look(self._units)
        wanted = tuple(columns) if columns else None
        if (name, wanted) not in self._tables:
            self._tables[name, wanted] = self._runs.table(name, wanted)
        return self._tables[name, wanted]

    @cached_property
    def manifests(self) -> list[dict[str, Any]]:
        """Metadata of each seed beside the tables: `runs`, `fingerprint`, and the `variants` of `scenario`."""
        return [self._runs.manifest(u.index) for u in self._units]

    @property
    def variants(self) -> list[str]:
        """Names of the variants, in order."""
        return self._runs.variants

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len(self._units)

    def counts(self, seed: int) -> list[tuple[str, int, int]]:
        """For each variant of a seed its name, its messages, and its timeouts, those of SYNs included."""
        return self._runs.counts(self._units[seed].index)

    def per_run(self, measure: Callable[[Table], T], table: str = "flows", **where: Any) -> list[T]:
        """`measure` of the rows of each seed that fulfill `where` (:meth:`Table.where`), in order of the seeds."""
        rows = self.table(table).where(**where) if len(self.table(table)) else self.table(table)
        return [measure(rows.where(run=run) if len(rows) else rows) for run in range(self.seeds)]


class Run:
    """The context of an experiment: callable with a scenario file beside `paper.py`.

    Parameters
    ----------
    folder
        Folder of the scenario files.
    simulator
        Simulator of the scenarios.
    scale
        Scale of the runs: one of :data:`SCALES`.
    least_seeds
        Least number of seeds of a point that has more than one.
    """

    def __init__(self, folder: Path, simulator: Simulator, *, scale: Scale = "full", least_seeds: int = 0) -> None:
        self.folder = folder
        self.scale = scale
        self.least_seeds = least_seeds
        #: True for few seeds and short runs.
        self.quick = scale == "quick"
        #: Chosen values of numbers in the specification.
        self.scales: dict[_basis.Scale, None] = {}
        #: Scenarios requested so far.
        self.units: list[Unit] = []
        #: Their results.
        self.results: dict[Request, Result] = {}
        self.simulator = simulator

    def pick(self, quick: T, full: T, document: T | None = None, *, of: str = "") -> T:
        """Return one of the values for a quick, a full and a document-scale reproduction.

        `document` is omitted if `full` equals the specification. `of` names the counted quantity, "flows" or "seeds", which
        verdicts show.
        """
        whole = full if document is None else document
        picked = {"quick": quick, "full": full, "document": whole}[self.scale]
        if of:
            if not isinstance(picked, (int, float)) or not isinstance(whole, (int, float)):
                raise TypeError(f"pick(of={of!r}) counts something: it needs numbers, not {picked!r}")
            ran = self._seeds(int(picked)) if of == "seeds" else picked
            self.scales[_basis.Scale(of, ran, whole if ran == picked else max(ran, whole))] = None
        return picked

    @overload
    def __call__(self, file: str, sets: Mapping[str, Any] | None = ..., *, seeds: int = ...) -> Result: ...

    @overload
    def __call__(
        self, file: str, sets: Mapping[str, Any] | None = ..., *, seeds: int = ..., grid: Mapping[str, Sequence[Any]]
    ) -> list[tuple[dict[str, Any], Result]]: ...

    @overload
    def __call__(
        self, file: str, sets: Mapping[str, Any] | None = ..., *, seeds: int = ..., points: Sequence[Mapping[str, Any]]
    ) -> list[tuple[dict[str, Any], Result]]: ...

    def __call__(
        self,
        file: str,
        sets: Mapping[str, Any] | None = None,
        *,
        seeds: int = 1,
        grid: Mapping[str, Sequence[Any]] | None = None,
        points: Sequence[Mapping[str, Any]] | None = None,
    ) -> Result | list[tuple[dict[str, Any], Result]]:
        """Simulate a scenario, at every point of `grid` (all combinations, last key fastest) or at each of `points`.

        Parameters
        ----------
        file
            Scenario file, relative to the paper's folder.
        sets
            Overrides, as `--set`: `{"topology.senders": 32, "transport.cc": ["newreno", "dctcp"]}`.
        seeds
            Number of runs, with the seeds 1, 2, ...
        grid
            Values of each key. The result is a list of (point, result) in order.
        points
            Instead of a grid, the overrides of each point.

        Returns
        -------
        The result, or a list of (point, result).
        """
        if grid is None and points is None:
            return self._submit(file, dict(sets or {}), seeds)
        if grid is not None:
            points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
        assert points is not None
        return [(dict(p), self._submit(file, {**(sets or {}), **p}, seeds)) for p in points]

    def request(self, file: str, sets: Mapping[str, Any], seeds: int) -> Request:
        """Identify a scenario beside `paper.py`, with its overrides and seeds."""
        path = (self.folder / file).resolve()
        if not path.is_file():
            raise FileNotFoundError(f"no scenario {path}")
        return Request(path, tuple(f"{key}={_toml.value(value, key)}" for key, value in sets.items()), seeds)

    def _seeds(self, seeds: int) -> int:
        """Return the seeds of a point. A single run is a trace or a calculation, which more seeds do not repeat."""
        return max(seeds, self.least_seeds) if seeds > 1 else seeds

    def _submit(self, file: str, sets: dict[str, Any], seeds: int) -> Result:
        request = self.request(file, sets, seeds)
        number = self._seeds(seeds)
        runs = self.simulator.submit(request.scenario, request.sets, number)
        units = [Unit(request.scenario, request.sets, seed, runs) for seed in range(1, number + 1)]
        self.units += units
        result = Result(runs, units)
        # By the seeds that the experiment requested, not by those that ran.
        self.results[request] = result
        return result

    def model(self, file: str, sets: Mapping[str, Any] | None = None) -> Any:
        """Return the output of `forebay compare --worlds model --models --format json` for a scenario."""
        words = [f"{key}={_toml.value(value, key)}" for key, value in (sets or {}).items()]
        return json.loads(self.simulator.model((self.folder / file).resolve(), words))
