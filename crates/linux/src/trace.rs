//! The fingerprint of a run: a hash of what happened to every packet, with sequence numbers counted from the first of each direction, so that it is
//! the same whatever a guest's kernel drew.

use crate::protocol::{Packet, Timer, flag};
use forebay_experiment::rows::PacketRow;
use forebay_types::mix;

/// The ECN field of a packet that was marked (RFC 3168 section 5).
const CE: u8 = 3;

/// First sequence numbers of both directions of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct Begin {
    forth: Option<u32>,
    back: Option<u32>,
}

impl Begin {
    fn set(&mut self, back: bool, seq: u32) {
        *(if back { &mut self.back } else { &mut self.forth }) = Some(seq);
    }
}

/// The hash so far.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    hash: u64,
    begins: Vec<Begin>,
}

/// Sequence and acknowledgment number of a packet, counted from the first ones.
pub(crate) struct Numbers {
    /// Sequence number of its first byte.
    pub seq: u32,
    /// 0 where it acknowledges nothing.
    pub ack: u32,
}

impl Trace {
    /// Sequence numbers of the packet, relative to the first ones.
    pub(crate) fn numbers(&mut self, p: &Packet) -> Numbers {
        let begin = self.of(p.conn);
        // Without any flag it is a probe of a shim, which has its SYN's number and goes ahead of it.
        if p.tcp_flags & flag::SYN != 0 || p.tcp_flags == 0 {
            begin.set(p.back != 0, p.seq);
        }
        let (own, other) = if p.back == 0 { (begin.forth, begin.back) } else { (begin.back, begin.forth) };
        let ack = if p.tcp_flags & flag::ACK != 0 { p.ack.wrapping_sub(other.unwrap_or(0)) } else { 0 };
        Numbers { seq: p.seq.wrapping_sub(own.unwrap_or(0)), ack }
    }

    /// First sequence number of a direction of connection `conn` whose handshake is that of another one.
    pub(crate) fn begin(&mut self, conn: u32, back: bool, seq: u32) {
        self.of(conn).set(back, seq);
    }

    fn of(&mut self, conn: u32) -> &mut Begin {
        let conn = conn as usize;
        if self.begins.len() <= conn {
            self.begins.resize(conn + 1, Begin::default());
        }
        &mut self.begins[conn]
    }

    /// Something happened to a packet.
    pub(crate) fn packet(&mut self, p: &Packet) {
        let Numbers { seq, ack } = self.numbers(p);
        self.add(p.time);
        self.add(u64::from(p.conn) << 32 | u64::from(p.port));
        self.add(u64::from(seq) << 32 | u64::from(ack));
        self.add(u64::from(p.payload) << 32 | u64::from(p.wire));
        let bytes = [p.tcp_flags, p.ecn, p.what, p.reason, p.class_of_service, p.back];
        self.add(bytes.iter().fold(u64::from(p.window), |all, b| all << 8 | u64::from(*b)));
    }

    /// Its row, in the table of connection number `conn_id`.
    pub(crate) fn row(&mut self, p: &Packet, conn_id: u64) -> PacketRow {
        let Numbers { seq, ack } = self.numbers(p);
        let has = |mask| p.tcp_flags & mask != 0;
        PacketRow {
            time_ps: p.time,
            conn_id,
            back: p.back != 0,
            number: if p.back != 0 { ack } else { seq },
            payload: p.payload,
            syn: has(flag::SYN),
            fin: has(flag::FIN),
            ece: has(flag::ECE),
            cwr: has(flag::CWR),
            ce: p.ecn == CE,
            class: p.class_of_service,
        }
    }

    /// A timer ran out.
    pub(crate) fn timer(&mut self, t: &Timer) {
        self.add(t.time);
        self.add(u64::from(t.conn) << 32 | u64::from(t.kind));
    }

    /// The hash.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.hash
    }

    fn add(&mut self, value: u64) {
        self.hash = mix(self.hash.rotate_left(7) ^ value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::data;

    fn run(isn: [u32; 2], late: u64) -> u64 {
        let mut t = Trace::default();
        let syn = Packet { tcp_flags: flag::SYN, payload: 0, ..data(isn[0], 0, 1) };
        t.packet(&syn);
        t.packet(&Packet { tcp_flags: flag::SYN | flag::ACK, seq: isn[1], ack: isn[0].wrapping_add(1), back: 1, time: 2, ..syn });
        t.packet(&Packet { ack: isn[1].wrapping_add(1), ..data(isn[0].wrapping_add(1), 1_000, 3 + late) });
        t.fingerprint()
    }

    #[test]
    fn hash_ignores_isn_not_picoseconds() {
        assert_eq!(run([5, 99], 0), run([u32::MAX, 12], 0));
        assert_ne!(run([5, 99], 0), run([5, 99], 1));
    }
}
