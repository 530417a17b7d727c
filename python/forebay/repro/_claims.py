"""Checkable claims of a document, from its `claims.toml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _toml

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ("numeric", "bound", "ordering", "qualitative")


@dataclass(frozen=True)
class Claim:
    """One statement of the document with its tolerance."""

    #: Name, unique over all papers.
    id: str
    #: Place in the document.
    source: str
    #: Statement of the document.
    statement: str
    #: One of :data:`KINDS`.
    kind: str
    #: What is measured.
    metric: str
    #: Its unit; may be empty.
    unit: str
    #: Expected value: a number, table, list, order, bound, or a sentence.
    expected: Any
    #: Tolerance: a table with `type`, a number, or a sentence.
    tolerance: Any
    #: Why that far.
    why: str
    #: True for a main claim of the document.
    headline: bool

    @property
    def on_timeouts(self) -> bool:
        """True if its words are on timeouts."""
        return "timeout" in f"{self.metric} {self.statement}".lower()

    @property
    def on_losses(self) -> bool:
        """True if its words are on lost packets."""
        return bool(_LOSSES.search(f"{self.metric} {self.statement}".lower()))


#: Lost packets; drop-tail is a queue.
_LOSSES = re.compile(r"\b(?:loss|losses|lost|drops?(?!-?tail)|dropped)\b")


def read(path: Path) -> dict[str, Claim]:
    """Return the claims of a file, by name, in its order.

    Raises
    ------
    ValueError
        A claim is incomplete or of a kind that does not exist.
    """
    claims: dict[str, Claim] = {}
    for entry in _toml.read(path)["claim"]:
        name = entry.get("id", "?")
        missing = {"source", "statement", "kind", "metric", "expected", "tolerance", "strength"} - set(entry)
        if missing or entry["kind"] not in KINDS or entry["strength"] not in ("headline", "supporting") or name in claims:
            raise ValueError(f"{path}: claim {name}: twice, of an unknown kind or strength, or without {missing or 'a name'}")
        claims[name] = Claim(
            name,
            entry["source"],
            entry["statement"],
            entry["kind"],
            entry["metric"],
            entry.get("unit", ""),
            entry["expected"],
            entry["tolerance"],
            entry.get("why_tolerance", ""),
            entry["strength"] == "headline",
        )
    return claims
