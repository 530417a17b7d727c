"""From a paper to verdicts, figures, pages and the scorecard, and what is run for them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import some_paper

from forebay.repro import (
    Measured,
    Reading,
    RunError,
    Table,
    _basis,
    _decides,
    _draw,
    _gallery,
    _paper,
    _scorecard,
    _simulate,
    _verdict,
)
from forebay.repro import __main__ as command
from forebay.repro._claims import Claim
from forebay.repro._run import SCALES, Run
from forebay.repro._session import AFTERWARDS, BROKEN, NAMED, NOT, STATED, Outcome, Session, Verdict


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return some_paper.write(tmp_path / "papers" / "some-paper")


@pytest.fixture
def fake() -> some_paper.Fake:
    return some_paper.Fake()


def evaluate(folder: Path, fake: some_paper.Fake, quick: bool = False, **only: Any) -> tuple[Outcome, dict[str, Any]]:
    return Session(fake, scale="quick" if quick else "full").evaluate(_paper.load(folder), **only)


def test_verdicts(folder: Path, fake: some_paper.Fake) -> None:
    outcome, _ = evaluate(folder, fake)
    by = {v.claim.id: v for v in outcome.verdicts}
    assert [by[c].status for c in ("c-number", "c-reading", "c-wrong", "c-broken")] == [STATED, NAMED, NOT, BROKEN]
    assert by["c-number"].measured[0].value == 12
    assert by["c-reading"].by == 1
    assert by["c-wrong"].explanation == "It was tested."
    assert "refused" in by["c-broken"].error
    assert _scorecard.tally(_scorecard.entries(outcome.verdicts)) == {
        "claims": 4, "stated": 1, "named": 1, "not": 1, "afterwards": 0, "undecided": 0, "broken": 1, "unexplained": 0,
        "headline": 2, "headline_stated": 1, "headline_named": 1, "headline_good": 2,
    }  # fmt: skip


def test_quick_mode_uses_wider_bands(folder: Path, fake: some_paper.Fake) -> None:
    outcome, _ = evaluate(folder, fake, quick=True)
    by = {v.claim.id: v for v in outcome.verdicts}
    assert by["c-number"].measured[0].value == 11.5
    assert (by["c-number"].status, by["c-number"].wide) == (STATED, False)
    text = (folder / "claims.toml").read_text().replace("expected = 12.0", "expected = 12.2")
    (folder / "claims.toml").write_text(text)
    again, _ = evaluate(folder, fake, quick=True)
    assert (again.verdicts[0].status, again.verdicts[0].wide) == (STATED, True)
    assert "wider band" in _scorecard.terminal(again, color=False, details=False)


def test_results(folder: Path, fake: some_paper.Fake) -> None:
    run = Run(folder, fake)
    r = run("fig.toml", {"fct": 5}, seeds=3)
    assert r.flows["fct_ns"].tolist() == [6, 7, 8]
    assert r.flows["run"].tolist() == [0, 1, 2]
    assert r.table("flows", ["run", "seed"]).columns == ["run", "seed"]
    assert len(r.queue) == 0
    assert r.variants == ["v"]
    assert r.per_run(len, transport="tcp") == [1, 1, 1]
    assert r.per_run(len, "queue") == [0, 0, 0]
    assert run.model("fig.toml", {"a.b": "x"}) == {"model": "fig.toml", "sets": ['a.b="x"']}
    points = run("fig.toml", {"fct": 1}, points=[{"fct": 2}, {"other": [1, "a"]}])
    assert [p for p, _ in points] == [{"fct": 2}, {"other": [1, "a"]}]
    assert [q.flows["fct_ns"][0] for _, q in points] == [3, 2]
    with pytest.raises(FileNotFoundError, match=r"nothing\.toml"):
        run("nothing.toml")
    with pytest.raises(RunError, match="refused"):
        run("fig.toml", {"refuse": True}).flows  # noqa: B018


def test_scorecard_is_deterministic(folder: Path, fake: some_paper.Fake) -> None:
    first, _ = evaluate(folder, fake)
    card = _scorecard.markdown([first], "the command", "fake 1", scale="full")
    second, _ = evaluate(folder, some_paper.Fake())
    assert _scorecard.markdown([second], "the command", "fake 1", scale="full") == card
    assert first.fingerprint == second.fingerprint
    assert "`the command` with fake 1." in card
    assert f"`{first.fingerprint}`" in card
    assert "| **c-number** | 12 ns | 12 ±2.5 |  |  | 3 flows; 6 timeouts; seeds 3 of 5 | yes |" in card
    named = "22 ±2.5 *under twenty (named in specification R9)*"
    assert f"| **c-reading** | 22 | 12 ±2.5 | {named} |  | 3 flows; 6 timeouts | named |" in card
    assert "| twenty | named in specification R9 | `c-reading` |  |" in card
    told = "* `c-wrong` (NO, open): It is 0. Measured: 12 is outside -1 to 1. It was tested."
    assert f"{told} Second opinion: none, not run in a second simulator." in card


def test_many_values_shown_as_range() -> None:
    few = Measured({"a": 1.0, "b": 2.0}, low={"a": 0.5, "b": 1.0}, high={"a": 1.5, "b": 3.0}, n=3)
    assert _scorecard.brief(few) == _scorecard.measured(few) == "a 1 ±0.5, b 2 ±1"
    assert _scorecard.brief(Measured([float(i) for i in range(9)])) == "9 values, 0 to 8"
    points = {f"n={n}": {"dctcp": n / 10, "reno": float(n)} for n in range(1, 6)}
    assert _scorecard.brief(Measured(points)) == "at 5 points: dctcp 0.1 to 0.5, reno 1 to 5"
    ragged = {"all": {f"n={n}": 1.0 for n in range(9)}, "none": 2.0}
    assert _scorecard.brief(Measured(ragged)) == "10 values, 1 to 2"


def test_figures_and_pages(folder: Path, fake: some_paper.Fake, tmp_path: Path) -> None:
    session = Session(fake, scale="quick")
    paper = _paper.load(folder)
    assert session.drawn(paper, None) == ["1"], "the other one is for full reproductions"
    outcome, results = session.evaluate(paper)
    out = tmp_path / "out"
    _draw.draw(outcome, results, ["1"], out / paper.slug)
    first = (out / "some-paper" / "fig01.svg").read_bytes()
    _draw.draw(outcome, results, ["1"], out / paper.slug)
    assert (out / "some-paper" / "fig01.svg").read_bytes() == first
    assert (out / "some-paper" / "fig01.png").stat().st_size > 1000
    _gallery.write([outcome], out, "the command", scale="quick")
    page = (out / "some-paper" / "index.html").read_text()
    assert 'src="fig01.svg"' in page
    assert "A &lt;figure&gt;" in page
    assert all(
        c in page
        for c in ("c-number", "c-reading", "c-wrong", "c-broken", "It was tested.", "named in specification R9", "6 timeouts")
    )
    assert "some-paper/index.html" in (out / "index.html").read_text()


def test_a_figure_that_fails_is_told(folder: Path, fake: some_paper.Fake, tmp_path: Path) -> None:
    text = (folder / "paper.py").read_text()
    (folder / "paper.py").write_text(text.replace('fig.subplots().plot(fcts(x["one"]))', 'raise RuntimeError("no ink")'))
    outcome, results = evaluate(folder, fake)
    _draw.draw(outcome, results, ["1"], tmp_path)
    assert "no ink" in outcome.broken_figures["1"]
    assert "figure 1 is not drawn: RuntimeError: no ink" in _scorecard.terminal(outcome, color=False, details=True)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"c-wrong", uses=["one"]', '"c-odd", uses=["one"]', "no claim 'c-odd'"),
        ('"c-wrong", uses', '"c-number", uses', "two functions"),
        ('uses=["refused"]', 'uses=["nothing"]', "which is no experiment"),
        ('claims=["c-number", "c-wrong"]', 'claims=["c-odd"]', "no claim c-odd"),
        ("paper = Paper", "page = Paper", "paper"),
    ],
)
def test_mistakes_in_a_paper(folder: Path, old: str, new: str, says: str) -> None:
    text = (folder / "paper.py").read_text()
    assert old in text
    (folder / "paper.py").write_text(text.replace(old, new))
    with pytest.raises((ValueError, NameError), match=says):
        _paper.load(folder)


def test_mistakes_in_claims(folder: Path) -> None:
    text = (folder / "claims.toml").read_text()
    (folder / "claims.toml").write_text(text.replace('kind = "bound"', 'kind = "bond"'))
    with pytest.raises(ValueError, match="c-broken"):
        _paper.load(folder)


def test_the_command(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fake: some_paper.Fake
) -> None:
    monkeypatch.chdir(folder.parent.parent)
    monkeypatch.setattr(_simulate, "Package", lambda _root, _threads, _world: fake)
    out = tmp_path / "out"
    assert command.main(["all", "--out", str(out), "--scorecard", str(tmp_path / "CARD.md")]) == 1, "a claim was not evaluated"
    printed = capsys.readouterr().out
    assert (
        "1 of 4 claims hold as stated, 1 under a reading named beforehand, 1 do not, 1 not evaluated; "
        "headline 2 of 2, 100% (1 as stated, 1 under a reading named beforehand)"
    ) in printed
    assert (tmp_path / "CARD.md").read_text() == (out / "SCORECARD.md").read_text()
    assert "`forebay repro all`" in (out / "SCORECARD.md").read_text()
    assert {p.name for p in (out / "some-paper").iterdir()} == {"index.html", "fig01.svg", "fig01.png", "extra.svg", "extra.png"}
    before = (out / "SCORECARD.md").stat().st_mtime_ns
    assert command.main(["some-paper", "--claim", "c-wrong", "--out", str(out)]) == 0, "not reproduced is an answer"
    printed = capsys.readouterr().out
    assert "c-wrong" in printed
    assert "c-number" not in printed
    assert (out / "SCORECARD.md").stat().st_mtime_ns == before, "a part is no scorecard"
    assert command.main(["some-paper", "--figure", "9"]) == 2
    assert "no figure 9; there are some-paper: 1, extra" in capsys.readouterr().err
    assert command.main(["some-paper", "--claim", "c-odd"]) == 2
    assert "no claim c-odd; there are c-number, c-reading" in capsys.readouterr().err
    assert command.main(["no-paper"]) == 2
    assert "no paper 'no-paper'" in capsys.readouterr().err


def test_claims_in_another_world(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There the runs of one experiment take twice as long, those of another are refused, and a key is changed for it."""

    class Elsewhere(some_paper.Fake):
        def submit(self, scenario: Path, sets: Sequence[str], seeds: int) -> some_paper.FakeRuns:
            if "refuse=true" in sets:
                raise _simulate.RefusedError("it has no such queue")
            runs = super().submit(scenario, [s.replace("fct=10", "fct=20") for s in sets], seeds)
            runs.changed = {"transport.handshake": True}
            return runs

    def package(_root: Path, _threads: int, world: str = "sim") -> some_paper.Fake:
        return some_paper.Fake() if world == "sim" else Elsewhere()

    monkeypatch.setattr(_simulate, "Package", package)
    compared: list[Sequence[str]] = []

    def compare(words: Sequence[str]) -> str:
        compared.append(words)
        connections = "".join(f"connection {i}: 3 of 9 packets are the same\n  then ACK 4:\n" for i in range(2))
        return (
            f"reno: sim and linux on the same stack linux\n0 of 3 connections are the same within 1ms\n{connections}and 1 more\n"
        )

    monkeypatch.setattr(_decides, "run", compare)
    out = tmp_path / "out"
    assert command.main([str(folder), "--world", "linux", "--out", str(out)]) == 1, "a claim was not evaluated in the simulator"
    printed = capsys.readouterr().out
    assert "in linux: NO: 22 ±2.5" in printed
    assert "in linux: not run: it has no such queue" in printed
    assert "in linux: 1 of 3 claims hold, 1 cannot run; the verdict of the simulator differs for c-number" in printed
    assert "settings changed for this backend: transport.handshake = true (experiments one, grid)" in printed
    card = (out / "SCORECARD.md").read_text()
    assert "| verdict | in linux |" in card
    assert "| yes | NO: 22 ±2.5 |" in card
    assert "--world linux" in card
    page = (out / "some-paper" / "index.html").read_text()
    assert "On the backend linux: 1 of 3 claims" in page
    assert '<a href="in-linux.md">The packets that decide</a>' in page
    decides = (out / "some-paper" / "in-linux.md").read_text()
    assert "## c-number" in decides
    assert "c-wrong" not in decides, "both backends have the same verdict"
    assert decides.count("connection 0: 3 of 9 packets are the same\n  then ACK 4:") == len(compared) == 1
    assert "connection 1" not in decides
    assert "forebay compare papers/some-paper/" in decides
    assert compared[0][:2] == ("compare", str(folder / "fig.toml"))
    assert compared[0][-2:] == ("--set", "transport.handshake=true"), "with the settings of the other backend"
    assert "c-number,headline,as stated" in (out / "verdicts.csv").read_text(), "verdicts are those of the simulator"


