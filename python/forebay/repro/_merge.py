"""Scorecards of single papers, merged into the one of all: each paper keeps the version that it was run with."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from . import _column, _scorecard, _worlds
from ._scorecard import MARK, Entry

if TYPE_CHECKING:
    from pathlib import Path

    from ._paper import Paper

_STATUS = {mark: status for status, mark in MARK.items()}
_MARKS = "|".join(sorted(map(re.escape, _STATUS), key=len, reverse=True))
_ROW = re.compile(rf"^\| (\*\*)?([a-z0-9-]+)(?:\*\*)? \| .* \| ({_MARKS})(?:, (?:ours|document|open))?(?:, wider band)? \|$")


def version(simulator: str, folder: Path) -> str:
    """Return the version of the simulator with the commit of the checkout that has the paper, if it is in one."""

    def git(*words: str) -> str:
        try:
            done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    commit = git("log", "-1", "--format=%h, %cs")
    if not commit:
        return simulator
    top = git("rev-parse", "--show-toplevel")
    changed = git("status", "--porcelain", "--", str(folder), f"{top}/crates", f"{top}/python")
    return f"{simulator} ({commit}{', with uncommitted changes' if changed else ''})"


def merge(kept: str, card: str, papers: list[Paper]) -> str:
    """Return a scorecard with the papers of `card`, and of `kept` those that `card` does not have."""
    for world in _worlds.OTHERS:
        kept, card = _column.strip(kept, world), _column.strip(card, world)
    slugs = [p.slug for p in papers]
    (_, old_rows, old), (head, rows, new) = _split(kept, slugs), _split(card, slugs)
    sections, lines = {**old, **new}, {**old_rows, **rows}
    if set(new) >= set(old):
        return card
    order = [s for s in slugs if s in sections]
    entries = {p.slug: _entries(sections[p.slug]) for p in papers if p.slug in sections}
    late = {name for p in papers for name, opinion in p.opinions.items() if opinion.late}
    every = [e for s in order for e in entries[s]]
    start = head.index(_scorecard.HEADS)
    told = ["# Scorecard", "", "Each paper was run with the version in its row.", ""]
    told += [_scorecard.summary_of(every) + ".", ""]
    if second := _scorecard.second_count(every, late):
        told += [second, ""]
    scale = next(i for i, line in enumerate(head) if line in _scorecard.SCALE.values())
    told += [*head[scale : start + 2], *(lines[s] for s in order if s in lines)]
    for slug in order:
        told += ["", *sections[slug]]
    return "\n".join(told) + "\n"


def _split(card: str, slugs: list[str]) -> tuple[list[str], dict[str, str], dict[str, list[str]]]:
    """Split a scorecard into its head, the papers' rows of its first table, and the papers' sections."""
    head: list[str] = []
    rows: dict[str, str] = {}
    sections: dict[str, list[str]] = {}
    into = head
    for line in card.splitlines():
        if (found := re.fullmatch(r"## (\S+)", line)) and found[1] in slugs:
            into = sections.setdefault(found[1], [])
        if into is head and (found := re.match(r"\| \[(\S+)\]\(#", line)):
            rows[found[1]] = line
        else:
            into.append(line)
    for section in sections.values():
        while section and not section[-1]:
            section.pop()
    return head, rows, sections


def _entries(section: list[str]) -> list[Entry]:
    """Return the verdicts of a section."""
    found = (_ROW.match(line) for line in section)
    return [Entry(m[2], bool(m[1]), _STATUS[m[3]]) for m in found if m]
