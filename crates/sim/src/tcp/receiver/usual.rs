//! The usual segment: the next data in order, at a receiver that acknowledges every segment at once. What happens then is what `take` does with
//! every segment, without the questions whose answers are known (ARCHITECTURE.md says what that is worth).

use super::{Echo, Receiver};
use crate::net::packet::{Codepoint, Packet, Wire, flag};
use crate::tcp::fast_path::FastPath;
use forebay_units::{Time, TimeOrNever};

impl Receiver {
    /// Whether `p` is what a receiver that acknowledges every segment usually gets: the next data, of the run of marks that it is in.
    #[inline(always)]
    pub(crate) fn is_usual(&self, p: &Packet) -> bool {
        self.is_simple(p) && p.seq == self.numbers.wire(self.rcv_nxt) && self.ooo.is_clear() && u64::from(p.len) <= self.window
    }

    /// Whether all that is unusual about `p` is its place in the stream, at a receiver that reports none.
    #[inline(always)]
    pub(crate) fn is_plain(&self, p: &Packet) -> bool {
        self.is_simple(p) && !self.sack && self.brings_news(p, self.numbers.offset(p.seq, self.rcv_nxt))
    }

    /// Whether `p` is data of the run of marks that it is in and no end of the stream is in sight, at a receiver that acknowledges every segment.
    #[inline(always)]
    fn is_simple(&self, p: &Packet) -> bool {
        self.fast_path == FastPath::Plain
            && p.flags & (flag::SYN | flag::FIN) == 0
            && p.len > 0
            && self.fin == u64::MAX
            && match self.echo {
                Echo::Exact { ce } => ce == (p.ecn() == Codepoint::Ce),
                Echo::Off | Echo::Classic { .. } => true,
            }
    }

    /// As `take`, of a usual segment: what is asked there has been answered.
    #[inline(always)]
    pub(crate) fn take_usual(&mut self, p: &Packet, out: &mut impl Wire) {
        self.note_ecn(p, p.ecn() == Codepoint::Ce);
        if self.rcv_nxt <= self.last_ack {
            self.ts_recent = p.ts;
        }
        self.rcv_nxt += u64::from(p.len);
        self.answer_at_once(out);
    }

    /// The same of a plain one.
    #[inline(always)]
    pub(crate) fn take_plain(&mut self, now: Time, p: &Packet, out: &mut impl Wire) {
        self.note_ecn(p, p.ecn() == Codepoint::Ce);
        let offset = self.numbers.offset(p.seq, self.rcv_nxt);
        self.note_left_edge(now, p, offset, self.looks_older(now, p));
        self.accept(offset, p.len.into(), false);
        self.answer_at_once(out);
    }

    /// As `acknowledge`, where the ACK is a copy of the template and the stream has not ended.
    #[inline(always)]
    fn answer_at_once(&mut self, out: &mut impl Wire) {
        let echo = matches!(self.echo, Echo::Classic { latched: true } | Echo::Exact { ce: true });
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
