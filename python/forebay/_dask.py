"""Sweeps on the workers of a Dask scheduler, which need this package and the files of the scenario."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._progress import native

if TYPE_CHECKING:
    from ._progress import Progress

#: Target duration of a batch of runs, seconds: long against the scheduler's overhead, short against the wait for the last
#: batch.
BATCH_S = 0.5
#: Maximum number of runs per batch.
MOST = 500
#: Batches per worker thread, so that no thread waits while its results are transferred.
AHEAD = 2
#: Seconds to wait for a first worker.
PATIENCE_S = 30

#: A scenario for another process: text, name, folder, changes, seed.
Words = tuple[str, str, str, list[str], int | None]
#: The result of a run: its tables by name, and its numbers.
Packed = tuple[list[tuple[str, bytes]], bytes]


def fill(
    scenario: _native.Scenario, axes: list[str], out: Path | None, client: Any, progress: Progress = None
) -> _native.BegunSweep:
    """Run the missing units of a sweep on the workers of ``client`` and store each result on arrival.

    Stored results survive an interrupt or the loss of workers: the batches of a lost worker go to others.

    Parameters
    ----------
    scenario : native scenario
        Swept scenario.
    axes : list of str
        Axes beside those of the scenario, as ``key=[..]``.
    out : path, optional
        The sweep's directory.
    client : distributed.Client
        Dask client whose workers make the runs.
    progress : bool or callable, optional
        As for :meth:`forebay.Scenario.sweep`.

    Returns
    -------
    native sweep
        Begun, with every run in its directory.
    """
    from distributed import as_completed

    begun = _native.BegunSweep(scenario, axes, out)
    todo = deque(begun.missing())
    total, begin = begun.total(), time.monotonic()
    done = total - len(todo)
    if not todo:
        return begun
    client.wait_for_workers(1, timeout=PATIENCE_S)
    words = words_of(scenario)
    each = BATCH_S  # seconds a run takes: until that is known, batches are of one run
    running = as_completed(loop=client.loop)
    callback, close = native(progress)

    def hand_out() -> None:
        size = max(1, min(MOST, int(BATCH_S / max(each, 1e-6)), -(-len(todo) // slots)))
        batch = [todo.popleft() for _ in range(min(size, len(todo)))]
        points, keys = sorted({point for point, _ in batch}), [key for _, key in batch]
        running.add(client.submit(work, words, axes, points, keys, pure=False))

    try:
        slots = max(1, sum(client.nthreads().values()))
        while todo and running.count() < AHEAD * slots:
            hand_out()
        for future in running:
            keys, results, seconds = future.result()
            future.release()
            for key, (tables, numbers) in zip(keys, results, strict=True):
                begun.put(key, tables, numbers)
            done += len(keys)
            each = 0.5 * each + 0.5 * seconds / len(keys)
            if callback is not None:
                callback(done, total, done / total, time.monotonic() - begin, 0)
            slots = max(1, sum(client.nthreads().values()))
            while todo and running.count() < AHEAD * slots:
                hand_out()
    finally:
        client.cancel(list(running.futures))
        close()
    return begun


def words_of(scenario: _native.Scenario) -> Words:
    """Return a scenario for another process. File paths become absolute, because workers may run in other folders."""
    return scenario.text, scenario.name, str(Path(scenario.base).resolve()), scenario.sets, scenario.seed


def connect(address: str) -> Any:
    """Return a client of the scheduler at ``address``.

    Raises
    ------
    OSError
        There is none.
    """
    from distributed import Client

    try:
        return Client(address, timeout="10s")
    except (OSError, ValueError, TypeError) as e:
        raise OSError(f"no Dask scheduler at {address}: {e}") from e


def work(words: Words, axes: list[str], points: list[int], keys: list[str]) -> tuple[list[str], list[Packed], float]:
    """Run the units with these keys on a worker, and return their results with the run time."""
    text, name, base, sets, seed = words
    begin = time.perf_counter()
    scenario = _native.Scenario.from_text(text, name, base, sets, seed)
    results = _native.run_batch(scenario, axes, points, keys)
    return keys, results, time.perf_counter() - begin
