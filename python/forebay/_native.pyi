"""
The native module of the package; use `forebay` instead.
"""

from _typeshed import SupportsGetItem
from os import PathLike
from pathlib import Path
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["__sources__", "__version__", "Ack", "BegunSweep", "Buffer", "Controls", "Engine", "Event", "Reduction", "Results", "Runs", "Scenario", "Session", "Sweep", "Table", "Window", "answer", "cli", "explain", "model_ceilings", "model_dctcp", "model_first_round", "model_incast", "model_nstar", "model_random_marks", "model_remaining", "model_shares", "model_trim", "model_trim_flows", "model_trim_queue", "model_trim_wait", "model_weight", "open_run", "open_sweep", "registry", "report", "run_all", "run_batch", "run_once", "run_sweep", "table_names", "write_file"]

__sources__: Final[str]
__version__: Final[str]

@final
class Ack:
    """
    Facts about one ACK.
    """
    @property
    def acked(self, /) -> int:
        """
        Bytes newly acknowledged cumulatively; 0 for a duplicate.
        """
    @property
    def delivered(self, /) -> int:
        """
        Bytes newly delivered, including SACKed ones.
        """
    @property
    def ece(self, /) -> bool:
        """
        True if the ACK carries ECE.
        """
    @property
    def grow(self, /) -> float:
        """
        Segments of growth, by the stack's counting rule.
        """
    @property
    def in_flight(self, /) -> int:
        """
        Bytes in the network: without SACKed and lost segments where there is a scoreboard.
        """
    @property
    def lost(self, /) -> int:
        """
        Segments newly marked lost; none before loss detection of the ACK.
        """
    @property
    def min_rtt(self, /) -> float | None:
        """
        Smallest RTT of the connection so far, seconds.
        """
    @property
    def mss(self, /) -> int:
        """
        Payload bytes of a full segment.
        """
    @property
    def newest_rtt(self, /) -> float | None:
        """
        RTT of the newest segment that it acknowledges, seconds; None if one of them had been retransmitted.
        """
    @property
    def now(self, /) -> float:
        """
        Time, seconds.
        """
    @property
    def rtt(self, /) -> float | None:
        """
        RTT sample of this ACK, seconds, if any.
        """
    @property
    def segments(self, /) -> int:
        """
        Segments newly delivered, however short; without a scoreboard as many as the bytes need.
        """
    @property
    def snd_nxt(self, /) -> int:
        """
        Stream offset of the next new byte.
        """
    @property
    def snd_una(self, /) -> int:
        """
        Stream offset after the ACK, bytes.
        """
    @property
    def srtt(self, /) -> float | None:
        """
        Smoothed RTT, seconds; None before the first sample.
        """
    @property
    def window_limited(self, /) -> bool | None:
        """
        True if the window limited sending in the last round trip; None where the stack does not track it.
        """

@final
class BegunSweep:
    """
    A started sweep: its points are checked, and its directory exists.
    """
    def __new__(cls, /, scenario: Scenario, axes: SupportsGetItem[int, str], out: str | PathLike[str] | None) -> BegunSweep:
        """
        Checks the points of a scenario's sweep with further axes (`key=[..]`), and creates the directory.
        """
    def missing(self, /) -> list[tuple[int, str]]:
        """
        The units without results, in order: the number of the point, and the key.
        """
    @property
    def path(self, /) -> Path:
        """
        Its directory.
        """
    def put(self, /, key: str, tables: SupportsGetItem[int, tuple[str, bytes | bytearray]], numbers: bytes | bytearray) -> None:
        """
        Stores the result of a unit that ran elsewhere: its tables by name, and its metrics.
        """
    def total(self, /) -> int:
        """
        Number of different units of the sweep.
        """

