//! Tests of both roles for data of the host that accepts the connection (ProBoSCIS 4, item 24), with crafted packets.

use super::config::default_config;
use super::testing::Capture;
use super::{Budget, Config, Host, ReceiverShim, Rules, SenderShim, State, Verdict};
use crate::net::packet::{Codepoint, Meta, Packet, flag};
use crate::shim::endpoint::End;
use forebay_shims::proboscis::Ends;
use forebay_types::Time;

const MS: Time = Time::from_ms(1);
const MSS: u32 = 1000;
/// Initial sequence number of the answers.
const ISN: u32 = u32::MAX - 500;
/// Window scale of both hosts.
const SCALE: u16 = 3;

/// The receiving end at the client and the sending end at the server, of the answers.
struct Script {
    r: Rules,
    client: ReceiverShim,
    server: SenderShim,
    host: Host,
    now: Time,
}

impl Script {
    fn new(c: Config) -> Script {
        let r = Rules { c, mss: MSS, probe_size: 64, least: u64::from(MSS), restart_after: MS * 200 };
        let host = Host::new(Budget::of_link(&r, Time(1)));
        let mut t = Script { r, client: ReceiverShim::default(), server: SenderShim::default(), host, now: Time::ZERO };
        t.client.set_answers(ISN);
        t.server.set_answers(ISN);
        t
    }

    fn syn(&mut self) {
        let p = Packet { flags: flag::SYN, len: SCALE, ..Packet::default() };
        self.client.handshake_egress(&self.r, self.now, &p, &mut Capture::default());
        self.server.handshake_ingress(&self.r, self.now, &p);
    }

    /// A SYN-ACK leaves and arrives. `lost` probes of its train are lost and `marked` of the others have CE. Returns the probes that left.
    fn syn_ack(&mut self, lost: usize, marked: usize) -> Vec<Packet> {
        let p = Packet { flags: flag::SYN | flag::ACK, len: SCALE, ..Packet::default() };
        let mut sent = Capture::default();
        self.server.handshake_egress(&self.r, self.now, &p, &mut sent);
        for (i, probe) in sent.0.iter().skip(lost).enumerate() {
            let meta = if i < marked { probe.meta.with_ecn(Codepoint::Ce) } else { probe.meta };
            assert!(!self.client.ingress(&self.r, &mut self.host, self.now, &mut Packet { meta, ..*probe }));
        }
        self.client.handshake_ingress(&self.r, self.now, &p);
        sent.0
    }

    /// An ACK of the client up to `number` with a window of `window` bytes leaves and arrives. Returns its window in bytes.
    fn ack(&mut self, number: u32, window: u32) -> u32 {
        let p = Packet { seq: number, win: (window >> SCALE) as u16, flags: flag::ACK, ..Packet::default() };
        let mut sent = Capture::default();
        self.client.egress(&self.r, &mut self.host, self.now, p, None, &mut sent);
        let mut p = sent.0.pop().unwrap();
        assert!(self.server.ingress(&self.r, &mut self.host, self.now, &mut p));
        u32::from(p.win) << SCALE
    }

    /// A full segment of the answer leaves and arrives, with CE if `marked`.
    fn data(&mut self, seq: u32, marked: bool) -> Packet {
        let p = Packet { seq, len: MSS as u16, ..Packet::default() };
        let mut sent = Capture::default();
        self.server.egress(&self.r, &mut self.host, self.now, p, None, &mut sent);
        let left = *sent.0.last().unwrap();
        let mut p = left;
        if marked {
            p.meta.set_ecn(Codepoint::Ce);
        }
        assert!(self.client.ingress(&self.r, &mut self.host, self.now, &mut p));
        assert_eq!(p.meta, Meta::default(), "the guest has no ECN");
        left
    }
}

/// The window of the third packet for every row of the table in ProBoSCIS 3.4, and its verdict.
#[test]
fn third_packet_has_window_of_train() {
    for (lost, marked, segments, verdict) in [
        (0, 0, 10, Verdict::Proportional),
        (0, 5, 5, Verdict::Proportional),
        (0, 9, 1, Verdict::Proportional),
        (0, 10, 1, Verdict::Severe),
        (4, 3, 5, Verdict::Proportional),
        (6, 0, 1, Verdict::Insufficient),
        (10, 0, 1, Verdict::Insufficient),
    ] {
        let mut t = Script::new(default_config());
        t.syn();
        let probes = t.syn_ack(lost, marked);
        assert!(probes.len() == 10 && probes.iter().all(|p| p.seq == ISN && p.ecn() == Codepoint::Ect0));
        assert_eq!(t.server.state(), State::SynReceived);
        assert_eq!(t.ack(ISN.wrapping_add(1), 64_000), segments * MSS, "{lost} lost, {marked} marked");
        assert_eq!((t.client.stats().verdict, t.client.stats().window), (verdict, Some(u64::from(segments * MSS))));
        assert_eq!(t.server.state(), State::Open);
    }
}

