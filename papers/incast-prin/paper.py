"""Modeling and Solving TCP Incast Problem in Data Center Networks: the goodput model, and PRIN.

README.md says what was set up and why.
"""

from . import experiments, figures, ictcp, incast_claims, model_claims, prin_claims, sensitivity, trace_figures  # noqa: F401
from .base import paper

__all__ = ["paper"]
