"""DCTCP and TCP: what `forebay repro dctcp` runs."""

from . import cluster, incast, jitter, long_flows, pressure, reaction, short_messages, tension, threshold
from .base import paper

__all__ = ["cluster", "incast", "jitter", "long_flows", "paper", "pressure", "reaction", "short_messages", "tension", "threshold"]