@final
class Buffer:
    """
    Values of one column: read-only memory that lives as long as this object.
    """
    @property
    def __array_interface__(self, /) -> Any:
        """
        NumPy's array interface, version 3: <https://numpy.org/doc/stable/reference/arrays.interface.html>. The buffer protocol proper
        is in the limited API only from Python 3.11 on.
        """
    def __len__(self, /) -> int: ...
    @property
    def typestr(self, /) -> str:
        """
        Type name in NumPy, such as `<i8`.
        """

@final
class Controls:
    """
    Congestion controls of a run, registered until `close`.
    """
    def __new__(cls, /, list: SupportsGetItem[int, tuple[str, Any, str, bool]]) -> Controls:
        """
        Registers congestion controls: for each its name, a callable that makes the object of a connection, the ECN mode (`off`, `classic`,
        `dctcp`, `accurate` or `l4s`), and whether it sets the pacing rate.
        """
    def close(self, /) -> None:
        """
        Ends the registration.
        """

@final
class Engine:
    """
    An engine; `forebay.Engine` uses it.
    """
    def __new__(cls, /, scenario: Scenario) -> Engine:
        """
        Creates the network of a scenario.
        """
    def hosts(self, /) -> list[str]:
        """
        Names of the hosts, in the order of their numbers.
        """
    def now(self, /) -> int:
        """
        Simulated time in picoseconds.
        """
    def open(self, /) -> int:
        """
        Messages that have not been delivered.
        """
    def packet_hops(self, /) -> int:
        """
        Packet transmissions so far.
        """
    def schedule(self, /, delay: SupportsIndex) -> int:
        """
        Sets a timer that is due after this many picoseconds; returns its number.
        """
    def send(self, /, src: SupportsIndex, dst: SupportsIndex, bytes: SupportsIndex) -> tuple[int, int]:
        """
        Sends a message; returns its number and the time at which it begins, in picoseconds.
        """
    def step(self, /) -> tuple[str, int]:
        """
        Runs to the next event: "delivered" or "due" with its number, "idle" or "ended". Handles Ctrl-C.
        """

@final
class Event:
    """
    An event other than an ACK. Attributes that an event does not have are None.
    """
    @property
    def begin(self, /) -> int | None:
        """
        Of `write`: stream offset of the first byte.
        """
    @property
    def deadline(self, /) -> float | None:
        """
        Of `write`: deadline, seconds, if the message has one.
        """
    @property
    def ece(self, /) -> bool | None:
        """
        Of `counted`: true if the duplicate ACK carries ECE.
        """
    @property
    def end(self, /) -> int | None:
        """
        Of `write`: stream offset behind the last byte.
        """
    @property
    def idle(self, /) -> float | None:
        """
        Of `tx-start`: time since the last transmission, seconds.
        """
    @property
    def kind(self, /) -> str:
        """
        Name of the event.

        * `"established"`: the handshake is complete.
        * `"write"`: the application wrote a message.
        * `"tx-start"`: first transmission after nothing was outstanding.
        * `"counted"`: a stack without SACK counted a duplicate ACK as an arrived segment.
        * `"recovery"`: fast recovery begins.
        * `"timeout"`: a retransmission timeout; the window is 1 now.
        * `"complete"`: an episode of recovery ended.
        * `"restart"`: the window was reduced after an idle time.
        """
    @property
    def now(self, /) -> float | None:
        """
        Of `tx-start`: time, seconds.
        """
    @property
    def rtt(self, /) -> float | None:
        """
        Of `established`: RTT of SYN and SYN-ACK, seconds, if it could be measured.
        """
    @property
    def snd_max(self, /) -> int | None:
        """
        Of `timeout`: stream offset behind the highest byte sent so far.
        """

@final
class Reduction:
    """
    A reduction that begins.
    """
    @property
    def base(self, /) -> float:
        """
        Window or flight from which the stack reduces, segments.
        """
    @property
    def in_flight(self, /) -> int:
        """
        Bytes in the network.
        """
    @property
    def trigger(self, /) -> str:
        """
        Cause: `"ecn"`, `"loss"` or `"timeout"`.
        """

