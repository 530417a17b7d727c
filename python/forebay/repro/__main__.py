"""`forebay repro PAPER`, also `python -m forebay.repro`: reproduces papers and prints their scorecards."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import ForebayError, _dask, _native

from . import _artifact, _column, _decides, _draw, _files, _gallery, _merge, _paper, _scorecard, _simulate, _workers, _worlds
from ._run import SCALES, Scale
from ._session import Session

if TYPE_CHECKING:
    from collections.abc import Callable


def main(argv: list[str] | None = None) -> int:
    """Run the command line. 0: every claim was evaluated; 1: a claim or a figure is missing; 2: a wrong argument.

    With ``--artifact``, 1 also means that a verdict is not the expected one.
    """
    args = _arguments().parse_args(argv)
    of_command = os.environ.get("FOREBAY_SOURCES", _native.__sources__)
    if of_command != _native.__sources__:
        told = f"the command was built from the sources {of_command}, this package from {_native.__sources__}"
        print(f"error: {told}: install both from one checkout", file=sys.stderr)
        return 2
    try:
        papers = [_paper.load(folder) for folder in dict.fromkeys(f for p in args.paper for f in _paper.find(p))]
    except (FileNotFoundError, ValueError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    unknown = _unknown(papers, args.claim or [], args.figure or [])
    if unknown:
        print(f"error: {unknown}", file=sys.stderr)
        return 2
    if args.keep and args.world == _worlds.OWN:
        print("error: --keep needs --world, the backend whose verdicts it keeps", file=sys.stderr)
        return 2
    try:
        return (_evaluate if args.artifact else _reproduce)(papers, Path(args.out), args)
    except OSError as e:
        # Errors of this package are in the words of the command line.
        print(str(e) if isinstance(e, ForebayError) else f"error: {e}", file=sys.stderr)
        return 1


def _reproduce(papers: list[_paper.Paper], out: Path, args: argparse.Namespace) -> int:
    """Run, judge and draw the papers, write their pages and scorecards, and return the exit code.

    Raises
    ------
    OSError
        A file cannot be written, or there is no such scheduler.
    """
    units = Path(args.cache) if args.cache else out / "units"
    made = _maker(units, args)
    simulator = made(_worlds.OWN)
    if sys.stderr.isatty():
        threading.Thread(target=_bar, args=[simulator], daemon=True).start()
    scale: Scale = "quick" if args.quick else args.scale
    session = Session(simulator, scale=scale)
    elsewhere = None
    if args.world != _worlds.OWN:
        elsewhere = Session(made(args.world), scale=scale, more_seeds=False)
    # Named claims and figures only, and with a figure the claims that it illustrates.
    claims = None
    if args.claim or args.figure:
        illustrated = [c for p in papers for f in args.figure or [] if f in p.figures for c in p.figures[f].claims]
        claims = list(dict.fromkeys([*(args.claim or []), *illustrated]))
    figures = args.figure or ([] if args.claim else None)
    how = {"quick": ["--quick"], "full": [], "document": ["--scale", "document"]}[scale]
    parts = [w for name, values in (("--claim", args.claim), ("--figure", args.figure)) for v in values or [] for w in (name, v)]
    where = [] if args.world == _worlds.OWN else ["--world", args.world]
    command = " ".join(["forebay repro", *args.paper, *how, *where, *parts])
    outcomes = []
    # While a paper is judged and drawn, on one core, the runs of the next use the others. The last paper has no next one: it is
    # that with the fewest claims.
    order = sorted(papers, key=lambda paper: len(paper.claims), reverse=True)
    ahead = ThreadPoolExecutor(2, thread_name_prefix="paper")
    simulated = [ahead.submit(session.simulate, paper, claims, figures) for paper in order[:2]]
    began = time.monotonic()
    try:
        for i, paper in enumerate(order):
            found = simulated.pop(0).result()
            simulated += [ahead.submit(session.simulate, later, claims, figures) for later in order[i + 2 : i + 3]]
            outcome, results = session.judge(paper, found, claims, figures)
            drawn = session.drawn(paper, figures)
            if drawn:
                _draw.draw(outcome, results, drawn, out / paper.slug, quick=session.quick)
            if elsewhere is not None:
                outcome.world = args.world
                there = elsewhere.simulate(paper, claims, [])
                outcome.elsewhere, _ = elsewhere.judge(paper, there, claims, [])
                outcome.decides = f"in-{args.world}.md"
                decides = _decides.page(session, outcome, found, there, command, _decides.run)
                for folder in [out / paper.slug, *([paper.folder] if args.keep else [])]:
                    folder.mkdir(parents=True, exist_ok=True)
                    _files.write(folder / outcome.decides, decides)
                    _files.write(_column.file(folder, args.world), _column.write(outcome, scale))
            # The next paper's time begins here; some of its runs are done already.
            outcome.wall_s, began = time.monotonic() - began, time.monotonic()
            outcomes.append(outcome)
            if sys.stderr.isatty():
                print("\r\x1b[K", end="", file=sys.stderr)
            print(_scorecard.terminal(outcome, color=sys.stdout.isatty(), details=args.verbose))
            print(f"  {outcome.runs} runs, {outcome.wall_s:.1f} s, fingerprint {outcome.fingerprint}\n")
    except KeyboardInterrupt:
        print("\ninterrupted; the same command continues from here", file=sys.stderr)
        return 130
    finally:
        simulator.close()
        if elsewhere is not None:
            elsewhere.simulator.close()
        ahead.shutdown(cancel_futures=True)
    outcomes.sort(key=lambda outcome: papers.index(outcome.paper))
    _gallery.write(outcomes, out, command, scale=scale)
    if elsewhere is not None and args.keep and args.scorecard:
        card = Path(args.scorecard)
        _files.write(card, _column.lay(card.read_text(), [_paper.load(folder) for folder in _paper.find("all")], args.world))
    # A selection of claims gives no scorecard of its own, but regenerates their rows on that of --scorecard.
    whole = claims is None and figures is None
    cards = [out / "SCORECARD.md"] if whole else []
    if args.scorecard and not args.keep and (whole or Path(args.scorecard).is_file()):
        cards.append(Path(args.scorecard))
    told = _merge.version(simulator.version, papers[0].folder) if cards else ""
    for card in cards:
        text = _scorecard.markdown(outcomes, command, told, scale=scale)
        every = papers
        # Papers of the card that were not run stay as they are.
        if args.scorecard and card == Path(args.scorecard) and card.is_file():
            known = {p.slug: p for p in papers}
            others = (_paper.load(folder) for folder in _paper.find("all") if folder.name not in known)
            every = sorted([*papers, *others], key=lambda p: p.slug)
            text = _merge.merge(card.read_text(), text, every)
        for world in _worlds.OTHERS if elsewhere is None else []:
            text = _column.lay(text, every, world)
        _files.write(card, text)
    if whole:
        _files.write(out / "verdicts.csv", _scorecard.table(outcomes))
    print(f"pages: {out / 'index.html'}")
    if len(outcomes) > 1:
        print("all: " + _scorecard.summary([v for o in outcomes for v in o.verdicts]))
    broken = any(o.broken_figures for o in outcomes) or any(v.error for o in outcomes for v in o.verdicts)
    return 1 if broken else 0


def _evaluate(papers: list[_paper.Paper], out: Path, args: argparse.Namespace) -> int:
    """Run the evaluation of the artifact, and return its exit code.

    Raises
    ------
    OSError
        A file cannot be written.
    """
    others = ("claim", "figure", "scorecard", "keep", "cache", "dask")
    given = [f"--{name}" for name in others if getattr(args, name)] + ["--world"] * (args.world != _worlds.OWN)
    if given:
        print(f"error: --artifact runs all claims in the simulator, and cannot be used with {', '.join(given)}", file=sys.stderr)
        return 2
    try:
        return _artifact.evaluate(papers, out, lambda units: _simulate.Package(units, args.threads, _worlds.OWN), args.threads)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command continues from here", file=sys.stderr)
        return 130


def _maker(units: Path, args: argparse.Namespace) -> Callable[[str], _simulate.Simulator]:
    """Return the factory of the simulator of a world: here, or on the workers of a Dask scheduler.

    Raises
    ------
    OSError
        There is no such scheduler.
    """
    if args.dask is None:
        return lambda world: _simulate.Package(units, args.threads, world)
    client = _dask.connect(args.dask)
    return lambda world: _workers.Workers(units, client, world)


def _unknown(papers: list[_paper.Paper], claims: list[str], figures: list[str]) -> str:
    """Return the names without a paper and the existing names as an error text; empty if all are known."""
    known_claims, known_figures = ({n: None for p in papers for n in names(p)} for names in (_claims_of, _figures_of))
    no_claims, no_figures = [c for c in claims if c not in known_claims], [f for f in figures if f not in known_figures]
    told = [f"no claim {', '.join(no_claims)}; there are {', '.join(known_claims)}"] if no_claims else []
    if no_figures:
        where = "; ".join(f"{p.slug}: {', '.join(_figures_of(p)) or 'none'}" for p in papers)
        told.append(f"no figure {', '.join(no_figures)}; there are {where}")
    return "\n".join(told)


def _claims_of(paper: _paper.Paper) -> list[str]:
    return list(paper.claims)


def _figures_of(paper: _paper.Paper) -> list[str]:
    """In the order of the document."""
    return sorted(paper.figures, key=_gallery.place)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="forebay repro", description="Reproduces published evaluations and judges their claims."
    )
    parser.add_argument("paper", nargs="*", default=["all"], help="a folder with paper.py, a name under papers/, or all")
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--quick", action="store_true", help="few seeds and short runs, judged in wider bands")
    much.add_argument("--artifact", action="store_true", help="run the quick scale for an artifact evaluation, with its appendix")
    much.add_argument("--scale", choices=SCALES, default="full", help="how much is run; document: all that was asked for, hours")
    worlds = [_worlds.OWN, *_worlds.OTHERS]
    parser.add_argument("--world", choices=worlds, default=_worlds.OWN, help="also judge the claims there [default: sim]")
    parser.add_argument("--claim", action="append", metavar="ID", help="only this claim (repeatable)")
    parser.add_argument("--figure", action="append", metavar="N", help="only this figure (repeatable)")
    parser.add_argument("--out", default="out/repro", metavar="DIR", help="figures and pages [default: out/repro]")
    parser.add_argument(
        "--scorecard", metavar="FILE", help="also write the scorecard here; papers and claims of it that are not run stay"
    )
    kept = "keep the other world's verdicts and page beside the paper, and regenerate their column in the file of --scorecard"
    parser.add_argument("--keep", action="store_true", help=kept)
    parser.add_argument("--cache", metavar="DIR", help="finished runs [default: DIR/units]")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="runs at the same time")
    parser.add_argument("--dask", metavar="ADDRESS", help="let the workers of this Dask scheduler make the runs")
    parser.add_argument("-v", "--verbose", action="store_true", help="published and measured values of every claim")
    return parser


def _bar(simulator: _simulate.Simulator) -> None:
    """Print progress changes while the program runs."""
    shown = None
    while True:
        counts = simulator.counts()
        if counts != shown:
            total, done, found = shown = counts
            print(f"\r{done} of {total} runs, {found} of them found finished ", end="", file=sys.stderr, flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
