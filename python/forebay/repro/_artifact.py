"""`forebay repro --artifact`: the quick reproduction as an artifact evaluation.

It runs the papers one after another, so that each has minutes and storage of its own, and compares their verdicts with those of
`quick.csv`. It needs no network.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import TYPE_CHECKING

from . import _appendix, _draw, _files, _gallery, _scorecard
from ._appendix import Cost
from ._session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ._paper import Paper
    from ._session import Outcome
    from ._simulate import Simulator


def evaluate(papers: Sequence[Paper], out: Path, simulator: Callable[[Path], Simulator], threads: int) -> int:
    """Run the experiment of each paper and write the appendix with its results to `out`.

    `simulator` returns the one that keeps its finished runs in a folder. Returns 0 if every verdict is the expected one and every
    figure is drawn, else 1.

    Raises
    ------
    OSError
        A file cannot be written.
    """
    expected = _appendix.verdicts(papers)
    outcomes: list[Outcome] = []
    costs: list[Cost] = []
    for number, paper in enumerate(papers, 1):
        units = out / "units" / paper.slug
        outcome, cost = _measured(paper, out, simulator(units), units, threads)
        outcomes.append(outcome)
        costs.append(cost)
        wrong = _appendix.unexpected(outcome, expected)
        print(f"E{number} {paper.slug}: {_told(len(outcome.verdicts), wrong)}, {_appendix.minutes(cost.seconds)} min", flush=True)
    _gallery.write(outcomes, out, " ".join(["forebay repro --artifact", *(p.slug for p in papers)]), scale="quick")
    _files.write(out / "verdicts.csv", _scorecard.table(outcomes))
    _files.write(out / _appendix.COSTS, _appendix.table(costs))
    results = _appendix.results(papers, outcomes, costs, expected)
    _files.write(out / _appendix.PAGE, f"{_appendix.page(papers, expected, costs)}\n{results}")
    wrong = [name for o in outcomes for name in _appendix.unexpected(o, expected)]
    undrawn = [f"{o.paper.slug} {number}" for o in outcomes for number in o.broken_figures]
    print(f"all: {_told(sum(len(o.verdicts) for o in outcomes), wrong)}")
    if undrawn:
        print(f"figures that could not be drawn: {', '.join(undrawn)}")
    print(f"appendix: {out / _appendix.PAGE}\npages: {out / 'index.html'}")
    return 1 if wrong or undrawn else 0


def _measured(paper: Paper, out: Path, simulator: Simulator, units: Path, threads: int) -> tuple[Outcome, Cost]:
    """Run, judge and draw a paper, and measure the cost."""
    began, cpu_began = time.monotonic(), time.process_time()
    session = Session(simulator, scale="quick")
    try:
        outcome, found = session.evaluate(paper)
        _draw.draw(outcome, found, session.drawn(paper, None), out / paper.slug, quick=True)
        runs, _, cached = simulator.counts()
    finally:
        simulator.close()
    outcome.wall_s = time.monotonic() - began
    # In bytes on macOS, in kilobytes elsewhere.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    storage = _size(units) + _size(out / paper.slug)
    cpu = time.process_time() - cpu_began
    return outcome, Cost(paper.slug, runs, cached, round(cpu, 1), round(outcome.wall_s, 1), threads, storage, memory)


def _size(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


def _told(total: int, wrong: list[str]) -> str:
    """Count the verdicts that are as expected, and name the others."""
    text = f"{total - len(wrong)} of {total} verdicts as expected"
    return f"{text} (not: {', '.join(wrong)})" if wrong else text
