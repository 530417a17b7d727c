"""Tables of the pages with unpublished results: `python papers/evidence.py [PAGE...]` regenerates them.

A page has markers, `<!-- table -->` and `<!-- end -->`; what is between them is written by the functions that `PAGES` names, of
`evidence.py` in the folder of a paper, from runs of its scenario files. `--table` regenerates only some of them. Finished runs
are kept (`--cache`): an interrupted one goes on from there.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import types
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidence_table import markdown

from forebay.repro import Run
from forebay.repro._simulate import Package

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent
#: The tables of each page, in order: the paper whose scenarios they run, and the function of its `evidence.py`.
PAGES: dict[str, list[tuple[str, str]]] = {
    "incast-prin/more-senders.md": [("incast-prin", "prin"), ("incast-prin", "prin_testbed")],
    "incast-prin/growth.md": [("incast-prin", "growth"), ("incast-prin", "growth_testbed")],
    "incast-prin/strict-priority.md": [("incast-prin", "overtaking")],
    "trim/host-jitter.md": [("trim", "host_jitter")],
    "proboscis/delayed-acks.md": [("proboscis", "delayed_acks")],
    "proboscis/parameters.md": [("proboscis", "shim_parameters")],
    "proboscis/least-rto.md": [("proboscis", "least_rto")],
    "proboscis/persistent.md": [("proboscis", "connections")],
    "proboscis/pull.md": [("proboscis", "answers"), ("proboscis", "pulled")],
    "coexistence/five-and-five.md": [("coexistence", "five_and_five")],
    "coexistence/throughput-and-load.md": [("coexistence", "aggregate"), ("coexistence", "by_load")],
    "incast-prin/tail-fragments.md": [("incast-prin", "fragments")],
    "proboscis/variation.md": [("proboscis", "variation")],
    "testbeds.md": [("trim", "testbed"), ("incast-prin", "testbed")],
    "linux-beside-ns2.md": [("trim", "trains"), ("dctcp", "queries")],
    "on-linux.md": [("proboscis", "background"), ("incast-prin", "reordered"), ("trim", "offloaded"), ("trim", "inherited")],
}
BEGIN, END = "<!-- table -->", "<!-- end -->"


def tables(paper: str) -> Any:
    """Load `evidence.py` of a paper, whose folder is a package meanwhile, as for `paper.py`."""
    name = "forebay_evidence_" + paper.replace("-", "_")
    if name not in sys.modules:
        package = types.ModuleType(name)
        package.__path__ = [str(HERE / paper)]
        sys.modules[name] = package
    return importlib.import_module(f"{name}.evidence")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Makes the tables of pages with evidence anew.")
    parser.add_argument("page", nargs="*", help=f"of {', '.join(PAGES)} [default: all]")
    parser.add_argument("--table", action="append", metavar="FUNCTION", help="only this table (repeatable), such as fragments")
    parser.add_argument("--cache", default="out/evidence", metavar="DIR", help="finished runs [default: out/evidence]")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="runs at the same time")
    args = parser.parse_args()
    unknown = [p for p in args.page if p not in PAGES]
    if unknown:
        parser.error(f"no page {', '.join(unknown)}: there are {', '.join(PAGES)}")
    functions = {function for name in args.page or PAGES for _, function in PAGES[name]}
    if wrong := set(args.table or ()) - functions:
        parser.error(f"no table {', '.join(sorted(wrong))} on these pages: there are {', '.join(sorted(functions))}")
    worlds = [Package(Path(args.cache), args.threads, w) for w in ("sim", "linux")]
    for name in args.page or PAGES:
        page = HERE / name
        parts = page.read_text().split(BEGIN)
        if len(parts) != len(PAGES[name]) + 1:
            raise SystemExit(f"{page} has {len(parts) - 1} places for tables, not {len(PAGES[name])}")
        for i, (paper, function) in enumerate(PAGES[name], 1):
            if args.table and function not in args.table:
                # `split` took the marker away; the old table stays.
                continue
            # Of the simulator's runs, or of those and the kernel's.
            table: Callable[..., list[list[str]]] = getattr(tables(paper), function)
            _, _, rest = parts[i].partition(END)
            runs = [Run(HERE / paper, w) for w in worlds][: len(signature(table).parameters)]
            parts[i] = f"\n{markdown(table(*runs))}\n{END}{rest}"
        page.write_text(BEGIN.join(parts))
        print(page)
    for world in worlds:
        world.close()


if __name__ == "__main__":
    main()
