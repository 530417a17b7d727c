"""Files that a reproduction writes. They appear under their names when they are complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay import _native

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, contents: str | bytes) -> None:
    """Write a file; if that fails, the previous file stays.

    Raises
    ------
    StoreError
        Names the file and the reason.
    """
    _native.write_file(path, contents.encode() if isinstance(contents, str) else contents)
