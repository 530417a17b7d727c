"""Results of runs."""

from __future__ import annotations

import html
import json
import operator
import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._errors import StoreError
from ._table import Table
from ._tables import Tables
from ._verdict import Verdict, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Result(Tables[Table]):
    """Results of a scenario: tables with a row per message, port, sample, ... of all its variants and seeds.

    ``variant``, ``run``, ``seed`` and ``world`` are the first columns of every table. ``result.flows.describe("fct_ns")`` returns
    the meaning of a column.

    Examples
    --------
    >>> import forebay as fb
    >>> r = fb.Scenario.load("scenarios/two-flows.toml").run()
    >>> r
    <Result two-flows: newreno, cubic, dctcp; 3 runs; ...>
    >>> r.queue.units["pkts"]
    'packets'
    """

    def __init__(self, native: _native.Results) -> None:
        self._native = native
        self._tables: dict[str, Table] = {}

    def table(self, name: str) -> Table:
        """Return a table by its name."""
        if name not in self._tables:
            if name not in _native.table_names():
                raise KeyError(f"there is no table {name!r}; there are {', '.join(_native.table_names())}")
            self._tables[name] = Table(self._native.table(name), name)
        return self._tables[name]

    @property
    def tables(self) -> list[str]:
        """Names of all tables."""
        return _native.table_names()

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Contents of ``manifest.json``: scenario, runs with their fingerprints, machine, speed."""
        manifest: dict[str, Any] = json.loads(self._native.manifest_json())
        return manifest

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.manifest["name"])

    @property
    def variants(self) -> list[str]:
        """Names of the variants, in their order."""
        return [v["variant"] for v in self.manifest["scenario"]["variants"]]

    @property
    def fingerprint(self) -> str:
        """Hash of all trajectories, 16 hexadecimal digits: equal fingerprints mean equal results."""
        return str(self.manifest["fingerprint"])

    @property
    def path(self) -> Path | None:
        """Directory the results were read from; None for those of a run."""
        return self._native.path

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: Literal["parquet", "csv"] = "parquet",
        force: bool = False,
        report: bool = True,
    ) -> Path:
        """Write a run directory, as ``forebay run --out`` does, and return its path.

        It has the packets that ``capture`` of ``[observe]`` names. They are in memory until then.

        Parameters
        ----------
        path : path
            The directory; it appears when it is complete.
        format : {"parquet", "csv"}
            Of the tables.
        force : bool
            Replace results that are already there.
        report : bool
            Write ``report.html`` beside the tables.

        Raises
        ------
        StoreError
            If the path is taken, or the system refuses.
        """
        try:
            saved = self._native.save(Path(path), format, force)
        except StoreError as e:
            raise _as_arguments(e) from None
        if report:
            beside(saved, open(saved).report)
        return saved

    @cached_property
    def verdict(self) -> Verdict:
        """Sentences about the result, as ``forebay run`` prints them first.

        :func:`verdict` compares several results.
        """
        return say([self._native])

    def explain(self, *, flow: int | None = None, query: int | None = None, variant: str | None = None, run: int = 0) -> str:
        """Explain the completion times of messages, as the text that ``forebay explain`` prints.

        The run is repeated with the connections of these messages observed; observation does not change it.

        Parameters
        ----------
        flow : int, optional
            This message, by its ``flow_id``.
        query : int, optional
            The slowest message of this query, by its ``query_id``, instead of a `flow`. Without either: the messages that lost
            most time.
        variant : str, optional
            Of this variant. Default: the first.
        run : int
            Of this repetition.

        Raises
        ------
        ValueError
            If there is no such message, both a flow and a query are given, or the run takes another course now.
        StoreError
            If results cannot be read.
        """
        if flow is not None and query is not None:
            raise ValueError(f"flow is {flow} and query is {query}; legal: one of them")
        flow, query = (None if n is None else _number(name, n, 64) for name, n in (("flow", flow), ("query", query)))
        return _native.explain(self._native, flow, query, variant, _number("run", run, 32))

    def report(self, path: str | os.PathLike[str] = "report.html") -> Path:
        """Write the report: one self-contained HTML file. It replaces an existing file.

        :func:`report` compares several results.
        """
        return report([self], path)

    def __len__(self) -> int:
        """Count the runs: one for each variant and seed."""
        return len(self.manifest["runs"])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of :attr:`summary`."""
        return self.summary.shape

    def head(self, rows: int = 10) -> Table:
        """Return the first rows of :attr:`summary`."""
        return self.summary.head(rows)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the results themselves, so that they can be read without their directory."""
        manifest, tables, captures = self._native.dump()
        return _restored, (manifest, _bytes(tables), _bytes(captures))

    def __repr__(self) -> str:
        runs = len(self.manifest["runs"])
        return f"<Result {self.name}: {', '.join(self.variants)}; {runs} run{'s' * (runs != 1)}; {self.fingerprint}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self.summary._repr_html_()}"


def _bytes(files: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    return [(name, bytes(data)) for name, data in files]


def _restored(manifest: str, tables: list[tuple[str, bytes]], captures: list[tuple[str, bytes]]) -> Result:
    return Result(_native.Results.restore(manifest, tables, captures))


def _number(name: str, n: int, bits: int) -> int:
    """Return a number of a row or run, if it is one."""
    n = operator.index(n)
    if not 0 <= n < 2**bits:
        raise ValueError(f"{name} is {n}; legal: 0 to 2^{bits} - 1")
    return n


def _as_arguments(e: StoreError) -> StoreError:
    """Return the error of :meth:`Result.save` with the names of its arguments instead of options of the command line."""
    remedy = e.help.replace("add --force", "pass force=True").replace("--force", "force=True").replace(" with --out", "")
    return StoreError(f"error: {e.message}\n  = {remedy}\n", e.message, remedy)


def beside(folder: Path, write: Callable[[Path], Path]) -> None:
    """Write a report into a folder with results. A failure does not affect the results."""
    try:
        write(folder / "report.html")
    except StoreError as e:
        warnings.warn(f"no report was written: {e.message}", stacklevel=3)


def report(results: Iterable[Result], path: str | os.PathLike[str] = "report.html") -> Path:
    """Write a report that compares results, as ``forebay report`` does, and return its path. It replaces an existing file.

    Parameters
    ----------
    results : iterable of Result
        Results to compare; runs are named by their scenario, directories by their path.
    path : path
        The file.

    Raises
    ------
    StoreError
        If results cannot be read, or the file cannot be written.
    """
    _native.report([r._native for r in results], Path(path))
    return Path(path)


def open(path: str | os.PathLike[str]) -> Result:  # noqa: A001
    """Open the results that ``forebay run`` or :meth:`Result.save` wrote; tables are read on first use.

    Parameters
    ----------
    path : path
        A run directory, such as ``out/incast-1``.

    Raises
    ------
    StoreError
        If there are no results, or they cannot be read.
    """
    return Result(_native.open_run(Path(path)))


def verdict(results: Iterable[Result]) -> Verdict:
    """Summarize results in sentences, with a comparison if there are several.

    Parameters
    ----------
    results : iterable of Result
        One result, or those to compare.

    Raises
    ------
    StoreError
        If results cannot be read.

    Examples
    --------
    >>> import forebay as fb
    >>> r = fb.Scenario.load("scenarios/two-flows.toml").run()
    >>> fb.verdict([r]).first == r.verdict.first
    True
    """
    return say([r._native for r in results])
