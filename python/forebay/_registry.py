"""Registries of scenario values."""

from __future__ import annotations

from dataclasses import dataclass

from . import _native


@dataclass(frozen=True)
class Parameter:
    """A parameter of an entry."""

    key: str
    """Key in the scenario."""
    legal: str
    """Type and range."""
    default: str | None
    """As written in a scenario; None: the key is required; empty: not set."""
    doc: str
    """Meaning, with its source."""


@dataclass(frozen=True)
class Entry:
    """Entry of a registry: a congestion control, a queue, a topology, ..."""

    name: str
    """Name in the scenario."""
    summary: str
    """One line."""
    parameters: dict[str, Parameter]
    """By key."""


def registry() -> dict[str, dict[str, Entry]]:
    """Return all registries, as ``forebay list`` shows them.

    Returns
    -------
    dict
        For each kind (congestion controls, shims, stacks, queues, topologies, workloads, switches, speeds, worlds, size tables,
        mixtures) its entries by name.

    Examples
    --------
    >>> import forebay as fb
    >>> list(fb.registry())[:6]
    ['congestion controls', 'shims', 'stacks', 'queues', 'topologies', 'workloads']
    >>> fb.registry()["congestion controls"]["dctcp"].parameters["g"].default
    '0.0625'
    """
    return {
        title: {name: Entry(name, summary, {p[0]: Parameter(*p) for p in parameters}) for name, summary, parameters in items}
        for title, _usage, items in _native.registry()
    }
