"""Progress of runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO, TypeAlias


@dataclass(frozen=True)
class ProgressEvent:
    """Progress of runs. Callbacks receive it about ten times a second, first before anything runs, last at the end."""

    runs_done: int
    """Finished runs."""
    runs_total: int
    """All runs."""
    fraction: float | None
    """Fraction done, 0 to 1; None when the scenario has no fixed end."""
    elapsed_s: float
    """Seconds since the start."""
    packet_hops: int
    """Packet transmissions so far: every packet, data or ACK, on every link."""

    @property
    def packet_hops_per_s(self) -> float:
        """Packet transmissions per second, all threads together."""
        return self.packet_hops / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Estimated seconds left; None when it is too early to tell."""
        if self.fraction is None or self.fraction < 0.005:
            return None
        return self.elapsed_s * (1.0 - self.fraction) / self.fraction


Progress: TypeAlias = bool | Callable[[ProgressEvent], object] | None
"""True: a line on standard error; a function: called with events."""

_Native: TypeAlias = Callable[[int, int, float | None, float, int], object]


class Bar:
    """One line on standard error, overwritten on each update."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out if out is not None else sys.stderr
        self._width = 0

    def __call__(self, event: ProgressEvent) -> None:
        """Draw."""
        if event.runs_done == event.runs_total:
            self.close()
            return
        text = self.line(event)
        self._out.write("\r" + text.ljust(self._width))
        self._out.flush()
        self._width = len(text)

    @staticmethod
    def line(event: ProgressEvent) -> str:
        """Print the progress in one line."""
        parts = [f"{event.runs_done} of {event.runs_total} runs", f"{event.packet_hops_per_s / 1e6:.1f} M pkt/s"]
        if event.left_s is not None:
            parts.append(f"{event.left_s:.0f} s left")
        text = ", ".join(parts)
        if event.fraction is None:
            return text
        steps = round(event.fraction * 30)
        return f"{'█' * steps}{'·' * (30 - steps)} {event.fraction:4.0%}  {text}"

    def close(self) -> None:
        """Erase the line."""
        if self._width:
            self._out.write("\r" + " " * self._width + "\r")
            self._out.flush()
            self._width = 0


def native(progress: Progress) -> tuple[_Native | None, Callable[[], None]]:
    """Return the native callback, and the function to call at the end in any case."""
    if progress is None or progress is False:
        return None, lambda: None
    if progress is True:
        bar = Bar()
        return lambda *args: bar(ProgressEvent(*args)), bar.close
    call = progress
    return lambda *args: call(ProgressEvent(*args)), lambda: None
