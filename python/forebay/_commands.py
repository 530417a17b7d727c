"""Commands as functions: captures, advice, the referee and traces, with typed answers.

Each function runs the command of the same name in a process of its own. Ctrl-C ends it, and its answers are those of the command
line.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _process, _share
from ._errors import ForebayError
from ._result import Result
from ._scenario import Scenario


class CommandError(ForebayError, RuntimeError):
    """A command failed. The text is the message of the command line.

    Attributes
    ----------
    code : int
        Exit code: 1 if the run failed, 2 for wrong input.
    """

    code: int

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.code)


def _said(*args: str | os.PathLike[str], accepts: Sequence[int] = (0,)) -> str:
    """Run a command and return its output."""
    # Lines stay whole, whatever the width of the terminal is said to be.
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    done = subprocess.run(_process.command(*args), capture_output=True, text=True, encoding="utf-8", env=environment, check=False)
    if done.returncode not in accepts or not done.stdout:
        raise CommandError(done.stderr.strip() or done.stdout.strip(), done.returncode)
    return done.stdout


def _options(**values: Any) -> list[str]:
    """Return the options of a command line; None leaves one out."""
    options = []
    for key, value in values.items():
        name = "--" + key.replace("_", "-")
        if value is True:
            options.append(name)
        elif value is not None and value is not False:
            options.append(f"{name}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return options


@dataclass(frozen=True)
class Distribution:
    """Distribution of a quantity, in SI units; None for values without samples."""

    count: int
    mean: float | None
    min: float | None
    p1: float | None
    p10: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    max: float | None

    @classmethod
    def _of(cls, values: dict[str, Any]) -> Distribution:
        fields: dict[str, Any] = {key: values.get(key) for key in cls.__dataclass_fields__}
        return cls(**fields)


@dataclass(frozen=True)
class TrainGroup:
    """Packet trains of a kind."""

    count: int
    """Number of trains."""
    bytes: int
    """Bytes of their payload."""
    size_bytes: Distribution
    """Payload of a train, bytes."""
    size_packets: Distribution
    """Packets of a train."""
    gap_s: Distribution
    """Pauses between trains, seconds."""


@dataclass(frozen=True)
class Trains:
    """Analysis of captures by :func:`trains`."""

    answer: str
    """The first line of the command's output."""
    frames: int
    """Frames in the captures."""
    hosts: int
    """Hosts."""
    connections: int
    """Connections."""
    bytes: int
    """Bytes of payload."""
    duration_s: float
    """Time from the first frame to the last, seconds."""
    all: TrainGroup
    """All packet trains."""
    short: TrainGroup
    """Short trains."""
    long: TrainGroup
    """Long trains."""
    rtt_s: Distribution
    """Time from data to its ACK, seconds."""
    retransmissions: dict[str, int]
    """Retransmitted packets by kind: ``fast``, ``timeout``, ``probe``, ``handshake``, ``unneeded``."""
    timeouts: int
    """Retransmission timeouts."""
    incast_events: int
    """Incast events."""
    document: dict[str, Any]
    """The complete document of ``forebay trains --format json``."""

    def __str__(self) -> str:
        return self.answer


