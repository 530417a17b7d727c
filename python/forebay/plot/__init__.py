"""Figures of results, in one style and ready for a paper.

Every plot takes results and returns matplotlib axes for further changes; `ax=` draws into existing axes. With several seeds a
note under the plot names the averages. :mod:`forebay.plot.style` has widths, the dark theme and colors.

matplotlib is loaded by the first plot: `pip install 'forebay[plot]'`.
"""

from . import style
from ._compare import compare
from ._fairness import fairness
from ._fct_cdf import fct_cdf
from ._fct_slowdown import fct_slowdown
from ._incast_curve import incast_curve
from ._queries import queries
from ._queue_cdf import queue_cdf
from ._time_series import time_series

__all__ = [
    "compare",
    "fairness",
    "fct_cdf",
    "fct_slowdown",
    "incast_curve",
    "queries",
    "queue_cdf",
    "style",
    "time_series",
]
