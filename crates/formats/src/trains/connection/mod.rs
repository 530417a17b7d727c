//! A TCP connection, in a state of constant size.

mod burst;
mod direction;
mod recovery;
mod rtt;
mod sequence;
mod table;

use crate::trains::options::Options;
use crate::trains::packet::Segment;
use crate::trains::sink::{ConnectionRow, Host, Incast, Message, Sink, Train};
use crate::trains::summary::Totals;
use burst::Burst;
use direction::{Direction, Path, Step};
pub(crate) use table::Table;

/// Receivers of the results of connections.
pub(crate) struct Output<'a> {
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) totals: &'a mut Totals,
    pub(crate) options: &'a Options,
}

impl Output<'_> {
    /// Reports an incast event.
    pub(crate) fn incast(&mut self, event: &Incast) {
        self.totals.incast(event);
        self.sink.incast(event);
    }
}

/// Time after which a closed connection may be dropped, ns: ACKs of the last FIN and retransmissions of it arrive.
const LINGER_NS: u64 = 1_000_000_000;

/// Time from the end of the handshake to the first data of an application that had the message when it opened the connection: at most this part of the RTT,
/// or this time in ns. Our choice: an application takes some microseconds from connect() to its first write.
const FIRST_WRITE_RTT: u64 = 4;
const FIRST_WRITE_NS: u64 = 20_000;

/// A connection.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    number: u64,
    /// Both ends: index 0 sent the first packet.
    ends: [Host; 2],
    /// Data of each end.
    directions: [Direction; 2],
    /// Interface at which the packets of each end are followed: the first one that has shown them.
    interfaces: [Option<u32>; 2],
    /// The end that sent a SYN without ACK.
    opener: Option<usize>,
    /// Time of its first packet after the SYN, ns.
    established_ns: Option<u64>,
    handshake_rtt: Option<u64>,
    handshake_over: bool,
    reset: bool,
    first_ns: u64,
    last_ns: u64,
}

/// Result of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing further.
    Counted,
    /// The packet is a second copy of a captured one.
    Copy,
    /// The packet began a train of `ends[from]`; the RTT of the connection in ns, if known.
    TrainBegan(Option<u64>),
}

impl Connection {
    /// A connection whose first packet is sent by `ends[0]` at `now`, ns.
    pub(crate) fn new(number: u64, ends: [Host; 2], now: u64) -> Connection {
        Connection {
            number,
            ends,
            directions: [Direction::default(); 2],
            interfaces: [None; 2],
            opener: None,
            established_ns: None,
            handshake_rtt: None,
            handshake_over: false,
            reset: false,
            first_ns: now,
            last_ns: now,
        }
    }

    /// Direction of a segment: the index of its source.
    fn direction(&self, s: &Segment) -> usize {
        usize::from(s.src != self.ends[0].end)
    }

    /// Source and destination of a segment.
    pub(crate) fn hosts(&self, s: &Segment) -> (Host, Host) {
        let from = self.direction(s);
        (self.ends[from], self.ends[1 - from])
    }

    /// Time of the last packet, ns.
    pub(crate) fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// True if `s` opens another connection between the same ports.
    pub(crate) fn is_replaced_by(&self, s: &Segment) -> bool {
        let own = &self.directions[self.direction(s)];
        s.flags.syn() && own.packets() > 0 && own.syn().is_none_or(|(seq, _)| seq != s.seq)
    }

    /// True if the state can be dropped: the connection is closed, or idle for longer than `idle`, ns.
    pub(crate) fn is_over(&self, now: u64, idle: u64) -> bool {
        let quiet = now.saturating_sub(self.last_ns);
        let closed = self.reset || self.directions.iter().all(Direction::has_fin);
        quiet > if closed { LINGER_NS.min(idle) } else { idle }
    }

    /// RTT, ns: the smoothed time to the receiver of `from` and back, and the smallest time on its own side.
    fn path(&self, from: usize, timestamps: bool, options: &Options) -> Path {
        let (own, other) = (&self.directions[from], &self.directions[1 - from]);
        let sender_side = other.rtt.min().unwrap_or(0);
        let far = own.rtt.smoothed().or(own.rtt.min().map(|min| min as f64));
        let rtt = match far {
            Some(far) => Some(far + sender_side as f64),
            None => self.handshake_rtt.or(other.rtt.min()).map(|rtt| rtt as f64),
        };
        Path { rtt, min_rtt: self.min_rtt(), sender_side, mss: other.mss_to(self.ends[0].end.is_v6(), timestamps, options.mss) }
    }

    /// Smallest RTT, ns: the sum of both sides, if both are known.
    fn min_rtt(&self) -> Option<u64> {
        match [0, 1].map(|i| self.directions[i].rtt.min()) {
            [Some(a), Some(b)] => Some(a + b),
            [a, b] => self.handshake_rtt.or(a).or(b),
        }
    }

    /// True if the segment of end `from` is a copy at a further interface of one that was captured: it has nothing new. One that has moves the end to
    /// its interface, as when a network card is replaced by another one of a bond.
    #[inline]
    fn is_elsewhere(&mut self, from: usize, s: &Segment, interface: u32) -> bool {
        let followed = *self.interfaces[from].get_or_insert(interface);
        if followed == interface {
            return false;
        }
        let resets = s.flags.rst() && !self.reset;
        let acknowledges = s.flags.ack() && self.directions[1 - from].acknowledges_new_data(s);
        let has_news = resets || acknowledges || self.directions[from].has_new_data(s);
        if has_news {
            self.interfaces[from] = Some(interface);
        }
        !has_news
    }

