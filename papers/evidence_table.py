"""Parts that the tables of `papers/*/evidence.py` have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay.repro import Run, _paper, _scorecard, interval
from forebay.repro._session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from forebay.repro._simulate import Runs, Simulator

#: The first row has the heads.
Rows = list[list[str]]

CONGESTION_CONTROLS: list[Any] = [
    "reno",
    "newreno",
    "cubic",
    "dctcp",
    "d2tcp",
    "l2dct",
    {"kind": "trim", "min-rtt-seed": "idle-data"},
]
STACKS = ("ns2", "linux")


def mean_text(values: Sequence[float], digits: int = 3) -> str:
    """Mean over seeds and half width of its 95 % confidence interval."""
    mean, low, high = interval(values, least=0.0)
    text = f"{mean:.{digits}g}"
    return text if low is None or high is None else f"{text} ± {(high - low) / 2:.2g}"


def markdown(rows: Rows) -> str:
    """Write rows, the first the heads, as a table."""
    lines = ["| " + " | ".join(r) + " |" for r in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


class _Changed:
    """A simulator with changes to some scenario files."""

    def __init__(self, simulator: Simulator, files: Sequence[str], sets: Sequence[str]) -> None:
        self._simulator, self._files, self._sets = simulator, files, sets
        self.version = simulator.version
        self.model, self.counts, self.close = simulator.model, simulator.counts, simulator.close

    def submit(self, scenario: Path, sets: Sequence[str], seeds: int) -> Runs:
        """See :class:`Simulator`."""
        return self._simulator.submit(scenario, [*sets, *(self._sets if scenario.name in self._files else [])], seeds)


def verdicts(
    run: Run, claims: Sequence[str], files: Sequence[str], sets: Sequence[str], changed: str = 'with `stack = "ns2"`'
) -> Rows:
    """Quick verdicts of claims with the files as they are, and with changes to `files`."""
    paper = _paper.load(run.folder)
    outcomes = [
        Session(simulator, scale="quick").evaluate(paper, list(claims), [])[0]
        for simulator in (run.simulator, _Changed(run.simulator, files, sets))
    ]
    rows = [["claim", "verdict", "measured", changed, "measured"]]
    for own, other in zip(*(o.verdicts for o in outcomes), strict=True):
        cells = [cell for v in (own, other) for cell in (_scorecard.MARK[v.status], _scorecard.told(v).replace("|", "\\|"))]
        rows.append([f"**{own.claim.id}**" if own.claim.headline else own.claim.id, *cells])
    return rows
