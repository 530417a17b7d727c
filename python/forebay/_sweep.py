"""Sweeps: what many scenarios out of one gave."""

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
    """What a sweep varies."""

    name: str
    """Path of the key in the scenario, and name of the column in the sweep's table."""
    values: list[Any]
    """What it is set to, as written."""
    texts: list[str]
    """The same for people, each different from the others: what the column holds, unless the values are plain numbers."""
    numbers: list[float] | None
    """The same as numbers, those of quantities in SI units, bytes or packets; None where they are no numbers."""
    number_column: str | None
    """Name of the column that has the numbers of quantities, such as ``transport.rto-min_s``; None if there is none."""


class Sweep:
    """What a sweep gave: one table with a row per point, variant, seed and transport group.

    See :meth:`Scenario.sweep`.
    """

    def __init__(self, native: _native.Sweep) -> None:
        self._native = native

    @cached_property
    def table(self) -> Table:
        """All numbers in the order of the points: what the axes are there, then the columns of ``Result.summary``."""
        return Table(self._native.table(), "sweep")

    @cached_property
    def axes(self) -> list[Axis]:
        """What was varied."""
        keys = ("key", "values", "texts", "numbers", "number_column")
        return [Axis(*(a[k] for k in keys)) for a in self.manifest["axes"]]

    @property
    def points(self) -> list[str]:
        """What each point changes, such as ``senders=4``."""
        return [p["label"] for p in self.manifest["points"]]

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What was run, where, with which result."""
        manifest: dict[str, Any] = json.loads(self._native.manifest())
        return manifest

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.manifest["name"])

    @property
    def fingerprint(self) -> str:
        """Hash of all trajectories, 16 hexadecimal digits: sweeps with the same one gave the same."""
        return str(self.manifest["fingerprint"])

    @property
    def path(self) -> Path:
        """Its directory."""
        return self._native.path

    def report(self, path: str | os.PathLike[str] = "report.html") -> Path:
        """Write the report: one HTML file, without a server, a network or a second file. It replaces what is there."""
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
        """Pickle the numbers themselves; only the report needs the directory."""
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
