"""Fixtures: a small scenario, and the command line to compare with."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import forebay as fb

# Lines stay whole, as in a pipe, whatever the width of a terminal is said to be.
os.environ.pop("COLUMNS", None)

#: Longest wait for a condition, also on a busy machine.
PATIENCE_S = 120


#: Features that must not be missing: a test that lacks one fails (crates/platform/src/doctor/requirements.rs).
REQUIRED = os.environ.get("FOREBAY_REQUIRE", "")


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a report of a skip into a failure that states the reason of the skip."""
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"FOREBAY_REQUIRE={REQUIRED} forbids skips: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    refuse_skip(report)
    return report


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"not within {PATIENCE_S} s"
        time.sleep(0.01)


ROOT = Path(__file__).resolve().parents[2]
LINK = {"rate": "1Gbps", "delay": "25us"}

SMALL: dict[str, Any] = {
    "name": "small",
    "runs": 2,
    "topology": {
        "kind": "many-to-one",
        "senders": 4,
        "access": LINK,
        "bottleneck": {**LINK, "buffer": "64pkt", "queue": {"kind": "dctcp-step", "k": "20pkt"}},
    },
    "transport": {"stack": "ns2", "cc": ["newreno", "dctcp"]},
    "workload": [{"kind": "incast", "block": "64KB", "rounds": 3}],
    "observe": {"queue": {"port": "bottleneck", "every": "100us"}, "tcp": {"flows": [0], "every": "ack"}},
}

CLI = [sys.executable, "-m", "forebay"]

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def small() -> dict[str, Any]:
    """A scenario with two variants and two seeds that takes milliseconds."""
    return copy.deepcopy(SMALL)


@pytest.fixture(scope="session")
def result() -> fb.Result:
    """Its result."""
    return fb.Scenario.from_dict(SMALL).run()


@pytest.fixture(autouse=True)
def _in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests and examples name files as seen from the repository."""
    monkeypatch.chdir(ROOT)


@pytest.fixture
def cli() -> Cli:
    """Runs the command."""

    def run(*args: str | Path) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        return subprocess.run([*CLI, *map(str, args)], capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=env)

    return run
