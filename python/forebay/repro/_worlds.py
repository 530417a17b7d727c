"""Documents in other worlds than the simulator: what is changed of their files for a world to run them, and what it refuses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forebay import ScenarioError

#: The world of the verdicts, and those that can stand beside it.
OWN, OTHERS = "sim", ("linux",)

#: What a world does its own way, whatever the simulator of a document did: keys that it refuses there, and what it does instead.
#: Nothing else of a document's file is changed.
INSTEAD: dict[str, dict[str, Any]] = {
    "linux": {
        "transport.handshake": True,
        "transport.limited-transmit": True,
        "transport.ecn-echo": "exact",
        "transport.recovery": "newreno",
    }
}

_KEY = re.compile(r"change `([a-z.-]+)`, or choose another world")


def refused(error: ScenarioError, world: str) -> dict[str, str]:
    """Return the keys that `world` refuses, with its reasons; empty where the scenario is wrong in another way."""
    # Of some variants alone it names them.
    reason = re.compile(rf"the world `{world}` does not run (?:this|the variant `.*?`): ")
    if not error.errors or not all(reason.match(m.message) for m in error.errors):
        return {}
    keys = [_KEY.search(m.help or "") for m in error.errors]
    return {k[1] if k else "": reason.sub("", m.message, count=1) for k, m in zip(keys, error.errors, strict=True)}


def instead(keys: Sequence[str], world: str) -> dict[str, Any] | None:
    """Return what `world` does instead of these keys; `None` where it can do nothing in the place of one."""
    known = INSTEAD.get(world, {})
    return {k: known[k] for k in keys} if all(k in known for k in keys) else None
