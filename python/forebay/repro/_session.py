"""One reproduction: experiments, then claims, then figures."""

from __future__ import annotations

import hashlib
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forebay import StoreError

from . import _alone, _basis
from ._measured import Measured
from ._run import Run, Scale
from ._simulate import RefusedError
from ._values import UnjudgedError
from ._verdict import EXACT, QUICK, Judgement, judge

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ._claims import Claim
    from ._paper import Paper
    from ._run import Request, Result
    from ._simulate import Simulator, Unit

STATED = "as stated"
NAMED = "under a reading named beforehand"
AFTERWARDS = "not reproduced, found afterwards"
NOT = "not reproduced"
UNDECIDED = "not decided"
BROKEN = "not evaluated"
REFUSED = "not in this world"
#: A verdict that one seed in this many turns, if it is judged alone, is judged on :data:`MANY_SEEDS`.
TURNING = 5
MANY_SEEDS = 30
#: Packet hops up to which the additional seeds of a claim run at the default scale; `--scale document` has no limit. Our choice:
#: about three minutes of one core.
MOST_HOPS = 3e9
#: All verdicts. The first two count as reproduced, the next two do not, and the others leave the claim open.
STATUSES = (STATED, NAMED, AFTERWARDS, NOT, UNDECIDED, BROKEN, REFUSED)


@dataclass
class Verdict:
    """Result of a claim."""

    claim: Claim
    #: One of :data:`STATUSES`.
    status: str
    #: Measurements in the order of the columns: as stated, under readings named beforehand, under others.
    measured: list[Measured] = field(default_factory=list)
    #: The judgment of each.
    judged: list[Judgement] = field(default_factory=list)
    #: Index of the deciding measurement.
    by: int = 0
    #: Reason why a claim does not hold as stated.
    explanation: str = ""
    #: Reason why it was not evaluated.
    error: str = ""
    #: True if it holds only in the wider bands of a quick reproduction.
    wide: bool = False
    #: Executed part of the specification's numbers, of all its experiments.
    scales: list[_basis.Scale] = field(default_factory=list)
    #: Effect on the numbers, as far as known.
    scale_note: str = ""
    #: Number of seeds, and of those that give another verdict if judged alone; zero where seeds are not distinguished.
    seeds: int = 0
    turning: int = 0
    #: The verdict on fewer seeds, if single seeds turned it and it is judged on :data:`MANY_SEEDS`.
    before: Verdict | None = None
    #: Packet hops of the seeds that it lacks for that, if they are above :data:`MOST_HOPS`.
    beyond: float = 0.0

    @property
    def good(self) -> bool:
        """True if it was reproduced: as stated, or under a reading named beforehand."""
        return self.status in (STATED, NAMED)

    @property
    def turns(self) -> bool:
        """True if one seed in :data:`TURNING` gives another verdict."""
        return self.seeds > 0 and self.turning * TURNING >= self.seeds

    @property
    def told(self) -> int:
        """Index of the measurement to show: the deciding one, or the first if none counts."""
        return self.by if self.good else 0

    @property
    def columns(self) -> list[int | None]:
        """Indices of the measurements to show as stated, under a reading named beforehand, and under one that does not count.

        Of several, the first that holds, else the first.
        """
        kinds = [_kind(m) for m in self.measured]
        found: list[int | None] = []
        for kind in range(3):
            here = [i for i, k in enumerate(kinds) if k == kind]
            found.append(next((i for i in here if self.judged[i].holds), here[0] if here else None))
        return found


def _kind(m: Measured) -> int:
    return 0 if m.reading is None else 1 if m.reading.counts else 2


