"""Scorecard: every claim with the document's value and the measurement."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _basis
from ._session import AFTERWARDS, BROKEN, MANY_SEEDS, MOST_HOPS, NAMED, NOT, REFUSED, STATED, UNDECIDED

if TYPE_CHECKING:
    from ._claims import Claim
    from ._measured import Measured
    from ._run import Scale
    from ._session import Outcome, Verdict

#: Formatting for tables.
MARK = {
    STATED: "yes",
    NAMED: "named",
    AFTERWARDS: "NO, afterwards",
    NOT: "NO",
    UNDECIDED: "not decided",
    BROKEN: "BROKEN",
    REFUSED: "not run",
}
_COLOR = {STATED: "32", NAMED: "36", AFTERWARDS: "33", NOT: "31", UNDECIDED: "33", BROKEN: "35", REFUSED: "2"}
#: Heads of the table of papers.
HEADS = (
    "| paper | claims | as stated | named beforehand | NO | of these found afterwards | headline | runs | fingerprint | version |"
)
#: Titles of the remarks on claims, and the head of the table of readings.
FAILED = "Claims that do not hold as stated, with the reasons:"
LESS = "Verdicts that prove less than they seem to:"
READINGS = [
    "Every reading, with the claims that hold under it and those that do not:",
    "",
    "| reading | origin | holds | does not |",
    "|---|---|---|---|",
]
#: Descriptions of the scales.
SCALE = {
    "quick": "A quick reproduction: few seeds and short runs, judged in wider bands (`python/forebay/repro/_verdict.py`).",
    "full": "At the default scale, half an hour of runs. *Rests on* names runs that are fewer than the specification requires.",
    "document": "At the scale of the specifications.",
}


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
    """Write a value of any shape in one line."""
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
    """Write the document's value, as numbers if it has any."""
    return shape(claim.expected)


def measured(m: Measured) -> str:
    """Write the measurement, with its interval."""

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


#: More numbers than this are shown as a range; `--verbose` and the pages list all.
_MANY = 8


def brief(m: Measured) -> str:
    """Write the measurement in a readable line: many numbers as ranges, those of an order by name over all points."""
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


@dataclass(frozen=True)
class Entry:
    """Verdict of a claim, for counting."""

    claim: str
    headline: bool
    #: One of `STATUSES`.
    status: str
    #: True if it does not hold and nothing says why.
    unexplained: bool = False

    @property
    def good(self) -> bool:
        """True if it counts as reproduced."""
        return self.status in (STATED, NAMED)


def entries(verdicts: list[Verdict]) -> list[Entry]:
    """Return the verdicts for counting."""
    failed = (AFTERWARDS, NOT, UNDECIDED)
    return [Entry(v.claim.id, v.claim.headline, v.status, v.status in failed and not v.explanation) for v in verdicts]


def tally(found: list[Entry]) -> dict[str, int]:
    """Count the verdicts of each kind, and of headline claims."""
    head = [e for e in found if e.headline]
    return {
        "claims": len(found),
        "stated": sum(e.status == STATED for e in found),
        "named": sum(e.status == NAMED for e in found),
        "not": sum(e.status in (AFTERWARDS, NOT) for e in found),
        "afterwards": sum(e.status == AFTERWARDS for e in found),
        "undecided": sum(e.status == UNDECIDED for e in found),
        "broken": sum(e.status == BROKEN for e in found),
        "unexplained": sum(e.unexplained for e in found),
        "headline": len(head),
        "headline_stated": sum(e.status == STATED for e in head),
        "headline_named": sum(e.status == NAMED for e in head),
        "headline_good": sum(e.good for e in head),
    }


def _wrong(o: Outcome, v: Verdict) -> str:
    """Name whose error a claim is that does not hold."""
    if v.status not in (AFTERWARDS, NOT, UNDECIDED):
        return ""
    opinion = o.paper.opinions.get(v.claim.id)
    return f", {opinion.wrong}" if opinion and opinion.wrong else ", open"


def _second(o: Outcome, v: Verdict) -> str:
    """Give the evidence of another source on a claim that does not hold as stated, or say that there is none."""
    opinion = o.paper.opinions.get(v.claim.id)
    if opinion and opinion.evidence:
        return f" Second opinion: {opinion.evidence}"
    return " Second opinion: none, not run in a second simulator." if _wrong(o, v) else ""


def second_count(found: list[Entry], late: set[str]) -> str:
    """Count the headline claims without those of `late`: they hold only with a correction found after a failure. May be empty."""
    head = [e for e in found if e.headline]
    without = [e.claim for e in head if e.good and e.claim in late]
    if not without:
        return ""
    left = sum(e.good for e in head) - len(without)
    return (
        f"Without corrections of set-ups that were found after a claim had failed: headline {left} of {len(head)},"
        f" {left / len(head):.0%}; the difference: {', '.join(f'`{name}`' for name in without)}."
    )


