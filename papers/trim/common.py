"""Common parts of this paper's modules: the paper, names of congestion controls, and small statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.repro import Paper, Reading

if TYPE_CHECKING:
    from forebay.repro import Result, Table

paper = Paper(__file__, title="TCP-TRIM: sharing the window of persistent HTTP connections")

#: Names as the document and the claims file have them. "TCP" is Reno with NewReno's answer to partial ACKs (4).
LABEL = {"reno": "TCP", "cubic": "CUBIC", "dctcp": "DCTCP", "l2dct": "L2DCT", "trim": "TRIM", "idle": "TRIM, gaps when idle"}

IDLE = Reading("gaps only count with nothing unacknowledged", named="specification A27")
PACKET = 1460
MS = 1_000_000


def rows(result: Result, table: str, names: list[str], columns: list[str] | None = None) -> dict[str, Table]:
    """The rows of each variant, under our names for the variants in their order."""
    wanted = ["variant", "run", *columns] if columns else None
    whole = result.table(table, wanted)
    if len(names) != len(result.variants):
        raise ValueError(f"{len(result.variants)} variants, {len(names)} names")
    if len(whole) == 0:
        return dict.fromkeys(names, whole)
    return {name: whole.where(variant=variant) for name, variant in zip(names, result.variants, strict=True)}


def port(result: Result, names: list[str], column: str, where: str = "bottleneck") -> dict[str, list[float]]:
    """A column of a port, one value for each seed."""
    found = rows(result, "ports", names, ["port", column])
    return {n: [float(v) for v in t.where(port=where)[column]] for n, t in found.items()}


def per_run(table: Table, seeds: int, column: str) -> list[float]:
    """Sum of a column over the rows of each seed."""
    return [float(v) for v in np.bincount(table["run"], weights=table[column], minlength=seeds)]


def rtos(result: Result, names: list[str]) -> dict[str, list[float]]:
    """Timeouts with data outstanding, one sum for each seed; those of SYNs are not counted."""
    return {n: per_run(t, result.seeds, "rtos") for n, t in rows(result, "flows", names, ["rtos"]).items()}


def means(samples: dict[str, Any]) -> dict[str, float]:
    """The mean of each list."""
    return {k: float(np.mean(v)) for k, v in samples.items()}
