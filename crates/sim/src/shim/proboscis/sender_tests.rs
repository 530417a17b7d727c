//! Tests of the sending role with crafted packets.

use super::config::default_config;
use super::testing::Capture;
use super::{Budget, Config, Host, Rules, SenderShim, State};
use crate::net::packet::{Codepoint, Meta, Packet, flag};
use crate::shim::endpoint::End;
use forebay_shims::proboscis::{EcnMode, Ends, FORGET};
use forebay_types::{ConnSlot, NodeId, Time};

const MS: Time = Time::from_ms(1);
const MSS: u32 = 1460;
const ISN: u32 = u32::MAX - 20_000;

struct Script {
    r: Rules,
    s: SenderShim,
    host: Host,
    now: Time,
    capture: Capture,
}

impl Script {
    fn new(c: Config) -> Script {
        let r = Rules { c, mss: MSS, probe_size: 64, least: u64::from(MSS), restart_after: Time::from_ms(200) };
        // A link so fast that the budget does not matter unless the test says so.
        Script {
            host: Host::new(Budget::of_link(&r, Time(1))),
            s: SenderShim::default(),
            r,
            now: Time::ZERO,
            capture: Capture::default(),
        }
    }

    /// Open, with the scale `shift` from the SYN-ACK.
    fn open(c: Config, shift: u16) -> Script {
        let mut t = Script::new(c);
        t.syn(ISN);
        let mut p =
            Packet { seq: ISN.wrapping_add(1), win: 14_600, flags: flag::SYN | flag::ACK, len: shift, ..Packet::default() };
        t.s.ingress(&t.r, &mut t.host, Time(0), &mut p);
        assert_eq!((p.win, t.s.state()), (14_600, State::Open));
        t.capture.0.clear();
        t
    }

    fn syn(&mut self, isn: u32) {
        let p = Packet {
            conn: ConnSlot::new(3),
            seq: isn,
            wire: 40,
            flags: flag::SYN,
            hash: 77,
            meta: Meta::new(crate::net::generation::Generation::new(9), Codepoint::NotEct),
            ..Packet::default()
        };
        self.s.egress(&self.r, &mut self.host, self.now, p, None, &mut self.capture);
    }