#: Fewer timeouts or losses than this decide nothing.
FEW = 5


def few(v: Verdict) -> str:
    """Say that a verdict rests on few timeouts or losses, or that single seeds turn it; may be empty."""
    told = []
    basis = v.measured[v.by].basis if v.measured else None
    if basis is not None:
        timeouts, losses = sum(basis.timeouts.values()), basis.losses or 0
        if v.claim.on_timeouts and 0 < timeouts < FEW:
            told.append(f"it rests on {timeouts} timeout{'' if timeouts == 1 else 's'}")
        if v.claim.on_losses and 0 < losses < FEW:
            told.append(f"it rests on {losses} lost packet{'' if losses == 1 else 's'}")
    if v.before is not None:
        told.append(f"{v.before.turning} of {v.before.seeds} seeds alone gave another verdict")
        told.append(f"judged on {v.seeds} seeds, of which {v.turning} give another one")
        if v.before.good != v.good:
            told.append(f"on {v.before.seeds} seeds it was: {MARK[v.before.status]}")
    elif v.turns:
        told.append(f"{v.turning} of {v.seeds} seeds alone give another verdict")
        if v.beyond:
            hops = f"{v.beyond:.1g} packet hops, above the limit of {MOST_HOPS:.0g}"
            told.append(f"not judged on {MANY_SEEDS} seeds, because the others need {hops}")
    return "; ".join(told)


def _cautions(o: Outcome) -> list[str]:
    """List the claims that hold and show less than they seem to, and the verdicts on few timeouts or seeds."""
    by = {v.claim.id: v for v in o.verdicts if v.good}
    found = [(name, opinion.caution) for name, opinion in o.paper.opinions.items() if name in by and opinion.caution]
    found += [(v.claim.id, f"{told}.") for v in o.verdicts if (told := few(v))]
    if not found:
        return []
    return ["", LESS, "", *(f"* `{name}`: {caution}" for name, caution in found)]


def terminal(outcome: Outcome, *, color: bool, details: bool) -> str:
    """Write the scorecard of a paper for a terminal."""
    lines = [f"{outcome.paper.slug}: {outcome.paper.title}" if outcome.paper.title != outcome.paper.slug else outcome.paper.slug]
    for v in outcome.verdicts:
        mark = MARK[v.status]
        if color:
            mark = f"\x1b[{_COLOR[v.status]}m{mark:14}\x1b[0m"
        head = "*" if v.claim.headline else " "
        lines.append(f"  {mark:14} {head} {v.claim.id}{' (in the wider band)' if v.wide else ''}")
        pad = " " * 19
        if v.error:
            lines.append(f"{pad}{v.error}")
        if v.measured and (details or v.status != STATED):
            unit = f" [{v.claim.unit}]" if v.claim.unit else ""
            lines.append(f"{pad}published {published(v.claim)}{unit}")
            tell = measured if details else brief
            for m, j in zip(v.measured, v.judged, strict=True):
                under = f" under {m.reading.text} ({m.reading.origin})" if m.reading else ""
                lines.append(f"{pad}measured  {tell(m)}{under}{'; ' + m.note if m.note else ''}")
                if j.why and (details or not j.holds):
                    lines.append(f"{pad}          {j.why}")
                if details and rests_on(v, m):
                    lines.append(f"{pad}          rests on {rests_on(v, m)}")
        elif v.measured:
            lines.append(f"{pad}{brief(v.measured[v.by])}")
        if v.explanation and v.status not in (STATED, BROKEN):
            lines.append(f"{pad}reason    {v.explanation}")
        elif v.status in (AFTERWARDS, NOT, UNDECIDED):
            lines.append(f"{pad}UNEXPLAINED")
        if told := elsewhere(outcome, v.claim.id):
            lines.append(f"{pad}in {outcome.world}: {told}")
    for number_, text in outcome.broken_figures.items():
        lines.append(f"  figure {number_} is not drawn: {text.strip().splitlines()[-1]}")
    lines.append("  " + summary(outcome.verdicts))
    if outcome.elsewhere is not None:
        lines.append(f"  in {outcome.world}: {summary_elsewhere(outcome)}")
        lines += [f"  {line}" for line in changes(outcome)]
    return "\n".join(lines)


def summary(verdicts: list[Verdict]) -> str:
    """One line over all claims."""
    return summary_of(entries(verdicts))


