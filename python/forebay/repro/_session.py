"""One reproduction: experiments, then claims, then figures."""

from __future__ import annotations

import hashlib
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _store
from ._measured import Measured
from ._run import Pool, Run
from ._verdict import EXACT, QUICK, Judgement, UnjudgedError, judge

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ._claims import Claim
    from ._paper import Paper

REPRODUCED = "reproduced"
READING = "reproduced under a reading"
NOT = "not reproduced"
BROKEN = "not evaluated"


@dataclass
class Verdict:
    """What became of a claim."""

    claim: Claim
    #: One of the four above.
    status: str
    #: What was measured, the recommended reading first.
    measured: list[Measured] = field(default_factory=list)
    #: The judgement of each.
    judged: list[Judgement] = field(default_factory=list)
    #: Index of the measurement that decided.
    by: int = 0
    #: Why a claim that does not hold as it stands does not.
    explanation: str = ""
    #: Why it was not evaluated.
    error: str = ""
    #: Whether it holds only in the wider bands of a quick reproduction.
    wide: bool = False

    @property
    def good(self) -> bool:
        """Whether it was reproduced, as it stands or under a reading."""
        return self.status in (REPRODUCED, READING)


@dataclass
class Outcome:
    """What became of a paper."""

    paper: Paper
    verdicts: list[Verdict]
    #: Figures drawn, by number: the names of their files without suffix, or what went wrong.
    figures: dict[str, str] = field(default_factory=dict)
    broken_figures: dict[str, str] = field(default_factory=dict)
    #: Hash over the fingerprints of all runs.
    fingerprint: str = ""
    #: Number of runs behind it.
    runs: int = 0
    wall_s: float = 0.0


@dataclass
class Simulated:
    """What the experiments of a paper gave."""

    #: What each experiment returned.
    results: dict[str, Any]
    #: Why an experiment failed.
    failures: dict[str, str]
    #: The runs of those that did not fail.
    units: list[_store.Unit]


class Session:
    """Reproduces papers with one pool."""

    def __init__(self, pool: Pool, *, quick: bool) -> None:
        self.pool = pool
        self.quick = quick
        self.bands = QUICK if quick else EXACT

    def evaluate(
        self, paper: Paper, claims: list[str] | None = None, figures: list[str] | None = None
    ) -> tuple[Outcome, dict[str, Any]]:
        """Run what the claims and figures need (all, where `None`) and judge the claims.

        Returns the outcome, and what the experiments gave, for :func:`draw`.
        """
        return self.judge(paper, self.simulate(paper, claims, figures), claims, figures)

    def simulate(self, paper: Paper, claims: list[str] | None = None, figures: list[str] | None = None) -> Simulated:
        """Run what the claims and figures need, to the end."""
        wanted = self._wanted(paper, claims)
        names = [u for c in wanted if c in paper.judges for u in paper.judges[c].uses]
        names += [u for f in self.drawn(paper, figures) for u in paper.figures[f].uses]
        return Simulated(*self._experiments(paper, list(dict.fromkeys(names))))

    def judge(
        self, paper: Paper, found: Simulated, claims: list[str] | None = None, figures: list[str] | None = None
    ) -> tuple[Outcome, dict[str, Any]]:
        """Judge the claims by what was simulated for them."""
        verdicts = [self._verdict(paper, c, found.results, found.failures) for c in self._wanted(paper, claims)]
        outcome = Outcome(paper, verdicts, runs=len(found.units))
        outcome.fingerprint = self._fingerprint(found.units)
        for number in self.drawn(paper, figures):
            missing = [found.failures[u] for u in paper.figures[number].uses if u in found.failures]
            if missing:
                outcome.broken_figures[number] = missing[0]
        return outcome, found.results

    def _wanted(self, paper: Paper, claims: list[str] | None) -> list[str]:
        return [c for c in paper.claims if claims is None or c in claims]

    def drawn(self, paper: Paper, figures: list[str] | None) -> list[str]:
        """Choose the figures to draw, of those asked for (all, where `None`)."""
        return [n for n, f in paper.figures.items() if (figures is None or n in figures) and not (self.quick and f.full_only)]

    def _experiments(self, paper: Paper, names: list[str]) -> tuple[dict[str, Any], dict[str, str], list[_store.Unit]]:
        """All at once: they wait for simulations, not for each other."""
        results: dict[str, Any] = {}
        failures: dict[str, str] = {}
        runs = {name: Run(paper.folder, self.pool, quick=self.quick) for name in names}
        if not names:
            return results, failures, []
        with ThreadPoolExecutor(len(names), thread_name_prefix="experiment") as threads:
            futures: dict[str, Future[Any]] = {n: threads.submit(paper.experiments[n], runs[n]) for n in names}
            for name, future in futures.items():
                try:
                    results[name] = future.result()
                    for unit in runs[name].units:
                        self.pool.submit(unit).result()
                except Exception as e:
                    failures[name] = f"experiment {name}: {_told(e)}"
        units = [u for n in names if n not in failures for u in runs[n].units]
        return results, failures, list(dict.fromkeys(units))

    def _fingerprint(self, units: list[_store.Unit]) -> str:
        """Of scenarios, overrides, seeds and trajectories: the same with every build of the program that computes the same."""
        marks = sorted(
            f"{u.scenario.name} {' '.join(u.sets)} {u.seed} {_store.manifest(self.pool.submit(u).result())['fingerprint']}"
            for u in units
        )
        return hashlib.blake2b("\n".join(marks).encode(), digest_size=8).hexdigest()

    def _verdict(self, paper: Paper, name: str, results: dict[str, Any], failures: dict[str, str]) -> Verdict:
        claim = paper.claims[name]
        found = paper.judges.get(name)
        if found is None:
            return Verdict(claim, BROKEN, error="paper.py has no function for it")
        missing = [failures[u] for u in found.uses if u in failures]
        if missing:
            return Verdict(claim, BROKEN, explanation=found.explanation, error=missing[0])
        try:
            returned = found.function({u: results[u] for u in found.uses})
            measured = list(returned) if isinstance(returned, (list, tuple)) else [returned]
            if not measured or not all(isinstance(m, Measured) for m in measured):
                raise UnjudgedError(f"the function returned {returned!r}, not Measured")
            judged = [judge(claim, m, self.bands) for m in measured]
        except Exception as e:
            return Verdict(claim, BROKEN, explanation=found.explanation, error=_told(e))
        by = next((i for i, j in enumerate(judged) if j.holds), 0)
        status = NOT
        if judged[by].holds:
            status = READING if by > 0 or measured[by].reading else REPRODUCED
        wide = judged[by].holds and not judge(claim, measured[by], EXACT).holds
        return Verdict(claim, status, measured, judged, by, found.explanation, wide=wide)


def _told(e: Exception) -> str:
    """Tell an error in a line, with the place in the paper."""
    frames = [
        f for f in traceback.extract_tb(e.__traceback__) if "forebay/repro" not in f.filename and "/concurrent/" not in f.filename
    ]
    place = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return f"{type(e).__name__}: {e}{place}"