    /// The packets since the last call: probes by train as `batch:count/size`, SYNs as `S`.
    fn sent(&mut self) -> String {
        let mut out: Vec<(String, u32, u16)> = Vec::new();
        for p in self.capture.0.drain(..) {
            if p.has(flag::SYN) {
                out.push(("S".into(), 0, 0));
                continue;
            }
            assert_eq!((p.flags, p.wire, p.hash, p.conn, p.generation()), (flag::PROBE, 64, 77, ConnSlot::new(3), 9));
            assert_eq!((p.ecn(), p.seq), (Codepoint::Ect0, ISN));
            let (name, size) = ((p.len >> 8).to_string(), p.len & 0xFF);
            match out.last_mut() {
                Some(last) if last.0 == name => last.1 += 1,
                _ => out.push((name, 1, size)),
            }
        }
        let show = |(name, n, size): &(String, u32, u16)| if *n == 0 { name.clone() } else { format!("{name}:{n}/{size}") };
        out.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    fn tick_at(&mut self, ms: u64) -> String {
        self.now = MS * ms;
        self.s.tick(&self.r, &mut self.host, self.now, &mut self.capture);
        self.sent()
    }

    /// The guest sends `n` full segments; they are ECN-capable in shim mode.
    fn data(&mut self, from: u32, n: u32) {
        for i in from..from + n {
            let p = Packet { seq: ISN.wrapping_add(1 + i * MSS), len: MSS as u16, ..Packet::default() };
            self.s.egress(&self.r, &mut self.host, self.now, p, None, &mut self.capture);
        }
        let ect = if self.r.c.ecn_mode == EcnMode::Shim { Codepoint::Ect0 } else { Codepoint::NotEct };
        assert!(self.capture.0.drain(..).all(|p| p.ecn() == ect));
    }

    /// An ACK for everything before segment `next`; the window field that the guest gets.
    fn ack(&mut self, next: u32, win: u16, flags: u8) -> Packet {
        let mut p = Packet { seq: ISN.wrapping_add(1 + next * MSS), win, flags: flag::ACK | flags, ..Packet::default() };
        self.s.ingress(&self.r, &mut self.host, self.now, &mut p);
        p
    }
}

/// ProBoSCIS 3.3: 10 probes at 4 ms, 20 at 8, 30 at 12, 40 and the SYN at 16, then 40 every 4 ms and a SYN every 16 ms until 1 s
/// (claim prob-timer-order).
#[test]
fn timer_schedule() {
    let mut t = Script::new(default_config());
    t.syn(ISN);
    assert_eq!(t.sent(), "0:10/10 S");
    for ms in 1..=1000 {
        let sent = t.tick_at(ms);
        let expected = match ms {
            4 => "1:10/10".into(),
            8 => "2:20/20".into(),
            12 => "3:30/30".into(),
            _ if ms % 16 == 0 => format!("{}:40/40 S", ms / 4 % 256),
            _ if ms % 4 == 0 => format!("{}:40/40", ms / 4 % 256),
            _ => String::new(),
        };
        assert_eq!(sent, expected, "{ms} ms");
    }
    assert_eq!((t.s.stats().syns, t.s.state()), (62, State::SynSent));
    // 4, item 7: the time of the first SYN stays, so this is reached: entry and timer are removed.
    assert_eq!(t.tick_at(1001), "");
    assert_eq!((t.s.state(), t.s.waiting()), (State::Idle, false));
    // The guest's own SYN starts again.
    t.syn(ISN);
    // Numbering continues, or the peer would take these probes for old.
    assert_eq!(t.sent(), "251:10/10 S");
}

/// A SYN that the guest repeats is preceded by a new train; the clock of the first one runs on.
#[test]
fn guest_repeats_the_syn() {
    let mut t = Script::new(Config { max_time: MS * 2000, ..default_config() });
    t.syn(ISN);
    t.now = MS * 3;
    t.sent();
    t.syn(ISN);
    assert_eq!(t.sent(), "1:10/10 S");
    assert_eq!([t.tick_at(4), t.tick_at(7)], ["", "2:10/10"]);
}

/// 4-tuple reuse: another ISN makes the entry new.
#[test]
fn reuse_with_a_new_isn() {
    let mut t = Script::open(default_config(), 0);
    t.data(0, 10);
    t.ack(1, 65_535, flag::ECE);
    assert!(t.s.vwnd().is_some());
    let p = Packet { seq: 5, flags: flag::SYN, ..Packet::default() };
    t.s.egress(&t.r, &mut t.host, Time(9), p, None, &mut t.capture);
    assert_eq!((t.s.state(), t.s.vwnd(), t.capture.0.len()), (State::SynSent, None, 11));
    assert!(t.capture.0.iter().all(|p| p.seq == 5) && t.capture.0[0].len >> 8 == 0);
}

/// A small budget: the trains due at 4, 8 and 12 ms leave when the bucket has enough, and SYNs do not wait.
#[test]
fn probes_are_budgeted() {
    let mut t = Script::new(Config { probe_burst: 10, ..default_config() });
    // Ten probes' worth in 10 ms.
    t.host.budget = Budget::of_link(&Rules { c: Config { probe_budget: 1.0, ..t.r.c.clone() }, ..t.r.clone() }, MS);
    t.syn(ISN);
    assert_eq!(t.sent(), "0:10/10 S");
    let sent: Vec<_> = (1..=33).map(|ms| (ms, t.tick_at(ms))).filter(|s| !s.1.is_empty()).collect();
    let text = |s: &str| s.to_owned();
    assert_eq!(sent, [(4, text("1:10/10")), (14, text("2:10/10")), (16, text("S")), (24, text("3:10/10")), (32, text("S"))]);
}

/// DCTCP's window outside the guest: cut on the first echo of a window by alpha / 2, then one segment more per window without marks.
#[test]
fn window_and_alpha() {
    let mut t = Script::open(default_config(), 0);
    assert_eq!(t.s.alpha(), 1.0);
    t.data(0, 10);
    // ack 0: the end of the (empty) first window was the SYN-ACK, so the first ACK ends it: F = 1.
    // base = 9 segments in flight + 1 just acknowledged; halved.
    let p = t.ack(1, 65_535, flag::ECE);
    assert_eq!((p.win, p.flags), (5 * MSS as u16, flag::ACK));
    assert_eq!(t.s.alpha(), 1.0);
    // No second cut in the window.
    assert_eq!(t.ack(2, 65_535, flag::ECE).win, 5 * MSS as u16);
    t.data(10, 3);
    for next in 3..10 {
        assert_eq!(t.ack(next, 65_535, 0).win, 5 * MSS as u16);
    }
    // The window ends at 10 segments: one of nine was marked.
    t.ack(10, 65_535, 0);
    let alpha = 15.0 / 16.0 + 1.0 / 16.0 / 9.0;
    assert!((t.s.alpha() - alpha).abs() < 1e-12, "{}", t.s.alpha());
    // It had a mark and did not grow; the next one, without marks, does.
    assert_eq!(t.s.vwnd(), Some(7_300));
    assert_eq!(t.ack(13, 65_535, 0).win, 8_760);
    assert!((t.s.alpha() - alpha * 15.0 / 16.0).abs() < 1e-12);
    // The guest's own window is smaller than the next: released.
    t.data(13, 1);
    assert_eq!((t.ack(14, 9_000, 0).win, t.s.vwnd()), (9_000, None));
}

/// Never below one segment, never enlarged, rounded up to the scale.
#[test]
fn scales_and_limits() {
    let mut t = Script::open(default_config(), 7);
    t.data(0, 1);
    assert_eq!(t.ack(1, 1000, flag::ECE).win, 12, "1460 / 128, rounded up");
    assert_eq!(t.s.vwnd(), Some(1_460));
    assert_eq!(t.ack(1, 7, 0).win, 7);
    assert_eq!(t.s.stats().throttled, 1);
}

/// Duplicates with an echo count as one segment each, and the share does not exceed one.
#[test]
fn marked_duplicates() {
    let mut t = Script::open(Config { alpha_init: 0.0, ..default_config() }, 0);
    t.data(0, 10);
    t.ack(1, 65_535, 0);
    for _ in 0..20 {
        t.ack(1, 65_535, flag::ECE);
    }
    t.ack(10, 65_535, 0);
    assert_eq!(t.s.alpha(), 1.0 / 16.0);
}

/// kappa1: no cut below it.
#[test]
fn small_alpha_does_not_throttle() {
    let mut t = Script::open(Config { alpha_init: 0.2, kappa1: 0.25, ..default_config() }, 0);
    t.data(0, 10);
    // The first window (empty) ends with this ACK: alpha = 0.2 * 15/16 + 1/16 = 0.25.
    assert_eq!(t.ack(1, 65_535, flag::ECE).win, 65_535);
    assert!((t.s.alpha() - 0.25).abs() < 1e-12);
    t.ack(10, 65_535, flag::ECE);
    assert!(t.s.vwnd().is_some());
}

/// Elephants: above the limit the flow leaves the table: no window, no ECN on its data, no change of later ACKs.
#[test]
fn elephants_are_left_alone() {
    let mut t = Script::open(Config { elephant_bytes: Some(100_000), ..default_config() }, 0);
    t.data(0, 80);
    assert!(t.ack(10, 65_535, flag::ECE).win < 65_535);
    let p = t.ack(70, 65_535, flag::ECE);
    assert_eq!((p.win, p.flags, t.s.vwnd()), (65_535, flag::ACK, None));
    let sent = Packet { seq: ISN.wrapping_add(1 + 80 * MSS), len: MSS as u16, ..Packet::default() };
    t.capture.0.clear();
    t.s.egress(&t.r, &mut t.host, t.now, sent, None, &mut t.capture);
    assert_eq!(t.capture.0, [sent]);
    assert_eq!(t.ack(80, 65_535, flag::ECE).flags, flag::ACK | flag::ECE);
}

/// `no-shrink`: the right edge stays until ACKs have absorbed the cut.
#[test]
fn edge_stays_without_shrinking() {
    for (no_shrink, windows) in [(false, [7_756; 3]), (true, [63_000, 60_080, 48_400])] {
        let mut t = Script::open(Config { no_shrink, ..default_config() }, 0);
        t.data(0, 10);
        t.ack(0, 64_460, 0);
        // The edge is at 64 460, and a window without marks has made alpha 15/16: the cut is to 14 600 * (1 - 15/32).
        let seen = [1, 3, 11].map(|n| {
            if n == 11 {
                t.data(10, 1);
            }
            let flags = if n == 1 { flag::ECE } else { 0 };
            t.ack(n, 65_535, flags).win
        });
        assert_eq!(seen, windows);
    }
}

/// 4, item 34: without an entry everything passes, data and echo included. An entry is removed after a minute without packets.
#[test]
fn unknown_flows_pass() {
    let mut t = Script::new(default_config());
    let p = Packet { seq: 5, len: 1000, ..Packet::default() };
    t.s.egress(&t.r, &mut t.host, Time(0), p, None, &mut t.capture);
    assert_eq!(t.capture.0, [p]);
    assert_eq!(t.ack(7, 65_535, flag::ECE).flags, flag::ACK | flag::ECE);
    let mut t = Script::open(default_config(), 0);
    t.now = FORGET + Time(1);
    assert_eq!(t.ack(7, 65_535, flag::ECE).flags, flag::ACK | flag::ECE);
}

/// Guest mode: the guest handles data and echo; windows are still written.
#[test]
fn guest_provides_ecn() {
    let mut t = Script::open(Config { ecn_mode: EcnMode::Guest, ..default_config() }, 0);
    t.data(0, 4);
    let p = t.ack(1, 65_535, flag::ECE);
    assert_eq!((p.flags, p.win), (flag::ACK | flag::ECE, 2 * MSS as u16));
}

/// No shim at this end.
#[test]
fn only_the_acceptor() {
    let mut t = Script::new(Config { ends: Ends::Acceptor, ..default_config() });
    t.syn(ISN);
    assert_eq!((t.sent(), t.s.waiting()), ("S".into(), false));
}

/// A result that the acceptor keeps is used for the time `recent` from the train on; a SYN without answer has its own train.
#[test]
fn recent_train_is_not_repeated() {
    let answer = |t: &mut Script, keeps: u16| {
        let mut p =
            Packet { seq: ISN.wrapping_add(1), win: 14_600, flags: flag::SYN | flag::ACK, len: 7 | keeps, ..Packet::default() };
        t.s.ingress(&t.r, &mut t.host, t.now, &mut p);
        assert_eq!((p.len, t.s.state()), (7, State::Open), "the guest sees its window scale alone");
    };
    let open = |t: &mut Script, ms: u64| {
        t.s = SenderShim::with(NodeId::new(7));
        t.now = MS * ms;
        t.syn(ISN);
        t.sent()
    };
    let mut t = Script::new(Config { recent: MS * 20, ..default_config() });
    assert_eq!(open(&mut t, 0), "0:10/10 S");
    t.now = MS * 3;
    answer(&mut t, 1 << 8);
    assert_eq!(open(&mut t, 20), "S");
    assert_eq!(t.tick_at(24), "1:10/10", "after beta1");
    answer(&mut t, 0);
    assert_eq!(open(&mut t, 21), "0:10/10 S", "its time is over");
    answer(&mut t, 0);
    assert_eq!(open(&mut t, 22), "0:10/10 S", "the peer keeps nothing");
}

/// Data after more than an RTO without any, with nothing outstanding, has a train ahead of it; data after less has none.
#[test]
fn restart_after_pause_is_probed() {
    let packets = |t: &mut Script, i: u32| {
        let p = Packet { seq: ISN.wrapping_add(1 + i * MSS), len: MSS as u16, wire: 1500, hash: 5, ..Packet::default() };
        t.s.egress(&t.r, &mut t.host, t.now, p, None, &mut t.capture);
        std::mem::take(&mut t.capture.0)
    };
    let mut t = Script::open(default_config(), 0);
    t.data(0, 3);
    t.now = MS * 300;
    assert_eq!(packets(&mut t, 3).len(), 1, "data is outstanding");
    t.ack(4, 65_535, flag::ECE);
    assert!(t.s.vwnd().is_some());
    t.now = MS * 500;
    assert_eq!(packets(&mut t, 4).len(), 1, "200 ms are not more than an RTO");
    t.ack(5, 65_535, 0);
    t.now = MS * 701;
    let sent = packets(&mut t, 5);
    let probes = &sent[..10];
    assert_eq!((sent.len(), sent[10].len), (11, MSS as u16), "the data comes last");
    for p in probes {
        assert_eq!((p.flags, p.seq, p.wire, p.hash, p.ecn()), (flag::PROBE, ISN, 64, 5, Codepoint::Ect0));
        // Train 1, of ten.
        assert_eq!(p.len, 1 << 8 | 10);
    }
    assert_eq!((t.s.stats().restarts, t.s.vwnd(), t.s.alpha()), (1, None, 1.0), "the flow starts afresh");
    assert_eq!(packets(&mut t, 6).len(), 1);
    // Without the shim at this end there is none.
    let mut t = Script::open(Config { ends: Ends::Opener, ..default_config() }, 0);
    t.r.c.ends = Ends::Acceptor;
    t.now = MS * 300;
    assert_eq!(packets(&mut t, 0).len(), 1);
}

/// The window of the first ACK holds until data sent after it is acknowledged.
#[test]
fn restart_window_holds_for_one_flight() {
    let mut t = Script::open(default_config(), 0);
    t.now = MS * 300;
    for i in 0..10 {
        let p = Packet { seq: ISN.wrapping_add(1 + i * MSS), len: MSS as u16, ..Packet::default() };
        t.s.egress(&t.r, &mut t.host, t.now, p, None, &mut t.capture);
    }
    assert_eq!(t.capture.0.drain(..).len(), 20);
    assert_eq!(t.ack(0, 65_535, 0).win, 65_535, "a duplicate says nothing of the train");
    assert_eq!([1, 2, 10].map(|next| t.ack(next, if next == 1 { 2_920 } else { 65_535 }, 0).win), [2_920; 3]);
    t.data(10, 2);
    assert_eq!(t.ack(11, 65_535, 0).win, 65_535);
}

/// The bytes of a flow count from its restart; a flow that left the table has no state, so that its connection is not probed again.
#[test]
fn elephants_are_not_probed_again() {
    let c = Config { elephant_bytes: Some(5 * u64::from(MSS)), ..default_config() };
    for (segments, restarts) in [(4, 2), (6, 0)] {
        let mut t = Script::open(c.clone(), 0);
        for round in 0..3 {
            for i in 0..segments {
                let seq = ISN.wrapping_add(1 + (round * segments + i) * MSS);
                let p = Packet { seq, len: MSS as u16, ..Packet::default() };
                t.s.egress(&t.r, &mut t.host, t.now, p, None, &mut t.capture);
            }
            t.ack((round + 1) * segments, 65_535, 0);
            t.now += MS * 250;
        }
        assert_eq!(t.s.stats().restarts, restarts, "{segments} segments a flow");
    }
}
