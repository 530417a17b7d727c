"""Documents on other backends than the simulator: changes to their files for a backend, and unsupported keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from forebay import ScenarioError

#: Backend of the verdicts, and those whose verdicts can be shown beside them.
OWN, OTHERS = "sim", ("linux",)

#: Keys that a world does not support, with its replacement. Nothing else of a document's file is changed.
INSTEAD: dict[str, dict[str, Any]] = {
    "linux": {
        "transport.handshake": True,
        "transport.limited-transmit": True,
        "transport.ecn-echo": "exact",
        "transport.recovery": "newreno",
        "topology.ties": "drawn",
    }
}

#: Parameters of congestion controls that a world does not support, and runs without.
WITHOUT: dict[str, Sequence[str]] = {"linux": ("no-growth-on-ece",)}

_KEY = re.compile(r"change `([a-z.-]+)`, or choose another backend")


def refused(error: ScenarioError, world: str) -> dict[str, str]:
    """Return the keys that `world` rejects, with its reasons; empty if the scenario is invalid for another reason."""
    # Names of the variants, if only some are affected.
    reason = re.compile(rf"the backend `{world}` does not run (?:this|the variant `.*?`): ")
    if not error.errors or not all(reason.match(m.message) for m in error.errors):
        return {}
    keys = [_KEY.search(m.help or "") for m in error.errors]
    return {k[1] if k else "": reason.sub("", m.message, count=1) for k, m in zip(keys, error.errors, strict=True)}


def instead(reasons: Mapping[str, str], world: str, cc: Any = None) -> dict[str, Any] | None:
    """Return the replacement of `world` for refused keys; `None` if there is none for one of them.

    `cc` is `transport.cc` of the scenario, whose parameters a world may not have.
    """
    known = dict(INSTEAD.get(world, {}))
    if any(f"`{name}`" in reasons.get("transport.cc", "") for name in WITHOUT.get(world, ())):
        known["transport.cc"] = _without(cc, WITHOUT[world])
    return {k: known[k] for k in reasons} if all(k in known for k in reasons) else None


def _without(cc: Any, parameters: Sequence[str]) -> Any:
    """Return congestion controls without some of their parameters."""
    if isinstance(cc, list):
        return [_without(one, parameters) for one in cc]
    return {k: v for k, v in cc.items() if k not in parameters} if isinstance(cc, dict) else cc
