"""DCTCP and TCP: what `python -m forebay.repro dctcp` runs."""

from . import cluster, incast, long_flows, reaction, short_messages
from .base import paper

__all__ = ["cluster", "incast", "long_flows", "paper", "reaction", "short_messages"]