@dataclass
class Outcome:
    """Result of a paper."""

    paper: Paper
    verdicts: list[Verdict]
    #: Drawn figures, by number: their file names without suffix, or the error.
    figures: dict[str, str] = field(default_factory=dict)
    broken_figures: dict[str, str] = field(default_factory=dict)
    #: Hash over the fingerprints of all runs.
    fingerprint: str = ""
    #: Number of underlying runs.
    runs: int = 0
    wall_s: float = 0.0
    #: The same claims in another world, with the changes to the document's files there: experiments, then keys and values.
    elsewhere: Outcome | None = None
    changed: dict[str, dict[str, Any]] = field(default_factory=dict)
    world: str = ""
    #: Page with the packets that decide where the worlds disagree, beside the paper's; may be empty.
    decides: str = ""


@dataclass
class Simulated:
    """Results of the experiments of a paper."""

    #: Return value of each experiment.
    results: dict[str, Any]
    #: Error of each failed experiment.
    failures: dict[str, str]
    #: Failed experiments that the world cannot run.
    refused: set[str]
    #: The runs of those that did not fail.
    units: dict[str, list[Unit]]
    #: Executed part of the specification's numbers of each experiment.
    scales: dict[str, list[_basis.Scale]]
    #: Results of each experiment by request.
    finished: dict[str, dict[Request, Result]] = field(default_factory=dict)

    @property
    def all_units(self) -> list[Unit]:
        """All runs, each once."""
        return list(dict.fromkeys(u for units in self.units.values() for u in units))


