"""Common parts of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forebay.repro import half, look, mean

#: Lines for values that the slides give.
GIVEN: dict[str, Any] = {"color": "#000000", "lw": 0.8, "ls": (0, (3, 2))}
CC = {"newreno": "TCP", "dctcp": "DCTCP"}


def curve(ax: Any, by: Mapping[Any, Sequence[float]], name: str, label: str, **style: Any) -> None:
    """Draw means over seeds against the keys, with a band for the confidence interval."""
    x = list(by)
    y, h = (np.array(v) for v in zip(*((mean(v), half(v)) for v in by.values()), strict=True))
    kind = look(name)
    (line,) = ax.plot(x, y, label=label, **{"color": kind.color, "ls": kind.dash, "marker": kind.marker, "ms": 3.5, **style})
    ax.fill_between(x, y - h, y + h, color=line.get_color(), alpha=0.2, lw=0)


def cdf(ax: Any, values: np.ndarray, name: str, label: str, **style: Any) -> None:
    """Draw the share of the values up to each."""
    kind = look(name)
    v = np.sort(values)
    ax.plot(v, np.arange(1, len(v) + 1) / len(v), label=label, **{"color": kind.color, "ls": kind.dash, **style})


def bars(ax: Any, groups: Sequence[str], series: Mapping[str, Sequence[Sequence[float]]], names: Mapping[str, str | int]) -> None:
    """Draw a group of bars for each group, a bar for each series; `series[s][g]` are the values of the seeds."""
    width = 0.8 / len(series)
    for i, (label, values) in enumerate(series.items()):
        kind = look(names[label])
        at = np.arange(len(groups)) + (i - (len(series) - 1) / 2) * width
        y, h = zip(*((mean(v), half(v)) for v in values), strict=True)
        ax.bar(at, y, width, color=kind.color, hatch=kind.hatch, edgecolor="white", lw=0.4, label=label)
        ax.errorbar(at, y, h, ls="", color="#1c1f23", lw=0.8, capsize=1.5)
    ax.set_xticks(range(len(groups)), groups)
    ax.grid(False, axis="x")
