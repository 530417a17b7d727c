"""TCP-TRIM: everything its evaluation shows, run again. One module for each group of experiments."""

from . import (  # noqa: F401 (they register themselves)
    after_gaps,
    concurrency,
    convergence,
    fattree,
    impairment,
    multihop,
    probability,
    queues,
    testbed,
    threshold,
    workload,
)
from .common import paper

__all__ = ["paper"]
