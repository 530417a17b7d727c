//! The peer: the ACKs that it sends for arrived segments, and their arrival at the endpoint.

use super::echo::Echo;
use super::path::{Arrival, MS, Sent};
use super::random_connection::{RandomConnection, Stream};
use super::receiver::{Range, Receiver};
use super::window::{Window, first};
use forebay_torture::draw::by_chance;
use forebay_types::Rng;

/// An ACK of the peer, as it arrives at the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ack {
    /// Time, ns.
    pub(super) time: u64,
    pub(super) number: u64,
    pub(super) ece: bool,
    /// The window field of the header, in units of the scale.
    pub(super) window: u64,
    /// Time at which it left the peer, ns.
    pub(super) left: u64,
    /// Time at which the segment left the endpoint whose timestamp it echoes, ms.
    pub(super) echoed: u64,
    pub(super) blocks: Vec<Range>,
}

/// Longest delay of a window update.
const LATER: u64 = 400 * MS;

struct Peer<'a> {
    d: &'a RandomConnection,
    receiver: Receiver,
    echo: Echo,
    window: Window,
    /// RFC 7323 section 4.3, TS.Recent: time at which the segment left whose timestamp is echoed, ms.
    recent: u64,
    /// RFC 7323 section 4.3, Last.ACK.sent.
    last_acked: u64,
    /// Number of segments whose ACK is delayed.
    waiting: u64,
    /// Latest time of their ACK.
    due: Option<u64>,
    /// Time of the window update.
    update: Option<u64>,
    /// Sent ACKs.
    count: u64,
    windows: Rng,
    back: Rng,
    acks: Vec<Ack>,
}

/// The ACKs for `sent` if the endpoint sends nothing else, in the order of their arrival.
pub(super) fn acks(d: &RandomConnection, sent: &[Sent]) -> Vec<Ack> {
    let echo = match (d.kind.marks(), d.rules.each_mark) {
        (false, _) => Echo::Never,
        (true, false) => Echo::UntilCwr(false),
        (true, true) => Echo::EachMark(false),
    };
    // With a SYN, or with the endpoint's ACK of one.
    let offered = if d.kind.active { first(d.rules.window) } else { d.rules.window };
    let mut peer = Peer {
        d,
        receiver: Receiver::new(),
        echo,
        window: Window::new(d.rules.behaviour, d.rules.window, offered),
        recent: 0,
        last_acked: 1,
        waiting: 0,
        due: None,
        update: None,
        count: 0,
        windows: d.numbers(Stream::Window),
        back: d.numbers(Stream::Back),
        acks: Vec::new(),
    };
    for arrival in d.path.forth(sent, d.numbers(Stream::Forth)) {
        peer.pass(arrival.time);
        peer.segment(arrival, &sent[arrival.which]);
    }
    peer.pass(u64::MAX);
    peer.acks.sort_by_key(|a| a.time);
    peer.acks
}

