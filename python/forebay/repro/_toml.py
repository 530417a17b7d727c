"""TOML files read, and values written as `--set KEY=VALUE` takes them."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def parse(text: str) -> dict[str, Any]:
    """Parse the document that `text` is."""
    return tomllib.loads(text)


def read(path: Path) -> dict[str, Any]:
    """Read a document from a file."""
    return parse(path.read_text())


def inline(value: Any) -> str:
    """`value` as TOML on one line.

    Examples
    --------
    >>> inline({"kind": "red", "min": "30pkt", "p-max": 0.02})
    '{ kind = "red", min = "30pkt", p-max = 0.02 }'
    >>> inline(["newreno", "dctcp"])
    '["newreno", "dctcp"]'
    """
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):  # a number of numpy's
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        # TOML's basic strings have the escapes of JSON's.
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(inline(v) for v in value) + "]"
    if isinstance(value, dict):
        inner = ", ".join(f"{k if _BARE.match(k) else json.dumps(k)} = {inline(v)}" for k, v in value.items())
        return "{ " + inner + " }"
    raise TypeError(f"a scenario cannot hold {value!r}")
