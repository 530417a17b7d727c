//! Tests of the receiving role with crafted packets.

use super::config::default_config;
use super::testing::Capture;
use super::{Budget, Config, Host, ReceiverShim, Rules, Verdict};
use crate::net::packet::{Codepoint, Meta, Packet, flag};
use crate::shim::endpoint::End;
use forebay_shims::proboscis::{EcnMode, Ends, HoldOn, Release};
use forebay_types::{NodeId, Time};

const MS: Time = Time::from_ms(1);
const MSS: u16 = 1460;
const ISN: u32 = 7_000;

struct Script {
    r: Rules,
    s: ReceiverShim,
    host: Host,
    now: Time,
    capture: Capture,
}

impl Script {
    fn new(c: Config) -> Script {
        let r = Rules { c, mss: u32::from(MSS), probe_size: 64, least: u64::from(MSS), restart_after: Time::from_ms(200) };
        Script {
            s: ReceiverShim::default(),
            host: Host::new(Budget::of_link(&r, Time(1))),
            r,
            now: Time::ZERO,
            capture: Capture::default(),
        }
    }

    fn at(&mut self, ms: u64) -> &mut Script {
        self.now = MS * ms;
        self
    }

    /// `n` probes of a train of `size` arrive, `marked` of them with CE.
    fn probes(&mut self, batch: u16, size: u16, n: u16, marked: u16) -> &mut Script {
        for i in 0..n {
            let meta = Meta::default().with_ecn(if i < marked { Codepoint::Ce } else { Codepoint::Ect0 });
            let mut p = Packet { seq: ISN, len: batch << 8 | size, flags: flag::PROBE, meta, ..Packet::default() };
            assert!(!self.s.ingress(&self.r, &mut self.host, self.now, &mut p), "probes are not for the guest");
        }
        self
    }

    /// SYN and the guest's answer; the window that left, if any.
    fn syn(&mut self) -> Option<u16> {
        let mut p = Packet { seq: ISN, flags: flag::SYN, ..Packet::default() };
        assert!(self.s.ingress(&self.r, &mut self.host, self.now, &mut p));
        let answer = Packet { seq: ISN + 1, win: 65_535, len: 5, flags: flag::SYN | flag::ACK, ..Packet::default() };
        self.s.egress(&self.r, &mut self.host, self.now, answer, None, &mut self.capture);
        self.left()
    }

    fn tick(&mut self) -> Option<u16> {
        self.s.tick(&self.r, &mut self.host, self.now, &mut self.capture);
        self.left()
    }

    fn left(&mut self) -> Option<u16> {
        assert!(self.capture.0.len() <= 1);
        self.capture.0.pop().map(|p| p.win)
    }
}

/// SYN-ACK egress for every row of the table in ProBoSCIS 3.4 (claim prob-window-map).
#[test]
fn windows_of_syn_acks() {
    for (marked, segments) in [(0, 10), (1, 9), (2, 8), (5, 5), (8, 2), (9, 1), (10, 1)] {
        let mut t = Script::new(default_config());
        assert_eq!(t.probes(0, 10, 10, marked).syn(), Some(segments * MSS), "{marked} marked");
        let verdict = if marked == 10 { Verdict::Severe } else { Verdict::Proportional };
        assert_eq!((t.s.stats().verdict, t.s.stats().held, t.s.stats().swallowed), (verdict, Time::ZERO, 10));
    }
}

/// 4 of 10: held; one segment after beta3, at the first tick that is late enough (claim prob-window-lost).
#[test]
fn held_until_beta3() {
    let mut t = Script::new(default_config());
    assert_eq!(t.probes(0, 10, 4, 0).syn(), None);
    for ms in 1..8 {
        assert_eq!(t.at(ms).tick(), None);
    }
    assert_eq!(t.at(8).tick(), Some(MSS));
    assert_eq!((t.s.stats().verdict, t.s.stats().window, t.s.stats().held), (Verdict::Insufficient, Some(1460), MS * 8));
    assert!(!t.s.waiting());
}

/// A repeated train releases it with its own window; late probes of the old train do not count.
#[test]
fn released_by_the_next_train() {
    let mut t = Script::new(default_config());
    assert_eq!(t.probes(0, 10, 4, 0).syn(), None);
    assert_eq!(t.at(4).probes(1, 10, 4, 0).tick(), None);
    t.probes(0, 10, 6, 6);
    assert_eq!(t.probes(1, 10, 6, 5).tick(), Some(5 * MSS));
    assert_eq!(t.s.stats().held, MS * 4);
    // Trains are counted modulo 256.
    let mut t = Script::new(default_config());
    assert_eq!(t.probes(255, 10, 4, 0).syn(), None);
    assert_eq!(t.at(1).probes(0, 20, 20, 0).tick(), Some(10 * MSS));
}

/// 4, item 9: severely marked ones leave at once unless `hold-on = "any"`.
#[test]
fn severe_ones_can_be_held() {
    let c = Config { hold_on: HoldOn::Any, ..default_config() };
    let mut t = Script::new(c);
    assert_eq!(t.probes(0, 10, 10, 10).syn(), None);
    assert_eq!(t.at(3).tick(), None);
    assert_eq!(t.at(8).tick(), Some(MSS));
}

