"""ProBoSCIS: what `forebay repro proboscis` runs."""

from . import cluster, formula, testbed, trace, unit
from .base import paper

__all__ = ["cluster", "formula", "paper", "testbed", "trace", "unit"]
