"""Simulations of a reproduction, with the plans, the thread pool and the store of sweeps.

A finished run is stored under a hash of all its inputs (docs/reference/results.md), so that an
interrupted reproduction continues where it stopped, and two at once do no harm.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

import forebay as fb
from forebay import _native, _toml

from . import _toml as toml
from . import _worlds
from ._table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

#: Tables kept of every run, beside its summary, for claims and figures. No figure of a paper needs goodput over time.
KEPT = tuple(name for name in _native.table_names() if name not in ("summary", "goodput", "events"))


class RunError(RuntimeError):
    """The simulator refused a scenario, or failed."""


class RefusedError(RunError):
    """The world cannot run the scenario; the message lists the reasons."""


class Runs(Protocol):
    """A scenario with some seeds. Simulations continue in the background; access to results waits for them."""

    #: Names of the variants, in order.
    variants: list[str]
    #: Keys of the scenario that the world changes, with the changes.
    changed: dict[str, Any]

    def wait(self) -> None:
        """Wait until every run has ended.

        Raises
        ------
        RunError
            One failed: with the simulator's own words.
        """

    def table(self, name: str, columns: Sequence[str] | None) -> Table:
        """Return a table, the rows of all variants of the first seed, then of the next; without columns if it has no rows."""

    def manifest(self, run: int) -> dict[str, Any]:
        """Return the metadata of a seed's runs beside the tables: `runs`, `fingerprint`, and `scenario` with its `variants`."""

    def counts(self, run: int) -> list[tuple[str, int, int]]:
        """Return for each variant of a seed its name, its messages, and its timeouts, those of SYNs included."""


class Simulator(Protocol):
    """Interface of the programs that run scenarios."""

    #: Its name.
    version: str

    def submit(self, scenario: Path, sets: Sequence[str], seeds: int) -> Runs:
        """Start a scenario, changed by `sets`, with the seeds 1, 2, ...; cached runs are not repeated.

        Raises
        ------
        RunError
            The scenario is wrong.
        """

    def model(self, scenario: Path, sets: Sequence[str]) -> str:
        """Return the models' predictions for a scenario, as JSON.

        Raises
        ------
        RunError
            With the simulator's own words.
        """

    def counts(self) -> tuple[int, int, int]:
        """Return the number of runs requested so far, of ended runs, and of cached runs."""

    def close(self) -> None:
        """Interrupt running simulations and discard queued ones."""


@dataclass(frozen=True)
class Unit:
    """One seed of a scenario."""

    scenario: Path
    sets: tuple[str, ...]
    seed: int
    #: The scenario with all its seeds.
    runs: Runs = field(compare=False, repr=False)

    @property
    def index(self) -> int:
        """Number of the seed, from 0."""
        return self.seed - 1

    @property
    def fingerprint(self) -> str:
        """Hash of the trajectories of all variants."""
        return str(self.runs.manifest(self.index)["fingerprint"])


class Package:
    """The simulator of this package, on several threads.

    Parameters
    ----------
    root
        The folder of finished runs.
    threads
        Runs at the same time.
    world
        Backend of the scenarios.
    """

    def __init__(self, root: Path, threads: int, world: str = _worlds.OWN) -> None:
        self.version = f"forebay {fb.__version__}"
        self.world = world
        self._session = _native.Session(root, threads)

    def submit(self, scenario: Path, sets: Sequence[str], seeds: int) -> Runs:
        """See :class:`Simulator`."""
        words = f"{scenario} with {' '.join(sets) or 'no changes'}"
        changed: dict[str, Any] = {}
        while True:
            ways = [f"{key}={_toml.value(value, key)}" for key, value in changed.items()]
            if self.world != _worlds.OWN:
                ways.append(f"world={self.world}")
            try:
                wanted = _native.Scenario.load(scenario).changed([*sets, *ways], None)
                return _Submitted(self._begin(wanted, seeds), wanted, words, changed)
            except fb.ScenarioError as e:
                reasons = _worlds.refused(e, self.world)
                if not reasons:
                    raise RunError(f"{words}\n{e}") from e
                more = _worlds.instead(reasons, self.world, _cc(scenario, [*sets, *ways]))
                # The changes for these keys have been tested.
                if more is None or more.items() <= changed.items():
                    raise RefusedError("; ".join(dict.fromkeys(reasons.values()))) from e
                changed |= more
            except fb.ForebayError as e:
                raise RunError(f"{words}\n{e}") from e

    def _begin(self, scenario: _native.Scenario, seeds: int) -> Callable[[], _native.Runs]:
        """Start the runs; the returned function gives them once the session has them."""
        runs = self._session.submit(scenario, seeds, list(KEPT))
        return lambda: runs

    def model(self, scenario: Path, sets: Sequence[str]) -> str:
        """See :class:`Simulator`."""
        try:
            return _native.Scenario.load(scenario).changed(list(sets), None).models_json()
        except fb.ForebayError as e:
            raise RunError(f"{scenario} with {' '.join(sets) or 'no changes'}\n{e}") from e

    def counts(self) -> tuple[int, int, int]:
        """See :class:`Simulator`."""
        return self._session.counts()

    def close(self) -> None:
        """See :class:`Simulator`."""
        self._session.stop()


def _cc(scenario: Path, sets: Sequence[str]) -> Any:
    """Return `transport.cc` of a scenario, changed by `sets`."""
    told = [s.partition("=")[2] for s in sets if s.startswith("transport.cc=")]
    return toml.parse(f"cc = {told[-1]}")["cc"] if told else toml.read(scenario).get("transport", {}).get("cc")


class _Submitted:
    """Runs of the native session, available when `begun` returns them."""

    def __init__(
        self, begun: Callable[[], _native.Runs], scenario: _native.Scenario, words: str, changed: dict[str, Any]
    ) -> None:
        self.changed = changed
        self._begun = begun
        self._scenario = scenario
        self._words = words
        self._resolved: list[Any] | None = None
        #: Several claims count the runs of an experiment.
        self._counts: dict[int, list[tuple[str, int, int]]] = {}
        self.variants: list[str] = scenario.labels()

    @cached_property
    def _native(self) -> _native.Runs:
        return self._begun()

    def wait(self) -> None:
        try:
            self._native.wait()
        except fb.StoreError:
            # A full disk is no property of the scenario, and concerns all others too.
            raise
        except fb.ForebayError as e:
            raise RunError(f"{self._words}\n{e}") from e

    def table(self, name: str, columns: Sequence[str] | None) -> Table:
        self.wait()
        read = pa.RecordBatchReader.from_stream(self._native.table(name, list(columns) if columns else None)).read_all()
        if read.num_rows == 0:
            return Table({})
        return Table({c: read.column(c).combine_chunks().to_numpy(zero_copy_only=False) for c in read.column_names})

    def manifest(self, run: int) -> dict[str, Any]:
        self.wait()
        if self._resolved is None:
            self._resolved = [json.loads(text) for text in self._scenario.resolved_json()]
        variants = [{"variant": v, "resolved": r} for v, r in zip(self.variants, self._resolved, strict=True)]
        runs, fingerprint = json.loads(self._native.facts(run)), self._native.fingerprint(run)
        return {"runs": runs, "fingerprint": fingerprint, "scenario": {"variants": variants}}

    def counts(self, run: int) -> list[tuple[str, int, int]]:
        if run not in self._counts:
            self.wait()
            self._counts[run] = self._native.counts(run)
        return self._counts[run]
