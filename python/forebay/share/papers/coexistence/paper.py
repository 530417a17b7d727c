"""DCTCP and TCP at one bottleneck: what `forebay repro coexistence` runs."""

from . import fairness, incast, long_flows, short_flows
from .base import paper

__all__ = ["fairness", "incast", "long_flows", "paper", "short_flows"]
