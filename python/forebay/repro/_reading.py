"""An alternative reading of the document, with its origin."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """An alternative reading of an ambiguity of the document. Exactly one of the last three fields names its origin.

    Examples
    --------
    >>> small = Reading("100 packets on every port", named="specification 5.9")
    >>> plain = Reading("TCP without NewReno's answer to partial ACKs", found_afterwards=True)
    >>> small.counts, plain.counts, (small & plain).counts
    (True, False, False)
    >>> (small & plain).text
    "100 packets on every port; TCP without NewReno's answer to partial ACKs"
    """

    #: Description of the difference.
    text: str
    #: Source before the run: a section of the specification, the claims file, or the folder's readme.
    named: str = ""
    #: True if it was sought after a claim had failed. It does not count, but keeps its explanation.
    found_afterwards: bool = False
    #: Reason why it is a sensitivity rather than a reading, which does not count either: "contradicts footnote 3".
    sensitivity: str = ""

    def __post_init__(self) -> None:
        origins = [bool(self.named), self.found_afterwards, bool(self.sensitivity)]
        if sum(origins) != 1:
            raise ValueError(
                f"the reading {self.text!r} needs one origin, named=, found_afterwards=True or sensitivity=, not {sum(origins)}"
            )

    @property
    def counts(self) -> bool:
        """True if a claim that holds under it counts as reproduced: only if it was named beforehand."""
        return bool(self.named)

    @property
    def origin(self) -> str:
        """Its origin, in a few words."""
        if self.named:
            return f"named in {self.named}"
        return "found afterwards" if self.found_afterwards else f"a sensitivity: {self.sensitivity}"

    def __and__(self, other: Reading) -> Reading:
        """Both at once. It counts only if both do."""
        text = f"{self.text}; {other.text}"
        if self.found_afterwards or other.found_afterwards:
            return Reading(text, found_afterwards=True)
        why = " and ".join(r.sensitivity for r in (self, other) if r.sensitivity)
        return Reading(text, sensitivity=why) if why else Reading(text, named=f"{self.named} and {other.named}")
