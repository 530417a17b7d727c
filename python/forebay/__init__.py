"""Predicts, simulates and explains TCP in data centres.

>>> import forebay as fb
>>> s = fb.Scenario.load("scenarios/two-flows.toml")
>>> r = s.run()
>>> int(r.queue.where(variant="newreno")["pkts"].max())
100

A :class:`Scenario` is what is to be simulated; running it gives a :class:`Result`, whose tables (:class:`Table`) are Arrow
tables with units. :func:`run_many` runs many scenarios on all cores, :func:`open` reads what ``forebay run`` wrote, and
:mod:`forebay.model` has what theory says without simulating.
"""

from . import model, plot
from ._errors import ForebayError, InternalError, Mistake, ModelError, ScenarioError, StoreError
from ._native import __version__
from ._progress import ProgressEvent
from ._registry import Entry, Parameter, registry
from ._result import Result, report, verdict
from ._result import open as open  # noqa: A004
from ._run_many import run_many
from ._scenario import Scenario
from ._sweep import Axis, Sweep, open_sweep
from ._table import Column, Table
from ._verdict import Verdict

# `open` is not in `__all__`: `from forebay import *` must not hide Python's own.
__all__ = [
    "Axis",
    "Column",
    "Entry",
    "ForebayError",
    "InternalError",
    "Mistake",
    "ModelError",
    "Parameter",
    "ProgressEvent",
    "Result",
    "Scenario",
    "ScenarioError",
    "StoreError",
    "Sweep",
    "Table",
    "Verdict",
    "__version__",
    "model",
    "open_sweep",
    "plot",
    "registry",
    "report",
    "run_many",
    "verdict",
]
