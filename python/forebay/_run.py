"""Runs scenarios on all cores."""

from __future__ import annotations

import operator
from typing import Any

from . import _native
from ._errors import ScenarioError
from ._progress import Progress, native
from ._result import Result


def run_all(
    scenarios: list[Any], threads: int | None, progress: Progress, controls: _native.Controls | None = None
) -> list[Result]:
    """Run scenarios of the native module once all have been checked."""
    for index, scenario in enumerate(scenarios):
        try:
            scenario.notes()  # checks it
        except ScenarioError as e:
            e.index = index
            raise
    threads = checked(threads)
    callback, close = native(progress)
    try:
        return [Result(r) for r in _native.run_all(scenarios, threads, callback, controls)]
    finally:
        close()


def checked(threads: int | None) -> int | None:
    """Reject an invalid number of threads."""
    if threads is None:
        return None
    threads = operator.index(threads)
    if not 1 <= threads <= 1024:
        raise ValueError(f"threads is {threads}; legal: 1 to 1024")
    return threads
