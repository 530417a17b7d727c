"""The simulator as a program: one variant list, one seed, one directory of results."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path


class RunError(RuntimeError):
    """The simulator refused a scenario, or failed."""


def find() -> Path:
    """The program: `$FOREBAY`, else `target/release/forebay` of this checkout, else `forebay` on the path.

    Raises
    ------
    RunError
        None of them is there.
    """
    named = os.environ.get("FOREBAY")
    if named:
        path = Path(named)
        if not path.is_file():
            raise RunError(f"FOREBAY names {named}, which is not there")
        return path.resolve()
    for above in Path(__file__).resolve().parents:
        built = above / "target" / "release" / "forebay"
        if built.is_file():
            return built
    found = shutil.which("forebay")
    if found:
        return Path(found).resolve()
    raise RunError("no forebay: build it (make build), put it on the path, or set FOREBAY")


def version(program: Path) -> str:
    """What the program calls itself."""
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def digest(program: Path) -> str:
    """Hash of the program: other code, other results."""
    return hashlib.blake2b(program.read_bytes(), digest_size=16).hexdigest()


def run(program: Path, scenario: Path, sets: list[str], seed: int, out: Path) -> None:
    """Writes the run directory `out`.

    Raises
    ------
    RunError
        With the program's own words.
    """
    command = [str(program), "run", str(scenario), "--seed", str(seed), "--runs", "1", "--threads", "1", "--quiet"]
    command += ["--progress", "none", "--out", str(out)]
    for s in sets:
        command += ["--set", s]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)}\n{done.stderr.strip()}")


def model(program: Path, scenario: Path, sets: list[str]) -> str:
    """What the program's models say about a scenario, as JSON.

    Raises
    ------
    RunError
        With the program's own words.
    """
    command = [str(program), "model", str(scenario), "--no-sim", "--format", "json"]
    for s in sets:
        command += ["--set", s]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)}\n{done.stderr.strip()}")
    return done.stdout
