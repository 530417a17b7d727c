//! Datagrams on the endpoints of a connection: the sender counts sent packets, the receiver counts arrivals, and neither replies.

pub use forebay_experiment::traffic::Datagram;

use super::sender::Sender;
use crate::net::packet::{Codepoint, Meta, Packet, Wire, flag, service};
use forebay_types::Time;

impl Sender {
    /// Makes a closed endpoint the source of datagrams. It has no window and no timer. `awaited`: the run waits for its datagrams.
    pub fn unresponsive(&mut self, d: Datagram, awaited: bool) {
        self.tx.set_template(Packet {
            flags: if awaited { flag::AWAITED } else { flag::DATAGRAM },
            wire: d.wire,
            len: d.payload,
            win: service(d.class, 0),
            meta: Meta::new(self.timers.generation(), if d.ect { Codepoint::Ect0 } else { Codepoint::NotEct }),
            ..*self.tx.template()
        });
        self.stats.current_mut().cwnd_max = 0.0;
    }

    /// Sends a datagram. `high` counts the payload sent.
    pub fn datagram(&mut self, now: Time, out: &mut impl Wire) {
        let (seq, ts) = (self.tx.numbers().wire(self.stream.snd_max()), now.timestamp());
        self.stream.sent_datagram(self.tx.template().len.into());
        self.tx.count_sent(1);
        self.stats.current_mut().count_sent(1);
        out.emit_from(self.tx.template(), |p| {
            p.seq = seq;
            p.ts = ts;
        });
    }
}