def test_figure_verdict_from_claims(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fake: some_paper.Fake
) -> None:
    monkeypatch.setattr(_simulate, "Package", lambda _root, _threads, _world: fake)
    out = tmp_path / "out"
    assert command.main([str(folder), "--figure", "1", "-v", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "1 of 2 claims" in printed
    assert "c-number" in printed
    assert "c-wrong" in printed
    assert "c-reading" not in printed
    assert f"pages: {out / 'index.html'}" in printed
    assert "--figure 1" in (out / "index.html").read_text()
    page = (out / "some-paper" / "index.html").read_text()
    assert "c-wrong" in page
    assert "fig01.svg" in page
    assert not (out / "SCORECARD.md").exists()
    assert command.main([str(folder), "--figure", "1", "--claim", "c-reading", "--out", str(out)]) == 0
    assert "of 3 claims" in capsys.readouterr().out


def test_command_of_other_sources_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Verdicts are of the simulator in this package, which must be the one that the user starts."""
    monkeypatch.setenv("FOREBAY_SOURCES", "0" * 32)
    assert command.main([str(folder)]) == 2
    assert "from one checkout" in capsys.readouterr().err


def test_command_options_match_program() -> None:
    """`forebay repro` of the program names its options itself and hands them to this package."""
    code = "from forebay import _native; _native.cli(['forebay', 'repro', '--help'])"
    commands = [["-c", code], ["-m", "forebay", "repro", "--help"]]
    told = [subprocess.run([sys.executable, *c], capture_output=True, text=True, check=True).stdout for c in commands]
    options = [set(re.findall(r"(?<![\w-])--?[a-z]+\b", text)) for text in told]
    assert options[0] == options[1]
    assert {"--quick", "--claim", "--figure", "--out", "--threads", "-v"} <= options[0]


def claim_of(folder: Path, old: str, new: str) -> None:
    text = (folder / "paper.py").read_text()
    assert old in text
    (folder / "paper.py").write_text(text.replace(old, new))


def test_later_readings_do_not_count(folder: Path, fake: some_paper.Fake) -> None:
    claim_of(folder, 'named="specification R9"', "found_afterwards=True")
    outcome, _ = evaluate(folder, fake)
    verdict = outcome.verdicts[1]
    assert (verdict.status, verdict.good, verdict.by) == (AFTERWARDS, False, 1)
    assert verdict.columns == [0, None, 1]
    t = _scorecard.tally(_scorecard.entries(outcome.verdicts))
    assert (t["not"], t["afterwards"], t["headline_good"]) == (2, 1, 1)
    card = _scorecard.markdown([outcome], "the command", "fake 1", scale="full")
    assert "| 12 ±2.5 |  | 22 ±2.5 *under twenty (found afterwards)* | 3 flows; 6 timeouts | NO, afterwards, open |" in card
    assert 'c-reading,headline,"not reproduced, found afterwards",no,twenty' in _scorecard.table([outcome])


def test_a_sensitivity_does_not_count(folder: Path, fake: some_paper.Fake) -> None:
    claim_of(folder, 'named="specification R9"', 'sensitivity="contradicts Sec. 2"')
    assert evaluate(folder, fake)[0].verdicts[1].status == AFTERWARDS


def test_claim_measured_under_valid_readings(folder: Path, fake: some_paper.Fake) -> None:
    claim_of(folder, "[Measured.over(fcts(a)), ", "[")
    assert evaluate(folder, fake)[0].verdicts[1].status == NAMED
    claim_of(folder, 'named="specification R9"', "found_afterwards=True")
    verdict = evaluate(folder, fake)[0].verdicts[1]
    assert verdict.status == BROKEN
    assert "as it stands" in verdict.error


def test_reading_applies_to_experiment(folder: Path, fake: some_paper.Fake) -> None:
    old = '@paper.claim("c-wrong", uses=["one"], explanation=extra.WHY)\ndef _(x):\n    return Measured.over(fcts(x["one"]))'
    new = (
        '@paper.claim("c-wrong", uses=["one", "grid"], explanation=extra.WHY)\ndef _(x):\n'
        '    return [Measured.over(fcts(x["one"])), Measured(0, reading=Reading("thirty", named="specification R10"))]'
    )
    claim_of(folder, old, new)
    by = {v.claim.id: v for v in evaluate(folder, fake)[0].verdicts}
    assert [by[c].status for c in ("c-number", "c-reading", "c-wrong")] == [STATED, BROKEN, BROKEN]
    assert "experiment grid is under several readings that count (twenty / thirty)" in by["c-wrong"].error
    claim_of(folder, 'Reading("thirty", named="specification R10")', 'Reading("thirty", sensitivity="of one claim")')
    by = {v.claim.id: v for v in evaluate(folder, fake)[0].verdicts}
    assert [by[c].status for c in ("c-number", "c-reading", "c-wrong")] == [STATED, NAMED, AFTERWARDS]


@pytest.mark.parametrize("origin", [{}, {"named": "specification 1", "found_afterwards": True}])
def test_a_reading_has_one_origin(origin: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="needs one origin"):
        Reading("twice", **origin)


def test_combined_readings_need_all_valid() -> None:
    named, other = Reading("a", named="specification 1"), Reading("b", named="the readme")
    assert (named & other).counts
    assert (named & other).origin == "named in specification 1 and the readme"
    assert not (named & Reading("c", found_afterwards=True)).counts
    assert (named & Reading("c", sensitivity="contradicts Sec. 2")).origin == "a sensitivity: contradicts Sec. 2"


def test_what_a_measurement_rests_on(folder: Path, fake: some_paper.Fake) -> None:
    """Of the grid's six runs each measurement looks at three; their flows have as many timeouts as the seed."""
    measured = evaluate(folder, fake)[0].verdicts[1].measured
    assert [(m.basis.flows, m.basis.timeouts) for m in measured if m.basis] == [(3, {"v": 6})] * 2
    quick = evaluate(folder, fake, quick=True)[0].verdicts[0]
    assert _scorecard.rests_on(quick, quick.measured[0]) == "2 flows; 3 timeouts; seeds 2 of 5"


def test_the_scale_of_the_document(folder: Path, fake: some_paper.Fake) -> None:
    outcome, _ = Session(fake, scale="document", more_seeds=False).evaluate(_paper.load(folder))
    v = outcome.verdicts[0]
    assert v.measured[0].n == 5
    assert _scorecard.rests_on(v, v.measured[0]) == "5 flows; 15 timeouts", "nothing is below the specification's numbers"


def test_scale_effect_is_noted(folder: Path, fake: some_paper.Fake) -> None:
    claim_of(folder, '@paper.experiment("one")', '@paper.experiment("one", scale_note="Queues\\n  are short.")')
    paper = _paper.load(folder)
    of = {s: Session(fake, scale=s).evaluate(paper)[0].verdicts[0].scale_note for s in SCALES}
    assert of == {"quick": "Queues are short.", "full": "Queues are short.", "document": ""}


def test_seeds_that_turn_a_verdict(folder: Path, fake: some_paper.Fake) -> None:
    """Seeds measure 11, 12, 13, ...; the claim holds within 0.5 of 12, so on three seeds, and on the second alone."""
    v, named, wrong, _ = evaluate(folder, fake)[0].verdicts
    assert [(x.seeds, x.turning) for x in (v, named, wrong)] == [(3, 2), (3, 2), (3, 0)]
    assert v.status == STATED
    assert _scorecard.few(v) == (
        "2 of 3 seeds alone give another verdict; not judged on 30 seeds, because the others need 3e+13 packet hops, above the"
        " limit of 3e+09"
    )
    assert _scorecard.few(wrong) == ""


def test_seed_without_data_turns_nothing(folder: Path, fake: some_paper.Fake) -> None:
    """Of the seeds 11, 12, 13 the claim is about those above 12.5; alone, the others have no data."""
    old = '@paper.claim("c-wrong", uses=["one"], explanation=extra.WHY)\ndef _(x):\n    return Measured.over(fcts(x["one"]))'
    claim_of(folder, old, old.replace('fcts(x["one"])', '[f for f in fcts(x["one"]) if f > LIMIT]') + "\n\nLIMIT = 12.5\n")
    wrong = evaluate(folder, fake)[0].verdicts[2]
    assert (wrong.status, wrong.seeds, wrong.turning) == (NOT, 3, 0)


def test_error_on_one_seed_is_reported(folder: Path, fake: some_paper.Fake) -> None:
    """Not taken for a claim that needs several seeds."""
    old = '@paper.claim("c-wrong", uses=["one"], explanation=extra.WHY)\ndef _(x):\n'
    claim_of(folder, old, old + '    fcts(x["one"])[1]\n')
    number, _, wrong, _ = evaluate(folder, fake)[0].verdicts
    assert (number.status, wrong.status) == (STATED, BROKEN)
    assert wrong.error.startswith("judging one seed alone: IndexError: list index out of range (paper.py:")


def test_one_seed_needs_the_reading_of_all(folder: Path, fake: some_paper.Fake) -> None:
    old = '[Measured.over(fcts(a)), Measured.over(fcts(b), reading=Reading("twenty", named="specification R9"))]'
    claim_of(folder, old, f"{old} if a.seeds > 1 else Measured.over(fcts(a))")
    named = evaluate(folder, fake)[0].verdicts[1]
    assert named.status == BROKEN
    assert "seed 1 alone is not measured under the reading of all seeds" in named.error


def test_turned_verdict_judged_on_thirty_seeds(folder: Path, fake: some_paper.Fake) -> None:
    fake.hops = 1
    outcome, _ = evaluate(folder, fake)
    v = outcome.verdicts[0]
    assert (v.status, v.measured[0].value, v.seeds, v.turning) == (NOT, 25.5, 30, 1)
    assert v.before is not None
    assert (v.before.status, v.before.seeds) == (STATED, 3)
    assert _scorecard.few(v) == (
        "2 of 3 seeds alone gave another verdict; judged on 30 seeds, of which 1 give another one; on 3 seeds it was: yes"
    )
    assert _scorecard.rests_on(v, v.measured[0]) == "30 flows; 465 timeouts; judged on 30 seeds"
    assert [x.status for x in outcome.verdicts] == [NOT, NOT, NOT, BROKEN], "the reading, too"
    assert f"* `c-number`: {_scorecard.few(v)}." in _scorecard.markdown([outcome], "the command", "fake 1", scale="full")
    # Both experiments run the first of two points; what ran before is counted once.
    assert outcome.runs == 2 * 30
    quick = evaluate(folder, fake, quick=True)[0].verdicts[0]
    assert (quick.before, quick.turns) == (None, True)
    there, _ = Session(fake, more_seeds=False).evaluate(_paper.load(folder))
    assert there.verdicts[0].before is None


def test_no_limit_at_document_scale(folder: Path, fake: some_paper.Fake) -> None:
    v = Session(fake, scale="document").evaluate(_paper.load(folder))[0].verdicts[1]
    assert v.before is not None
    assert (v.before.seeds, v.seeds) == (3, 30)


def test_claim_that_needs_several_seeds(folder: Path, fake: some_paper.Fake) -> None:
    """It has no number for one seed."""
    new = 'f = fcts(x["one"])\n    return Measured(f[1] if len(f) > 1 else float("nan"))'
    claim_of(folder, 'return Measured.over(fcts(x["one"]))', new)
    v = evaluate(folder, fake)[0].verdicts[0]
    assert (v.status, v.seeds, v.turning) == (STATED, 0, 0)


def test_single_runs_are_not_repeated(folder: Path, fake: some_paper.Fake) -> None:
    run = Run(folder, fake, least_seeds=30)
    assert [run("fig.toml", {"fct": 1}, seeds=n).seeds for n in (1, 2, 50)] == [1, 30, 50]


@pytest.mark.parametrize(
    ("words", "basis", "told"),
    [
        ("timeouts fall", _basis.Basis((), 5, {"v": 2}), "it rests on 2 timeouts"),
        ("timeouts fall", _basis.Basis((), 5, {"v": 3, "w": 2}), ""),
        ("goodput rises", _basis.Basis((), 5, {"v": 2}), ""),
        ("few packets are lost", _basis.Basis((), 5, {}, 1), "it rests on 1 lost packet"),
        ("drop-tail queues are longer", _basis.Basis((), 5, {}, 1), ""),
    ],
)
def test_verdict_on_few_events_says_so(words: str, basis: _basis.Basis, told: str) -> None:
    claim = Claim("c", "", words, "bound", "mean", "", {"op": "<", "value": 3.0}, {"type": "none"}, "", True)
    m = Measured(1.0)
    m.basis = basis
    assert _scorecard.few(Verdict(claim, STATED, [m], [_verdict.judge(claim, m, _verdict.EXACT)])) == told


def test_losses_are_counted_for_claims_on_losses(folder: Path, fake: some_paper.Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each seed has a port that drops as many packets as the seed, and a link that loses one."""
    table = some_paper.FakeRuns.table

    def with_ports(self: some_paper.FakeRuns, name: str, columns: Sequence[str] | None) -> Table:
        if name != "ports":
            return table(self, name, columns)
        run = table(self, "flows", ["run"])["run"]
        lost = {c: run + 1 if c == "dropped_overflow" else run * 0 + (c == "corrupted") for c in _basis.LOST}
        return Table({"run": run, **lost})

    monkeypatch.setattr(some_paper.FakeRuns, "table", with_ports)
    (folder / "claims.toml").write_text(
        (folder / "claims.toml").read_text().replace("It is 12.", "It loses 12 packets by drops.")
    )
    v, other, *_ = evaluate(folder, fake)[0].verdicts
    assert v.measured[0].basis is not None
    assert v.measured[0].basis.losses == 1 + 2 + 3 + 3
    assert "6 timeouts; 9 lost packets" in _scorecard.rests_on(v, v.measured[0])
    assert other.measured[0].basis is not None
    assert other.measured[0].basis.losses is None
