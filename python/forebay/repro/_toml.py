"""TOML files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

if TYPE_CHECKING:
    from pathlib import Path


def parse(text: str) -> dict[str, Any]:
    """Parse the document that `text` is."""
    document: dict[str, Any] = tomllib.loads(text)
    return document


def read(path: Path) -> dict[str, Any]:
    """Read a document from a file."""
    return parse(path.read_text())
