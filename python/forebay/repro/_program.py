"""The simulator: inside this process where the package has it, else as a program."""

from __future__ import annotations

import hashlib
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol


class RunError(RuntimeError):
    """The simulator refused a scenario, or failed."""


class Simulator(Protocol):
    """What runs units."""

    #: How it calls itself.
    version: str
    #: Hash of its code: other code, other results.
    digest: str

    def run(self, scenario: Path, sets: list[str], seed: int, out: Path) -> None:
        """Write the run directory `out` of one seed.

        Raises
        ------
        RunError
            With the simulator's own words.
        """

    def model(self, scenario: Path, sets: list[str]) -> str:
        """Return what the models say about a scenario, as JSON.

        Raises
        ------
        RunError
            With the simulator's own words.
        """


class Program:
    """The `forebay` command."""

    def __init__(self, *command: str | Path) -> None:
        self._command = [str(c) for c in command]
        self.version = self._told("--version")
        self.digest = _digest(Path(self._command[0]))

    def run(self, scenario: Path, sets: list[str], seed: int, out: Path) -> None:
        fixed = ["--runs", "1", "--threads", "1", "--quiet", "--progress", "none"]
        self._told("run", str(scenario), "--seed", str(seed), *fixed, "--out", str(out), *_sets(sets))

    def model(self, scenario: Path, sets: list[str]) -> str:
        return self._told("model", str(scenario), "--no-sim", "--format", "json", *_sets(sets))

    def _told(self, *arguments: str) -> str:
        command = [*self._command, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise RunError(f"{' '.join(command)}\n{done.stderr.strip()}")
        return done.stdout.strip()


class Native:
    """The simulator in this process. It lets other threads run."""

    def __init__(self, native: Any) -> None:
        self._native = native
        self.version = f"forebay {native.__version__}"
        self.digest = _digest(Path(native.__file__))

    def run(self, scenario: Path, sets: list[str], seed: int, out: Path) -> None:
        try:
            job = self._native.Scenario.load(scenario).changed([*sets, "runs=1"], seed)
            self._native.run_all([job], 1, None)[0].save(out, "parquet", False)
        except Exception as e:
            raise RunError(f"{scenario} with {' '.join(sets) or 'no changes'}, seed {seed}\n{e}") from e

    def model(self, scenario: Path, sets: list[str]) -> str:
        # The command prints; a process of its own keeps that apart.
        return Program(sys.executable, "-m", "forebay").model(scenario, sets)


def find() -> Simulator:
    """Find the simulator: the program that `$FOREBAY` names, else this package's own, else one built here or on the path.

    Raises
    ------
    RunError
        There is none.
    """
    named = os.environ.get("FOREBAY")
    if named:
        if not Path(named).is_file():
            raise RunError(f"FOREBAY names {named}, which is not there")
        return Program(Path(named).resolve())
    try:
        return Native(importlib.import_module("forebay._native"))
    except ImportError:
        pass
    for above in Path(__file__).resolve().parents:
        built = above / "target" / "release" / "forebay"
        if built.is_file():
            return Program(built)
    found = shutil.which("forebay")
    if found:
        return Program(Path(found).resolve())
    raise RunError("no forebay: install the package (pip install .), build the program (make build), or set FOREBAY")


def _sets(sets: list[str]) -> list[str]:
    return [word for s in sets for word in ("--set", s)]


def _digest(file: Path) -> str:
    return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
