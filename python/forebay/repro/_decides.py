"""Where a world and the simulator disagree about a claim: a page with the first packet at which they decide something else."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from forebay import _toml

from ._scorecard import brief, published
from ._session import BROKEN, REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._session import Outcome, Simulated, Verdict
    from ._simulate import Unit

#: By how much packets may miss the time of their equal: what differs by more was decided, not only delayed.
WITHIN = "1ms"
#: Seconds that a comparison may take. Our choice: the longest of the documents takes a fifth of it.
PATIENCE = 120


def differing(outcome: Outcome) -> list[tuple[Verdict, Verdict]]:
    """Claims that hold in one world alone: the simulator's verdict and the other's."""
    if outcome.elsewhere is None:
        return []
    own = {v.claim.id: v for v in outcome.verdicts}
    ran = [v for v in outcome.elsewhere.verdicts if v.status not in (REFUSED, BROKEN)]
    return [(own[v.claim.id], v) for v in ran if v.good != own[v.claim.id].good]


def page(outcome: Outcome, found: Simulated, compare: Callable[[Sequence[str]], str]) -> str:
    """Write the page of a paper, in Markdown; empty where the worlds agree about every claim.

    `found` is what the simulator ran; `compare` runs `forebay compare` with these words and returns what it prints.
    """
    pairs = differing(outcome)
    if not pairs or outcome.elsewhere is None:
        return ""
    lines = [
        f"# Where the simulator and the world `{outcome.world}` disagree: {outcome.paper.slug}",
        "",
        "Claims that hold in one of them alone, and the first packet of a run behind them, seed 1, at which they do something",
        f"else: not the same packet, or more than {WITHIN} apart. Both run the file as that world runs it. Of each run the first",
        "connection that differs is shown.",
    ]
    shown: dict[tuple[str, ...], str] = {}
    for own, other in pairs:
        lines += [
            "",
            f"## {own.claim.id}",
            "",
            f"The document: {published(own.claim)}. Simulator: {_told(own)}. {outcome.world}: {_told(other)}.",
        ]
        for name in outcome.paper.judges[own.claim.id].uses:
            unit = next(iter(found.units.get(name, [])), None)
            if unit is None:
                continue
            words = command(unit, outcome.elsewhere.changed.get(name, {}), outcome.world)
            if words in shown:
                lines += ["", f"Experiment `{name}`: the run of {shown[words]}."]
                continue
            shown[words] = own.claim.id
            told = shlex.join(["forebay", *words]).replace(str(outcome.paper.folder.resolve()), f"papers/{outcome.paper.slug}")
            lines += ["", f"Experiment `{name}`, its first point:", "", "```text", f"$ {told}"]
            lines += [*first_of_each(compare(words)), "```"]
    return "\n".join(lines) + "\n"


def command(unit: Unit, changed: dict[str, Any], world: str) -> tuple[str, ...]:
    """Return the words of `forebay compare` for a run, with what the world does its own way in both."""
    sets = [*unit.sets, *(f"{key}={_toml.value(value, key)}" for key, value in sorted(changed.items()))]
    words = ["compare", str(unit.scenario), "--packets", "--within", WITHIN, "--worlds", f"sim,{world}", "--seed", str(unit.seed)]
    return (*words, *(word for s in sets for word in ("--set", s)))


def first_of_each(text: str) -> list[str]:
    """Of what `forebay compare --packets` prints, each run with the first of its connections that differs."""
    kept: list[str] = []
    connections = 0
    for line in text.splitlines():
        if line.startswith("connection "):
            connections += 1
        elif not line.startswith(" "):
            connections = 0
        if connections < 2 and not line.startswith("and "):
            kept.append(line)
    return kept


def run(words: Sequence[str]) -> str:
    """Run the command of this package; what it prints, or why it does not."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "forebay", *words], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not finished after {PATIENCE} s"
    return done.stdout if done.returncode == 0 else done.stderr


def _told(v: Verdict) -> str:
    return f"{v.status}, {brief(v.measured[v.by])}" if v.measured else v.status