class Session:
    """Reproduces papers with one simulator."""

    def __init__(self, simulator: Simulator, *, scale: Scale = "full", more_seeds: bool = True) -> None:
        self.simulator = simulator
        self.scale: Scale = scale
        #: Judge verdicts that single seeds turn on more seeds.
        self.more_seeds = more_seeds and scale != "quick"
        self.quick = scale == "quick"
        self.bands = QUICK if self.quick else EXACT

    def evaluate(
        self, paper: Paper, claims: list[str] | None = None, figures: list[str] | None = None
    ) -> tuple[Outcome, dict[str, Any]]:
        """Run the experiments of the claims and figures (all, if `None`) and judge the claims.

        Returns the outcome, and the results of the experiments for :func:`draw`.
        """
        return self.judge(paper, self.simulate(paper, claims, figures), claims, figures)

    def simulate(self, paper: Paper, claims: list[str] | None = None, figures: list[str] | None = None) -> Simulated:
        """Run the experiments of the claims and figures to the end."""
        wanted = self._wanted(paper, claims)
        names = [u for c in wanted if c in paper.judges for u in paper.judges[c].uses]
        names += [u for f in self.drawn(paper, figures) for u in paper.figures[f].uses]
        return self._experiments(paper, list(dict.fromkeys(names)))

    def judge(
        self, paper: Paper, found: Simulated, claims: list[str] | None = None, figures: list[str] | None = None
    ) -> tuple[Outcome, dict[str, Any]]:
        """Judge the claims by their simulations."""
        verdicts = [self.verdict(paper, c, found) for c in self._wanted(paper, claims)]
        self._count_turning(paper, verdicts, found)
        units = found.all_units
        if self.more_seeds:
            verdicts, more = self._with_more_seeds(paper, verdicts, found)
            units = list(dict.fromkeys([*units, *more]))
        _one_reading_an_experiment(paper, verdicts)
        outcome = Outcome(paper, verdicts, runs=len(units))
        outcome.fingerprint = self._fingerprint(units)
        outcome.changed = {n: changed for n, units in found.units.items() if (changed := _changed(units))}
        for number in self.drawn(paper, figures):
            missing = [found.failures[u] for u in paper.figures[number].uses if u in found.failures]
            if missing:
                outcome.broken_figures[number] = missing[0]
        return outcome, found.results

    def _wanted(self, paper: Paper, claims: list[str] | None) -> list[str]:
        return [c for c in paper.claims if claims is None or c in claims]

    def drawn(self, paper: Paper, figures: list[str] | None) -> list[str]:
        """Choose the figures to draw among the requested ones (all, if `None`)."""
        return [n for n, f in paper.figures.items() if (figures is None or n in figures) and not (self.quick and f.full_only)]

    def _count_turning(self, paper: Paper, verdicts: list[Verdict], found: Simulated) -> None:
        """Judge every seed of every verdict alone."""
        alone = _alone.Alone(paper, self.simulator, self.scale, found.finished)
        for v in verdicts:
            if not v.measured:
                continue
            try:
                v.seeds, v.turning = alone.turning(v, self.bands)
            except Exception as e:
                v.status, v.error = BROKEN, f"judging one seed alone: {_told(e)}"

    def _with_more_seeds(self, paper: Paper, verdicts: list[Verdict], found: Simulated) -> tuple[list[Verdict], list[Unit]]:
        """Judge the claims whose verdict single seeds turn on :data:`MANY_SEEDS`; returns all verdicts, and these runs."""
        names: dict[str, None] = {}
        again: set[str] = set()
        for v in verdicts:
            if not v.turns or v.seeds >= MANY_SEEDS:
                continue
            uses = paper.judges[v.claim.id].uses
            hops = sum(_hops_to_come(found.units[name]) for name in uses)
            if hops > MOST_HOPS and self.scale != "document":
                v.beyond = hops
                continue
            again.add(v.claim.id)
            names |= dict.fromkeys(uses)
        if not again:
            return verdicts, []
        more = self._experiments(paper, list(names), MANY_SEEDS)
        judged = {name: self.verdict(paper, name, more) for name in again}
        self._count_turning(paper, list(judged.values()), more)
        for v in verdicts:
            if v.claim.id in judged:
                judged[v.claim.id].before = v
        return [judged.get(v.claim.id, v) for v in verdicts], more.all_units

    def _experiments(self, paper: Paper, names: list[str], least_seeds: int = 0) -> Simulated:
        """All at once: they wait for simulations, not for each other."""
        results: dict[str, Any] = {}
        failures: dict[str, str] = {}
        refused: set[str] = set()
        runs = {name: Run(paper.folder, self.simulator, scale=self.scale, least_seeds=least_seeds) for name in names}
        if not names:
            return Simulated(results, failures, refused, {}, {})
        with ThreadPoolExecutor(len(names), thread_name_prefix="experiment") as threads:
            futures: dict[str, Future[Any]] = {n: threads.submit(paper.experiments[n], runs[n]) for n in names}
            for name, future in futures.items():
                try:
                    results[name] = future.result()
                    for unit in runs[name].units:
                        unit.runs.wait()
                except StoreError:
                    raise
                except RefusedError as e:
                    failures[name] = str(e)
                    refused.add(name)
                except Exception as e:
                    failures[name] = f"experiment {name}: {_told(e)}"
        good = [n for n in names if n not in failures]
        return Simulated(
            results,
            failures,
            refused,
            {n: runs[n].units for n in good},
            {n: list(runs[n].scales) for n in good},
            {n: runs[n].results for n in good},
        )

    def _fingerprint(self, units: list[Unit]) -> str:
        """Hash of scenarios, overrides, seeds and trajectories: equal for every build with the same results."""
        marks = sorted(f"{u.scenario.name} {' '.join(u.sets)} {u.seed} {u.fingerprint}" for u in units)
        return hashlib.blake2b("\n".join(marks).encode(), digest_size=8).hexdigest()

    def verdict(self, paper: Paper, name: str, simulated: Simulated) -> Verdict:
        """Judge one claim by its simulations."""
        claim = paper.claims[name]
        found = paper.judges.get(name)
        if found is None:
            return Verdict(claim, BROKEN, error="paper.py has no function for it")
        missing = [simulated.failures[u] for u in found.uses if u in simulated.failures]
        if missing:
            status = REFUSED if any(u in simulated.refused for u in found.uses) else BROKEN
            return Verdict(claim, status, explanation=found.explanation, error=missing[0])
        try:
            with _basis.watched():
                returned = found.function({u: simulated.results[u] for u in found.uses})
            measured = list(returned) if isinstance(returned, (list, tuple)) else [returned]
            if not measured or not all(isinstance(m, Measured) for m in measured):
                raise UnjudgedError(f"the function returned {returned!r}, not Measured")
            if measured[0].reading is not None and _kind(measured[0]) == 2:
                raise UnjudgedError(
                    "the first measurement is under a reading that does not count: measure the claim as it stands"
                )
            measured.sort(key=_kind)
            judged = [judge(claim, m, self.bands) for m in measured]
            self._count(claim, measured, [u for e in found.uses for u in simulated.units[e]])
        except Exception as e:
            return Verdict(claim, BROKEN, explanation=found.explanation, error=_told(e))
        by = next((i for i, j in enumerate(judged) if j.holds), 0)
        status = (STATED, NAMED, AFTERWARDS)[_kind(measured[by])] if judged[by].holds else NOT
        if status is NOT and not any(j.decided for j in judged):
            status = UNDECIDED
        wide = judged[by].holds and not judge(claim, measured[by], EXACT).holds
        scales = list(dict.fromkeys(s for e in found.uses for s in simulated.scales[e]))
        below = {e for e in found.uses for s in simulated.scales[e] if s.run != s.document}
        note = " ".join(dict.fromkeys(paper.scale_notes[e] for e in found.uses if e in below and e in paper.scale_notes))
        return Verdict(
            claim,
            status,
            measured,
            judged,
            by,
            found.explanation,
            wide=wide,
            scales=scales,
            scale_note=note,
        )

    def _count(self, claim: Claim, measured: list[Measured], units: list[Unit]) -> None:
        """Count the basis of each measurement: all runs of the claim's experiments if it recorded none."""
        everything = tuple(dict.fromkeys(units))
        for m in measured:
            if m.basis is not None and m.basis.flows is None:
                m.basis = _basis.counted(m.basis.units or everything, losses=claim.on_losses)


