"""Sweeps: results of many variants of a scenario."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._table import Table

if TYPE_CHECKING:
    import os


@dataclass(frozen=True)
class Axis:
    """A swept key with its values."""

    name: str
    """Path of the key in the scenario, and name of the column in the sweep's table."""
    values: list[Any]
    """The values, as written."""
    texts: list[str]
    """The values as unique texts: the contents of the column, unless the values are plain numbers."""
    numbers: list[float] | None
    """The values as numbers, quantities in SI units, bytes or packets; None for other values."""
    number_column: str | None
    """Column name of the numbers of quantities, such as ``transport.rto-min_s``; None if there is none."""


class Sweep:
    """Results of a sweep: one table with a row per point, variant, seed and transport group.

    See :meth:`Scenario.sweep`.
    """

    def __init__(self, native: _native.Sweep) -> None:
        self._native = native

    @cached_property
    def table(self) -> Table:
        """All metrics in the order of the points: the values of the axes, then the columns of ``Result.summary``."""
        return Table(self._native.table(), "sweep")

    @cached_property
    def axes(self) -> list[Axis]:
        """Varied keys, with their values."""
        keys = ("key", "values", "texts", "numbers", "number_column")
        return [Axis(*(a[k] for k in keys)) for a in self.manifest["axes"]]

    @property
    def points(self) -> list[str]:
        """Label of each point, such as ``senders=4``."""
        return [p["label"] for p in self.manifest["points"]]

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Contents of ``manifest.json``: scenario, axes, points, machine."""
        manifest: dict[str, Any] = json.loads(self._native.manifest())
        return manifest

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.manifest["name"])

    @property
    def fingerprint(self) -> str:
        """Hash of all trajectories, 16 hexadecimal digits: equal fingerprints mean equal results."""
        return str(self.manifest["fingerprint"])

    @property
    def path(self) -> Path:
        """Its directory."""
        return self._native.path

    def report(self, path: str | os.PathLike[str] = "report.html") -> Path:
        """Write the report: one self-contained HTML file. It replaces an existing file."""
        self._native.report(Path(path))
        return Path(path)

    def __len__(self) -> int:
        """Count the points."""
        return len(self.points)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of :attr:`table`."""
        return self.table.shape

    def head(self, rows: int = 10) -> Table:
        """Return the first rows of :attr:`table`."""
        return self.table.head(rows)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the metrics themselves; only the report needs the directory."""
        manifest, path, data = self._native.dump()
        return _restored, (manifest, path, bytes(data))

    def __repr__(self) -> str:
        axes = ", ".join(f"{len(a.values)} {a.name}" for a in self.axes)
        return f"<Sweep {self.name}: {len(self.points)} points ({axes}); {self.fingerprint}>"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def _restored(manifest: str, path: Path, data: bytes) -> Sweep:
    return Sweep(_native.Sweep.restore(manifest, path, data))


def open_sweep(path: str | os.PathLike[str]) -> Sweep:
    """Open a finished sweep that ``forebay run`` or :meth:`Scenario.sweep` wrote.

    Parameters
    ----------
    path : path
        Its directory, such as ``out/incast-sweep``.

    Raises
    ------
    StoreError
        If there is none, or runs of it are missing.
    """
    return Sweep(_native.open_sweep(Path(path)))
