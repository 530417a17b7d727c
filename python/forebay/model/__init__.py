"""Analytic models: predictions without simulation, in microseconds per point.

Pure functions of numbers in plain units, always by name: rates in bit/s, times in seconds, sizes in bytes, windows, queues and
buffers in packets. ``packet`` is the size of a full packet on the wire; ``rtt`` the round trip on the empty network,
serialization included. Results are frozen dataclasses. An argument outside the range of a model is a
:class:`forebay.ModelError` that names it; nothing is ever NaN.

=====================  =====================================================================================
:func:`incast`         goodput of barrier-synchronized senders under NewReno (Zhang, Ren, Tang, Lin)
:func:`incast_nstar`   N*, the number of senders from which that collapses, also with PRIN's halved windows
:func:`first_round`    flows that lose their whole first window
:func:`trim`           TCP-TRIM's interval of K and its buffers; :func:`trim_queue`, :func:`trim_wait`,
                       :func:`trim_flows` for queue, waits after probing and the senders' estimate
:func:`dctcp`          DCTCP's queue and windows in steady state, and bounds of K
:class:`Aimd`          a congestion control as additive increase, multiplicative decrease; :func:`throughput_ratio` (T_r),
                       :func:`shares`, :func:`random_marks`
:func:`ceilings`       upper bounds from headers, windows and pipes
:func:`evaluate`       all models, evaluated for a scenario
=====================  =====================================================================================

Many points are a comprehension; :func:`columns` converts the results to NumPy arrays:

>>> import forebay as fb
>>> network = dict(rate=1e9, rtt=100e-6, buffer=64, packet=1000)
>>> curve = fb.model.columns(fb.model.incast(senders=n, block=256_000, **network) for n in range(1, 49))
>>> int(curve["senders"][curve["collapsed"]].min()), float(curve["share"].min().round(4))
(13, 0.1318)
"""

from ._aimd import Aimd, RandomMarks, random_marks, shares, throughput_ratio
from ._ceilings import ETHERNET, IP_TCP, IP_TCP_TIMESTAMPS, VLAN, Ceilings, ceilings
from ._columns import columns
from ._dctcp import Dctcp, dctcp
from ._evaluate import Evaluation, Section, Value, evaluate
from ._incast import (
    Beyond,
    FirstRound,
    Incast,
    Nstar,
    Period,
    Tail,
    Windows,
    first_round,
    incast,
    incast_nstar,
)
from ._trim import Trim, TrimWait, trim, trim_flows, trim_queue, trim_wait

__all__ = [
    "Aimd",
    "Beyond",
    "Ceilings",
    "Dctcp",
    "ETHERNET",
    "Evaluation",
    "FirstRound",
    "IP_TCP",
    "IP_TCP_TIMESTAMPS",
    "Incast",
    "Nstar",
    "Period",
    "RandomMarks",
    "Section",
    "Tail",
    "Trim",
    "TrimWait",
    "VLAN",
    "Value",
    "Windows",
    "ceilings",
    "columns",
    "dctcp",
    "evaluate",
    "first_round",
    "incast",
    "incast_nstar",
    "random_marks",
    "shares",
    "throughput_ratio",
    "trim",
    "trim_flows",
    "trim_queue",
    "trim_wait",
]
