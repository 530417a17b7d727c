"""The simulator: this package's own, or another build that `$FOREBAY` names."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Protocol

import forebay as fb
from forebay import _native


class RunError(RuntimeError):
    """The simulator refused a scenario, or failed."""


class Simulator(Protocol):
    """What runs units."""

    #: How it calls itself.
    version: str
    #: Version and hash of its sources, as in the keys of a sweep's runs: other sources, other results.
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
    """The `forebay` command: another build than this package's."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self.version, _, sources = self._told("--version").partition("\n")
        # A build that does not say what it was made from is known by its own bytes.
        self.digest = f"{self.version} {sources.removeprefix('sources ')}" if sources else _digest(program)
        self._fixed = ["--runs", "1", "--threads", "1", "--quiet", "--progress", "none"]
        if "--no-report" in self._told("run", "--help"):
            self._fixed.append("--no-report")

    def run(self, scenario: Path, sets: list[str], seed: int, out: Path) -> None:
        self._told("run", str(scenario), "--seed", str(seed), *self._fixed, "--out", str(out), *_sets(sets))

    def model(self, scenario: Path, sets: list[str]) -> str:
        return self._told("model", str(scenario), "--no-sim", "--format", "json", *_sets(sets))

    def _told(self, *arguments: str) -> str:
        return _told(str(self._program), *arguments)


class Package:
    """The simulator in this process. It lets other threads run."""

    def __init__(self) -> None:
        self.version = f"forebay {fb.__version__}"
        self.digest = f"{self.version} {_native.__sources__}"

    def run(self, scenario: Path, sets: list[str], seed: int, out: Path) -> None:
        try:
            job = fb.Scenario(_native.Scenario.load(scenario).changed([*sets, "runs=1"], seed))
            job.run(threads=1).save(out, report=False)
        except fb.ForebayError as e:
            raise RunError(f"{scenario} with {' '.join(sets) or 'no changes'}, seed {seed}\n{e}") from e

    def model(self, scenario: Path, sets: list[str]) -> str:
        try:
            return _native.Scenario.load(scenario).changed(sets, None).models_json()
        except fb.ForebayError as e:
            raise RunError(f"{scenario} with {' '.join(sets) or 'no changes'}\n{e}") from e


def find() -> Simulator:
    """Find the simulator: the program that `$FOREBAY` names, else this package's own.

    Raises
    ------
    RunError
        `$FOREBAY` is no file.
    """
    named = os.environ.get("FOREBAY")
    if not named:
        return Package()
    if not Path(named).is_file():
        raise RunError(f"FOREBAY names {named}, which is not there")
    return Program(Path(named).resolve())


def _told(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)}\n{done.stderr.strip()}")
    return done.stdout.strip()


def _sets(sets: list[str]) -> list[str]:
    return [word for s in sets for word in ("--set", s)]


def _digest(file: Path) -> str:
    return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
