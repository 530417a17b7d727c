"""What a scenario can name."""

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
    """As written in a scenario; None: the key is required; the empty text: not set."""
    doc: str
    """Meaning, with its source."""


@dataclass(frozen=True)
class Entry:
    """Something that a scenario can name: a congestion control, a queue, a topology, ..."""

    name: str
    """Name in the scenario."""
    summary: str
    """One line."""
    parameters: dict[str, Parameter]
    """By key."""


def registry() -> dict[str, dict[str, Entry]]:
    """Return everything that a scenario can name, as ``forebay list`` shows it.

    Returns
    -------
    dict
        For each kind (congestion controls, shims, stacks, queues, topologies, workloads, switches, speeds, worlds, size tables, mixtures)
        its entries by name.

    Examples
    --------
    >>> import forebay as fb
    >>> list(fb.registry())
    ['congestion controls', 'shims', 'stacks', 'queues', 'topologies', 'workloads', 'switches', 'speeds', 'worlds', 'size tables', 'mixtures']
    >>> fb.registry()["congestion controls"]["dctcp"].parameters["g"].default
    '0.0625'
    """
    return {
        title: {name: Entry(name, summary, {p[0]: Parameter(*p) for p in parameters}) for name, summary, parameters in items}
        for title, _usage, items in _native.registry()
    }
