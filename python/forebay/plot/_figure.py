"""Figures whose saved files are byte-identical every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from . import style
from ._settings import settings

#: Metadata that matplotlib writes by default, by file type: dates.
_UNDATED: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "svgz": {"Date": None},
    "ps": {"CreationDate": None},
    "eps": {"CreationDate": None},
}


class HouseFigure(Figure):
    """A figure that is saved in the house style, regardless of the current settings."""

    def savefig(self, fname: Any, *, transparent: bool | None = None, **kwargs: Any) -> None:
        """Save as matplotlib does, but SVG and PDF without dates and random ids."""
        ending = kwargs.get("format") or (Path(fname).suffix[1:] if isinstance(fname, (str, Path)) else "")
        undated = _UNDATED.get(str(ending).lower(), {})
        if undated:
            kwargs["metadata"] = {**undated, **(kwargs.get("metadata") or {})}
        saving = {key: value for key, value in style.rc().items() if key.startswith(("svg.", "pdf.", "ps.", "savefig."))}
        with settings(saving):
            super().savefig(fname, transparent=transparent, **kwargs)
