"""Appendix of an artifact evaluation: the parts that the artifact badges of ACM ask for.

Claims C1, C2, ..., and experiments E1, E2, ... with minutes, storage and expected results. Claims come from `claims.toml` of each
paper, expected verdicts from `quick.csv` beside the papers, and costs from `artifact.csv` there.
"""

from __future__ import annotations

import csv
import io
from dataclasses import astuple, dataclass, fields
from importlib.resources import files
from typing import TYPE_CHECKING

from ._scorecard import published
from ._session import BROKEN, NAMED, STATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ._claims import Claim
    from ._paper import Paper
    from ._session import Outcome

#: Files beside the papers, and of a run: expected verdicts, costs of each experiment, and the appendix.
VERDICTS, COSTS, PAGE = "quick.csv", "artifact.csv", "ARTIFACT.md"
#: Our estimate of the time to type a command and to read its last line, minutes.
HUMAN = 1

_TEMPLATE = files(__package__).joinpath("appendix.md").read_text()
_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Cost:
    """Measured cost of the experiment of a paper."""

    #: Name of the paper's folder.
    paper: str
    #: Number of simulations, and of those that an earlier, interrupted run had finished.
    runs: int
    found: int
    #: Processor time of all threads, which other load on the machine hardly changes.
    cpu_seconds: float
    #: Wall-clock time with this number of threads.
    seconds: float
    threads: int
    #: Finished runs and figures on disk.
    storage_bytes: int
    #: Peak of the process until the end of the experiment.
    memory_bytes: int


@dataclass(frozen=True)
class Entry:
    """A headline claim with its number in the appendix."""

    number: str
    claim: Claim
    #: Verdict of the reference run; `None` if there is none.
    expected: str | None


def verdicts(papers: Iterable[Paper]) -> dict[str, str]:
    """Return the expected verdict of each claim: that of the quick reproduction, beside the papers."""
    return {row["claim"]: row["verdict"] for row in _rows(papers, VERDICTS)}


def reference(papers: Iterable[Paper]) -> list[Cost]:
    """Return the costs of the reference run, beside the papers."""
    kinds = {"int": int, "float": float, "str": str}
    return [Cost(**{f.name: kinds[str(f.type)](row[f.name]) for f in fields(Cost)}) for row in _rows(papers, COSTS)]


def _rows(papers: Iterable[Paper], name: str) -> list[dict[str, str]]:
    """Read a table that is beside the papers, if it exists."""
    found: list[dict[str, str]] = []
    for file in dict.fromkeys(p.folder.parent / name for p in papers):
        if file.is_file():
            with file.open(newline="") as opened:
                found += csv.DictReader(opened)
    return found


