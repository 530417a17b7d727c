"""ProBoSCIS: what `python -m forebay.repro proboscis` runs."""

from . import cluster, testbed, trace, unit
from .base import paper

__all__ = ["cluster", "paper", "testbed", "trace", "unit"]
