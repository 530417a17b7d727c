//! A whole connection: two endpoints, a fixed delay, and a judge that decides the fate of each packet. Every step is compared with an independent
//! model of the byte stream, and checked for stalls.

pub use super::wire::{Alarms, Capture, MS, US, addresses, path};
use forebay_experiment::transport::{Recovery, SsthreshFrom};
use forebay_sim::net::packet::{Codepoint, Extra, Packet, flag};
use forebay_sim::shim::endpoint::End;
use forebay_sim::shim::endpoint_shims;
use forebay_sim::shim::proboscis::{self, Budget, Host, ReceiverShim, Rules, SenderShim};
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::offered_shift;
use forebay_sim::tcp::receiver::Receiver;
use forebay_sim::tcp::sender::{CaState, Phase, Sender, Timer};
use forebay_types::Time;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BinaryHeap;

/// Facts about a packet for the judge.
#[derive(Debug, Clone, Copy)]
pub struct PipePacket {
    /// True if it is from the sender.
    pub data: bool,
    /// Running number among the packets of its direction, SYN and SYN-ACK included.
    pub number: usize,
    /// Stream offset of the first byte, or acknowledged.
    pub offset: i64,
    /// Payload.
    pub len: u16,
    /// Earlier transmissions of this offset, with data.
    pub again: usize,
    /// Flags.
    pub flags: u8,
    /// ps.
    pub now: u64,
}

/// Fate of a packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fate {
    /// It does not arrive.
    pub lost: bool,
    /// Marked, if it is ECN-capable.
    pub marked: bool,
    /// It arrives twice.
    pub twice: bool,
    /// Extra delay, ps.
    pub late: u64,
    /// An ACK announces no window, whatever the receiver has.
    pub shut: bool,
}

/// Delivered unchanged.
pub const PASS: Fate = Fate { lost: false, marked: false, twice: false, late: 0, shut: false };
/// Lost.
pub const LOSE: Fate = Fate { lost: true, ..PASS };
/// Marked.
pub const MARK: Fate = Fate { marked: true, ..PASS };

/// A sample of the sender's state.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// ps.
    pub now: u64,
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow start threshold, segments.
    pub ssthresh: f64,
    /// NaN for congestion controls without alpha.
    pub alpha: f64,
    /// Acknowledged bytes.
    pub una: u64,
    /// Next offset to send, before the step.
    pub nxt: u64,
    /// State of the recovery.
    pub ca: CaState,
}

/// A ProBoSCIS shim below each endpoint, whose timers tick at whole milliseconds.
#[expect(clippy::partial_pub_fields, reason = "tests read both ends, and only the pipe runs the clock")]
pub struct Shims {
    /// Their parameters.
    pub rules: Rules,
    /// Below the sender.
    pub sender: SenderShim,
    /// Below the receiver.
    pub receiver: ReceiverShim,
    /// State of the sending and the receiving host.
    pub hosts: [Host; 2],
    tick: u64,
}

type Flying = (u64, u64, bool, usize);

/// The connection and the pipe.
#[expect(clippy::partial_pub_fields, reason = "tests read both ends, and only the pipe knows the packets on the way")]
pub struct Pipe<J> {
    /// Transport of both ends.
    pub c: TcpConfig,
    /// The sending end.
    pub sender: Sender,
    /// The receiving end.
    pub receiver: Receiver,
    /// Simulated time, ps.
    pub now: u64,
    /// One-way delay, ps.
    pub delay: u64,
    judge: J,
    isn: u32,
    nxt: u64,
    /// Time at which the connection was closed, ps.
    pub done: u64,
    flying: BinaryHeap<Reverse<Flying>>,
    alarms: Alarms,
    packets: Vec<(Packet, Option<Extra>)>,
    /// Packets of the receiver, and of the sender.
    pub counts: [usize; 2],
    sent: BTreeMap<i64, usize>,
    /// Last departure of the data at each offset.
    left: BTreeMap<i64, u64>,
    /// Time since which an ACK is owed.
    owed: Option<u64>,
    /// Intervals of the stream that reached the receiver: start -> end.
    reached: BTreeMap<u64, u64>,
    /// TS.Recent as the time at which that segment left, and Last.ACK.sent (RFC 7323 section 4.3).
    recent: Option<Time>,
    acked: u64,
    /// Segments that were too old.
    pub rejected: usize,
    /// The sender after every step that changed its window, threshold or alpha.
    pub trace: Vec<Point>,
    /// Every packet of the sender.
    pub log: Vec<PipePacket>,
    /// Shims below TCP, if the transport has them.
    pub shims: Option<Shims>,
}

