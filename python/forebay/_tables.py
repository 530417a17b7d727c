"""Result tables by name."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Tables(Generic[T]):
    """Mixin for results with the tables of ``docs/reference/results.md``."""

    def table(self, name: str) -> T:
        """Return the table of that name."""
        raise NotImplementedError

    @property
    def flows(self) -> T:
        """One row per message: completion time, slowdown, retransmissions, timeouts, marks."""
        return self.table("flows")

    @property
    def ports(self) -> T:
        """One row per port: packets, drops by reason, marks, queue, utilization."""
        return self.table("ports")

    @property
    def queue(self) -> T:
        """Queue samples of the ports that ``[observe]`` names."""
        return self.table("queue")

    @property
    def tcp(self) -> T:
        """Sender samples of the connections that ``[observe]`` names: window, RTT, state."""
        return self.table("tcp")

    @property
    def queries(self) -> T:
        """One row per round of a barrier or query: completion time, timeouts."""
        return self.table("queries")

    @property
    def timeouts(self) -> T:
        """One row per retransmission timeout: time, message, timer value."""
        return self.table("timeouts")

    @property
    def goodput(self) -> T:
        """Goodput over time: one row per interval of the run, workload and transport."""
        return self.table("goodput")

    @property
    def events(self) -> T:
        """Network events: link failures and repairs with their losses; spraying, links that damage packets."""
        return self.table("events")

    @property
    def summary(self) -> T:
        """One row per run and transport group: the metrics that ``forebay run`` prints."""
        return self.table("summary")
