//! The usual segment: the next data in order, at a receiver that acknowledges every segment at once. What happens then is what `take` does with
//! every segment, without the questions whose answers are known (ARCHITECTURE.md says what that is worth).

use super::{Echo, Receiver};
use crate::net::packet::{Codepoint, Packet, Wire, flag};
use forebay_units::TimeOrNever;

impl Receiver {
    /// Whether `p` is what a receiver that acknowledges every segment usually gets: the next data, of the run of marks that it is in.
    #[inline(always)]
    pub(crate) fn is_usual(&self, p: &Packet) -> bool {
        self.usual
            && p.flags & (flag::SYN | flag::FIN) == 0
            && p.len > 0
            && p.seq == self.numbers.wire(self.rcv_nxt)
            && self.ooo.is_clear()
            && self.fin == u64::MAX
            && u64::from(p.len) <= self.window
            && match self.echo {
                Echo::Exact { ce } => ce == (p.ecn() == Codepoint::Ce),
                Echo::Off | Echo::Classic { .. } => true,
            }
    }

    /// As `take`, of such a packet: what is asked there has been answered.
    #[inline(always)]
    pub(crate) fn take_usual(&mut self, p: &Packet, out: &mut impl Wire) {
        self.note_ecn(p, p.ecn() == Codepoint::Ce);
        let echo = matches!(self.echo, Echo::Classic { latched: true } | Echo::Exact { ce: true });
        if self.rcv_nxt <= self.last_ack {
            self.ts_recent = p.ts;
        }
        self.rcv_nxt += u64::from(p.len);
        self.last_ack = self.rcv_nxt;
        self.pending = 0;
        self.timer_due = TimeOrNever::NEVER;
        self.note_sent();
        let flags = self.template.flags | if echo { flag::ECE } else { 0 };
        let (seq, ts) = (self.numbers.wire(self.rcv_nxt), self.ts_recent);
        out.emit_from(&self.template, move |p| {
            p.seq = seq;
            p.ts = ts;
            p.flags = flags;
        });
    }
}