def _hops_to_come(units: list[Unit]) -> float:
    """Estimate the packet hops of the seeds that an experiment lacks for :data:`MANY_SEEDS`."""
    hops: dict[int, list[int]] = {}
    for u in units:
        hops.setdefault(id(u.runs), []).append(sum(r["packet_hops"] for r in u.runs.manifest(u.index)["runs"]))
    return sum(sum(h) / len(h) * max(0, MANY_SEEDS - len(h)) for h in hops.values() if len(h) > 1)


def _changed(units: list[Unit]) -> dict[str, Any]:
    """Collect the changes to keys for the backend in these runs."""
    return {key: value for unit in units for key, value in unit.runs.changed.items()}


def _one_reading_an_experiment(paper: Paper, verdicts: list[Verdict]) -> None:
    """Reject verdicts of an experiment under two readings: one would be chosen per claim, after the fact."""
    read: dict[str, dict[str, list[Verdict]]] = {}
    for v in verdicts:
        uses = paper.judges[v.claim.id].uses if v.claim.id in paper.judges else ()
        for m in v.measured:
            if m.reading is not None and m.reading.counts:
                for name in uses:
                    read.setdefault(name, {}).setdefault(m.reading.text, []).append(v)
    for name, by in read.items():
        if len(by) > 1:
            told = " / ".join(by)
            for v in (v for those in by.values() for v in those):
                v.status = BROKEN
                v.error = (
                    f"experiment {name} is under several readings that count ({told}): name one, the others are sensitivities"
                )


def _told(e: Exception) -> str:
    """Format an error in a line, with its place in the paper."""
    frames = [
        f for f in traceback.extract_tb(e.__traceback__) if "forebay/repro" not in f.filename and "/concurrent/" not in f.filename
    ]
    place = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return f"{type(e).__name__}: {e}{place}"
