"""TCP-TRIM: everything its evaluation shows, run again. One module for each group of experiments."""

from . import impairment, probability, workload  # noqa: F401 (they register themselves)
from .common import paper

__all__ = ["paper"]