def summary_of(found: list[Entry]) -> str:
    """One line over counted verdicts."""
    t = tally(found)
    text = (
        f"{t['stated']} of {t['claims']} claims hold as stated, {t['named']} under a reading named beforehand, {t['not']} do not"
    )
    asides = [
        f"{t[k]} {told}"
        for k, told in (("afterwards", "under a reading found afterwards"), ("unexplained", "unexplained"))
        if t[k]
    ]
    if asides:
        text += f" ({', '.join(asides)})"
    text += "".join(f", {t[k]} {told}" for k, told in (("undecided", "not decided"), ("broken", "not evaluated")) if t[k])
    if t["headline"]:
        text += f"; headline {t['headline_good']} of {t['headline']}, {t['headline_good'] / t['headline']:.0%}"
        text += f" ({t['headline_stated']} as stated, {t['headline_named']} under a reading named beforehand)"
    return text


def elsewhere(outcome: Outcome, claim: str) -> str:
    """Describe the result of a claim on the other backend in a line; empty without a result."""
    if outcome.elsewhere is None or not outcome.paper.judges[claim].uses:
        return ""
    v = next(v for v in outcome.elsewhere.verdicts if v.claim.id == claim)
    return f"{MARK[v.status]}{', wider band' if v.wide else ''}: {told(v)}"


def told(v: Verdict) -> str:
    """Describe the measurement of a claim, or the reason why there is none."""
    return brief(v.measured[v.told]) if v.measured else v.error


def summary_elsewhere(outcome: Outcome) -> str:
    """One line over the claims with runs, on the other backend and in the simulator."""
    if outcome.elsewhere is None:
        return ""
    own = {v.claim.id: v for v in outcome.verdicts}
    there = [v for v in outcome.elsewhere.verdicts if outcome.paper.judges[v.claim.id].uses]
    ran = [v for v in there if v.status not in (REFUSED, BROKEN)]
    good = sum(v.good for v in ran)
    differ = [v.claim.id for v in ran if v.good != own[v.claim.id].good]
    text = f"{good} of {len(ran)} claims hold"
    refused, broken = (sum(v.status == s for v in there) for s in (REFUSED, BROKEN))
    text += f", {refused} cannot run" if refused else ""
    text += f", {broken} failed" if broken else ""
    return text + (f"; the verdict of the simulator differs for {', '.join(differ)}" if differ else "")


def changes(outcome: Outcome) -> list[str]:
    """List the changes to keys of the document's files for the backend."""
    changed = outcome.elsewhere.changed if outcome.elsewhere is not None else {}
    by: dict[str, list[str]] = {}
    for name, keys in changed.items():
        by.setdefault(", ".join(f"{k} = {json.dumps(v)}" for k, v in sorted(keys.items())), []).append(name)
    return [
        f"settings changed for this backend: {keys} (experiment{'s' * (len(names) > 1)} {', '.join(names)})"
        for keys, names in by.items()
    ]


def rests_on(v: Verdict, m: Measured) -> str:
    """Flows, timeouts and scale of a measurement, more seeds than the experiment has, and the effect of the scale."""
    text = _basis.text(m.basis, v.scales) + (f"; judged on {v.seeds} seeds" if v.before is not None else "")
    return f"{text}. {v.scale_note}" if v.scale_note else text


