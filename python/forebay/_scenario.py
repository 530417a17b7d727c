"""Scenarios: descriptions of simulations."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

from . import _dask, _native, _share, _toml
from ._cc import Maker, registered
from ._errors import ScenarioError
from ._progress import Progress, native
from ._result import Result, beside
from ._run import checked, run_all
from ._sweep import Sweep


class Scenario:
    """Description of a simulation: a network, traffic and one or more transports.

    It is immutable; :meth:`with_` returns a changed copy.

    Create one with :meth:`load`, :meth:`from_toml` or :meth:`from_dict`, which accept any valid TOML. Its meaning is checked on
    first use, such as by :meth:`check`, so that :meth:`with_` may add missing keys.

    Examples
    --------
    >>> import forebay as fb
    >>> s = fb.Scenario.load("scenarios/two-flows.toml")
    >>> s.variants
    ['newreno', 'cubic', 'dctcp']
    >>> r = s.with_({"transport.cc": "dctcp", "topology.bottleneck.rate": "500Mbps"}, runs=2).run()
    >>> r.variants
    ['dctcp']
    """

    def __init__(self, native: _native.Scenario) -> None:
        self._native = native

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Read a scenario file.

        Parameters
        ----------
        path : path
            A TOML file; the files it names are relative to it. The examples of the package are found by their names in the
            repository, such as ``scenarios/quickstart.toml``, from every folder.

        Raises
        ------
        ScenarioError
            If it cannot be read or is not TOML.
        """
        return cls(_native.Scenario.load(_share.found(path)))

    @classmethod
    def from_toml(cls, text: str, *, base: str | os.PathLike[str] = ".", name: str = "scenario") -> Scenario:
        """Read a scenario from a text.

        Parameters
        ----------
        text : str
            Contents of the file.
        base : path
            Folder that the names of files are relative to.
        name : str
            Name that stands for the file in errors, and for the scenario if it gives itself none.
        """
        return cls(_native.Scenario.from_text(text, name, Path(base or "."), [], None))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, base: str | os.PathLike[str] = ".", name: str = "scenario") -> Scenario:
        """Make a scenario of a dict with the keys of a scenario file.

        Errors show the line of the generated TOML text.

        Parameters
        ----------
        document : dict
            Values are numbers, texts, truth values, paths, lists and dicts; arrays and numbers of NumPy are taken too.
        base, name
            As for :meth:`from_toml`.

        Raises
        ------
        ScenarioError
            If a value cannot be written as TOML; the text names its key.

        Examples
        --------
        >>> import forebay as fb
        >>> link = {"rate": "1Gbps", "delay": "25us"}
        >>> s = fb.Scenario.from_dict({
        ...     "duration": "20ms",
        ...     "topology": {"kind": "many-to-one", "senders": 2, "access": link, "bottleneck": {**link, "buffer": "100pkt"}},
        ...     "transport": {"cc": "cubic"},
        ...     "workload": [{"kind": "long"}],
        ... })
        >>> len(s.run().flows)
        2
        """
        if not isinstance(document, Mapping):
            raise TypeError(f"document is a {type(document).__name__}; legal: a dict with the keys of a scenario file")
        return cls.from_toml(_toml.document(document), base=base, name=name)

    def with_(
        self,
        changes: Mapping[str, Any] | None = None,
        /,
        *,
        seed: int | None = None,
        runs: int | None = None,
        duration: str | None = None,
        name: str | None = None,
    ) -> Scenario:
        """Return the scenario with changes, as ``forebay run --set`` applies them.

        Parameters
        ----------
        changes : dict
            New values by the path of their key, such as ``"topology.senders"`` or ``"workload.0.block"``.
        seed : int
            Seed of the first run; the others follow.
        runs : int
            Number of runs with independent seeds.
        duration : str
            Simulated time, with its unit: ``"5s"``.
        name : str
            Name of the scenario.

        Raises
        ------
        ScenarioError
            If a path leads nowhere.

        Examples
        --------
        >>> import forebay as fb
        >>> s = fb.Scenario.load("scenarios/two-flows.toml")
        >>> s = s.with_({"topology.senders": 8, "transport.cc": ["newreno", "dctcp"]}, seed=7, runs=2)
        >>> s.variants, s.resolved[0]["topology"]["senders"], s.seed
        (['newreno', 'dctcp'], 8, 7)
        """
        all_changes = dict(changes or {})
        for key, new in (("runs", runs), ("duration", duration), ("name", name)):
            if new is not None:
                all_changes[key] = new
        # The seed is not a change of the document: it would not override that of an earlier call.
        if seed is None and isinstance(all_changes.get("seed"), Integral):
            seed = int(all_changes.pop("seed"))
        if seed is not None:
            seed = operator.index(seed)
            if not 0 <= seed < 2**64:
                raise ValueError(f"seed is {seed}; legal: 0 to 2^64 - 1")
        sets = []
        for key, new in all_changes.items():
            if not isinstance(key, str) or "=" in key:
                raise ScenarioError(f"error: {key!r} is not a path of keys joined by dots\n")
            sets.append(f"{key}={_toml.value(new, key)}")
        return Scenario(self._native.changed(sets, seed))

    def check(self) -> str:
        """Check everything and describe the runs, as ``forebay check`` does.

        Raises
        ------
        ScenarioError
            With all that is wrong.
        """
        return self._native.explain()

    def run(
        self,
        *,
        world: str | None = None,
        threads: int | None = None,
        progress: Progress = None,
        within: str | float | None = None,
        budget: str | None = None,
        cc: Mapping[str, Maker] | None = None,
    ) -> Result:
        """Run all variants and seeds on all cores.

        Other Python threads continue meanwhile. Ctrl-C stops it within a third of a second and leaves no files behind.

        Parameters
        ----------
        world : str, optional
            Backend: ``"sim"``, the simulator, or ``"model"``, the closed forms; default: that of the scenario.
        threads : int, optional
            Threads, for runs at the same time and inside busy runs where there are fewer; one for each processor by default.
        progress : bool or callable, optional
            True shows a line on standard error; a function is called with a :class:`ProgressEvent` about ten times a second.
        within : str or float, optional
            Accuracy, such as ``"5%"``: runs end when the figures of ``[stop]`` are known to this accuracy, or without them
            that of the first sentence. Of several variants these are the ratios of the figures to those of the first one.
            The figures are in ``manifest["known"]``.
        budget : str, optional
            Wall time after which the runs end in any case, such as ``"60s"``. It needs `within`, or a table ``[stop]`` in the
            scenario.
        cc : dict, optional
            Congestion controls written in Python, by the name that ``transport.cc`` has: classes derived from
            :class:`CongestionControl`, or callables that make an object for a connection. Such runs use one thread, and need the
            backend ``sim``.

        Raises
        ------
        ScenarioError
            If the scenario is wrong, or the world cannot run it.
        Exception
            The first exception of a congestion control in ``cc``, with its traceback.
        """
        changes = {"world": world, "stop.within": within, "stop.budget": budget}
        chosen = {key: value for key, value in changes.items() if value is not None}
        if budget is not None and within is None and "stop" not in self.to_dict():
            raise _budget_alone()
        scenario = self.with_(chosen) if chosen else self
        if not cc:
            return run_all([scenario._native], threads, progress)[0]
        if threads not in (None, 1):
            raise ValueError(f"threads is {threads}; legal: 1 with congestion controls written in Python")
        with registered(cc) as controls:
            return run_all([scenario._native.with_controls(controls)], 1, progress, controls)[0]

    def sweep(
        self,
        axes: Mapping[str, Iterable[Any]] | None = None,
        /,
        *,
        world: str | None = None,
        out: str | os.PathLike[str] | None = None,
        seeds: int | Sequence[int] | None = None,
        threads: int | None = None,
        progress: Progress = None,
        report: bool = True,
        client: Any = None,
    ) -> Sweep:
        """Simulate the scenario for many values, on all cores, into a resumable directory.

        Every run is stored under a hash of all its inputs. The same call again, or one with more values, runs only the missing
        ones; Ctrl-C keeps all finished runs.

        Parameters
        ----------
        axes : dict
            Values by the path of their key, as in :meth:`with_`: all combinations are run, with those of the scenario's
            ``[sweep]``, which may also have values that change together and points of its own.
        world : str, optional
            As for :meth:`run`. To compare worlds, make it an axis: ``{"world": ["sim", "model"]}``.
        out : path, optional
            The directory; ``out/NAME-sweep`` by default.
        seeds : int or list of int, optional
            Number of seeds, or the seeds, of each point; else those of ``[sweep]``, else ``runs`` of the scenario.
        threads, progress
            As for :meth:`run`; what an earlier call left counts as done.
        report : bool
            Write ``report.html`` into the directory.
        client : distributed.Client, optional
            Runs are made by the workers of this Dask client, which have this package and the files that the scenario names;
            results come into the directory here, and are the same to the byte. A worker that is lost loses nothing.

        Raises
        ------
        ScenarioError
            If some point is wrong; all are checked before anything runs.
        StoreError
            If the directory is taken by something else, or the system refuses.

        Examples
        --------
        >>> import forebay as fb, tempfile
        >>> s = fb.Scenario.load("scenarios/incast.toml").with_({"workload.0.rounds": 2})
        >>> with tempfile.TemporaryDirectory() as out:
        ...     sweep = s.sweep({"topology.senders": [2, 4], "transport.rto-min": ["1ms", "200ms"]}, seeds=3, out=out)
        >>> len(sweep.points), len(sweep.table), sweep.table.columns[1:4]
        (4, 12, ['topology.senders', 'transport.rto-min', 'transport.rto-min_s'])
        """
        native_scenario = (self if world is None else self.with_({"world": world}))._native
        if seeds is not None:
            native_scenario = native_scenario.changed([f"sweep.seeds={_toml.value(seeds, 'sweep.seeds')}"], None)
        texts = [f"{key}={_toml.value(list(values), key)}" for key, values in (axes or {}).items()]
        threads = checked(threads)
        if client is not None:
            _dask.fill(native_scenario, texts, None if out is None else Path(out), client, progress)
            progress = None
        callback, close = native(progress)
        try:
            sweep = Sweep(_native.run_sweep(native_scenario, texts, None if out is None else Path(out), threads, callback))
        finally:
            close()
        if report:
            beside(sweep.path, sweep.report)
        return sweep

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self._native.title()

    @property
    def seed(self) -> int:
        """Seed of the first run."""
        return int(self.resolved[0]["seed"]) if self._native.seed is None else self._native.seed

    @property
    def variants(self) -> list[str]:
        """Names of the variants, such as transports: the ``variant`` column of the tables."""
        return self._native.labels()

    @property
    def notes(self) -> list[str]:
        """Notes on the reading of the scenario, such as means of size tables."""
        return self._native.notes()

    @cached_property
    def resolved(self) -> list[dict[str, Any]]:
        """Every variant with all defaults, in the keys of the scenario file."""
        return [json.loads(text) for text in self._native.resolved_json()]

    @property
    def text(self) -> str:
        """The text as it was read, without the changes of :meth:`with_`."""
        return self._native.text

    @property
    def changes(self) -> list[str]:
        """The changes of :meth:`with_`, each in the syntax of ``forebay run --set``."""
        return self._native.sets

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario with its changes as a dict, which :meth:`from_dict` takes."""
        document: dict[str, Any] = json.loads(self._native.document())
        if self._native.seed is not None:
            document["seed"] = self._native.seed
        return document

    def to_toml(self, variant: str | None = None) -> str:
        """Return the scenario as the text of a scenario file.

        Parameters
        ----------
        variant : str, optional
            Name of a variant: that one, with all defaults filled in. Else all, as written and changed, without comments.
        """
        if variant is None:
            return _toml.document(self.to_dict())
        if variant not in self.variants:
            raise KeyError(f"there is no variant {variant!r}; there are {self.variants}")
        return self._native.resolved_toml()[self.variants.index(variant)]

    def _key(self) -> tuple[str, str, str, tuple[str, ...], int | None]:
        n = self._native
        return n.text, n.name, str(n.base), tuple(n.sets), n.seed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        text, name, base, sets, seed = self._key()
        return _unpickle, (text, name, base, list(sets), seed)

    def __repr__(self) -> str:
        parts = [repr(self._native.name), *self.changes]
        if self._native.seed is not None:
            parts.append(f"seed={self._native.seed}")
        return f"<Scenario {', '.join(parts)}>"


def _budget_alone() -> ScenarioError:
    message = "`budget` limits runs that end when a figure is known, and no accuracy is given"
    remedy = 'pass within="5%" for the figure of the first sentence, or write a table [stop] with the figures'
    return ScenarioError(f"error: {message}\n  = {remedy}\n", [(message, None, None, None, remedy)])


def _unpickle(text: str, name: str, base: str, sets: list[str], seed: int | None) -> Scenario:
    # `Path("")` equals the folder `.`, which would turn the path of a file into a text: an empty path must stay empty.
    return Scenario(_native.Scenario.from_text(text, name, base, sets, seed))