impl Shims {
    fn of(c: &TcpConfig) -> Option<Shims> {
        let Some(endpoint_shims::Config::Proboscis(p)) = &c.shims.endpoint else { return None };
        let rules = proboscis::rules(p, c);
        // A link so fast that the budget has no effect.
        let host = || Host::new(Budget::of_link(&rules, Time(1)));
        let hosts = [host(), host()];
        Some(Shims { rules, sender: SenderShim::default(), receiver: ReceiverShim::default(), hosts, tick: 0 })
    }

    /// The next tick, if there is one: at a whole millisecond that has not ticked yet.
    fn next(&self, now: u64) -> u64 {
        let this = now.next_multiple_of(MS);
        match self.sender.waiting() || self.receiver.waiting() {
            false => u64::MAX,
            true if this == self.tick => this + MS,
            true => this,
        }
    }
}

impl<J: FnMut(&PipePacket) -> Fate> Pipe<J> {
    /// A closed connection with a one-way delay of 50 us.
    pub fn new(c: TcpConfig, judge: J) -> Pipe<J> {
        let isn = c.isn.unwrap_or(1);
        let (forward, back) = addresses(isn);
        let (mut sender, receiver) = (Sender::new(&c, forward, None), Receiver::new(&c, back));
        if c.cc.hooks().path() {
            sender.set_path(path());
        }
        Pipe {
            shims: Shims::of(&c),
            c,
            sender,
            receiver,
            now: 0,
            delay: 50 * US,
            judge,
            isn,
            nxt: 0,
            done: 0,
            flying: BinaryHeap::new(),
            alarms: Alarms::new(),
            packets: Vec::new(),
            counts: [0; 2],
            sent: BTreeMap::new(),
            left: BTreeMap::new(),
            owed: None,
            reached: BTreeMap::new(),
            recent: None,
            acked: 0,
            rejected: 0,
            trace: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Opens, writes `bytes`, closes, and runs to the end. Panics on a stall, or when it takes longer than `limit` ps.
    pub fn transfer(&mut self, bytes: u64, limit: u64) {
        self.open();
        self.write(bytes, true);
        self.run(limit);
        assert_eq!(self.sender.phase(), Phase::Done, "not closed after {} ps: {:?}", self.now, self.sender);
        assert_eq!(self.receiver.delivered(), bytes);
        assert!(self.receiver.finished());
    }

    /// Opens the connection.
    pub fn open(&mut self) {
        let mut capture = Capture::default();
        self.sender.open(&self.c, Time(self.now), &mut capture);
        self.launch(capture);
    }

    /// Writes `bytes`, the last ones if `last` is set: the connection closes behind them.
    pub fn write(&mut self, bytes: u64, last: bool) {
        let mut capture = Capture::default();
        let begin = self.sender.written();
        let first = begin + (self.sender.window().cwnd * f64::from(self.c.mss)) as u64;
        self.sender.start_message((begin, first, begin + bytes));
        self.sender.write(&self.c, Time(self.now), bytes, None, last, &mut capture);
        self.launch(capture);
        self.check();
    }

    /// Runs until nothing is left to do, or until `end`.
    pub fn run(&mut self, end: u64) {
        let mut steps = 0;
        loop {
            let packet = self.flying.peek().map_or(u64::MAX, |Reverse(f)| f.0);
            let alarm = self.alarms.first().map_or(u64::MAX, |time| time.0);
            let tick = self.shims.as_ref().map_or(u64::MAX, |s| s.next(self.now));
            let next =
                packet.min(self.sender.timer_due().or_never().0).min(self.receiver.timer_due().or_never().0).min(alarm).min(tick);
            if next == u64::MAX || next > end {
                break;
            }
            assert!(next >= self.now, "a timer in the past");
            self.now = next;
            let mut capture = Capture::default();
            let (high, probes) = (self.sender.snd_max(), self.sender.timer() == Timer::Probe && packet != next);
            self.check_timer(packet == next);
            if tick == next {
                self.tick();
            } else if packet == next {
                self.deliver(&mut capture);
            } else if alarm == next {
                self.alarms.remove(&Time(next));
                self.sender.on_alarm(&self.c, Time(next), &mut capture);
            } else if self.sender.timer_due() == Time(next).into() {
                self.sender.on_timer(&self.c, Time(next), &mut capture);
            } else {
                self.receiver.on_timer(&self.c, Time(next), &mut capture);
            }
            self.owed = self.owed.filter(|_| !capture.0.iter().any(|(p, _)| p.has(flag::ACK)));
            // A shim may have set the window for the next message.
            if self.sender.snd_max() > high && !probes && self.c.shims.tag.is_none() {
                self.check_window();
            }
            self.launch(capture);
            self.check();
            steps += 1;
            assert!(steps < 2_000_000, "runs in circles: {:?}", self.sender);
        }
        self.now = if end == u64::MAX { self.now } else { end };
    }

    fn deliver(&mut self, capture: &mut Capture) {
        let Some(Reverse((_, _, data, index))) = self.flying.pop() else { return };
        let (mut p, extra) = self.packets[index];
        if data {
            if let Some(s) = &mut self.shims
                && !s.receiver.ingress(&s.rules, &mut s.hosts[1], Time(self.now), &mut p)
            {
                return;
            }
            if self.is_acceptable(&p) {
                self.note_arrival(&p);
            } else {
                self.rejected += 1;
            }
            if p.len > 0 {
                self.owed.get_or_insert(self.now);
            }
            self.receiver.on_packet(&self.c, Time(self.now), &p, capture);
            self.check_stream();
        } else {
            if let Some(s) = &mut self.shims {
                s.sender.ingress(&s.rules, &mut s.hosts[0], Time(self.now), &mut p);
            }
            self.sender.on_packet(&self.c, Time(self.now), &p, extra.as_ref(), capture);
        }
    }

    fn tick(&mut self) {
        let mut capture = Capture::default();
        if let Some(s) = &mut self.shims {
            s.tick = self.now;
            s.sender.tick(&s.rules, &mut s.hosts[0], Time(self.now), &mut capture);
            s.receiver.tick(&s.rules, &mut s.hosts[1], Time(self.now), &mut capture);
        }
        self.transmit(capture);
    }

    /// Puts the endpoints' packets on the pipe, through their shims if there are any.
    fn launch(&mut self, mut capture: Capture) {
        self.alarms.append(&mut capture.1);
        for (ack, _) in capture.0.iter().filter(|(p, _)| p.has(flag::ACK) && !p.has(flag::SYN)) {
            self.acked = u64::from(ack.seq.wrapping_sub(self.isn).wrapping_sub(1));
        }
        let Some(s) = &mut self.shims else { return self.transmit(capture) };
        let mut below = Capture::default();
        for (p, extra) in capture.0 {
            if p.has(flag::ACK) {
                s.receiver.egress(&s.rules, &mut s.hosts[1], Time(self.now), p, extra.as_ref(), &mut below);
            } else {
                s.sender.egress(&s.rules, &mut s.hosts[0], Time(self.now), p, extra.as_ref(), &mut below);
            }
        }
        self.transmit(below);
    }

    fn transmit(&mut self, capture: Capture) {
        for (p, extra) in capture.0 {
            let data = !p.has(flag::ACK);
            let number = self.counts[usize::from(data)];
            self.counts[usize::from(data)] += 1;
            // Streams of the tests are shorter than 2^31, so the offset needs no reference point; the SYN's is -1.
            let offset = i64::from(p.seq.wrapping_sub(self.isn).wrapping_sub(1) as i32);
            let carries = data && (p.len > 0 || p.has(flag::FIN)) && !p.has(flag::SYN) && !p.has(flag::PROBE);
            let times = self.sent.entry(offset).or_default();
            let again = *times;
            *times += usize::from(carries);
            if carries {
                self.left.insert(offset, self.now);
            }
            let len = if p.has(flag::SYN) { 0 } else { p.len };
            let seen = PipePacket { data, number, offset, len, again, flags: p.flags, now: self.now };
            if data {
                self.log.push(seen);
            }
            let fate = (self.judge)(&seen);
            if fate.lost {
                continue;
            }
            let mut p = p;
            if fate.marked && p.ecn() == Codepoint::Ect0 {
                p.meta.set_ecn(Codepoint::Ce);
            }
            if fate.shut && !data && !p.has(flag::SYN) {
                p.win = 0;
            }
            // Copies arrive together, in the order of their indices.
            for _ in 0..1 + usize::from(fate.twice) {
                let index = self.packets.len();
                self.packets.push((p, extra));
                self.flying.push(Reverse((self.now + self.delay + fate.late, index as u64, data, index)));
            }
        }
    }

    /// RFC 6298 section 2.4: no timeout comes before its minimum has passed since the oldest outstanding data left. RFC 5681 section 4.2: an ACK
    /// is sent within half a second.
    fn check_timer(&self, packet: bool) {
        let s = &self.sender;
        let late = self.owed.map_or(0, |since| self.now - since);
        assert!(late <= MS * 500, "an ACK is {late} ps late");
        // Partial acknowledgments after the first do not move it (RFC 6582 section 4).
        let held = s.ca_state() == CaState::Recovery && !self.sack();
        let due = s.timer() == Timer::Rto && s.timer_due() == Time(self.now).into();
        let expires = !packet && due && s.phase() == Phase::Established && !held;
        if expires && let Some((_, left)) = self.left.range(..=s.snd_una() as i64).next_back() {
            assert!(self.now - left >= self.c.rto_min.0, "timeout after {} ps: {s:?}", self.now - left);
        }
    }

    /// Checks new data: the bytes in the network do not exceed the window (RFC 5681 section 3.1), except for two segments of limited transmit, and
    /// nothing exceeds the receive window.
    fn check_window(&self) {
        let (s, mss) = (&self.sender, u64::from(self.c.mss));
        let more = if s.ca_state() == CaState::Disorder && !self.sack() { 2 * mss } else { 0 };
        if self.sack() && self.c.ssthresh_from == SsthreshFrom::Cwnd && self.c.recovery != Recovery::Sack {
            // tcp_cwnd_test.
            let n = s.counts(&self.c);
            let in_network = n.unacked + n.retrans - n.sacked - n.lost;
            assert!(f64::from(in_network) <= s.window().cwnd, "{in_network} segments in the network: {s:?}");
        } else {
            // The FIN takes a sequence number, but no window.
            assert!(
                s.in_network() <= (s.window().cwnd * mss as f64).ceil() as u64 + more + 1,
                "{} in the network: {s:?}",
                s.in_network()
            );
        }
        // A tuned window is rounded up to the scale (__tcp_select_window).
        let most = self.receiver.rcv_nxt() + self.c.rcv_wnd.max(2 * mss).next_multiple_of(1 << offered_shift(&self.c));
        assert!(s.snd_max() <= most + 1, "{} beyond the receive window: {s:?}", s.snd_max() - most);
    }

    /// Returns true if the sender has a scoreboard.
    fn sack(&self) -> bool {
        matches!(self.c.recovery, Recovery::Sack | Recovery::Rack) || self.c.counts_duplicates()
    }

    /// RFC 7323 section 5: whether `p` is not older than the segment of the remembered timestamp. In Linux a tick older is accepted, and timestamps
    /// of repeated SYNs and of data before the last offered window are not remembered.
    fn is_acceptable(&mut self, p: &Packet) -> bool {
        if !self.c.timestamps {
            return true;
        }
        let linux = self.c.is_linux();
        let left = Time(self.now).saturating_sub(Time(self.now).since(p.ts));
        let ticks = |time: Time| time / self.c.timestamp_clock;
        if p.has(flag::SYN) {
            self.recent = self.recent.filter(|_| linux || self.acked > 0).or(Some(left));
            return true;
        }
        let recent = self.recent.unwrap_or(Time::ZERO);
        let data = p.len > 0 || p.has(flag::FIN);
        if data && ticks(left) + u64::from(linux) < ticks(recent) {
            return false;
        }
        let offset = i64::from(p.seq.wrapping_sub(self.isn).wrapping_sub(1) as i32);
        // Data that ends before the last offered window is ignored (tcp_sequence).
        let before = self.c.quickack && offset + i64::from(p.len) + i64::from(p.has(flag::FIN)) < self.acked as i64;
        if p.has(flag::PROBE) || (data && !before && offset <= self.acked as i64 && left >= recent) {
            self.recent = Some(left);
        }
        true
    }

    /// The model of the stream: plain intervals, independent of the receiver's.
    fn note_arrival(&mut self, p: &Packet) {
        if p.has(flag::SYN) || (p.len == 0 && !p.has(flag::FIN)) {
            return;
        }
        let mut start = u64::from(p.seq.wrapping_sub(self.isn).wrapping_sub(1));
        let mut end = start + u64::from(p.len) + u64::from(p.has(flag::FIN));
        let touching: Vec<u64> = self.reached.range(..=end).filter(|&(_, &e)| e >= start).map(|(&s, _)| s).collect();
        for s in touching {
            end = end.max(self.reached.remove(&s).unwrap());
            start = start.min(s);
        }
        self.reached.insert(start, end);
    }

    fn check_stream(&self) {
        let in_order = match self.reached.first_key_value() {
            Some((0, &end)) => end,
            _ => 0,
        };
        assert_eq!(self.receiver.rcv_nxt(), in_order, "the receiver's stream is not the one that arrived");
        assert!(self.sender.snd_una() <= in_order, "acknowledged before it arrived");
    }

    /// Checks the invariants of every state between two steps.
    fn check(&mut self) {
        let s = &self.sender;
        s.audit();
        let end = s.written() + 1;
        assert!(s.snd_una() <= s.snd_nxt() && s.snd_nxt() <= s.snd_max() && s.snd_max() <= end, "{s:?}");
        assert!(s.window().cwnd >= 1.0 && s.window().cwnd.is_finite() && s.window().ssthresh.or_infinite() >= 2.0, "{s:?}");
        let waiting = s.phase() == Phase::SynSent || (s.phase() == Phase::Established && s.snd_una() < s.snd_nxt());
        assert!(!waiting || !s.timer_due().is_never(), "stalled: data outstanding, no timer: {s:?}");
        let idle = s.phase() == Phase::Established && s.snd_una() == s.snd_nxt();
        let suspended = !s.due().is_never() && self.alarms.iter().any(|&t| t <= s.due().or_never());
        let probes = s.timer() == Timer::Rto && !s.timer_due().is_never();
        assert!(!idle || s.all_acked() || suspended || probes, "stalled: data to send, nothing outstanding: {s:?}");
        let point = Point {
            now: self.now,
            cwnd: s.window().cwnd,
            ssthresh: s.window().ssthresh.or_infinite(),
            alpha: s.cc().alpha().unwrap_or(f64::NAN),
            una: s.snd_una(),
            nxt: self.nxt,
            ca: s.ca_state(),
        };
        self.nxt = s.snd_nxt();
        if s.phase() == Phase::Done && self.done == 0 {
            self.done = self.now;
        }
        let facts = |l: &Point| (l.cwnd.to_bits(), l.ssthresh.to_bits(), l.alpha.to_bits(), l.ca);
        if self.trace.last().map(facts) != Some(facts(&point)) {
            self.trace.push(point);
        }
    }
}
