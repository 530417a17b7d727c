"""Faults of a disk while `forebay repro` runs: no half-written file, an error that names it, and the same results afterwards.

One call that writes, creates or renames a file fails, with all later ones, or the process is killed there. A sample of the calls
is tried. `FOREBAY_FAULTS=all` tries all of them, and `FOREBAY_FAULTS=17:kill` one.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from small_paper import small_paper

#: The library that fails calls, shared with the tests of the command.
SOURCE = Path(__file__).resolve().parents[3] / "crates/forebay/tests/faults/calls.c"
SELECT = "FOREBAY_FAULTS"
#: Number of the error; 0 kills the process.
FAULTS = {"ENOSPC": errno.ENOSPC, "EDQUOT": errno.EDQUOT, "EROFS": errno.EROFS, "EIO": errno.EIO, "kill": 0}
COMMAND = [sys.executable, "-m", "forebay.repro", "papers/some-paper", "--threads", "1", "--out", "out", "--scorecard", "CARD.md"]
FIGURE = """
@paper.figure("1", title="A figure", uses=["one"], claims=["c-flows"])
def _(fig, x):
    fig.subplots().plot([1, 2])
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        pytest.skip("needs Linux and a C compiler")
    made = tmp_path_factory.mktemp("faults") / "calls.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", made, SOURCE, "-ldl"], check=True)
    return made


def prepared(folder: Path) -> Path:
    """Make a folder with a paper of one claim and one figure."""
    paper = small_paper(folder, duration="1ms") / "paper.py"
    paper.write_text(paper.read_text().replace("seeds=12", "seeds=2") + FIGURE)
    return folder


def run(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    # Compiled Python files are no results.
    variables["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(COMMAND, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False)


def with_fault(library: Path, folder: Path, at: int | None, error: int) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run with a fault at a call. Also returns the path of that call, or without `at` the number of calls."""
    record = library.with_name("record")
    record.unlink(missing_ok=True)
    fault = {} if at is None else {"FOREBAY_FAULT_AT": str(at), "FOREBAY_FAULT_ERROR": str(error)}
    done = run(folder, LD_PRELOAD=str(library), FOREBAY_FAULT_LOG=str(record), TMPDIR=str(library.parent), **fault)
    return done, record.read_text() if record.exists() else ""


def pages(folder: Path) -> dict[str, bytes]:
    """Read all files but those of the runs, which contain dates, and of the paper."""
    found = [f for f in folder.rglob("*") if f.is_file() and not {"units", "papers"} & set(f.parts)]
    return {str(f.relative_to(folder)): f.read_bytes() for f in found}


def check(folder: Path, library: Path, at: int, fault: str, whole: dict[str, bytes]) -> None:
    """Try one fault. `whole` has the files of an undisturbed command."""
    done, path = with_fault(library, prepared(folder), at, FAULTS[fault])
    what = f"{SELECT}={at}:{fault} ({path}):\n{done.stdout}{done.stderr}"
    assert done.returncode == (1 if FAULTS[fault] else -signal.SIGKILL), what
    if FAULTS[fault]:
        name = Path(path).name.split(".tmp-")[0]
        assert name in done.stdout + done.stderr, what
        assert "Traceback" not in done.stderr, what
    if "units" not in Path(path).parts:
        complete = {name: text for name, text in pages(folder).items() if ".tmp-" not in name}
        differing = [name for name, text in complete.items() if text != whole.get(name)]
        assert not differing, f"{what}\nhalf-written: {differing}"
    again = run(folder)
    assert again.returncode == 0, f"{what}\nagain: {again.stdout}{again.stderr}"
    assert pages(folder) == whole, what


def test_failed_calls_leave_no_half_pages(library: Path, tmp_path: Path) -> None:
    first = prepared(tmp_path / "whole")
    done, count = with_fault(library, first, None, 0)
    assert done.returncode == 0, done.stderr
    calls, whole = int(count), pages(first)
    assert {"CARD.md", "out/index.html", "out/verdicts.csv", "out/some-paper/fig01.svg"} <= whole.keys()
    selected = os.environ.get(SELECT, "")
    tried = 0
    for number, fault in enumerate(FAULTS):
        # A sample of the last calls, which write the pages, and for one fault of those for the runs.
        sample = [calls - 1 - (2 * number + 1) * 2] + [calls // 3] * (fault == "ENOSPC")
        for at in range(calls) if selected else sample:
            if selected in ("", "all", f"{at}:{fault}"):
                check(tmp_path / f"{at}-{fault}", library, at, fault, whole)
                tried += 1
    assert tried, f"{SELECT}={selected} selects nothing"