@final
class Results:
    """
    Results of one scenario.
    """
    def dump(self, /) -> tuple[str, list[tuple[str, bytes]], list[tuple[str, bytes]]]:
        """
        The manifest as JSON, all tables as bytes, and the files with captured packets, for another process.
        """
    def manifest_json(self, /) -> str:
        """
        The manifest as JSON.
        """
    @property
    def path(self, /) -> Path | None:
        """
        Directory that the results were read from.
        """
    @staticmethod
    def restore(manifest: str, tables: SupportsGetItem[int, tuple[str, SupportsGetItem[int, SupportsIndex]]], captures: SupportsGetItem[int, tuple[str, SupportsGetItem[int, SupportsIndex]]]) -> Results:
        """
        Restores results from the bytes of [`Results::dump`].
        """
    def save(self, /, path: str | PathLike[str], format: str, force: bool) -> Path:
        """
        Writes a run directory and returns its path. `format` is `parquet` or `csv`.
        """
    def table(self, /, name: str) -> Table:
        """
        A table by its name.
        """

@final
class Runs:
    """
    All variants of a scenario with all seeds. Access to results waits for them.
    """
    def counts(self, /, run: SupportsIndex) -> list[tuple[str, int, int]]:
        """
        Name, number of messages (rows of `flows`, 0 if they are not kept) and number of retransmission timeouts including those of SYNs, for each
        variant of a seed.
        """
    def facts(self, /, run: SupportsIndex) -> str:
        """
        Metrics of the runs of a seed, as JSON: a list with an object for each variant.
        """
    def fingerprint(self, /, run: SupportsIndex) -> str:
        """
        Fingerprint of all variants with a seed, as of a run directory.
        """
    def table(self, /, name: str, columns: SupportsGetItem[int, str] | None) -> Table:
        """
        A table with the rows of all variants of the first seed, then of the next. `columns` limits the columns.
        """
    def variants(self, /) -> list[str]:
        """
        Names of the variants, in order. Does not wait.
        """
    def wait(self, /) -> None:
        """
        Waits until every run has ended. Raises the exception of the first failed run.
        """