/// 4, item 12: the window of the guest, for both releases.
#[test]
fn released_without_update() {
    for released in [false, true] {
        let mut t = Script::new(Config { release: Release::Original, ..default_config() });
        assert_eq!(t.probes(0, 10, 0, 0).syn(), None);
        if released {
            t.at(4).probes(1, 10, 10, 5);
        } else {
            t.at(8);
        }
        assert_eq!(t.tick(), Some(65_535));
    }
}

/// A repeated SYN while its answer is held: one answer waits, and its time runs on; a good train releases only the new answer.
#[test]
fn repeated_syns() {
    let mut t = Script::new(default_config());
    assert_eq!(t.syn(), None);
    assert_eq!(t.at(5).syn(), None);
    assert_eq!(t.s.stats().superseded, 1);
    assert_eq!(t.at(8).tick(), Some(MSS));
    assert_eq!(t.at(16).syn(), None);
    assert_eq!(t.at(17).probes(4, 40, 40, 20).syn(), Some(5 * MSS));
    assert_eq!((t.s.stats().superseded, t.s.waiting()), (2, false));
    // The first one that left counts.
    assert_eq!((t.s.stats().window, t.s.stats().held), (Some(1460), MS * 8));
}

/// 3.4: no probe within 1 ms of the SYN, so that the peer has no shim.
#[test]
fn peer_without_shim() {
    let mut t = Script::new(Config { peer_has_shim: false, ..default_config() });
    assert_eq!(t.syn(), None);
    assert_eq!(t.at(1).tick(), Some(65_535));
    assert_eq!(t.s.stats().verdict, Verdict::Unprobed);
    // With shims everywhere, all probes were lost.
    let mut t = Script::new(default_config());
    assert_eq!(t.syn(), None);
    assert_eq!([t.at(1).tick(), t.at(8).tick()], [None, Some(MSS)]);
    // Probes that arrive are judged as those of a peer with a shim.
    let mut t = Script::new(Config { peer_has_shim: false, ..default_config() });
    assert_eq!(t.probes(0, 10, 1, 0).syn(), None);
    assert_eq!([t.at(1).tick(), t.at(8).tick()], [None, Some(MSS)]);
}

/// 4-tuple reuse: the counts of the old connection are cleared, whether probes or SYN come first.
#[test]
fn reuse_with_a_new_isn() {
    let mut t = Script::new(default_config());
    assert_eq!(t.probes(7, 10, 10, 0).syn(), Some(14_600));
    let mut p = Packet { seq: ISN + 99, flags: flag::SYN, ..Packet::default() };
    assert!(t.s.ingress(&t.r, &mut t.host, Time(0), &mut p));
    let answer = Packet { seq: ISN + 100, win: 65_535, flags: flag::SYN | flag::ACK, ..Packet::default() };
    t.s.egress(&t.r, &mut t.host, Time(0), answer, None, &mut t.capture);
    assert!(t.capture.0.is_empty() && t.s.waiting());
}

/// ECN for a guest without it: CE is removed and echoed once, on the next ACK.
#[test]
fn echo_for_a_guest_without_ecn() {
    let mut t = Script::new(default_config());
    t.probes(0, 10, 10, 0).syn();
    let mut flags = Vec::new();
    for (field, expected) in [(Codepoint::Ce, true), (Codepoint::Ect0, false), (Codepoint::Ce, true)] {
        let mut p = Packet { seq: ISN + 1, len: MSS, meta: Meta::default().with_ecn(field), ..Packet::default() };
        assert!(t.s.ingress(&t.r, &mut t.host, Time(0), &mut p));
        assert_eq!(p.ecn(), Codepoint::NotEct);
        t.s.egress(&t.r, &mut t.host, Time(0), Packet { flags: flag::ACK, ..Packet::default() }, None, &mut t.capture);
        flags.push((t.capture.0.pop().unwrap().has(flag::ECE), expected));
    }
    assert!(flags.iter().all(|f| f.0 == f.1));
}

/// A guest with ECN keeps it, but the shims handle the marks.
#[test]
fn echo_for_a_guest_with_ecn() {
    for (agrees, field) in [(true, Codepoint::Ect0), (false, Codepoint::NotEct)] {
        let mut t = Script::new(default_config());
        t.probes(0, 10, 10, 0);
        let mut p = Packet { seq: ISN, flags: flag::SYN | flag::ECE | flag::CWR, ..Packet::default() };
        t.s.ingress(&t.r, &mut t.host, Time(0), &mut p);
        let flags = flag::SYN | flag::ACK | if agrees { flag::ECE } else { 0 };
        t.s.egress(&t.r, &mut t.host, Time(0), Packet { seq: ISN + 1, win: 9, flags, ..Packet::default() }, None, &mut t.capture);
        assert_eq!(t.capture.0.pop().unwrap().flags, flags);
        let mut p = Packet { seq: ISN + 1, len: MSS, meta: Meta::default().with_ecn(Codepoint::Ce), ..Packet::default() };
        t.s.ingress(&t.r, &mut t.host, Time(0), &mut p);
        assert_eq!(p.ecn(), field);
    }
    let mut t = Script::new(Config { ecn_mode: EcnMode::Guest, ..default_config() });
    t.probes(0, 10, 10, 0).syn();
    let mut p = Packet { seq: ISN + 1, len: MSS, meta: Meta::default().with_ecn(Codepoint::Ce), ..Packet::default() };
    t.s.ingress(&t.r, &mut t.host, Time(0), &mut p);
    assert_eq!(p.ecn(), Codepoint::Ce);
}

