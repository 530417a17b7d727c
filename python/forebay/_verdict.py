"""Results as sentences."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any

from . import _native


@dataclass(frozen=True)
class Verdict:
    """Summary of results: the sentences that ``forebay run`` prints first, and the share of each workload.

    Attributes
    ----------
    sentences : list of str
        Most important first: unfinished work and starvation, ranking of transports, causes of late messages.
    workloads : list of dict
        A row for each workload and transport, if there are several. It has the fraction done (0 to 1), the goodput in bit/s
        at its bottleneck port, the share of the rate of that port (0 to 1), and Jain's fairness index. None for missing
        values.
    """

    sentences: list[str]
    workloads: list[dict[str, str | float | None]]

    @property
    def first(self) -> str:
        """The most important sentence; may be empty."""
        return self.sentences[0] if self.sentences else ""

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(s)}</p>" for s in self.sentences)


def say(results: list[Any]) -> Verdict:
    """Summarize results of the native module."""
    said = json.loads(_native.answer(results))
    grid: dict[str, Any] = said["workloads"]
    rows = [dict(zip(grid["heads"], map(_cell, row), strict=True)) for row in grid["rows"]]
    return Verdict([s.replace("**", "") for s in said["sentences"]], rows)


def _cell(cell: dict[str, Any]) -> str | float | None:
    if cell["value"] is not None:
        return float(cell["value"])
    return None if cell["text"] == "–" else str(cell["text"])
