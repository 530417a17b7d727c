//! State of a connection whose packets have individual classes: message boundaries in the stream, and progress of the sender. The sender's kernel
//! does not know message boundaries; the switch sees every packet at its host and has both.

use crate::frame::{Headers, flag};
use crate::tag::{self, Segment};
use forebay_kernel::tags::TAGS;
use std::collections::VecDeque;

/// The end of a message that has none.
const ENDLESS: u64 = u64::MAX / 4;

/// A connection as its sender's host sees it.
#[derive(Debug, Clone)]
pub struct Stream {
    tag: [u64; TAGS],
    /// Payload of a full segment.
    mss: u32,
    /// Sequence number of the first byte, once the SYN has been acknowledged.
    first: Option<u32>,
    /// All in bytes from there: the highest that was sent, that is acknowledged, that the application has written.
    high: u64,
    una: u64,
    written: u64,
    /// Begin and end of those that are not acknowledged.
    messages: VecDeque<(u64, u64)>,
}

impl Stream {
    /// A connection that opens, with the rule of its transport.
    pub fn new(tag: [u64; TAGS], mss: u32) -> Stream {
        Stream { tag, mss, first: None, high: 0, una: 0, written: 0, messages: VecDeque::new() }
    }

    /// The application writes a message of so many bytes, 0 for one without end.
    pub fn write(&mut self, bytes: u64) {
        let end = if bytes == 0 { ENDLESS } else { self.written + bytes };
        self.messages.push_back((self.written, end));
        self.written = end;
    }

    /// Class of a packet that leaves the sender's host.
    pub fn leaves(&mut self, headers: &Headers) -> u8 {
        let (Some(tcp), Some(first)) = (headers.tcp, self.first) else { return tag::control(&self.tag) };
        let fin = tcp.flags & flag::FIN != 0;
        if headers.payload == 0 && !fin {
            return tag::control(&self.tag);
        }
        let offset = place(self.high, first, tcp.seq);
        let again = offset < self.high;
        let segment = Segment { offset, high: self.high, begin: 0, end: 0, mss: self.mss.into(), again };
        self.high = self.high.max(offset + u64::from(headers.payload) + u64::from(fin));
        match self.messages.iter().take_while(|m| m.0 <= offset).last() {
            Some(&(begin, end)) if end > self.una => tag::data(&self.tag, &Segment { begin, end, ..segment }),
            _ => tag::control(&self.tag),
        }
    }

    /// A packet of the other end has reached the sender's host.
    pub fn answered(&mut self, headers: &Headers) {
        let Some(tcp) = headers.tcp.filter(|tcp| tcp.flags & flag::ACK != 0) else { return };
        let first = *self.first.get_or_insert(tcp.ack);
        self.una = self.una.max(place(self.una, first, tcp.ack));
        while self.messages.front().is_some_and(|m| m.1 <= self.una) {
            self.messages.pop_front();
        }
    }

    /// Class of a packet that leaves the receiver's host.
    pub fn answer(&self) -> u8 {
        tag::answers(&self.tag)
    }
}

/// Place in the stream of the sequence number `seq`, which is less than 2 GiB away from `near`.
fn place(near: u64, first: u32, seq: u32) -> u64 {
    let away = seq.wrapping_sub(first.wrapping_add(near as u32)) as i32;
    near.saturating_add_signed(away.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Tcp;
    use forebay_kernel::tags::{PIAS, PRIN};
    use forebay_queues::Codepoint;
    use std::net::Ipv4Addr;

    const MSS: u32 = 1_000;
    /// Sequence numbers begin again while the stream runs.
    const ISN: u32 = u32::MAX - 2_500;

    fn packet(flags: u8, seq: u32, ack: u32, payload: u32) -> Headers {
        let end = (Ipv4Addr::UNSPECIFIED, 0);
        let tcp = Some(Tcp { seq, ack, flags, window: 0 });
        Headers { from: end, to: end, ecn: Codepoint::NotEct, payload, tcp, probe: false }
    }

    fn at(offset: u32) -> u32 {
        ISN.wrapping_add(1 + offset)
    }

    fn opened(tag: [u64; TAGS]) -> Stream {
        let mut stream = Stream::new(tag, MSS);
        stream.leaves(&packet(flag::SYN, ISN, 0, 0));
        stream.answered(&packet(flag::SYN | flag::ACK, 7, at(0), 0));
        stream
    }

    #[test]
    fn last_three_segments_of_messages_marked() {
        let mut s = opened([PRIN, 4, 0, 0, 0, 0, 0, 0, 0]);
        s.write(4_500);
        let send = |s: &mut Stream, offset, len| s.leaves(&packet(flag::ACK, at(offset), 8, len));
        let classes: Vec<u8> = (0..5).map(|i| send(&mut s, 1_000 * i, if i == 4 { 500 } else { MSS })).collect();
        assert_eq!(classes, [0, 0, 4, 4, 4]);
        s.answered(&packet(flag::ACK, 8, at(4_500), 0));
        s.write(2_000);
        assert_eq!([send(&mut s, 4_500, MSS), send(&mut s, 5_500, MSS)], [4, 4], "a message of its own");
        assert_eq!(s.leaves(&packet(flag::ACK, at(6_500), 8, 0)), 0, "an ACK of the sender's");
    }

    #[test]
    fn bytes_sent_demote_unacknowledged_messages_only() {
        let mut s = opened([PIAS, 0, 1_000, 3_000, u64::MAX, u64::MAX, u64::MAX, u64::MAX, u64::MAX]);
        s.write(4_000);
        let send = |s: &mut Stream, offset| s.leaves(&packet(flag::ACK, at(offset), 8, MSS));
        let classes: Vec<u8> = (0..4).map(|i| send(&mut s, 1_000 * i)).collect();
        assert_eq!(classes, [7, 6, 6, 5]);
        assert_eq!(send(&mut s, 0), 5, "again, when 4000 bytes have been sent");
        s.answered(&packet(flag::ACK, 8, at(4_000), 0));
        assert_eq!(s.leaves(&packet(flag::ACK | flag::FIN, at(4_000), 8, 0)), 7, "the FIN behind it");
    }
}
