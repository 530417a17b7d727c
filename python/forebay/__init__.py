"""Predicts, simulates and explains TCP in data centers.

>>> import forebay as fb
>>> s = fb.Scenario.load("scenarios/two-flows.toml")
>>> r = s.run()
>>> int(r.queue.where(variant="newreno")["pkts"].max())
100

A :class:`Scenario` describes a simulation. Running it gives a :class:`Result`, whose tables (:class:`Table`) are Arrow tables
with units. :func:`run_many` runs many scenarios on all cores, :func:`open` reads what ``forebay run`` wrote, and
:mod:`forebay.model` has analytic models.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._native import __version__

if TYPE_CHECKING:
    from . import model, plot
    from ._cc import CongestionControl
    from ._commands import (
        Advice,
        CommandError,
        Criterion,
        Distribution,
        Finding,
        Option,
        RefereeReport,
        TrainGroup,
        Trains,
        advise,
        referee,
        trace,
        trains,
    )
    from ._engine import Completion, Engine
    from ._errors import Diagnostic, ForebayError, InternalError, ModelError, ScenarioError, StoreError
    from ._native import Ack, Event, Reduction, Window
    from ._progress import ProgressEvent
    from ._registry import Entry, Parameter, registry
    from ._result import Result, report, verdict
    from ._result import open as open  # noqa: A004
    from ._run_many import run_many
    from ._scenario import Scenario
    from ._sweep import Axis, Sweep, open_sweep
    from ._table import Column, Table
    from ._verdict import Verdict

#: Module of each name, imported on first use, so that the command does not wait for NumPy.
_MODULES = {
    "_cc": ["CongestionControl"],
    "_commands": [
        "Advice",
        "CommandError",
        "Criterion",
        "Distribution",
        "Finding",
        "Option",
        "RefereeReport",
        "TrainGroup",
        "Trains",
        "advise",
        "referee",
        "trace",
        "trains",
    ],
    "_engine": ["Completion", "Engine"],
    "_errors": ["ForebayError", "InternalError", "Diagnostic", "ModelError", "ScenarioError", "StoreError"],
    "_native": ["Ack", "Event", "Reduction", "Window"],
    "_progress": ["ProgressEvent"],
    "_registry": ["Entry", "Parameter", "registry"],
    "_result": ["Result", "open", "report", "verdict"],
    "_run_many": ["run_many"],
    "_scenario": ["Scenario"],
    "_sweep": ["Axis", "Sweep", "open_sweep"],
    "_table": ["Column", "Table"],
    "_verdict": ["Verdict"],
}

# `open` is not in `__all__`: `from forebay import *` must not hide Python's own.
__all__ = [
    "Ack",
    "Advice",
    "Axis",
    "Column",
    "CommandError",
    "Completion",
    "CongestionControl",
    "Criterion",
    "Distribution",
    "Engine",
    "Entry",
    "Event",
    "Finding",
    "ForebayError",
    "InternalError",
    "Diagnostic",
    "ModelError",
    "Option",
    "Parameter",
    "ProgressEvent",
    "Reduction",
    "RefereeReport",
    "Result",
    "Scenario",
    "ScenarioError",
    "StoreError",
    "Sweep",
    "Table",
    "TrainGroup",
    "Trains",
    "Verdict",
    "Window",
    "__version__",
    "advise",
    "model",
    "open_sweep",
    "plot",
    "referee",
    "registry",
    "report",
    "run_many",
    "trace",
    "trains",
    "verdict",
]


def __getattr__(name: str) -> Any:
    if name in ("model", "plot"):
        found: Any = import_module(f".{name}", __name__)
    else:
        module = next((m for m, names in _MODULES.items() if name in names), None)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "open"])
