"""Writes `FIGURES.md`, the figures of the documents with their verdicts and judges: `python papers/figures.py`.

Figures are those of `figures.toml` beside each paper. The verdicts are on the scorecard, those of the kernel in `in-linux.csv`.
"""

from __future__ import annotations

import re
from pathlib import Path

from forebay.repro import _column, _paper, _toml

HERE = Path(__file__).resolve().parent
HEAD = """\
# Figures of the documents

Each figure and table of the five documents with the claims on it, their verdicts on the [scorecard](SCORECARD.md), and the
judges:

* *simulator*: runs of the simulator decide the claim,
* *formula*: values of equations decide it,
* *kernel*: a Linux kernel has a verdict, too, which does not count,
* *ns-2*: a second simulator was run on it.

`python papers/figures.py` writes this page.
"""
VERDICT = r"(?:yes|named|NO|NO, afterwards|not decided)(?:, (?:ours|document|open))?"
ROW = re.compile(rf"^\| (?:\*\*)?([a-z0-9-]+)(?:\*\*)? \| .* \| ({VERDICT}) \|$")


def verdicts(card: str) -> dict[str, str]:
    """Return the verdict of each claim of a scorecard."""
    rows = (ROW.match(line) for line in _column.strip(card, "linux").splitlines())
    return {m[1]: m[2] for m in rows if m}


def named(source: str) -> set[str]:
    """Return the figures and tables that the source of a claim names."""
    found: set[str] = set()
    for many in re.findall(r"Figs?\. ((?:\d+(?:\([a-z]\))?(?:(?:-|, | and )(?:\([a-z]\)|\d+(?:\([a-z]\))?))*)+)", source):
        many = re.sub(r"\([a-z]\)(?:-\([a-z]\))?", "", many)
        for part in re.split(r", | and ", many):
            first, _, last = part.partition("-")
            found |= {str(n) for n in range(int(first), int(last or first) + 1)}
    return found | {f"table-{len(n)}" for n in re.findall(r"Table (I+)\b", source)}


def ran_in_ns2(evidence: str) -> bool:
    """Tell whether the evidence on a claim is of the second simulator; without one it says so first."""
    return "ns-2" in evidence and not evidence.strip().startswith("no second simulator")


def page(card: str) -> str:
    """Write the page.

    Raises
    ------
    ValueError
        A figure has neither claims nor the reason for none.
    """
    verdict = verdicts(card)
    lines = [HEAD]
    for folder in sorted(p.parent for p in HERE.glob("*/paper.py")):
        paper = _paper.load(folder)
        kernel = {name for name, row in _column.read(folder, "linux").items() if row.ran}
        lines += [f"## {paper.slug}", "", f"{paper.title}.", "", "| figure | content | claims | judges |", "|---|---|---|---|"]
        for number, figure in _toml.read(folder / "figures.toml")["figures"].items():
            ours = paper.figures[number].claims if number in paper.figures else ()
            claims = [
                n for n, c in paper.claims.items() if n in figure.get("claims", ()) or n in ours or number in named(c.source)
            ]
            if bool(claims) == figure.get("drawing", False):
                raise ValueError(f"{paper.slug}, {number}: a figure has claims, or `drawing = true`")
            runs = [n for n in claims if paper.judges[n].uses]
            second = [n for n in claims if n in paper.opinions and ran_in_ns2(paper.opinions[n].evidence)]
            judges = {"simulator": len(runs), "formula": len(claims) - len(runs), "kernel": sum(n in kernel for n in claims)}
            judges["ns-2"] = len(second)
            told = "; ".join(f"`{n}`: {verdict[n]}" for n in claims) or "no measurement"
            judged = ", ".join(f"{name} {count}" for name, count in judges.items() if count) or "none needed"
            name = figure.get("name", f"Fig. {number}")
            lines.append(f"| {name} | {figure['content']} | {told} | {judged} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    (HERE / "FIGURES.md").write_text(page((HERE / "SCORECARD.md").read_text()))
