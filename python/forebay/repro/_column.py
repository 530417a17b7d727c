"""Results of a paper's claims in another world, stored beside the paper (`in-linux.csv`), and their column of the scorecard.

The verdicts of the simulator and of the other world come from separate commands, at separate scales: the column is added to an
existing scorecard.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _scorecard, _toml
from ._scorecard import MARK
from ._session import BROKEN, NAMED, REFUSED, STATED

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from ._paper import Paper
    from ._run import Scale
    from ._session import Outcome

_HEADS = ["claim", "verdict", "wider_band", "simulator", "scale", "measured"]
_GOOD = (STATED, NAMED)
#: Stands for the verdict: nothing was run there, or there is nothing to run.
UNKNOWN, NOTHING = "unknown", "nothing to run"


@dataclass(frozen=True)
class Row:
    """Result of a claim in another world."""

    claim: str
    #: One of `STATUSES`.
    verdict: str
    #: True if it holds only in the wider bands of a quick reproduction.
    wide: bool
    #: The simulator's verdict under the same conditions.
    simulator: str
    scale: str
    #: The measurement, or the reason why there is none.
    measured: str

    @property
    def ran(self) -> bool:
        """True if there is a verdict."""
        return self.verdict not in (REFUSED, BROKEN)

    @property
    def differs(self) -> bool:
        """True if it holds on one of the backends only."""
        return self.ran and (self.verdict in _GOOD) != (self.simulator in _GOOD)

    @property
    def cell(self) -> str:
        """Of a table in Markdown."""
        mark = MARK[self.verdict] + (", wider band" if self.wide else "")
        return f"{mark}{f' (simulator: {MARK[self.simulator]})' if self.differs else ''}: {self.measured}".replace("|", "\\|")


def file(paper: Path, world: str) -> Path:
    """Return its path in a paper's folder."""
    return paper / f"in-{world}.csv"


def write(outcome: Outcome, scale: Scale) -> str:
    """Write the other world's results of the claims with runs, as CSV."""
    assert outcome.elsewhere is not None
    own = {v.claim.id: v.status for v in outcome.verdicts}
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(_HEADS)
    for v in outcome.elsewhere.verdicts:
        if outcome.paper.judges[v.claim.id].uses:
            wide = "yes" if v.wide else "no"
            rows.writerow([v.claim.id, v.status, wide, own[v.claim.id], scale, " ".join(_scorecard.told(v).split())])
    return out.getvalue()


def read(paper: Path, world: str) -> dict[str, Row]:
    """Read the stored results of a paper, by claim; may be empty."""
    if not file(paper, world).is_file():
        return {}
    with file(paper, world).open() as kept:
        rows = [
            Row(r["claim"], r["verdict"], r["wider_band"] == "yes", r["simulator"], r["scale"], r["measured"])
            for r in csv.DictReader(kept)
        ]
    return {r.claim: r for r in rows}


#: Key of `in-WORLD.toml` for claims without runs there.
NOT_RUN = "not-run"


@dataclass(frozen=True)
class NotRun:
    """Claims that another world does not decide, for one reason."""

    #: For a cell of the scorecard.
    short: str
    reason: str
    claims: tuple[str, ...]


def by_hand(paper: Path, world: str) -> dict[str, Any]:
    """Read the reasons that are written by hand (`in-WORLD.toml`): of different verdicts by claim, and of claims without runs."""
    path = paper / f"in-{world}.toml"
    return _toml.read(path) if path.is_file() else {}


def not_run(paper: Paper, world: str) -> list[NotRun]:
    """Return the classes of claims without runs in a world.

    Raises
    ------
    ValueError
        A claim does not exist, has nothing to run, or is named twice.
    """
    classes = [
        NotRun(c["short"], " ".join(c["reason"].split()), tuple(c["claims"]))
        for c in by_hand(paper.folder, world).get(NOT_RUN, [])
    ]
    named = [name for c in classes for name in c.claims]
    able = [name for name in paper.claims if paper.judges[name].uses]
    wrong = [name for name in named if name not in able or named.count(name) > 1]
    if wrong:
        raise ValueError(f"in-{world}.toml: {NOT_RUN}: no such claim, nothing to run, or named twice: {', '.join(wrong)}")
    return classes