def trains(
    captures: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    gap: str | None = None,
    long_train: int | None = None,
    incast: int | None = None,
    mss: int | None = None,
    scenario: str | os.PathLike[str] | None = None,
    resample: bool = False,
    rate: str | None = None,
    hosts: str | os.PathLike[str] | None = None,
    anonymise: bool = False,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Trains:
    """Analyze packet trains, RTTs, retransmissions and incast in captures, as ``forebay trains`` does.

    Parameters
    ----------
    captures : path or list of paths
        Files of pcap or pcapng.
    gap : str, optional
        Pause that ends a train, such as ``"500us"``; default: the smoothed RTT of the connection.
    long_train : int, optional
        Packets from which on a train is long; default 100.
    incast : int, optional
        Senders from which on trains to one receiver within an RTT are an incast event; default 8.
    mss : int, optional
        Payload of a full packet, bytes; default: from the SYNs.
    scenario : path, optional
        Scenario to write, which replays the traffic; the list of flows is written beside it.
    resample : bool
        The scenario draws sizes and pauses from their distributions instead.
    rate : str, optional
        Rate of the links of the scenario; default ``"10Gbps"``.
    hosts : path, optional
        File with rules ``PREFIX,HOST`` that map addresses to hosts.
    anonymize : bool
        Replace addresses by h0, h1, ... in order of first appearance.
    out : path, optional
        Directory for tables in CSV.
    force : bool
        Replace existing files.

    Raises
    ------
    CommandError
        If a file cannot be read or written, or an option is wrong.

    Examples
    --------
    >>> import forebay as fb
    >>> seen = fb.trains("docs/captures/web.pcap")
    >>> seen.connections, seen.retransmissions["fast"], seen.long.count
    (10, 137, 1)
    """
    files = [captures] if isinstance(captures, (str, os.PathLike)) else list(captures)
    options = _options(
        gap=gap,
        long_train=long_train,
        incast=incast,
        mss=mss,
        scenario=scenario,
        resample=resample,
        rate=rate,
        hosts=hosts,
        anonymise="order" if anonymise else None,
        out=out,
        force=force,
    )
    document: dict[str, Any] = json.loads(_said("trains", *files, *options, "--format=json", "--progress=none"))

    def group(name: str) -> TrainGroup:
        values = document["trains"][name]
        parts = {key: Distribution._of(values[key]) for key in ("size_bytes", "size_packets", "gap_s")}
        return TrainGroup(count=values["count"], bytes=values["bytes"], **parts)

    totals: dict[str, Any] = {
        key: document[key] for key in ("answer", "frames", "hosts", "connections", "bytes", "duration_s", "timeouts")
    }
    return Trains(
        **totals,
        all=group("all"),
        short=group("short"),
        long=group("long"),
        rtt_s=Distribution._of(document["rtt_s"]),
        retransmissions=document["retransmissions"],
        incast_events=document["incast"]["events"],
        document=document,
    )


@dataclass(frozen=True)
class Option:
    """A change that :func:`advise` tried."""

    name: str
    """The change in words."""
    sets: list[str]
    """Changes of the scenario, in the syntax of ``forebay run --set``."""
    install: list[str]
    """Commands that install it."""
    verdict: str
    """``"sound"``, ``"starves"`` (it starves other traffic) or ``"unknown"``."""
    before: float | None
    """Objective today: seconds, or bit/s for goodput."""
    after: float | None
    """Objective with the change."""
    factor: float | None
    """Ratio of both; above 1 is better. None if one was not measured."""

    @classmethod
    def _of(cls, values: dict[str, Any]) -> Option:
        objective = values["objective"] or {}
        fields: dict[str, Any] = {key: values[key] for key in ("name", "sets", "install", "verdict")}
        fields.update({key: objective.get(key) for key in ("before", "after", "factor")})
        return cls(**fields)


@dataclass(frozen=True)
class Advice:
    """Advice of :func:`advise`."""

    answer: str
    """The recommendation, a sentence a line."""
    objective: str
    """The objective."""
    recommended: Option | None
    """The recommended change; None if there is none."""
    options: list[Option]
    """All changes that were simulated, the best first."""
    results: Path
    """Directory of the results."""
    document: dict[str, Any]
    """The complete document of ``forebay advise --format json``."""

    def __str__(self) -> str:
        return self.answer


def advise(
    scenario: Scenario | str | os.PathLike[str],
    *,
    objective: str | None = None,
    seeds: int = 5,
    within: str = "12.5%",
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    report: bool = False,
) -> Advice:
    """Try the changes that an operator can make, and rank them, as ``forebay advise`` does.

    Parameters
    ----------
    scenario : Scenario or path
        The network as it is today.
    objective : str, optional
        Such as ``"p99 of reads"`` or ``"p99 of reads at most 2ms"``; default: that of ``[advise]``.
    seeds : int
        Seeds for the best changes.
    within : str
        The run of a change ends when its ratio to the present network is known to this accuracy;
        ``"0%"`` for runs of the whole duration.
    out : path, optional
        Directory for the results, default ``out/NAME-advise``; the same call continues an interrupted search.
    threads : int, optional
        Parallel runs; one for each processor by default.
    report : bool
        Write a report beside the results.

    Raises
    ------
    CommandError
        If the scenario is wrong, or results cannot be written.
    """
    options = _options(objective=objective, seeds=seeds, within=within, out=out, threads=threads, no_report=not report)
    with _file(scenario) as file:
        document: dict[str, Any] = json.loads(_said("advise", file, *options, "--format=json"))
    entries = [Option._of(o) for o in document["options"]]
    number = document["recommended"]
    return Advice(
        answer="\n".join(document["answer"]),
        objective=document["objective"],
        recommended=None if number is None else entries[number - 1],
        options=entries,
        results=Path(document["results"]),
        document=document,
    )


class _file:  # noqa: N801
    """The file of a scenario; one in memory is written to the folder that its file names are relative to."""

    def __init__(self, scenario: Scenario | str | os.PathLike[str]) -> None:
        self._scenario = scenario
        self._temporary: Path | None = None

    def __enter__(self) -> Path:
        if not isinstance(self._scenario, Scenario):
            return _share.found(self._scenario)
        native = self._scenario._native
        folder = Path(native.base) if str(native.base) not in ("", ".") else Path(native.name).parent
        handle, name = tempfile.mkstemp(prefix="forebay-", suffix=".toml", dir=folder if folder.is_dir() else None, text=True)
        self._temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            document = {"name": self._scenario.name, **self._scenario.to_dict()}
            file.write(Scenario.from_dict(document).to_toml())
        return self._temporary

    def __exit__(self, *_: object) -> None:
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)


