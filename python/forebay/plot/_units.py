"""Units with their SI prefixes, for axes and numbers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

#: Factors and names by unit of the tables' metadata, largest first.
_PREFIXES: dict[str, tuple[tuple[float, str], ...]] = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "bit/s": ((1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "Kbps"), (1.0, "bps")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")),
    "packets": ((1.0, "packets"),),
    "segments": ((1.0, "segments"),),
}


class Scale(NamedTuple):
    """A unit with a prefix: values are divided by `factor` and labeled with `name`."""

    #: What values are divided by.
    factor: float
    #: Such as "ms"; empty for numbers without a unit.
    name: str

    def title(self, text: str) -> str:
        """Return an axis title."""
        return f"{text} ({self.name})" if self.name else text


def scale(unit: str, values: Any, *, log: bool = False) -> Scale:
    """Choose the prefix with which the largest of `values` is at least 1, or the middle of a logarithmic axis."""
    v = np.abs(np.asarray(values, dtype=float).ravel())
    v = v[np.isfinite(v) & (v > 0)]
    steps = _PREFIXES.get(unit, ((1.0, "" if unit == "1" else unit),))
    top = 1.0 if len(v) == 0 else float(np.sqrt(v.min() * v.max())) if log else float(v.max())
    for factor, name in steps:
        if top >= factor * (1 - 1e-9):
            return Scale(factor, name)
    return Scale(*steps[-1])


def unit_of(column: str) -> str:
    """Return the unit of a metric from the suffix of its name."""
    for ending, unit in (("_bps", "bit/s"), ("_ns", "ns"), ("_s", "s"), ("_bytes", "B"), ("_pkts", "packets")):
        if column.endswith(ending):
            return unit
    return "1"


def number(value: float, digits: int = 3) -> str:
    """Write a number for a label with `digits` significant digits, with an exponent only for extreme values."""
    if not math.isfinite(value):
        return "?"
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    if places < -4 or places > 7:
        return f"{value:.{digits - 1}e}"
    return f"{round(value, places):.{max(0, places)}f}"


def interval(mean: float, down: float, up: float) -> str:
    """Write `613.0 ± 3.8`, with the decimals that the uncertainty allows; the mean alone without an uncertainty.

    Asymmetric intervals, clipped at physical bounds, are written as `4 +9 -4`.
    """
    half = max(down, up)
    if not math.isfinite(half):
        return number(mean, 4)
    if half <= 1e-9 * abs(mean):
        return f"{number(mean, 4)} ± 0"
    places = max(0, min(1 - math.floor(math.log10(half)), 3 - math.floor(math.log10(abs(mean) or half))))
    above, below = f"{up:.{places}f}", f"{down:.{places}f}"
    return f"{mean:.{places}f} " + (f"± {above}" if above == below else f"+{above} \N{MINUS SIGN}{below}")


def size(byte: float) -> str:
    """Write a size such as `100 KB`, prefixes by powers of ten as everywhere in forebay."""
    s = scale("B", [byte])
    text = f"{byte / s.factor:.3g}"
    return f"{text} {s.name}"


def tick(value: float, _position: object = None) -> str:
    """Write a tick of a logarithmic axis: 0.1, 1, 10, ... instead of powers."""
    return f"{value:g}" if 1e-4 <= abs(value) < 1e5 or value == 0 else f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
