"""TCP-TRIM: everything its evaluation shows, run again. One module for each group of experiments."""

from . import concurrency, convergence, fattree, impairment, multihop, probability, queues, testbed, threshold, workload  # noqa: F401 (they register themselves)
from .common import paper

__all__ = ["paper"]