@dataclass(frozen=True)
class Finding:
    """Result of a criterion in one backend."""

    world: str
    """The backend."""
    value: str
    """Measured value, with its unit."""
    band: str
    """Legal values."""
    verdict: str
    """``"holds"``, ``"violated"``, ``"report"`` (without a legal range), ``"unknown"`` (not measured), ``"n/a"`` (does not
    apply) or ``"refused"`` (the backend cannot run it)."""
    scenarios: list[str]
    """Scenarios of the runs."""


@dataclass(frozen=True)
class Criterion:
    """A criterion that :func:`referee` judged."""

    group: str
    """Document that has the criterion."""
    row: str
    """The criterion in words."""
    source: str
    """Section of the document."""
    results: list[Finding]
    """A result for each backend, in the order of :attr:`RefereeReport.worlds`."""


@dataclass(frozen=True)
class RefereeReport:
    """Judgment of a congestion control by :func:`referee`."""

    cc: str
    """The congestion control."""
    worlds: list[str]
    """Backends of the runs."""
    summary: list[str]
    """Numbers of criteria by verdict, a sentence for each backend."""
    rows: list[Criterion]
    """All criteria."""
    document: dict[str, Any]
    """The complete document of ``forebay referee --format json``."""

    @property
    def violated(self) -> list[Criterion]:
        """The criteria that are violated in a backend."""
        return [r for r in self.rows if any(f.verdict == "violated" for f in r.results)]

    def __str__(self) -> str:
        return "\n".join(self.summary)


def referee(
    cc: str,
    *,
    world: str | None = None,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> RefereeReport:
    """Judge a congestion control by RFC 9743, the test cases of the BBR draft and RFC 9331, as ``forebay referee`` does.

    Parameters
    ----------
    cc : str
        Name of a congestion control in ``forebay list``.
    world : str, optional
        Backends of the runs: ``"sim"``, ``"linux"`` or ``"sim,linux"``. By default both where the kernel is built and has
        the congestion control, else ``"sim"``.
    threads : int, optional
        Criteria that are judged in parallel; one for each processor by default.
    out : path, optional
        Directory for the scenarios of all criteria.
    force : bool, optional
        Replace existing scenarios.

    Raises
    ------
    CommandError
        If there is no such congestion control, or a run fails.
    """
    # The code 1 stands for violated criteria.
    said = _said("referee", cc, *_options(world=world, threads=threads, out=out, force=force), "--format=json", accepts=(0, 1))
    document: dict[str, Any] = json.loads(said)
    rows = [Criterion(**{**row, "results": [Finding(**f) for f in row["results"]]}) for row in document["rows"]]
    return RefereeReport(document["cc"], document["worlds"], document["summary"], rows, document)


def trace(
    result: Result | str | os.PathLike[str],
    flow: int,
    out: str | os.PathLike[str],
    *,
    variant: str | None = None,
    run: int = 0,
    qlog_dialect: str = "sequential",
) -> dict[str, Path]:
    """Write the packets of one flow as pcapng, qlog and a time-sequence graph, as ``forebay trace`` does. The run is repeated.

    Parameters
    ----------
    result : Result or path
        A result, or a directory that ``forebay run`` wrote.
    flow : int
        ``flow_id`` of the table ``flows``.
    out : path
        Folder for the files.
    variant : str, optional
        Variant of the results, instead of the first one.
    run : int
        Run of the variant, from 0.
    qlog_dialect : {"sequential", "qvis"}
        Form of the qlog.

    Returns
    -------
    dict
        The files: ``"packets"`` (pcapng), ``"qlog"`` and ``"picture"`` (HTML).

    Raises
    ------
    CommandError
        If the result has no such flow, or files cannot be written.

    Examples
    --------
    >>> import forebay as fb, tempfile
    >>> s = fb.Scenario.load("scenarios/two-flows.toml")
    >>> r = s.with_({"transport.cc": "dctcp", "observe": {}}, duration="5ms").run()
    >>> with tempfile.TemporaryDirectory() as out:
    ...     sorted(fb.trace(r, 0, out))
    ['packets', 'picture', 'qlog']
    """
    options = _options(flow=flow, out=out, variant=variant, run=run, qlog_dialect=qlog_dialect)
    with tempfile.TemporaryDirectory() as scratch:
        if isinstance(result, Result):
            folder = Path(scratch) / "run"
            result.save(folder)
        else:
            folder = Path(result)
        said = _said("trace", folder, *options)
    found = dict(line.split(": ", 1) for line in said.splitlines() if line.startswith(("packets: ", "qlog: ", "picture: ")))
    return {name: Path(path) for name, path in found.items()}