def told(rows: dict[str, Row], claims: int, without: int, named: int = 0) -> str:
    """Return a sentence with the number of claims that hold.

    `without` claims have nothing to run, and `named` are not run for a reason.
    """
    ran = [r for r in rows.values() if r.ran]
    text = f"{sum(r.verdict in _GOOD for r in ran)} of {len(ran)} claims hold"
    refused = sum(r.verdict == REFUSED for r in rows.values())
    broken = sum(r.verdict == BROKEN for r in rows.values())
    missing = {
        "cannot be run there": refused,
        "failed": broken,
        "are not run": named,
        "are unknown": claims - without - len(rows) - named,
        "have nothing to run": without,
    }
    text += "".join(f", {n} {what}" for what, n in missing.items() if n)
    both = sum(r.verdict in _GOOD and r.simulator in _GOOD for r in ran)
    here = sum(r.simulator in _GOOD for r in ran)
    return f"{text}. With the same runs {here} hold in the simulator, and {both} in both"


#: A table of the scorecard has claims in its rows if its heads begin so; the verdict's is the last before the column.
_CLAIMS = "| claim | document |"


def lay(card: str, papers: list[Paper], world: str) -> str:
    """Add the column to a scorecard, or replace it."""
    head = f"in {world}"
    kept = {p.slug: rows for p in papers if (rows := read(p.folder, world))}
    by_slug = {p.slug: p for p in papers}
    reasons = {p.slug: {name: c.short for c in not_run(p, world) for name in c.claims} for p in papers}
    lines: list[str] = []
    slug, column = "", False
    for line in strip(card, world).splitlines():
        if section := re.fullmatch(r"## (\S+)", line):
            slug = section[1]
        elif line.startswith(_CLAIMS) and slug in kept:
            column = True
            paper = by_slug[slug]
            without = sum(not j.uses for j in paper.judges.values())
            named = sum(name not in kept[slug] for name in reasons[slug])
            counts = told(kept[slug], len(paper.claims), without, named)
            lines += [f"{_begin(world)} {counts}: [in-{world}.md]({slug}/in-{world}.md)."]
            lines += ["", f"{line} {head} |"]
            continue
        if column and line.startswith("|---"):
            line += "---|"
        elif column and line.startswith("| "):
            name = line.split("|")[1].strip().strip("*")
            line += f" {_cell(by_slug[slug], kept[slug], reasons[slug], name)} |"
        elif column:
            column = False
        lines.append(line)
    return "\n".join(lines) + "\n"


def strip(card: str, world: str) -> str:
    """Remove the column from a scorecard."""
    lines: list[str] = []
    column = skip = False
    for line in card.splitlines():
        if line.startswith(_begin(world)):
            skip = True
            continue
        if skip and not line:
            skip = False
            continue
        if line.startswith(_CLAIMS) and line.endswith(f"| in {world} |"):
            column = True
        column = column and line.startswith("|")
        if column:
            # A bar within a cell is escaped.
            line = re.sub(r"(?<!\\)\|(?:\\\||[^|])*\|$", "|", line)
        lines.append(line)
    return "\n".join(lines) + "\n"


def _begin(world: str) -> str:
    return f"On the backend `{world}`:"


def _cell(paper: Paper, rows: dict[str, Row], reasons: dict[str, str], claim: str) -> str:
    if not paper.judges[claim].uses:
        return NOTHING
    if claim in rows:
        return rows[claim].cell
    return f"{MARK[REFUSED]}: {reasons[claim]}" if claim in reasons else UNKNOWN