/// No shim at this end: probes vanish in the listening socket, SYN-ACKs pass.
#[test]
fn only_the_opener() {
    let mut t = Script::new(Config { ends: Ends::Opener, ..default_config() });
    assert_eq!(t.probes(0, 10, 10, 10).syn(), Some(65_535));
    assert_eq!(t.s.stats().verdict, Verdict::None);
}

/// A connection that opens without probes soon after another one's train has its window; a host that received none, or too few, keeps nothing.
#[test]
fn recent_train_serves_next_connection() {
    let next = |t: &mut Script, ms: u64| {
        t.s = ReceiverShim::with(NodeId::new(7));
        t.at(ms).syn()
    };
    let c = Config { recent: MS * 20, ..default_config() };
    let mut t = Script::new(c.clone());
    t.s = ReceiverShim::with(NodeId::new(7));
    assert_eq!(t.probes(0, 10, 10, 5).syn(), Some(5 * MSS));
    // For 20 ms, and for as long as a SYN-ACK is held.
    assert_eq!(next(&mut t, 28), Some(5 * MSS));
    assert_eq!((t.s.stats().verdict, t.s.stats().swallowed), (Verdict::Recent, 0));
    assert_eq!(next(&mut t, 29), None, "its time is over: it waits for a train");
    t.probes(1, 10, 10, 0);
    assert_eq!(t.at(30).tick(), Some(10 * MSS));
    assert_eq!(next(&mut t, 31), Some(10 * MSS), "that train is kept in its turn");
    t.s = ReceiverShim::with(NodeId::new(8));
    assert_eq!(t.syn(), None, "of another peer nothing is known");
    for c in [default_config(), Config { ends: Ends::Acceptor, ..c }] {
        let mut t = Script::new(c);
        assert_eq!(t.probes(0, 10, 10, 5).syn(), Some(5 * MSS));
        t.s = ReceiverShim::default();
        assert_eq!(t.at(1).syn(), None);
    }
}

/// Behind the train of a restart, the first ACK of its data has the window of the verdict, scaled; later ACKs have the guest's.
#[test]
fn restart_window_in_first_ack() {
    let none = 0xFFFF;
    for (arrived, marked, field) in [(10, 0, none), (10, 5, 229), (10, 10, 46), (4, 0, 46), (6, 0, none)] {
        let mut t = Script::new(default_config());
        assert_eq!(t.probes(0, 10, 10, 0).syn(), Some(10 * MSS));
        let data = |t: &mut Script| {
            let mut p = Packet { seq: ISN + 1, len: MSS, ..Packet::default() };
            assert!(t.s.ingress(&t.r, &mut t.host, t.now, &mut p));
        };
        let ack = |t: &mut Script| {
            let p = Packet { seq: ISN + 1 + u32::from(MSS), win: none, flags: flag::ACK, ..Packet::default() };
            t.s.egress(&t.r, &mut t.host, t.now, p, None, &mut t.capture);
            t.left()
        };
        data(&mut t);
        assert_eq!(ack(&mut t), Some(none), "the data of the handshake");
        t.at(300).probes(1, 10, arrived, marked);
        assert_eq!(ack(&mut t), Some(none), "no data of the restart has arrived");
        data(&mut t);
        // The SYN-ACK of the script announces a scale of 5.
        assert_eq!([ack(&mut t), ack(&mut t)], [Some(field), Some(none)], "{marked} of {arrived} marked");
        assert_eq!((t.s.stats().restarts, t.s.stats().window), (1, Some(14_600)));
    }
}

/// A repeated train of a handshake behind the SYN-ACK is none of a restart, unless it comes an RTO later.
#[test]
fn late_train_of_handshake_limits_nothing() {
    for (ms, restarts) in [(5, 0), (201, 1)] {
        let mut t = Script::new(default_config());
        assert_eq!(t.probes(0, 10, 10, 0).syn(), Some(10 * MSS));
        t.at(ms).probes(1, 10, 10, 10);
        let mut p = Packet { seq: ISN + 1, len: MSS, ..Packet::default() };
        t.s.ingress(&t.r, &mut t.host, t.now, &mut p);
        let p = Packet { seq: ISN + 1, win: 9, flags: flag::ACK, ..Packet::default() };
        t.s.egress(&t.r, &mut t.host, t.now, p, None, &mut t.capture);
        assert_eq!(t.s.stats().restarts, restarts, "{ms} ms");
    }
}