    /// Processes a segment that was captured at a time, ns, on an interface.
    #[inline]
    pub(crate) fn handle(&mut self, s: &Segment, (now, interface): (u64, u32), out: &mut Output<'_>) -> Outcome {
        let from = self.direction(s);
        if self.is_elsewhere(from, s, interface) || self.directions[from].is_copy(s) {
            return Outcome::Copy;
        }
        self.last_ns = self.last_ns.max(now);
        self.reset |= s.flags.rst();
        self.directions[from].sent(s, now);
        if !self.handshake_over {
            self.handshake(from, s, now);
        }
        let timestamps = s.timestamps.is_some();
        let mut step = Step::default();
        if s.flags.ack() && !s.flags.rst() {
            let path = self.path(1 - from, timestamps, out.options);
            let sample = self.directions[1 - from].acknowledged(s, now, &path, out.options, &mut step);
            if let Some(sample) = sample {
                out.totals.rtt.add(sample + path.sender_side);
            }
            self.emit(1 - from, &mut step, out);
        }
        if s.payload == 0 {
            return Outcome::Counted;
        }
        let path = self.path(from, timestamps, out.options);
        step.train_began = false;
        self.directions[from].data(s, now, &path, out.options, &mut step);
        self.directions[1 - from].answered();
        self.emit(from, &mut step, out);
        if step.train_began { Outcome::TrainBegan(path.rtt.map(|rtt| rtt as u64)) } else { Outcome::Counted }
    }

    /// Times the handshake: SYN, SYN-ACK, ACK. At any point of the path, SYN to ACK is a whole RTT.
    fn handshake(&mut self, from: usize, s: &Segment, now: u64) {
        if s.flags.syn() {
            if !s.flags.ack() {
                self.opener = Some(from);
            } else if let Some(syn) = self.directions[1 - from].syn_once() {
                self.opener = Some(1 - from);
                self.directions[1 - from].rtt.add(now.saturating_sub(syn));
            }
            return;
        }
        self.handshake_over = true;
        if self.opener != Some(from) || !s.flags.ack() {
            return;
        }
        self.established_ns = Some(now);
        if let Some(answer) = self.directions[1 - from].syn_once() {
            self.directions[1 - from].rtt.add(now.saturating_sub(answer));
        }
        self.handshake_rtt = self.directions[from].syn_once().map(|syn| now.saturating_sub(syn));
    }

    fn emit(&self, from: usize, step: &mut Step, out: &mut Output<'_>) {
        if let Some(burst) = step.train.take() {
            self.emit_train(from, &burst, out);
        }
        if let Some(burst) = step.message.take() {
            self.emit_message(from, &burst, out);
        }
    }

    fn emit_train(&self, from: usize, b: &Burst, out: &mut Output<'_>) {
        let train = Train {
            connection: self.number,
            src: self.ends[from],
            dst: self.ends[1 - from],
            start_ns: b.start,
            end_ns: b.end,
            bytes: b.bytes,
            packets: b.packets,
            retransmitted: b.retransmitted,
            gap_ns: b.gap,
            threshold_ns: b.threshold,
            long: b.packets >= out.options.long_train,
        };
        out.totals.train(&train);
        out.sink.train(&train);
    }

    fn emit_message(&self, from: usize, b: &Burst, out: &mut Output<'_>) {
        // After a pause, the application has opened the connection before it had the message.
        let pause = self.established_ns.map_or(0, |established| b.start.saturating_sub(established));
        let connect = self.handshake_rtt.map_or(b.threshold, |rtt| (rtt / FIRST_WRITE_RTT).max(FIRST_WRITE_NS));
        let is_first = self.opener == Some(from) && b.gap.is_none() && pause <= connect;
        let opened = self.directions[from].syn().filter(|_| is_first);
        let message = Message {
            connection: self.number,
            src: self.ends[from],
            dst: self.ends[1 - from],
            opened_ns: opened.map(|(_, time)| time),
            start_ns: b.start,
            end_ns: b.end,
            bytes: b.bytes,
            gap_ns: b.gap,
        };
        out.totals.messages += 1;
        out.sink.message(&message);
    }

    /// Ends the connection: its open trains and messages, then itself.
    pub(crate) fn finish(mut self, out: &mut Output<'_>) {
        for from in 0..2 {
            let mut step = self.directions[from].finish();
            self.emit(from, &mut step, out);
        }
        let client = self.opener.unwrap_or(0);
        let row = ConnectionRow {
            connection: self.number,
            client: self.ends[client],
            server: self.ends[1 - client],
            opened: self.opener.is_some(),
            closed: self.reset || self.directions.iter().any(Direction::has_fin),
            start_ns: self.first_ns,
            end_ns: self.last_ns,
            handshake_rtt_ns: self.handshake_rtt,
            min_rtt_ns: self.min_rtt(),
            from_client: self.directions[client].row(),
            from_server: self.directions[1 - client].row(),
        };
        out.totals.connection(&row);
        out.sink.connection(&row);
    }
}
