"""Modeling and Solving TCP Incast Problem in Data Center Networks: the goodput model, and PRIN. README.md says what was set up and why."""

from . import experiments, incast_claims, model_claims, prin_claims  # noqa: F401
from .base import paper

__all__ = ["paper"]