impl Peer<'_> {
    /// Actions of the peer by itself until `end`.
    fn pass(&mut self, end: u64) {
        while let Some(time) = [self.due, self.update].into_iter().flatten().min().filter(|t| *t <= end) {
            if self.update == Some(time) {
                self.update = None;
            }
            self.acknowledge(time, None);
        }
    }

    fn segment(&mut self, arrival: Arrival, s: &Sent) {
        let now = arrival.time;
        if self.echo.changes(arrival.marked) && self.waiting > 0 {
            self.acknowledge(now, None);
        }
        self.echo.note(arrival.marked, s.cwr);
        // RFC 7323 section 4.3: a later timestamp, of a segment that begins at or before the last acknowledged byte.
        if s.range.0 <= self.last_acked {
            self.recent = self.recent.max(s.time / MS);
        }
        let taken = self.receiver.take(s.range);
        self.waiting += u64::from(s.range.0 < s.range.1);
        if taken.at_once || s.fin || self.waiting >= self.d.rules.every {
            self.acknowledge(now, taken.duplicate);
            self.schedule_update(now);
        } else if self.waiting > 0 && self.due.is_none() {
            self.due = Some(now + self.d.rules.hold);
        }
    }

    /// The application may read data later.
    fn schedule_update(&mut self, now: u64) {
        let (later, after) = (by_chance(&mut self.windows, 33), self.windows.below(LATER));
        if later && self.update.is_none() && self.d.rules.behaviour.sends_updates() {
            self.update = Some(now + after);
        }
    }

    /// Sends an ACK.
    fn acknowledge(&mut self, now: u64, duplicate: Option<Range>) {
        (self.waiting, self.due) = (0, None);
        let number = self.receiver.next;
        self.last_acked = number;
        let window = self.window.field(number, &mut self.windows);
        // RFC 2018 section 3: 40 bytes of options have room for four blocks, for three beside timestamps.
        let blocks = match self.d.kind.sack {
            true => self.receiver.blocks(duplicate, if self.d.kind.timestamps { 3 } else { 4 }),
            false => Vec::new(),
        };
        // The simulator does not check timestamps of ACKs (PAWS, RFC 7323 section 5), so ACKs with timestamps must not be reordered.
        let arrives = self.d.path.back(self.count, now, self.d.kind.timestamps, &mut self.back);
        self.count += 1;
        if let Some(time) = arrives {
            self.acks.push(Ack { time, number, ece: self.echo.ece(), window, left: now, echoed: self.recent, blocks });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::Kind;
    use super::super::window::Behaviour;
    use super::*;

    /// A connection over a path with a delay of 10 ms each way, with an ACK for every second segment.
    fn plain(words: &str) -> RandomConnection {
        let mut d = RandomConnection::new(Kind::parse(words).unwrap(), 1);
        (d.path.delay, d.path.gap, d.path.bad) = (10 * MS, 0, 0);
        (d.rules.every, d.rules.behaviour, d.rules.each_mark) = (2, Behaviour::Open, false);
        d
    }

    fn sent(ms: u64, start: u64, end: u64) -> Sent {
        Sent { time: ms * MS, range: (start, end), ect: false, cwr: false, fin: false }
    }

    /// RFC 7323 section 4.3: a delayed ACK echoes the first of its segments (case A), a segment beyond a hole changes nothing (B), the one that fills
    /// it is echoed (C).
    #[test]
    fn timestamp_echo_rfc_7323() {
        let stream = [sent(10, 1, 1001), sent(15, 1001, 2001), sent(20, 3001, 4001), sent(30, 2001, 3001), sent(40, 4001, 5001)];
        let got: Vec<_> = acks(&plain("timestamps"), &stream).iter().map(|a| (a.time / MS, a.number, a.echoed)).collect();
        // Only the last segment waits for the delayed-ACK timer of 40 ms.
        assert_eq!(got, [(35, 2001, 10), (40, 2001, 10), (50, 4001, 30), (100, 5001, 40)]);
    }

    /// RFC 2018 and RFC 2883 on the wire: three blocks beside timestamps, four without, none where SACK was not agreed to; a duplicate is reported once.
    #[test]
    fn sack_blocks_fit_options() {
        let stream: Vec<Sent> =
            [1001, 3001, 5001, 7001, 9001, 3001, 1].iter().zip(10..).map(|(&start, ms)| sent(ms, start, start + 1000)).collect();
        let blocks = |words| acks(&plain(words), &stream).into_iter().map(|a| a.blocks).collect::<Vec<_>>();
        let all = blocks("sack");
        assert_eq!(all[4], [(9001, 10_001), (7001, 8001), (5001, 6001), (3001, 4001)]);
        assert_eq!(all[5], [(3001, 4001), (3001, 4001), (9001, 10_001), (7001, 8001)]);
        assert_eq!(all[6], [(3001, 4001), (9001, 10_001), (7001, 8001), (5001, 6001)]);
        let few = blocks("timestamps");
        assert_eq!(few[5], [(3001, 4001), (3001, 4001), (9001, 10_001)]);
        assert!(blocks("nosack").iter().all(Vec::is_empty));
    }
}
