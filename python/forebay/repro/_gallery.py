"""Pages with each figure beside its claims, and explanations of claims that do not hold."""

from __future__ import annotations

import math
import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from . import _files
from ._scorecard import (
    SCALE,
    brief,
    elsewhere,
    entries,
    measured,
    published,
    reason,
    rests_on,
    shown,
    summary,
    summary_elsewhere,
    tally,
)
from ._session import AFTERWARDS, BROKEN, NAMED, NOT, REFUSED, STATED, UNDECIDED

if TYPE_CHECKING:
    from pathlib import Path

    from ._measured import Measured
    from ._run import Scale
    from ._session import Outcome, Verdict

_CLASS = {STATED: "yes", NAMED: "reading", AFTERWARDS: "no", NOT: "no", UNDECIDED: "no", BROKEN: "broken", REFUSED: "broken"}

_STYLE = files(__package__).joinpath("gallery.css").read_text()


def write(outcomes: list[Outcome], out: Path, command: str, *, scale: Scale) -> None:
    """Write `index.html` and a page for each paper, beside its figures."""
    for o in outcomes:
        folder = out / o.paper.slug
        folder.mkdir(parents=True, exist_ok=True)
        _files.write(folder / "index.html", _paper(o, command, scale=scale))
    _files.write(out / "index.html", _index(outcomes, command, scale=scale))


def _page(title: str, body: str) -> str:
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<!doctype html><html lang="en">{meta}<title>{escape(title)}</title>'
    return f"{head}<style>{_STYLE}</style>\n{body}\n</html>\n"


def _index(outcomes: list[Outcome], command: str, *, scale: Scale) -> str:
    rows = []
    for o in outcomes:
        t = tally(entries(o.verdicts))
        cells = [
            t["claims"],
            t["stated"],
            t["named"],
            t["not"] + t["undecided"] + t["broken"],
            t["afterwards"],
            f"{t['headline_good']} of {t['headline']}",
            o.runs,
        ]
        link = f'<a href="{escape(o.paper.slug)}/index.html">{escape(o.paper.title)}</a>'
        rows.append(
            f"<tr><td>{link}</td>" + "".join(f"<td>{c}</td>" for c in cells) + f"<td><code>{o.fingerprint}</code></td></tr>"
        )
    heads = (
        "paper",
        "claims",
        "as stated",
        "named beforehand",
        "not",
        "of these found afterwards",
        "headline",
        "runs",
        "fingerprint",
    )
    head = "".join(f"<th>{h}</th>" for h in heads)
    everything = summary([v for o in outcomes for v in o.verdicts])
    return _page(
        "Reproductions",
        f"<h1>Published evaluations, run again</h1><p>{escape(everything)}.</p><p class=quiet>{_made(command, scale=scale)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>",
    )


def _made(command: str, *, scale: Scale) -> str:
    return f"Made by <code>{escape(command)}</code>. {escape(SCALE[scale]).replace('`', '')}"


def _paper(o: Outcome, command: str, *, scale: Scale) -> str:
    by = {v.claim.id: v for v in o.verdicts}
    parts = [
        f"<h1>{escape(o.paper.title)}</h1>"
        f"<p>{escape(summary(o.verdicts))}. {o.runs} runs, fingerprint <code>{o.fingerprint}</code>.</p>"
        f'<p class=quiet>{_made(command, scale=scale)} <a href="../index.html">All papers</a></p>'
    ]
    if o.elsewhere is not None:
        decides = f' <a href="{escape(o.decides)}">The packets that decide</a>.' if o.decides else ""
        parts.append(f"<p>On the backend {escape(o.world)}: {escape(summary_elsewhere(o))}.{decides}</p>")
    seen: set[str] = set()
    for number, figure in sorted(o.paper.figures.items(), key=lambda item: place(item[0])):
        claims = [by[c] for c in figure.claims if c in by]
        if number not in o.figures and number not in o.broken_figures:
            continue
        seen |= {v.claim.id for v in claims}
        label = f"Figure {number}. {figure.title}" if number.isdigit() else figure.title
        if number in o.figures:
            wide = f"max-width: {figure.size[0] * 1.25:g}in"
            picture = f'<img src="{figure.name}.svg" alt="{escape(figure.title)}" style="{wide}">'
            picture = f'<a href="{figure.name}.svg">{picture}</a>'
        else:
            picture = f"<pre>{escape(o.broken_figures[number])}</pre>"
        parts.append(
            f'<section id="{figure.name}"><h2>{escape(label)}</h2>'
            f"<figure>{picture}<figcaption>{escape(figure.caption)}</figcaption></figure>"
            f"<div>{''.join(_claim(o, v) for v in claims)}</div></section>"
        )
    rest = [v for v in o.verdicts if v.claim.id not in seen]
    if rest:
        title = "Further claims" if seen else "Claims"
        parts.append(f"<section><h2>{title}</h2><div class=wide>{''.join(_claim(o, v) for v in rest)}</div></section>")
    return _page(f"{o.paper.slug} reproduced", "\n".join(parts))


def _claim(o: Outcome, v: Verdict) -> str:
    c = v.claim
    rows = [("published", escape(published(c)) + (f" <span class=quiet>[{escape(c.unit)}]</span>" if c.unit else ""))]
    for column, m in shown(v):
        under = f" under {escape(m.reading.text)} <span class=quiet>({escape(m.reading.origin)})</span>" if m.reading else ""
        basis = rests_on(v, m)
        small = [escape(m.note)] if m.note else []
        small += [f"rests on {escape(basis)}"] if basis else []
        note = f"<br><span class=quiet>{'<br>'.join(small)}</span>" if small else ""
        rows.append((column, f"{_value(m)}{under}{note}"))
    if there := elsewhere(o, c.id):
        rows.append((f"in {o.world}", escape(there)))
    rows += [
        ("metric", escape(c.metric)),
        ("tolerance", f"{escape(_tolerance(c.tolerance))}. {escape(c.why)}"),
        ("source", escape(c.source)),
    ]
    told = f"<p>{escape(reason(v)).replace('**', '')}</p>" if v.status != STATED else ""
    head = "headline claim" if c.headline else "supporting claim"
    items = "".join(f"<dt>{k}</dt><dd>{text}</dd>" for k, text in rows[:-3])
    more = "".join(f"<dt>{k}</dt><dd>{text}</dd>" for k, text in rows[-3:])
    wide = " in the wider band" if v.wide else ""
    return (
        f'<div class="claim {_CLASS[v.status]}"><span class=id>{escape(c.id)}</span><span class=verdict>{v.status}{wide}</span>'
        f" <span class=quiet>{head}</span><p>{escape(c.statement)}</p><dl>{items}</dl>{told}"
        f"<details class=quiet><summary>how it is judged</summary><dl>{more}</dl></details></div>"
    )


def _value(m: Measured) -> str:
    """Write the measurement; many values are folded behind their range."""
    short, full = brief(m), measured(m)
    return escape(full) if short == full else f"<details><summary>{escape(short)}</summary>{escape(full)}</details>"


def place(number: str) -> tuple[float, str]:
    """Sort figures as in the document, `11` before `11-more`, and unnumbered ones last."""
    digits = re.match(r"\d*", number)
    return (float(digits[0]) if digits and digits[0] else math.inf, number)


def _tolerance(t: object) -> str:
    if isinstance(t, dict):
        return " ".join(
            [str(t.get("type", ""))]
            + [f"{k.replace('_', ' ')} {v}" if k != "value" else str(v) for k, v in t.items() if k != "type"]
        )
    return str(t)