@final
class Scenario:
    """
    A scenario as written, with its changes. It is immutable.
    """
    @property
    def base(self, /) -> Path:
        """
        Folder that `name` is relative to; empty when `name` is the path of a file.
        """
    def changed(self, /, sets: SupportsGetItem[int, str], seed: SupportsIndex | None) -> Scenario:
        """
        The same scenario with further changes; a seed of `None` leaves it.
        """
    def document(self, /) -> str:
        """
        The document with its changes, as JSON.
        """
    def explain(self, /) -> str:
        """
        Description of the runs as text; all points of a sweep are checked.
        """
    @staticmethod
    def from_text(text: str, name: str, base: str | PathLike[str], sets: SupportsGetItem[int, str], seed: SupportsIndex | None) -> Scenario:
        """
        A scenario from a text; its files are relative to `base`, and `name` is used in errors.
        """
    def is_sweep(self, /) -> bool:
        """
        True if the scenario has a sweep.
        """
    def labels(self, /) -> list[str]:
        """
        Names of the variants.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> Scenario:
        """
        A scenario from a file.
        """
    def models_json(self, /) -> str:
        """
        Predictions of the analytic models, as `forebay compare --worlds model --models --format json` prints them.
        """
    @property
    def name(self, /) -> str:
        """
        Name for errors; a path for a file.
        """
    def notes(self, /) -> list[str]:
        """
        Notes on the reading of the scenario.
        """
    def resolved_json(self, /) -> list[str]:
        """
        Every variant with all defaults filled in, as JSON.
        """
    def resolved_toml(self, /) -> list[str]:
        """
        Every variant with all defaults filled in, as TOML.
        """
    @property
    def seed(self, /) -> int | None:
        """
        Seed of the first run, if it is not the text's.
        """
    @property
    def sets(self, /) -> list[str]:
        """
        Changes in the form `key=value`.
        """
    @property
    def text(self, /) -> str:
        """
        The text as it was read.
        """
    def title(self, /) -> str:
        """
        Name of the run.
        """
    def with_controls(self, /, controls: Controls) -> Scenario:
        """
        The same scenario, which may name the congestion controls of the caller.
        """

@final
class Session:
    """
    Runs submitted scenarios, each different run once.
    """
    def __new__(cls, /, root: str | PathLike[str], threads: SupportsIndex) -> Session:
        """
        Creates a pool of `threads` threads, with a folder of results.
        """
    def counts(self, /) -> tuple[int, int, int]:
        """
        Different runs requested so far, those that have ended, and those that were cached.
        """
    def put(self, /, key: str, tables: SupportsGetItem[int, tuple[str, bytes | bytearray]], numbers: bytes | bytearray) -> None:
        """
        Stores the result of a run that ran elsewhere: its tables by name, and its metrics.
        """
    def stop(self, /) -> None:
        """
        Interrupts running units, discards queued ones, and returns when all threads have stopped.
        """
    def submit(self, /, scenario: Scenario, seeds: SupportsIndex, keep: SupportsGetItem[int, str]) -> Runs:
        """
        Submits a scenario with the seeds 1 to `seeds`; the tables `keep` are kept of each run.
        """
    def units(self, /, scenario: Scenario, seeds: SupportsIndex, keep: SupportsGetItem[int, str]) -> tuple[list[str], list[str]]:
        """
        The keys of the different runs of a scenario with the seeds 1 to `seeds`, in order, each with a flag for a missing result.
        """

@final
class Sweep:
    """
    A finished sweep.
    """
    def dump(self, /) -> tuple[str, Path, bytes]:
        """
        The manifest as JSON, the directory, and the table as bytes, for another process.
        """
    def manifest(self, /) -> str:
        """
        The manifest as JSON.
        """
    @property
    def path(self, /) -> Path:
        """
        Its directory.
        """
    def report(self, /, path: str | PathLike[str]) -> None:
        """
        Writes its report.
        """
    @staticmethod
    def restore(manifest: str, path: str | PathLike[str], bytes: SupportsGetItem[int, SupportsIndex]) -> Sweep:
        """
        Restores a sweep from the bytes of [`Sweep::dump`].
        """
    def table(self, /) -> Table:
        """
        All numbers.
        """

@final
class Table:
    """
    A table in one piece.
    """
    def __arrow_c_schema__(self, /) -> "object":
        """
        Arrow's PyCapsule interface: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.
        """
    def __arrow_c_stream__(self, /, requested_schema: "object | None" = None) -> "object":
        """
        The rows, in one batch and without a copy. A requested schema is ignored, as the interface allows.
        """
    def __len__(self, /) -> int: ...
    def columns(self, /) -> list[tuple[str, str, bool, str, str]]:
        """
        The columns.
        """
    @property
    def description(self, /) -> str:
        """
        Meaning of a row.
        """
    def dump(self, /) -> bytes:
        """
        The table as bytes, for another process.
        """
    def filter(self, /, mask: bytes) -> Table:
        """
        The rows whose byte in `mask` is not 0.
        """
    def names(self, /, name: str) -> tuple[Buffer, list[str]]:
        """
        A column of names: for each row an index (-1: no name), and the names. Without nulls, the indices are the table's own memory.
        """
    @staticmethod
    def restore(bytes: SupportsGetItem[int, SupportsIndex]) -> Table:
        """
        Restores a table from the bytes of [`ArrowTable::dump`].
        """
    def slice(self, /, offset: SupportsIndex, length: SupportsIndex) -> Table:
        """
        Rows `offset` to `offset + length`, without a copy, limited to the existing rows.
        """
    def values(self, /, name: str) -> Buffer:
        """
        Values of a column of numbers or booleans: the table's own memory if possible, else a converted copy, in which null is NaN.
        """

@final
class Window:
    """
    Congestion window and slow start threshold of a connection, in segments, with fractions. Hooks may change both.
    """
    def __new__(cls, /, cwnd: SupportsFloat | SupportsIndex, ssthresh: SupportsFloat | SupportsIndex = ...) -> Window:
        """
        A window; for tests of a congestion control.
        """
    def __repr__(self, /) -> str: ...
    @property
    def cwnd(self, /) -> float:
        """
        Congestion window, segments.
        """
    @cwnd.setter
    def cwnd(self, /, value: SupportsFloat | SupportsIndex) -> None:
        """
        Congestion window, segments.
        """
    @property
    def in_slow_start(self, /) -> bool:
        """
        True if the window is below the threshold.
        """
    def reno(self, /, grow: SupportsFloat | SupportsIndex) -> None:
        """
        Standard growth: slow start below the threshold, one segment per window above (RFC 5681 section 3.1).
        """
    def slow_start(self, /, grow: SupportsFloat | SupportsIndex) -> float:
        """
        Slow start by `grow` segments; returns the rest for congestion avoidance after reaching the threshold.
        """
    @property
    def ssthresh(self, /) -> float:
        """
        Slow start threshold, segments; infinite until it is set.
        """
    @ssthresh.setter
    def ssthresh(self, /, value: SupportsFloat | SupportsIndex) -> None:
        """
        Slow start threshold, segments; infinite until it is set.
        """

def answer(results: SupportsGetItem[int, Results]) -> str:
    """
    Sentences and workload shares of some results, as JSON.
    """

def cli(args: SupportsGetItem[int, str]) -> int:
    """
    The `forebay` command: prints, and returns the exit code.
    """

def explain(results: Results, flow: SupportsIndex | None, query: SupportsIndex | None, variant: str | None, run: SupportsIndex) -> str:
    """
    Explains the completion times of messages of a result.
    """

def model_ceilings(rate: SupportsFloat | SupportsIndex, payload: SupportsIndex, header: SupportsIndex, window: SupportsIndex | None, rtt: SupportsFloat | SupportsIndex | None) -> tuple[float, float, float | None, int | None]:
    """
    The payload's share of the link, goodput in bit/s, goodput under a window, bytes of the pipe.
    """

def model_dctcp(rate: SupportsFloat | SupportsIndex, rtt: SupportsFloat | SupportsIndex, flows: SupportsIndex, k: SupportsFloat | SupportsIndex, packet: SupportsIndex) -> tuple[float, float, float, float, float, float, float, float, float, float]:
    """
    W*, both alphas, largest and smallest queue, amplitude, period; smallest K, worst N, largest g.
    """

def model_first_round(senders: SupportsIndex, rate: SupportsFloat | SupportsIndex, rtt: SupportsFloat | SupportsIndex, buffer: SupportsIndex, packet: SupportsIndex, halved: SupportsFloat | SupportsIndex | None) -> tuple[float, float, float, float, float, float]:
    """
    The first round of a block.
    """

def model_incast(senders: SupportsIndex, rate: SupportsFloat | SupportsIndex, rtt: SupportsFloat | SupportsIndex, buffer: SupportsIndex, block: SupportsIndex, packet: SupportsIndex, payload: SupportsIndex, rto: SupportsFloat | SupportsIndex, window: SupportsIndex | None, tail: str, nstar: str) -> tuple[float, float, str, float, int, tuple[int, int, int, float], tuple[int, float, float], tuple[int | None, int | None, float, float | None, float], tuple[float, float, float, float, float, float], tuple[int, float, float, float] | None]:
    """
    The incast model for one number of senders.
    """

def model_nstar(rate: SupportsFloat | SupportsIndex, rtt: SupportsFloat | SupportsIndex, buffer: SupportsIndex, packet: SupportsIndex, halved: SupportsFloat | SupportsIndex | None) -> tuple[int | None, int | None, float | None]:
    """
    N* by its definition, the first of three in a row, and smoothed.
    """

def model_random_marks(p: SupportsFloat | SupportsIndex) -> tuple[float, float, float]:
    """
    Mean windows of DCTCP and of TCP under independent marks, and their ratio.
    """

def model_remaining(alpha: SupportsFloat | SupportsIndex) -> float:
    """
    Remaining fraction of a window after DCTCP's reduction with a marked fraction of `alpha`.
    """

def model_shares(flows: SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]]) -> list[float]:
    """
    Shares of flows with these increases and remaining fractions.
    """

def model_trim(rate: SupportsFloat | SupportsIndex, rtt: SupportsFloat | SupportsIndex, buffer: SupportsFloat | SupportsIndex, packet: SupportsIndex, guard: SupportsFloat | SupportsIndex) -> tuple[float, float, float, float, float, float]:
    """
    Both bounds of K, N* and queue of the lower one, smallest buffer, K in use.
    """

def model_trim_flows(rate: SupportsFloat | SupportsIndex, probe_rtt: SupportsFloat | SupportsIndex, packet: SupportsIndex) -> float:
    """
    N as a sender estimates it.
    """

def model_trim_queue(rate: SupportsFloat | SupportsIndex, rtt: SupportsFloat | SupportsIndex, flows: SupportsIndex, k: SupportsFloat | SupportsIndex, packet: SupportsIndex) -> float:
    """
    The smallest queue after synchronized cuts.
    """

def model_trim_wait(rate: SupportsFloat | SupportsIndex, flows: SupportsFloat | SupportsIndex, window: SupportsFloat | SupportsIndex, buffer: SupportsFloat | SupportsIndex, packet: SupportsIndex) -> tuple[float, float, float]:
    """
    The AS wait: lower bound as printed, lower bound, upper end.
    """

def model_weight(increase: SupportsFloat | SupportsIndex, remaining: SupportsFloat | SupportsIndex) -> float:
    """
    a / (1 - beta).
    """

def open_run(path: str | PathLike[str]) -> Results:
    """
    Opens a finished run directory.
    """

def open_sweep(path: str | PathLike[str]) -> Sweep:
    """
    Opens the directory of a finished sweep.
    """

def registry() -> list[tuple[str, str, list[tuple[str, str, list[tuple[str, str, str | None, str]]]]]]:
    """
    All registries.
    """

def report(results: SupportsGetItem[int, Results], path: str | PathLike[str]) -> None:
    """
    Writes the report of some results, which compares them if there are several.
    """

def run_all(scenarios: SupportsGetItem[int, Scenario], threads: SupportsIndex | None, progress: "object | None", controls: "Controls | None" = None) -> list[Results]:
    """
    Runs all scenarios. `progress` is called about ten times a second with the number of finished runs, that of all runs, the fraction done (if
    known), the seconds since the start and the packet transmissions so far. An exception of a congestion control of `controls` ends the runs.
    """

def run_batch(scenario: Scenario, axes: SupportsGetItem[int, str], points: SupportsGetItem[int, SupportsIndex], keys: SupportsGetItem[int, str]) -> list[tuple[list[tuple[str, bytes]], bytes]]:
    """
    Runs the units with these keys at these points, one after the other. Returns the tables by name and the metrics of each.
    """

def run_once(scenario: Scenario, seeds: SupportsIndex, keep: SupportsGetItem[int, str], keys: SupportsGetItem[int, str]) -> list[tuple[list[tuple[str, bytes]], bytes]]:
    """
    Runs units of a scenario without a sweep, with the seeds 1 to `seeds`, keeping the tables `keep` of each.
    """

def run_sweep(scenario: Scenario, axes: SupportsGetItem[int, str], out: str | PathLike[str] | None, threads: SupportsIndex | None, progress: "object | None") -> Sweep:
    """
    Runs the missing units of a scenario's sweep with further axes (`key=[..]`). `progress` is as for `run_all`.
    """

def table_names() -> list[str]:
    """
    Names of all tables.
    """

def write_file(path: str | PathLike[str], contents: bytes) -> None:
    """
    Writes a file and, once it is complete, replaces the plain file at `path`, if there is one.
    """