def markdown(outcomes: list[Outcome], command: str, version: str, *, scale: Scale) -> str:
    """Write the scorecard of all papers as a page; equal results give equal text."""
    everything = [v for o in outcomes for v in o.verdicts]
    lines = ["# Scorecard", "", f"`{command}` with {version}.", "", summary(everything) + ".", ""]
    late = {name for o in outcomes for name, opinion in o.paper.opinions.items() if opinion.late}
    if second := second_count(entries(everything), late):
        lines += [second, ""]
    lines += [SCALE[scale], ""]
    lines += [
        "A *reading* is an interpretation of a sentence or a gap of the document. Measurements are in three columns:",
        "",
        "* *as stated*: with the values of the document, and the recommended readings of the specification,",
        "* *under a reading named beforehand*: in the specification, the claims file or the readme; one for all claims of an",
        "  experiment,",
        "* *found afterwards*: under a reading that was found after a claim had failed, or that contradicts the document.",
        "",
        "Verdicts: **yes**: the claim holds as stated. **named**: it holds under the reading named beforehand. **NO**: it does",
        "not hold. **NO, afterwards**: it holds only under a reading of the third column, which counts as not reproduced. The",
        "word after a verdict names the origin of the error: ours, the document's, or open. The explanation follows the table,",
        "with the evidence of a second simulator. Headline claims are in bold. Intervals are 95 % confidence intervals over",
        "seeds. Tolerances and their reasons are in each paper's `claims.toml`; [CHANGES.md](CHANGES.md) lists the corrected",
        "claims. Of many values only the range is shown; the pages list all. *Rests on* counts flows and timeouts of the runs",
        "behind a verdict.",
        "",
        HEADS,
        "|---|--:|--:|--:|--:|--:|--:|--:|---|---|",
    ]
    for o in outcomes:
        t = tally(entries(o.verdicts))
        head = f"{t['headline_good']} of {t['headline']}"
        no = t["not"] + t["undecided"] + t["broken"]
        lines.append(
            f"| [{o.paper.slug}](#{o.paper.slug}) | {t['claims']} | {t['stated']} | {t['named']} | {no} | {t['afterwards']}"
            f" | {head} | {o.runs} | `{o.fingerprint}` | {_cell(version)} |"
        )
    for o in outcomes:
        lines += ["", f"## {o.paper.slug}", ""]
        if o.paper.title != o.paper.slug:
            lines += [f"{o.paper.title}. [Setup]({o.paper.slug}/README.md).", ""]
        heads = ["claim", "document", "as stated", "under a reading named beforehand", "found afterwards", "rests on", "verdict"]
        if o.elsewhere is not None:
            heads.append(f"in {o.world}")
            lines += [f"On the backend `{o.world}`: {summary_elsewhere(o)}.", *(f"* {line}" for line in changes(o)), ""]
        lines += ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
        for v in o.verdicts:
            name = f"**{v.claim.id}**" if v.claim.headline else v.claim.id
            unit = f" {v.claim.unit}" if v.claim.unit and v.claim.unit not in ("ratio", "fraction", "count") else ""
            columns = (
                [_cell(_told(v.measured[i])) if i is not None else "" for i in v.columns]
                if v.measured
                else [_cell(v.error), "", ""]
            )
            basis = _cell(rests_on(v, v.measured[v.by])) if v.measured else ""
            mark = MARK[v.status] + _wrong(o, v) + (", wider band" if v.wide else "")
            there = [] if o.elsewhere is None else [_cell(elsewhere(o, v.claim.id))]
            lines.append(f"| {' | '.join([name, _cell(published(v.claim) + unit), *columns, basis, mark, *there])} |")
        told = [v for v in o.verdicts if v.status != STATED]
        if told:
            lines += ["", FAILED, ""]
            for v in told:
                lines.append(f"* `{v.claim.id}` ({MARK[v.status]}{_wrong(o, v)}): {v.claim.statement} {reason(v)}{_second(o, v)}")
        lines += _cautions(o)
        lines += _under_readings(o)
    return "\n".join(lines) + "\n"


def _told(m: Measured) -> str:
    return brief(m) + (f" *under {m.reading.text} ({m.reading.origin})*" if m.reading else "")


def _under_readings(o: Outcome) -> list[str]:
    """List the results of each reading for all claims measured under it, including those that do not need it."""
    by: dict[str, list[tuple[str, bool]]] = {}
    origin: dict[str, str] = {}
    for v in o.verdicts:
        for m, j in zip(v.measured, v.judged, strict=True):
            if m.reading is not None:
                by.setdefault(m.reading.text, []).append((v.claim.id, j.holds))
                origin[m.reading.text] = m.reading.origin
    if not by:
        return []
    lines = ["", *READINGS]
    for text, claims in by.items():
        yes, no = ([f"`{c}`" for c, holds in claims if holds is want] for want in (True, False))
        lines.append(f"| {_cell(text)} | {_cell(origin[text])} | {' '.join(yes)} | {' '.join(no)} |")
    return lines


def table(outcomes: list[Outcome]) -> str:
    """Write the verdicts as CSV: the result of each claim, without measurements."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["paper", "claim", "strength", "verdict", "wider_band", "reading"])
    for o in outcomes:
        for v in o.verdicts:
            strength = "headline" if v.claim.headline else "supporting"
            by = v.measured[v.by].reading if v.measured and v.judged[v.by].holds else None
            wide = "yes" if v.wide else "no"
            rows.writerow([o.paper.slug, v.claim.id, strength, v.status, wide, by.text if by else ""])
    return out.getvalue()


def shown(v: Verdict) -> list[tuple[str, Measured]]:
    """Choose the runs to show: the best of each column."""
    names = ("as stated", "named beforehand", "found afterwards")
    return [(name, v.measured[i]) for name, i in zip(names, v.columns, strict=True) if i is not None]


def reason(v: Verdict) -> str:
    """Explain the verdict of a claim."""
    parts = []
    if v.judged and not v.judged[0].holds and v.judged[0].why:
        parts.append(f"Measured: {_first(v.judged[0].why)}.")
    by = v.measured[v.by].reading if v.measured else None
    if by and v.status in (NAMED, AFTERWARDS):
        parts.append(f"Holds under {by.text} ({by.origin}).")
    parts.append(v.error or v.explanation or ("**Unexplained.**" if v.status in (AFTERWARDS, NOT, UNDECIDED) else ""))
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
