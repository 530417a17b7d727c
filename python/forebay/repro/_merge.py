"""Scorecards of single papers or claims, merged into the one of all: the rest keeps the version that it was run with."""

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
#: A remark on a claim.
_REMARK = re.compile(r"^(\*) `([a-z0-9-]+)`")


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
    """Return a scorecard with the papers and claims of `card`, and of `kept` those that `card` does not have."""
    for world in _worlds.OTHERS:
        kept, card = _column.strip(kept, world), _column.strip(card, world)
    slugs = [p.slug for p in papers]
    (_, old_rows, old), (head, rows, new) = _split(kept, slugs), _split(card, slugs)
    for p in papers:
        if p.slug in new and p.slug in old and len(_entries(new[p.slug])) < len(p.claims):
            some = [e.claim for e in _entries(new[p.slug])]
            old[p.slug] = _into(old[p.slug], new.pop(p.slug), list(p.claims))
            old_rows[p.slug] = _row(old_rows[p.slug], rows.pop(p.slug), _entries(old[p.slug]), len(some))
    if set(new) >= set(slugs):
        return card
    sections, lines = {**old, **new}, {**old_rows, **rows}
    order = [s for s in slugs if s in sections]
    late = {name for p in papers for name, opinion in p.opinions.items() if opinion.late}
    every = [e for s in order for e in _entries(sections[s])]
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


def _into(kept: list[str], new: list[str], order: list[str]) -> list[str]:
    """Return a section with the rows and remarks of some claims in place of those that it has."""
    some = {e.claim for e in _entries(new)}
    place = {name: i for i, name in enumerate(order)}
    blocks = {"rows": _ROW, _scorecard.FAILED: _REMARK, _scorecard.LESS: _REMARK}
    found: dict[str, dict[str, list[str]]] = {}
    rest: dict[str, list[str]] = {}
    for which, section in (("kept", kept), ("new", new)):
        at, rest[which] = "rows", []
        for line in section:
            at = line if line in blocks else at
            name = m[2] if (m := blocks[at].match(line)) else ""
            if not name:
                rest[which].append(line)
            elif which == "new" or name not in some:
                found.setdefault(at, {}).setdefault(name, []).append(line)
    head = next(i for i, line in enumerate(rest["kept"]) if line.startswith("| claim | document |"))
    lines = [*rest["kept"][: head + 2], *_ordered(found.get("rows", {}), place)]
    for title in (_scorecard.FAILED, _scorecard.LESS):
        if remarks := found.get(title):
            lines += ["", title, "", *_ordered(remarks, place)]
    readings = _under_readings(_readings(rest["kept"]), _readings(rest["new"]), set(some), place)
    return [*lines, "", *_scorecard.READINGS, *readings] if readings else lines


def _ordered(lines: dict[str, list[str]], place: dict[str, int]) -> list[str]:
    return [line for name in sorted(lines, key=lambda name: place.get(name, len(place))) for line in lines[name]]


def _under_readings(kept: list[str], new: list[str], some: set[str], place: dict[str, int]) -> list[str]:
    """Return the table of readings with the results of the claims `some` in place of those that it has."""
    merged: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for rows, of_new in ((kept, False), (new, True)):
        for row in rows:
            text, origin, *cells = (cell.strip() for cell in row[1:-1].split(" | "))
            for into, cell in zip(merged.setdefault((text, origin), ([], [])), cells, strict=True):
                into += [name for name in cell.replace("`", "").split() if of_new or name not in some]

    def names(cell: list[str]) -> str:
        return " ".join(f"`{name}`" for name in sorted(cell, key=lambda name: place.get(name, len(place))))

    return [f"| {text} | {origin} | {names(yes)} | {names(no)} |" for (text, origin), (yes, no) in merged.items() if yes or no]


def _readings(section: list[str]) -> list[str]:
    """Return the rows of the table of readings."""
    if _scorecard.READINGS[0] not in section:
        return []
    return [line for line in section[section.index(_scorecard.READINGS[0]) + len(_scorecard.READINGS) :] if line.startswith("|")]


def _row(kept: str, new: str, entries: list[Entry], some: int) -> str:
    """Return the row of a paper some of whose claims were run again."""
    old, version = ([cell.strip() for cell in row.strip("|").split(" | ")] for row in (kept, new))
    t = _scorecard.tally(entries)
    no = t["not"] + t["undecided"] + t["broken"]
    counts = [t["claims"], t["stated"], t["named"], no, t["afterwards"], f"{t['headline_good']} of {t['headline']}"]
    told = f"{old[9]}; {some} claim{'' if some == 1 else 's'}: {version[9]}"
    return f"| {' | '.join([old[0], *map(str, counts), old[7], old[8], told])} |"


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