def table(costs: Iterable[Cost]) -> str:
    """Write costs as CSV."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(f.name for f in fields(Cost))
    rows.writerows(astuple(c) for c in costs)
    return text.getvalue()


def unexpected(outcome: Outcome, expected: dict[str, str]) -> list[str]:
    """Return the claims whose verdict is not the expected one. Without an expected verdict, only a failed evaluation counts."""
    return [v.claim.id for v in outcome.verdicts if v.status == BROKEN or expected.get(v.claim.id, v.status) != v.status]


def numbered(papers: Iterable[Paper], expected: dict[str, str]) -> list[list[Entry]]:
    """Return the headline claims of each paper. They are numbered C1, C2, ... over all papers."""
    found: list[list[Entry]] = []
    count = 0
    for paper in papers:
        claims = [c for c in paper.claims.values() if c.headline]
        found.append([Entry(f"C{count + i}", c, expected.get(c.id)) for i, c in enumerate(claims, 1)])
        count += len(claims)
    return found


def page(papers: Sequence[Paper], expected: dict[str, str], costs: Iterable[Cost]) -> str:
    """Write the appendix. Equal claims, verdicts and costs give equal text."""
    by = {c.paper: c for c in costs}
    known = [by[p.slug] for p in papers if p.slug in by]
    listed = numbered(papers, expected)
    headline = [e for entries in listed for e in entries]
    head = _TEMPLATE.format(
        evaluations=_count(len(papers), "published evaluation"),
        experiments="E1" if len(papers) == 1 else f"E1 to E{len(papers)}",
        claims=sum(len(p.claims) for p in papers),
        headline=len(headline),
        good=sum(e.expected in (STATED, NAMED) for e in headline),
        memory=_megabytes(max((c.memory_bytes for c in known), default=1_000 * _MEGABYTE)),
        storage=_megabytes(sum(c.storage_bytes for c in known) if known else 1_000 * _MEGABYTE),
        human=HUMAN,
        time=_time(known),
    )
    sections = [
        _experiment(f"E{i}", paper, entries, expected, by.get(paper.slug))
        for i, (paper, entries) in enumerate(zip(papers, listed, strict=True), 1)
    ]
    return "\n".join([head, *sections])


def _experiment(number: str, paper: Paper, entries: list[Entry], expected: dict[str, str], cost: Cost | None) -> str:
    """Write the section of an experiment: cost, command, claims with the expected verdicts."""
    others = [c for c in paper.claims.values() if not c.headline]
    holding = sum(expected.get(c.id) in (STATED, NAMED) for c in others)
    costs = "machine time not measured"
    if cost is not None:
        costs = f"machine {minutes(cost.cpu_seconds)} min of processor time, storage {_megabytes(cost.storage_bytes)}"
    lines = [
        f"### {number}: {paper.title}",
        "",
        f"[human {HUMAN} min, {costs}]",
        "",
        f"Command: `forebay repro --artifact {paper.slug}`. The [page of the paper]({paper.slug}/README.md) has the setup.",
        f"Supporting claims that are judged as well: {len(others)}. Of these {holding} should hold.",
        "",
        "| claim | name | source | statement | published | expected result |",
        "|---|---|---|---|---|---|",
    ]
    for e in entries:
        cells = [e.number, f"`{e.claim.id}`", e.claim.source, e.claim.statement, published(e.claim), e.expected or "none known"]
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines) + "\n"


def results(papers: Sequence[Paper], outcomes: Sequence[Outcome], costs: Sequence[Cost], expected: dict[str, str]) -> str:
    """Write the results of a run, the last section of its appendix."""
    known = {c.paper: minutes(c.cpu_seconds) for c in reference(papers)}
    lines = [
        "## Results on this machine",
        "",
        "| experiment | verdicts as expected | minutes | processor time | of the reference run | storage | runs | fingerprint |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for i, (o, c) in enumerate(zip(outcomes, costs, strict=True), 1):
        same = f"{len(o.verdicts) - len(unexpected(o, expected))} of {len(o.verdicts)}"
        runs = f"{c.runs}, {c.found} of them from an earlier run" if c.found else f"{c.runs}"
        time = [minutes(c.seconds), minutes(c.cpu_seconds), known.get(c.paper, "")]
        cells = [f"E{i}", same, *time, _megabytes(c.storage_bytes), runs, o.fingerprint]
        lines.append("| " + " | ".join(cells) + " |")
    for o in outcomes:
        wrong = unexpected(o, expected)
        for v in (v for v in o.verdicts if v.claim.id in wrong):
            told = f": {_cell(v.error)}" if v.error else ""
            lines += ["", f"`{v.claim.id}`: expected {expected.get(v.claim.id, 'any verdict')}, found {v.status}{told}"]
    return "\n".join(lines) + "\n"


def minutes(seconds: float) -> str:
    """Write a time in minutes, at least 0.1."""
    return f"{max(seconds / 60, 0.1):.1f}"


def _time(known: Sequence[Cost]) -> str:
    if not known:
        return "not measured"
    cpu = sum(c.cpu_seconds for c in known)
    return f"{minutes(cpu)} min on one core, {minutes(cpu / 2)} min on two: the simulations are independent"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _megabytes(n: int) -> str:
    return f"{max(1, round(n / _MEGABYTE))} MB"


def _cell(text: str) -> str:
    """Write text into a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