/// A request behind the third packet has its window, too. The first ACK of data has that of the receiver.
#[test]
fn window_holds_until_data_is_acknowledged() {
    let mut t = Script::new(default_config());
    t.syn();
    t.syn_ack(0, 5);
    let first = ISN.wrapping_add(1);
    assert_eq!([t.ack(first, 64_000), t.ack(first, 64_000), t.ack(first, 3_200)], [5 * MSS, 5 * MSS, 3_200]);
    assert_eq!(t.data(first, false).ecn(), Codepoint::Ect0);
    assert_eq!(t.ack(first.wrapping_add(MSS), 64_000), 64_000);
    // A late copy of an old ACK has the receiver's window.
    assert_eq!(t.ack(first, 64_000), 64_000);
}

/// DCTCP below the server's guest: an ACK with an echo has a lower window.
#[test]
fn marked_answers_are_throttled() {
    let mut t = Script::new(default_config());
    t.syn();
    t.syn_ack(0, 0);
    let first = ISN.wrapping_add(1);
    t.ack(first, 64_000);
    for i in 0..4 {
        t.data(first.wrapping_add(i * MSS), true);
    }
    // Alpha begins at one: half of the four segments in flight.
    assert_eq!(t.ack(first.wrapping_add(MSS), 64_000), 2 * MSS);
    assert_eq!((t.server.vwnd(), t.server.stats().throttled), (Some(2_000), 1));
}

/// A SYN-ACK that is sent again has a train of its own; behind the third packet it has none.
#[test]
fn each_syn_ack_has_a_train() {
    let mut t = Script::new(default_config());
    t.syn();
    assert_eq!(t.syn_ack(10, 0)[0].len >> 8, 0);
    t.syn();
    assert_eq!(t.syn_ack(0, 2)[9].len >> 8, 1);
    assert_eq!(t.ack(ISN.wrapping_add(1), 64_000), 8 * MSS);
    assert!(t.syn_ack(0, 10).is_empty());
    assert_eq!(t.ack(ISN.wrapping_add(1), 64_000), 8 * MSS);
}

/// An answer after a pause has a train ahead of it, whose verdict is in the first ACK, as in the other direction.
#[test]
fn late_answers_restart() {
    let mut t = Script::new(default_config());
    t.syn();
    t.syn_ack(0, 0);
    let first = ISN.wrapping_add(1);
    t.ack(first, 64_000);
    t.now = MS * 201;
    let p = Packet { seq: first, len: MSS as u16, ..Packet::default() };
    let mut sent = Capture::default();
    t.server.egress(&t.r, &mut t.host, t.now, p, None, &mut sent);
    assert_eq!((sent.0.len(), sent.0.iter().filter(|p| p.has(flag::PROBE)).count()), (11, 10));
    for p in &mut sent.0 {
        if p.has(flag::PROBE) {
            p.meta.set_ecn(Codepoint::Ce);
        }
        t.client.ingress(&t.r, &mut t.host, t.now, p);
    }
    assert_eq!(t.ack(first.wrapping_add(MSS), 64_000), MSS);
    assert_eq!((t.server.stats().restarts, t.client.stats().restarts), (1, 1));
}

/// `answers = false`, or a shim at one end: the other end's packets pass unchanged.
#[test]
fn missing_ends_change_nothing() {
    let off = Config { answers: false, ..default_config() };
    let opener = Config { ends: Ends::Opener, peer_has_shim: false, ..default_config() };
    for (c, probes) in [(off, 0), (opener, 0), (Config { ends: Ends::Acceptor, ..default_config() }, 10)] {
        let mut t = Script::new(c);
        t.syn();
        assert_eq!(t.syn_ack(0, 10).len(), probes);
        assert_eq!(t.ack(ISN.wrapping_add(1), 64_000), 64_000);
        // A server with a shim makes its data ECN-capable.
        let p = Packet { seq: ISN.wrapping_add(1), len: MSS as u16, ..Packet::default() };
        let mut sent = Capture::default();
        t.server.egress(&t.r, &mut t.host, t.now, p, None, &mut sent);
        assert_eq!(sent.0.pop().unwrap().ecn() == Codepoint::Ect0, probes > 0);
    }
}
