"""Published evaluations, run again: experiments, figures, and a verdict on every claim.

A paper is a folder with `claims.toml`, scenario files and `paper.py`::

    from forebay.repro import Measured, Paper

    paper = Paper(__file__)

    @paper.experiment("red")
    def red(run):
        return run("fig04b.toml", seeds=run.pick(quick=3, full=10), grid={"topology.bottleneck.queue.min": ["30pkt", "90pkt"]})

    @paper.claim("coex-red-minth-30", uses=["red"])
    def _(x):
        point, result = x["red"][0]
        return Measured.over(ratios(result))

`forebay repro PAPER` reproduces it.
"""

from ._measured import Measured
from ._paper import Paper
from ._reading import Reading
from ._run import Result, Run
from ._simulate import RunError
from ._stats import half, interval, jain, mean, spearman
from ._style import look
from ._table import Table

__all__ = [
    "Measured",
    "Paper",
    "Reading",
    "Result",
    "Run",
    "RunError",
    "Table",
    "half",
    "interval",
    "jain",
    "look",
    "mean",
    "spearman",
]
