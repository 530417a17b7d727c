"""Finished runs, kept by the hash of everything they depend on.

A unit is one scenario with its overrides and one seed. Its directory appears under its final name when it is complete, so that an
interrupted reproduction goes on where it stopped and two at once do no harm.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from . import _toml
from ._basis import Basis
from ._table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ._program import Simulator


@dataclass(frozen=True)
class Unit:
    """What is simulated at once."""

    scenario: Path
    sets: tuple[str, ...]
    seed: int


class Store:
    """Runs units, or finds them finished.

    Parameters
    ----------
    root
        The folder of the units.
    simulator
        What runs them.
    """

    def __init__(self, root: Path, simulator: Simulator) -> None:
        self.root = root
        self.simulator = simulator
        self._texts: dict[Path, str] = {}
        self._lock = threading.Lock()

    def key(self, unit: Unit) -> str:
        """Hash of the scenario's text, the files it names, the overrides, the seed and the program."""
        text = self._scenario(unit.scenario)
        parts = ["forebay-repro 1", self.simulator.digest, text, json.dumps(unit.sets), str(unit.seed)]
        return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()

    def _scenario(self, path: Path) -> str:
        with self._lock:
            if path not in self._texts:
                text = path.read_text()
                files = [path.parent / s for s in _strings(_toml.parse(text))]
                named = [hashlib.blake2b(f.read_bytes()).hexdigest() for f in files if _is_file(f)]
                self._texts[path] = "\0".join([text, *named])
            return self._texts[path]

    def path(self, unit: Unit) -> Path:
        """Where the unit's results are, or will be."""
        key = self.key(unit)
        return self.root / key[:2] / key

    def finished(self, unit: Unit) -> bool:
        """Whether the unit need not run."""
        return (self.path(unit) / "manifest.json").is_file()

    def run(self, unit: Unit) -> Path:
        """Run the unit unless it is finished.

        Raises
        ------
        RunError
            The simulator refused it.
        """
        final = self.path(unit)
        if self.finished(unit):
            return final
        final.parent.mkdir(parents=True, exist_ok=True)
        mine = final.with_name(f"{final.name}.{os.getpid()}-{threading.get_ident()}")
        shutil.rmtree(mine, ignore_errors=True)
        try:
            self.simulator.run(unit.scenario, list(unit.sets), unit.seed, mine)
            manifest = json.loads((mine / "manifest.json").read_text())
            for table in manifest["tables"]:
                if table["rows"] == 0:
                    (mine / table["file"]).unlink(missing_ok=True)
            try:
                mine.rename(final)
            except OSError:  # somebody else was faster: the same results
                if not self.finished(unit):
                    raise
        finally:
            shutil.rmtree(mine, ignore_errors=True)
        return final


def manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a finished unit."""
    read: dict[str, Any] = json.loads((path / "manifest.json").read_text())
    return read


def table(path: Path, name: str, columns: tuple[str, ...] | None, run: int) -> Table:
    """Read a table of a finished unit, as the `run`-th of several; without columns if it had no rows."""
    file = path / f"{name}.parquet"
    if not file.is_file():
        return Table({})
    read = pq.read_table(file, columns=list(columns) if columns else None)
    made = {}
    for column in read.column_names:
        array = read.column(column).combine_chunks()
        made[column] = array.to_numpy(zero_copy_only=False)
    if "run" in made:
        made["run"] = made["run"] * 0 + run
    return Table(made)


#: What was counted in a unit: messages, and timeouts by variant.
_COUNTED: dict[Path, tuple[int, dict[str, int]]] = {}


def counted(paths: Iterable[Path]) -> Basis:
    """Count messages and timeouts of finished units."""
    every, flows, timeouts = tuple(paths), 0, dict[str, int]()
    for path in every:
        if path not in _COUNTED:
            _COUNTED[path] = _count(path)
        messages, by = _COUNTED[path]
        flows += messages
        for variant, n in by.items():
            timeouts[variant] = timeouts.get(variant, 0) + n
    return Basis(every, flows, timeouts)


def _count(path: Path) -> tuple[int, dict[str, int]]:
    file = path / "flows.parquet"
    if not file.is_file():
        return 0, {}
    names = [n for n in ("rtos", "syn_rtos") if n in pq.read_schema(file).names]
    # Long tables come in parts, each with a dictionary of its own.
    rows = pq.read_table(file, columns=["variant", *names]).unify_dictionaries()
    sums = rows.group_by("variant", use_threads=False).aggregate([(n, "sum") for n in names])
    by = {row["variant"]: sum(row[f"{n}_sum"] or 0 for n in names) for row in sums.to_pylist()}
    return rows.num_rows, by


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from _strings(v)
    elif isinstance(value, list):
        for v in value:
            yield from _strings(v)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a text too long for a name
        return False
