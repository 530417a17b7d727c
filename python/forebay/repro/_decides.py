"""Page of the claims on which a backend and the simulator disagree, with the first packet that differs."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING, Any

from forebay import _process, _toml

from . import _column, _point
from ._scorecard import brief, changes, published, summary_elsewhere
from ._session import BROKEN, REFUSED
from ._toml import read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._paper import Paper
    from ._session import Outcome, Session, Simulated, Verdict
    from ._simulate import Unit

#: Tolerance of packet times: larger differences are decisions, not delays.
WITHIN = "1ms"
#: Time limit of a comparison, seconds. Our choice: the longest of the documents takes a fifth of it.
PATIENCE = 300


def differing(outcome: Outcome) -> list[tuple[Verdict, Verdict]]:
    """Claims that hold on one backend only: the simulator's verdict and the other's."""
    if outcome.elsewhere is None:
        return []
    own = {v.claim.id: v for v in outcome.verdicts}
    ran = [v for v in outcome.elsewhere.verdicts if v.status not in (REFUSED, BROKEN)]
    return [(own[v.claim.id], v) for v in ran if v.good != own[v.claim.id].good]


def causes(paper: Paper, world: str) -> dict[str, str]:
    """Read the reasons for different verdicts of the backend, by claim: `in-WORLD.toml` beside `claims.toml`."""
    found = _column.by_hand(paper.folder, world)
    return {name: " ".join(str(text).split()) for name, text in found.items() if name != _column.NOT_RUN}


def page(
    session: Session, outcome: Outcome, here: Simulated, there: Simulated, command: str, compare: Callable[[Sequence[str]], str]
) -> str:
    """Write the page of a paper, in Markdown.

    `here` and `there` are the runs of the simulator and of the other backend, by `command`; `compare` calls `forebay compare`
    with these arguments and returns its output.
    """
    pairs = differing(outcome)
    paper, world = outcome.paper, outcome.world
    lines = [f"# On the backend `{world}`: {paper.slug}", "", f"`{command}`: {summary_elsewhere(outcome)}.", ""]
    if own_way := changes(outcome):
        lines += [*(f"* {line}" for line in own_way), ""]
    if not pairs:
        return "\n".join([*lines, "The simulator has the same verdict on each of them.", *_not_run(paper, world)]) + "\n"
    lines += [
        "Each claim below holds on one backend only. Its section has the cause, as far as it is known, and the first packet",
        f"that differs (another packet, or more than {WITHIN} apart). The packet is from the deciding point of the claim: the",
        "point whose runs, replaced by those of the other backend, change the measurement most. Both backends run it with",
        "seed 1 and the same settings. Of each run, the first connection that differs is shown.",
    ]
    known = causes(paper, world)
    shown: dict[tuple[str, ...], str] = {}
    for own, other in pairs:
        name = own.claim.id
        lines += ["", f"## {name}", ""]
        lines += [f"The document: {published(own.claim)}. Simulator: {_told(own)}. {world}: {_told(other)}.", ""]
        lines += [f"Cause: {known.get(name, 'unknown.')}"]
        point = _point.decisive(session, paper, own, here, there)
        for experiment, unit, told in _to_show(paper, own, here, point, world):
            words = compare_words(unit, outcome.elsewhere.changed.get(experiment, {}) if outcome.elsewhere else {}, world)
            if words in shown:
                lines += ["", f"{told} The packets are those of {shown[words]}."]
                continue
            shown[words] = name
            line = shlex.join(["forebay", *words]).replace(str(paper.folder.resolve()), f"papers/{paper.slug}")
            lines += ["", told, "", "```text", f"$ {line}", *first_of_each(compare(words), stack_of(unit)), "```"]
    return "\n".join([*lines, *_not_run(paper, world)]) + "\n"


def _not_run(paper: Paper, world: str) -> list[str]:
    """List the claims without runs on the backend, by reason; empty without any."""
    classes = _column.not_run(paper, world)
    if not classes:
        return []
    told = [f"* {c.reason} ({', '.join(f'`{name}`' for name in c.claims)})" for c in classes]
    return ["", "## Claims without runs on this backend", "", *told]


def _to_show(paper: Paper, own: Verdict, here: Simulated, point: _point.Point | None, world: str) -> list[tuple[str, Unit, str]]:
    """Choose the runs to compare for a claim: those of the deciding point, or of the first of each experiment."""
    if point is not None:
        alone = point.verdict.measured[own.told]
        what = "changes the verdict" if point.decides else "is the largest change by one point, and does not change the verdict"
        of = f"Experiment `{point.experiment}`: with the runs of {world} at this point alone,"
        what = f"{of} the measurement is {brief(alone)}. This {what}."
        return [(point.experiment, point.unit, what)]
    units = [(n, here.units[n][0]) for n in paper.judges[own.claim.id].uses if here.units.get(n)]
    return [(n, u, f"No single point changes the measurement. Experiment `{n}`, its first point:") for n, u in units]


def compare_words(unit: Unit, changed: dict[str, Any], world: str) -> tuple[str, ...]:
    """Return the arguments of `forebay compare` for a run, with the changes for the backend in both."""
    sets = [*unit.sets, *(f"{key}={_toml.value(value, key)}" for key, value in sorted(changed.items()))]
    words = ["compare", str(unit.scenario), "--packets", "--within", WITHIN, "--worlds", f"sim,{world}", "--seed", str(unit.seed)]
    return (*words, *(word for s in sets for word in ("--set", s)))


def first_of_each(text: str, stack: str = "") -> list[str]:
    """Select each run on `stack` with its first differing connection from the output of `forebay compare --packets`."""
    kept: list[str] = []
    connections, wanted = 0, True
    for line in text.splitlines():
        if "on the same stack" in line:
            wanted = not stack or line.endswith(f"on the same stack {stack}")
        if line.startswith("connection "):
            connections += 1
        elif not line.startswith(" "):
            connections = 0
        if wanted and connections < 2 and not line.startswith("and "):
            kept.append(line)
    return kept


def stack_of(unit: Unit) -> str:
    """Return the stack named in a run's file; may be empty."""
    told = [s.partition("=")[2].strip("\"'") for s in unit.sets if s.startswith("transport.stack=")]
    return told[-1] if told else str(read(unit.scenario).get("transport", {}).get("stack", ""))


def run(words: Sequence[str]) -> str:
    """Run the command of this package and return its output, or its error."""
    try:
        done = subprocess.run(
            _process.command(*words),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"not finished after {PATIENCE} s"
    return done.stdout if done.returncode == 0 else done.stderr


def _told(v: Verdict) -> str:
    return f"{v.status}, {brief(v.measured[v.told])}" if v.measured else v.status
