"""Reproductions on the workers of a Dask scheduler, which need this package and the papers' files."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from forebay import _dask, _native

from . import _worlds
from ._simulate import KEPT, Package

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Workers(Package):
    """The simulator of this package on the workers of a Dask client.

    Each run is stored here on arrival, under the name of a local run; the runs of a lost worker go to others.

    Parameters
    ----------
    root
        The folder of finished runs.
    client : distributed.Client
        Dask client whose workers make the runs.
    world
        Backend of the scenarios.
    """

    def __init__(self, root: Path, client: Any, world: str = _worlds.OWN) -> None:
        super().__init__(root, 1, world)
        self._client = client
        self._lock = Lock()
        #: Requested runs by key: the future of a worker; None for a cached or arrived run.
        self._futures: dict[str, Any] = {}
        self._found = 0

    def _begin(self, scenario: _native.Scenario, seeds: int) -> Callable[[], _native.Runs]:
        """Send missing runs to workers; the returned function waits for them."""
        keep = list(KEPT)
        units, missing = self._session.units(scenario, seeds, keep)
        lacking = set(missing)
        words = _dask.words_of(scenario)
        with self._lock:
            for key in units:
                if key in self._futures:
                    continue
                if key in lacking:
                    self._futures[key] = self._client.submit(work, words, seeds, keep, key, pure=False)
                else:
                    self._futures[key] = None
                    self._found += 1

        @cache
        def runs() -> _native.Runs:
            for key in units:
                self._keep(key)
            return self._session.submit(scenario, seeds, keep)

        return runs

    def _keep(self, key: str) -> None:
        """Wait for a run and store it, unless it is stored."""
        future = self._futures[key]
        if future is None:
            return
        tables, numbers = future.result()
        self._session.put(key, tables, numbers)
        self._futures[key] = None

    def counts(self) -> tuple[int, int, int]:
        """See :class:`Simulator`."""
        futures = list(self._futures.values())
        return len(futures), sum(f is None or f.done() for f in futures), self._found

    def close(self) -> None:
        """See :class:`Simulator`."""
        self._client.cancel([f for f in self._futures.values() if f is not None])
        super().close()


def work(words: _dask.Words, seeds: int, keep: list[str], key: str) -> _dask.Packed:
    """Run the unit with this key on a worker."""
    text, name, base, sets, seed = words
    scenario = _native.Scenario.from_text(text, name, base, sets, seed)
    (made,) = _native.run_once(scenario, seeds, keep, [key])
    return made
