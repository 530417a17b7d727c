"""Second opinions on claims, from `opinions.toml` of a paper: the error behind a failure, and the limits of a success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _toml

if TYPE_CHECKING:
    from pathlib import Path

#: Whose error a claim is that does not hold: of this reproduction, of the document, or not known.
WRONG = ("ours", "document", "open")


@dataclass(frozen=True)
class Opinion:
    """Knowledge of a claim beyond its verdict."""

    #: One of :data:`WRONG`; empty for claims that hold.
    wrong: str = ""
    #: Measurement of a second simulator or another source.
    evidence: str = ""
    #: Limits of the success of the claim.
    caution: str = ""
    #: True if it holds only with a correction of the set-up that was found after it had failed.
    late: bool = False


def read(path: Path, claims: set[str]) -> dict[str, Opinion]:
    """Return the opinions of a file by claim; empty without a file.

    Raises
    ------
    ValueError
        A claim does not exist, or an entry is of an unknown kind.
    """
    if not path.is_file():
        return {}
    found = {}
    for name, entry in _toml.read(path).items():
        unknown = set(entry) - {"wrong", "evidence", "caution", "late"}
        if name not in claims or unknown or entry.get("wrong", WRONG[0]) not in WRONG:
            raise ValueError(f"{path}: {name}: no such claim, unknown keys {unknown or 'none'}, or `wrong` is not one of {WRONG}")
        found[name] = Opinion(**entry)
    return found
