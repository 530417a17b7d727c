"""The scorecard: every claim, what the document says, what was measured."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any

from ._session import BROKEN, NOT, READING, REPRODUCED

if TYPE_CHECKING:
    from ._claims import Claim
    from ._measured import Measured
    from ._session import Outcome, Verdict

_MARK = {REPRODUCED: "yes", READING: "reading", NOT: "NO", BROKEN: "BROKEN"}
_COLOR = {REPRODUCED: "32", READING: "36", NOT: "31", BROKEN: "35"}


def number(v: Any) -> str:
    """Write a number in three or four digits."""
    if isinstance(v, bool) or v is None:
        return {True: "yes", False: "no", None: ""}[v]
    if isinstance(v, str):
        return v
    v = float(v)
    if math.isnan(v):
        return "none"
    if v == int(v) and abs(v) < 1e6:
        return str(int(v))
    return f"{v:.3g}" if abs(v) < 1000 else f"{v:.0f}"


def shape(v: Any) -> str:
    """Write a value, whatever its shape, in one line."""
    if isinstance(v, dict):
        if "op" in v and "value" in v:
            return f"{v['op']} {number(v['value'])}"
        if "groups" in v:
            return " < ".join(" , ".join(g) for g in v["groups"])
        if v and all(isinstance(e, dict) for e in v.values()) and not any("op" in e for e in v.values()):
            return "; ".join(f"{k}: {shape(e)}" for k, e in v.items())
        return ", ".join(f"{k} {shape(e)}" for k, e in v.items())
    if isinstance(v, (list, tuple)):
        if v and isinstance(v[0], tuple):
            return ", ".join(f"{k} {shape(e)}" for k, e in v)
        return "[" + ", ".join(shape(e) for e in v) + "]"
    return number(v)


def published(claim: Claim) -> str:
    """Write what the document says, as numbers where it gives any."""
    return shape(claim.expected)


def measured(m: Measured) -> str:
    """Write what was measured, with its interval."""

    def walk(v: Any, low: Any, high: Any) -> str:
        if isinstance(v, (list, tuple)) and v and isinstance(v[0], tuple):
            v, low, high = dict(v), dict(low or ()), dict(high or ())
        if isinstance(v, dict):
            nested = any(isinstance(e, dict) for e in v.values())
            parts = [f"{k}{':' if nested else ''} {walk(e, _at(low, k), _at(high, k))}" for k, e in v.items()]
            return ("; " if nested else ", ").join(parts)
        if isinstance(v, (list, tuple)):
            return "[" + ", ".join(walk(e, _at(low, i), _at(high, i)) for i, e in enumerate(v)) + "]"
        text = number(v)
        if isinstance(low, (int, float)) and isinstance(high, (int, float)) and high - low > 1e-9 * max(abs(low), abs(high)):
            half = (high - low) / 2
            text += (
                f" ±{half:.2g}" if abs((high + low) / 2 - v) < 1e-9 * max(1, abs(v)) else f" ({number(low)} to {number(high)})"
            )
        return text

    return walk(m.value, m.low, m.high)


#: More numbers than this are told by their range; `--verbose` and the pages have them all.
_MANY = 8


def brief(m: Measured) -> str:
    """Write what was measured in a line that can be read: many numbers as ranges, those of an order by name over all points."""
    value = dict(m.value) if isinstance(m.value, (list, tuple)) and m.value and isinstance(m.value[0], tuple) else m.value
    if len(_leaves(value)) <= _MANY:
        return measured(m)
    inner = [set(v) for v in value.values() if isinstance(v, dict)] if isinstance(value, dict) else []
    if len(inner) == len(value) and all(names == inner[0] for names in inner) and len(inner[0]) <= _MANY:
        names = next(iter(value.values()))
        return f"at {len(value)} points: " + ", ".join(f"{n} {_range([v[n] for v in value.values()])}" for n in names)
    return f"{len(_leaves(value))} values, {_range(value)}"


def _range(value: Any) -> str:
    leaves = [v for v in _leaves(value) if v is not None]
    low, high = number(min(leaves, default=math.nan)), number(max(leaves, default=math.nan))
    return low if low == high else f"{low} to {high}"


def _leaves(value: Any) -> list[Any]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else None
    return [value] if parts is None else [leaf for part in parts for leaf in _leaves(part)]


def _at(ends: Any, key: Any) -> Any:
    """Return the end of an interval that belongs to a part of a value."""
    if isinstance(ends, dict):
        return ends.get(key)
    return ends[key] if isinstance(ends, (list, tuple)) and isinstance(key, int) and key < len(ends) else None


def tally(verdicts: list[Verdict]) -> dict[str, int]:
    """Count the verdicts of each kind, and of headline claims."""
    head = [v for v in verdicts if v.claim.headline]
    return {
        "claims": len(verdicts),
        "reproduced": sum(v.status == REPRODUCED for v in verdicts),
        "reading": sum(v.status == READING for v in verdicts),
        "not": sum(v.status == NOT for v in verdicts),
        "broken": sum(v.status == BROKEN for v in verdicts),
        "unexplained": sum(v.status == NOT and not v.explanation for v in verdicts),
        "headline": len(head),
        "headline_good": sum(v.good for v in head),
    }


def terminal(outcome: Outcome, *, color: bool, details: bool) -> str:
    """Write the scorecard of a paper for a terminal."""
    lines = [f"{outcome.paper.slug}: {outcome.paper.title}" if outcome.paper.title != outcome.paper.slug else outcome.paper.slug]
    for v in outcome.verdicts:
        mark = _MARK[v.status]
        if color:
            mark = f"\x1b[{_COLOR[v.status]}m{mark:8}\x1b[0m"
        head = "*" if v.claim.headline else " "
        lines.append(f"  {mark:8} {head} {v.claim.id}{' (in the wider band)' if v.wide else ''}")
        pad = " " * 13
        if v.error:
            lines.append(f"{pad}{v.error}")
        if v.measured and (details or v.status != REPRODUCED):
            unit = f" [{v.claim.unit}]" if v.claim.unit else ""
            lines.append(f"{pad}published {published(v.claim)}{unit}")
            tell = measured if details else brief
            for m, j in zip(v.measured, v.judged, strict=True):
                under = f" under {m.reading}" if m.reading else ""
                lines.append(f"{pad}measured  {tell(m)}{under}{'; ' + m.note if m.note else ''}")
                if j.why and (details or not j.holds):
                    lines.append(f"{pad}          {j.why}")
        elif v.measured:
            lines.append(f"{pad}{brief(v.measured[v.by])}")
        if v.explanation and v.status in (NOT, READING):
            lines.append(f"{pad}because   {v.explanation}")
        elif v.status == NOT:
            lines.append(f"{pad}UNEXPLAINED")
    for number_, text in outcome.broken_figures.items():
        lines.append(f"  figure {number_} is not drawn: {text.strip().splitlines()[-1]}")
    lines.append("  " + summary(outcome.verdicts))
    return "\n".join(lines)


def summary(verdicts: list[Verdict]) -> str:
    """One line over all claims."""
    t = tally(verdicts)
    text = f"{t['reproduced']} of {t['claims']} claims reproduced, {t['reading']} under a reading, {t['not']} not"
    if t["unexplained"]:
        text += f" ({t['unexplained']} unexplained)"
    if t["broken"]:
        text += f", {t['broken']} not evaluated"
    if t["headline"]:
        text += f"; headline {t['headline_good']} of {t['headline']}, {t['headline_good'] / t['headline']:.0%}"
    return text


def markdown(outcomes: list[Outcome], command: str, version: str, *, quick: bool) -> str:
    """Write the scorecard of all papers as a page: the same text for the same results, whenever and wherever they are made."""
    everything = [v for o in outcomes for v in o.verdicts]
    lines = ["# Scorecard", "", f"`{command}` with {version}.", "", summary(everything) + ".", ""]
    if quick:
        lines += [
            "A quick reproduction: few seeds and short runs, judged in wider bands (`python/forebay/repro/_verdict.py`).",
            "",
        ]
    lines += [
        "Verdicts: **yes**: reproduced as the document describes it, with the recommended reading of what it leaves open.",
        "**reading**: reproduced under another, named reading. **NO**: not reproduced; the explanation follows the table.",
        "Headline claims are in bold. Intervals are 95 % confidence intervals over seeds. Tolerances and their reasons are",
        "in each paper's `claims.toml`. Where many values were measured, their range is shown; the pages have them all.",
        "",
        "| paper | claims | yes | reading | NO | headline | runs | fingerprint |",
        "|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for o in outcomes:
        t = tally(o.verdicts)
        head = f"{t['headline_good']} of {t['headline']}"
        lines.append(
            f"| [{o.paper.slug}](#{o.paper.slug}) | {t['claims']} | {t['reproduced']} | {t['reading']} | {t['not'] + t['broken']}"
            f" | {head} | {o.runs} | `{o.fingerprint}` |"
        )
    for o in outcomes:
        lines += ["", f"## {o.paper.slug}", ""]
        if o.paper.title != o.paper.slug:
            lines += [f"{o.paper.title}. [What was set up]({o.paper.slug}/README.md).", ""]
        lines += ["| claim | document | measured | verdict |", "|---|---|---|---|"]
        for v in o.verdicts:
            name = f"**{v.claim.id}**" if v.claim.headline else v.claim.id
            unit = f" {v.claim.unit}" if v.claim.unit and v.claim.unit not in ("ratio", "fraction", "count") else ""
            found = [_cell(brief(m) + (f" *under {m.reading}*" if m.reading else "")) for m in shown(v)]
            got = "<br>".join(found) or _cell(v.error)
            mark = _MARK[v.status] + (", wider band" if v.wide else "")
            lines.append(f"| {name} | {_cell(published(v.claim) + unit)} | {got} | {mark} |")
        told = [v for v in o.verdicts if v.status != REPRODUCED]
        if told:
            lines += ["", "What is not plainly reproduced, and why:", ""]
            for v in told:
                lines.append(f"* `{v.claim.id}` ({_MARK[v.status]}): {v.claim.statement} {reason(v)}")
    return "\n".join(lines) + "\n"


def table(outcomes: list[Outcome]) -> str:
    """Write the verdicts as CSV, for programs: what became of each claim, without measurements."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["paper", "claim", "strength", "verdict", "wider_band"])
    for o in outcomes:
        for v in o.verdicts:
            strength = "headline" if v.claim.headline else "supporting"
            rows.writerow([o.paper.slug, v.claim.id, strength, v.status, "yes" if v.wide else "no"])
    return out.getvalue()


def shown(v: Verdict) -> list[Measured]:
    """Choose what is worth showing: the recommended reading, and the one that decided."""
    return [v.measured[i] for i in sorted({0, v.by})] if v.measured else []


def reason(v: Verdict) -> str:
    """Why a claim has the verdict it has."""
    parts = []
    if v.judged and not v.judged[0].holds and v.judged[0].why:
        parts.append(f"Measured: {_first(v.judged[0].why)}.")
    if v.status == READING:
        parts.append(f"Holds under {v.measured[v.by].reading}.")
    parts.append(v.error or v.explanation or ("**Unexplained.**" if v.status == NOT else ""))
    return " ".join(p for p in parts if p)


def _first(why: str) -> str:
    """Shorten a list of points that do not hold."""
    head, found, points = why.partition("; not: ")
    some = points.split("; ")
    if not found or len(some) <= 3:
        return why
    return f"{head}; not, among {len(some)}: {'; '.join(some[:3])}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
