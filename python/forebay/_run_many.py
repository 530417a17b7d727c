"""Several scenarios at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._run import run_all
from ._scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._progress import Progress
    from ._result import Result


def run_many(scenarios: Iterable[Scenario], *, threads: int | None = None, progress: Progress = None) -> list[Result]:
    """Run several scenarios, with each variant and seed as a separate job, so that all cores are used.

    All scenarios are checked before anything runs. Ctrl-C stops everything within a third of a second and leaves no files behind.

    Parameters
    ----------
    scenarios : iterable of Scenario
        Scenarios to run.
    threads : int, optional
        Threads, for runs at the same time and inside busy runs where there are fewer; one for each processor by default.
    progress : bool or callable, optional
        True shows a line on standard error; a function is called with a :class:`ProgressEvent` about ten times a second.

    Returns
    -------
    list of Result
        In the order of the scenarios, whatever the number of threads.

    Raises
    ------
    ScenarioError
        If a scenario is wrong; its ``index`` says which.
    TypeError
        If one is no :class:`Scenario`.

    Examples
    --------
    >>> import forebay as fb
    >>> base = fb.Scenario.load("scenarios/two-flows.toml")
    >>> results = fb.run_many([base.with_(duration=d) for d in ("1s", "2s")])
    >>> [int(r.manifest["runs"][0]["end_ns"]) for r in results]
    [1000000000, 2000000000]
    """
    scenarios = list(scenarios)
    for index, s in enumerate(scenarios):
        if not isinstance(s, Scenario):
            raise TypeError(f"scenario {index} is a {type(s).__name__}; legal: Scenario, such as Scenario.load(path)")
    return run_all([s._native for s in scenarios], threads, progress)
