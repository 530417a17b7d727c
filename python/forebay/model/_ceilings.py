"""Upper limits of goodput from headers, windows and bandwidth-delay products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .. import _native
from ._arguments import Number, Whole, number, whole

IP_TCP: Final = 40
"""Bytes of IPv4 and TCP headers without options: what simulations usually count."""
IP_TCP_TIMESTAMPS: Final = 52
"""The same with the TCP timestamps option (RFC 7323), padded to 12 bytes."""
ETHERNET: Final = 38
"""Bytes of Ethernet: preamble and start delimiter 8, header 14, check sequence 4, gap 12 (IEEE 802.3)."""
VLAN: Final = 4
"""Bytes of an 802.1Q tag."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The largest throughputs."""

    payload_share: float
    """Payload as a fraction of the link rate."""
    goodput: float
    """Largest goodput of the link, payload bit/s."""
    window_limited: float | None
    """Largest goodput of one flow with this window, payload bit/s; None without a window."""
    pipe: int | None
    """Bandwidth-delay product, bytes, rounded down; None without a round trip."""


def ceilings(
    *, rate: Number, payload: Whole = 1460, header: Whole = IP_TCP, window: Whole | None = None, rtt: Number | None = None
) -> Ceilings:
    """Evaluate the upper limits of a link.

    Parameters
    ----------
    rate : float
        The link, bit/s, 1e4 to 1e13.
    payload : int
        Payload of a full packet, bytes, 1 to 65 535.
    header : int
        Header of each packet, bytes, 0 to 65 535, such as ``IP_TCP + ETHERNET``.
    window : int, optional
        Window of one flow, bytes of payload, at least 1; `rtt` is needed then.
    rtt : float, optional
        Round trip on the empty network, s, above 0, at most 1e6.

    Raises
    ------
    ModelError
        An argument is outside its range.

    Examples
    --------
    >>> import forebay as fb
    >>> wire = fb.model.IP_TCP + fb.model.ETHERNET
    >>> round(fb.model.ceilings(rate=1e9, payload=1460, header=wire).goodput / 1e6, 1)
    949.3
    """
    found = _native.model_ceilings(
        number("rate", rate),
        whole("payload", payload),
        whole("header", header),
        None if window is None else whole("window", window),
        None if rtt is None else number("rtt", rtt),
    )
    return Ceilings(*found)
