"""TCP-TRIM: everything its evaluation shows, run again. One module for each group of experiments."""

from . import convergence, impairment, probability, queues, threshold, workload  # noqa: F401 (they register themselves)
from .common import paper

__all__ = ["paper"]
