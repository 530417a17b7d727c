"""The incast model's goodput beside that of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import style
from ._data import ResultLike, groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .._scenario import Scenario
    from ..model import Section

#: The names in `forebay run --world model`. The harmonic mean is correct where a branch of the printed one is impossible.
_GOODPUT = ("goodput, harmonic P^O", "goodput")
_LINK = "payload that the link carries"
_NSTAR = "N*, collapse from"


class Curve:
    """The model's goodput for one line."""

    def __init__(self) -> None:
        #: By x value: bit/s, and true if the model exceeded the link rate.
        self.points: dict[float, tuple[float, bool]] = {}
        #: N*, if the x axis is N.
        self.nstar: set[int] = set()

    def add(self, at: float, section: Section) -> None:
        """Add the prediction for one scenario."""
        said, most = next((section[name] for name in _GOODPUT if name in section), None), section[_LINK]
        if said is None or most is None:
            return
        self.points[at] = (min(said, most), said > most)
        if section.inputs["N"] == f"{at:g} senders" and _NSTAR in section:
            self.nstar.add(int(section[_NSTAR] or 0))
        else:
            self.nstar.add(0)


class Curves:
    """The model's goodput for all lines."""

    def __init__(self) -> None:
        self.lines: dict[str, Curve] = {}
        self._why: list[str] = []

    def ask(self, label: str, at: float, scenario: Scenario, variant: str) -> None:
        """Evaluate the model for a variant of a scenario."""
        from ..model import evaluate

        said = evaluate(scenario)[variant]
        if "incast" in said.models:
            self.lines.setdefault(label, Curve()).add(at, said.models["incast"])
        else:
            self._why.append(f"{label}: {said.not_applicable['incast']}")

    def need(self) -> None:
        """Raise an error for an empty plot.

        Raises
        ------
        ValueError
            The model applies to no line; the text says why.
        """
        if not any(curve.points for curve in self.lines.values()):
            raise ValueError("the incast model applies to no line: " + "; ".join(dict.fromkeys(self._why)))

    def draw(self, ax: Axes, lines: list[str], right: float, up: float) -> None:
        """Draw the model of each of `lines`, divided by the factors of the axes, and N*."""
        for label, curve in self.lines.items():
            if label not in lines or not curve.points:
                continue
            look = style.look(label) if len(lines) > 1 else style.neutral()
            at = sorted(curve.points)
            x, y = np.array(at) / right, np.array([curve.points[p][0] for p in at]) / up
            # One legend entry stands for all: colors identify the lines.
            name = f"_model, {label}" if len(lines) > 1 else "model"
            ax.plot(x, y, color=look.color, linestyle=(0, (1, 1.2)), linewidth=1.0, label=name, zorder=1.8)
            clipped = np.array([curve.points[p][1] for p in at])
            ax.plot(x[clipped], y[clipped], linestyle="", marker="^", markersize=3.5, markerfacecolor="none", color=look.color)
        if len(lines) > 1:
            ax.plot([], [], color=style.current().quiet, linestyle=(0, (1, 1.2)), linewidth=1.0, label="model")
        for nstar in sorted({n for label, c in self.lines.items() if label in lines for n in c.nstar if n}):
            if not ax.get_xlim()[0] <= nstar <= ax.get_xlim()[1]:
                continue
            quiet = style.current().quiet
            ax.axvline(nstar, color=quiet, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1.2)
            ax.annotate(
                f"N* = {nstar}",
                (nstar, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(2, -2),
                textcoords="offset points",
                va="top",
                color=quiet,
                fontsize=style.current().size - 1,
            )


def of_results(results: Mapping[float, ResultLike]) -> Curves:
    """Evaluate the model for the scenarios of results, by the number that they differ in.

    Raises
    ------
    ValueError
        The model applies to none of them.
    """
    from .._scenario import Scenario

    curves = Curves()
    for at, result in results.items():
        resolved = {v["variant"]: v["resolved"] for v in result.manifest["scenario"]["variants"]}
        for label, variant in _first_lines((s.label, s.variant) for s in groups(result)):
            # A variant is a scenario with its own name.
            scenario = Scenario.from_dict(resolved[variant])
            curves.ask(label, float(at), scenario, scenario.variants[0])
    curves.need()
    return curves


def of_sweep(sweep: Any, x: str, labels: list[str]) -> Curves:
    """Evaluate the model for the points of a sweep; `labels` are the lines of its rows.

    Raises
    ------
    ValueError
        The model applies to none of them.
    """
    from .._scenario import Scenario

    written = sweep.manifest["scenario"]
    folder = Path(written["file"]).parent
    overrides = [o for o in written["overrides"] if not o.startswith(("sweep.", "seed="))]
    document = Scenario(Scenario.from_toml(written["text"], base=folder)._native.changed(overrides, None)).to_dict()
    document.pop("sweep", None)
    base = Scenario.from_dict(document, base=folder)
    table, curves = sweep.table, Curves()
    numbers = np.asarray(table[_number_column(sweep, x)], dtype=float)
    rows = [(str(point), str(variant)) for point, variant in zip(table["point"], table["variant"], strict=True)]
    for row in sorted({key: i for i, key in reversed(list(enumerate(rows)))}.values()):
        if not np.isfinite(numbers[row]):
            continue
        sets = {a.name: _written(a, table[a.name][row]) for a in sweep.axes}
        scenario = base.with_({key: value for key, value in sets.items() if value is not None})
        curves.ask(labels[row], float(numbers[row]), scenario, rows[row][1])
    curves.need()
    return curves


def _first_lines(lines: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Return the first line of each variant: the model covers one transport."""
    seen = set()
    for label, variant in lines:
        if variant not in seen:
            seen.add(variant)
            yield label, variant


def _number_column(sweep: Any, x: str) -> str:
    axis = next(a for a in sweep.axes if a.name == x)
    return str(axis.number_column or x)


def _written(axis: Any, cell: Any) -> Any:
    """Find the value of an axis from its cell in the table; None where a point does not set it."""
    for text, value in zip(axis.texts, axis.values, strict=True):
        if cell == value or str(cell) == text:
            return value
    return None
