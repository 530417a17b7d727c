"""Files that the package carries beside its code: the example scenarios and the papers of the repository."""

from __future__ import annotations

import os
from pathlib import Path

#: Location in an installed package; a checkout of the repository has the folders at its root.
INSTALLED = Path(__file__).parent / "share"

#: Environment variable that passes the location to the command.
VARIABLE = "FOREBAY_SHARE"


def folder() -> Path | None:
    """Find the folder with `scenarios` and `papers`; None in a package without them."""
    # A checkout comes first: an editable installation leaves an outdated copy behind.
    for place in (Path(__file__).parents[2], INSTALLED):
        if (place / "scenarios").is_dir() and (place / "papers").is_dir():
            return place
    return None


def tell_command() -> None:
    """Pass the location of the examples to the command, unless the user has set it."""
    place = folder()
    if place is not None:
        os.environ.setdefault(VARIABLE, str(place))


def found(path: str | os.PathLike[str]) -> Path:
    """Return the path itself, or, if the file does not exist, the example of that name in the package."""
    path = Path(path)
    place = folder()
    if place is None or path.exists() or path.is_absolute() or path.parts[:1] not in (("scenarios",), ("papers",)):
        return path
    example = place / path
    return example if example.is_file() else path
