"""Input of plots: results, the compared subjects in them, and their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]


class TableLike(Protocol):
    """Table interface that plots use; `forebay.Table` implements it."""

    def __getitem__(self, column: str, /) -> NDArray[Any]: ...

    def __len__(self) -> int: ...

    @property
    def columns(self) -> Sequence[str]: ...


class ResultLike(Protocol):
    """Result interface that plots use; `forebay.Result` implements it."""

    @property
    def variants(self) -> Sequence[str]: ...

    @property
    def manifest(self) -> Mapping[str, Any]: ...

    def table(self, name: str, /) -> TableLike: ...


class SweepLike(Protocol):
    """Sweep interface that plots use; `forebay.Sweep` implements it."""

    @property
    def table(self) -> TableLike: ...

    @property
    def axes(self) -> Iterable[Any]: ...


#: A result, several by name, or several.
Source: TypeAlias = ResultLike | Mapping[str, ResultLike] | Sequence[ResultLike]


@dataclass(frozen=True)
class Subject:
    """A compared subject: a transport group of a variant, or a whole variant."""

    #: Unique in a plot; determines the color.
    label: str
    #: Results with its rows.
    result: ResultLike
    #: Its variant.
    variant: str
    #: Its transport group; `None`: the whole variant.
    transport: str | None

    def rows(self, table: TableLike) -> Mask:
        """Return a mask of its rows in `table`."""
        mask: Mask = np.asarray(table["variant"] == self.variant)
        if self.transport is not None and "transport" in table.columns:
            mask &= table["transport"] == self.transport
        return mask

    def runs(self) -> list[tuple[int, float]]:
        """Return number and end in seconds of its repetitions."""
        runs = [r for r in self.result.manifest["runs"] if r["variant"] == self.variant]
        return [(int(r["run"]), float(r["end_ns"]) * 1e-9) for r in runs]

    def by_run(self, table: TableLike) -> list[tuple[int, float, Mask]]:
        """Return for each repetition its number, its end in seconds and the subject's rows."""
        own, run = self.rows(table), table["run"]
        return [(number, end, own & (run == number)) for number, end in self.runs()]


def results(source: Source) -> list[tuple[str, ResultLike]]:
    """Return the results of a plot's argument with their given names (empty: none needed)."""
    if isinstance(source, Mapping):
        return [(str(name), result) for name, result in source.items()]
    if isinstance(source, Sequence):
        if len(source) == 1:
            return [("", source[0])]
        names = [str(r.manifest.get("name", "")) for r in source]
        return [
            (name if names.count(name) == 1 else f"{name} {names[:i].count(name) + 1}".strip(), result)
            for i, (name, result) in enumerate(zip(names, source, strict=True))
        ]
    return [("", source)]


def groups(source: Source) -> list[Subject]:
    """Return all transport groups of all variants, in the order of the scenario."""
    found = []
    for name, result in results(source):
        pairs = [(v, group) for v in result.variants for group in _groups_of(result, v)]
        found += [Subject(_label(name, _group_label(v, group, pairs), len(pairs)), result, v, group) for v, group in pairs]
    return found


def variants(source: Source) -> list[Subject]:
    """Return all variants, for quantities that their transport groups share, such as queues.

    A variant with one group has the name of the group.
    """
    found = []
    for name, result in results(source):
        pairs = [(v, group) for v in result.variants for group in _groups_of(result, v)]
        for v in result.variants:
            own = _groups_of(result, v)
            inner = _group_label(v, own[0], pairs) if len(own) == 1 else v
            found.append(Subject(_label(name, inner, len(result.variants)), result, v, None))
    return found


def _groups_of(result: ResultLike, variant: str) -> list[str]:
    for name in ("summary", "flows"):
        table = result.table(name)
        if len(table):
            own = table["transport"][np.asarray(table["variant"] == variant)]
            if len(own):
                return list(dict.fromkeys(str(group) for group in own))
    return [variant]


def _group_label(variant: str, group: str, pairs: list[tuple[str, str]]) -> str:
    if sum(1 for v, _ in pairs if v == variant) == 1:
        return variant
    if len({v for v, _ in pairs}) == 1:
        return group
    return f"{variant}: {group}"


def _label(name: str, inner: str, count: int) -> str:
    """Label a subject within a named result."""
    if not name:
        return inner
    return name if count == 1 else f"{name}: {inner}"


_SECONDS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def measured_from(subject: Subject) -> float:
    """Return the end of the warm-up in seconds: goodput and statistics of ports start there.

    The simulator counts from its first window after that, at most the shortest delay of a link later.
    """
    for variant in subject.result.manifest["scenario"]["variants"]:
        if variant["variant"] == subject.variant:
            text = str(variant["resolved"].get("observe", {}).get("warmup", "0s"))
            unit = text.lstrip("0123456789.")
            return float(text[: len(text) - len(unit)]) * _SECONDS[unit]
    return 0.0


def need(values: Sequence[Any], what: str, how: str) -> None:
    """Raise an error for an empty plot.

    Raises
    ------
    ValueError
        There are no `values`; the text says `what` is missing and `how` to get it.
    """
    if len(values) == 0:
        raise ValueError(f"{what}; {how}")


def seeds(subjects: Sequence[Subject]) -> str:
    """Return the number of seeds for the note under a plot: "3 seeds"."""
    counts = sorted({len(s.runs()) for s in subjects})
    text = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{text} seed" if counts == [1] else f"{text} seeds"
