"""What results say in words."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any

from . import _native


@dataclass(frozen=True)
class Verdict:
    """What results say: the sentences that ``forebay run`` prints first, and what each workload got.

    Attributes
    ----------
    sentences : list of str
        Most important first: what did not finish and who starved, who is ahead and by how much, what late messages waited for.
    workloads : list of dict
        A row for each workload and transport, where there are several: part done (0 to 1), goodput in bit/s at the port that
        limits it, share of the rate of that port (0 to 1), Jain's index of fairness. None for what a workload does not have.
    """

    sentences: list[str]
    workloads: list[dict[str, str | float | None]]

    @property
    def first(self) -> str:
        """The most important sentence; empty where there is nothing to say."""
        return self.sentences[0] if self.sentences else ""

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(s)}</p>" for s in self.sentences)


def say(results: list[Any]) -> Verdict:
    """Say in words what results of the native module give."""
    said = json.loads(_native.answer(results))
    grid: dict[str, Any] = said["workloads"]
    rows = [dict(zip(grid["heads"], map(_cell, row), strict=True)) for row in grid["rows"]]
    return Verdict([s.replace("**", "") for s in said["sentences"]], rows)


def _cell(cell: dict[str, Any]) -> str | float | None:
    if cell["value"] is not None:
        return float(cell["value"])
    return None if cell["text"] == "–" else str(cell["text"])
