"""The paper that the other files register with."""

from __future__ import annotations

from forebay.repro import Paper, Reading

paper = Paper(__file__, title="Modeling and Solving TCP Incast Problem in Data Center Networks (Zhang, Ren, Tang, Lin)")

#: Buffers of Figs. 7 to 9 in packets, and blocks of Figs. 10, 11, (7), 12 in KB, with their scenario files.
BUFFERS = {64: "fig07.toml", 128: "fig08.toml", 256: "fig09.toml"}
BLOCKS = {64: "fig10.toml", 128: "fig11.toml", 512: "fig12.toml"}
#: N* of the model for those buffers (spec 1.6).
NSTAR = {64: 13, 128: 20, 256: 24}
#: Blocks of Figs. 17 to 23, KB: the first is the document's.
SIZES = (64, 128, 256)

#: What limited transmit is a reading of.
LIMITED = Reading("limited transmit on, the default of ns-2 (singledup_)", sensitivity="the specification's baseline has it off")
