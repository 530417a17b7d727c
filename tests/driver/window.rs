//! The window of ProBoSCIS' program for real hosts (`bpf/proboscis/window_core.bpf.h`) against the simulator's, on random transfers with marks and
//! duplicates. Reductions, growth and the end of the throttle occur at the same ACKs; windows are equal within integer rounding.

use forebay_shims::proboscis::{Config, EcnMode, Ends, HoldOn, Host, Release, Rules, State};
use forebay_sim::net::generation::Generation;
use forebay_sim::net::packet::{Codepoint, Extra, Meta, Packet, Wire, flag};
use forebay_sim::shim::endpoint::{End, EndpointShim};
use forebay_sim::shim::proboscis::{Proboscis, SenderShim};
use forebay_tests::driver::{ALPHA_ONE, Limits, Window};
use forebay_types::{NodeId, Rate, Rng, Time};

const CONNECTIONS: u64 = 4_000;
const ACKS: u64 = 300;
const MSS: u32 = 1_448;

/// Discards the packets that the shim sends.
struct Away;

impl Wire for Away {
    fn emit(&mut self, _packet: Packet, _extra: Option<&Extra>) {}
}

/// Parameters that both have.
fn draw(rng: &mut Rng) -> (Rules, Limits) {
    let shift_g = [0, 1, 4, 4, 7, 10][rng.below(6) as usize];
    let floor = 1 + rng.below(3) as u32;
    let elephant = [0, 200_000][rng.below(2) as usize];
    let c = Config {
        gamma: 10,
        k: 0.5,
        kappa1: 0.0,
        kappa2: 0.9,
        icwnd: 10,
        g: f64::from(1 << shift_g).recip(),
        alpha_init: 1.0,
        tick: Time::from_ms(1),
        beta1: Time::from_ms(4),
        beta2: Time::from_ms(16),
        beta3: Time::from_ms(8),
        max_time: Time::from_secs(1),
        probe_retry_cap: 4,
        probe_budget: 0.01,
        probe_burst: 100,
        elephant_bytes: (elephant > 0).then_some(elephant.into()),
        probe_size: None,
        hold_on: HoldOn::Insufficient,
        release: Release::Newest,
        lost_as_marked: false,
        no_shrink: false,
        ecn_mode: EcnMode::Shim,
        peer_has_shim: true,
        ends: Ends::Both,
        answers: true,
        floor: Some(floor),
        recent: Time::ZERO,
        restart_after: None,
    };
    let least = floor * MSS;
    (
        Rules { c, mss: MSS, probe_size: 64, least: least.into(), restart_after: Time::from_ms(200) },
        Limits { mss: MSS, shift_g, least, elephant },
    )
}

fn packet(seq: u32, flags: u8) -> Packet {
    Packet { seq, flags, meta: Meta::new(Generation::new(0), Codepoint::NotEct), ..Packet::default() }
}

/// Event counts of all connections.
#[derive(Debug, Default)]
struct Met {
    cuts: u64,
    ended: u64,
    lowered: u64,
    elephants: u64,
    restarts: u64,
    undecided: u64,
}

/// The simulator's shim and its host, behind a handshake.
struct Simulated(Rules, SenderShim, Host, Time);

impl Simulated {
    fn open(rules: Rules, isn: u32, scale: u16) -> Simulated {
        let host = Proboscis::host(&rules, Some(Rate(100_000_000)));
        let mut s = Simulated(rules, SenderShim::with(NodeId::new(1)), host, Time::ZERO);
        s.leaves(packet(isn, flag::SYN));
        s.arrives(&mut Packet { len: scale, win: 65_535, ..packet(isn.wrapping_add(1), flag::SYN | flag::ACK) });
        s
    }

    fn leaves(&mut self, p: Packet) {
        self.1.egress(&self.0, &mut self.2, self.3, p, None, &mut Away);
    }

    fn arrives(&mut self, p: &mut Packet) {
        self.1.ingress(&self.0, &mut self.2, self.3, p);
    }
}

/// One connection: segments leave, and are acknowledged one or several at once, twice, late, with echoes in phases of more and of less.
fn connection(rng: &mut Rng, round: u64, met: &mut Met) {
    let (rules, limits) = draw(rng);
    let scale = rng.below(11) as u32;
    let isn = if rng.below(2) == 0 { u32::MAX - rng.below(50_000) as u32 } else { rng.below(1 << 32) as u32 };
    let first = isn.wrapping_add(1);
    let mut ours = Window::open(first);
    let mut theirs = Simulated::open(rules, isn, scale as u16);
    let (mut sent, mut acked, mut largest, mut marks) = (0_u32, 0_u32, 0_u32, 0);
    // By how much the two may differ: what truncating alpha, and windows, has cost so far.
    let (step, mut differs) = (f64::from(1 << limits.shift_g) / f64::from(ALPHA_ONE), 0.0);
    for n in 0..ACKS {
        let at = format!("round {round}, ACK {n}");
        // Data after a pause, with nothing outstanding.
        let restarts = sent > 0 && sent == acked && rng.below(2) == 0;
        if restarts {
            theirs.3 += Time::from_ms(201);
        }
        for i in 0..if restarts { 1 + rng.below(4) } else { rng.below(5) } {
            if restarts && i == 0 && theirs.1.state() == State::Open {
                ours.restart();
                met.restarts += 1;
            }
            let size = if rng.below(8) == 0 { 1 + rng.below(u64::from(MSS)) as u32 } else { MSS };
            theirs.leaves(Packet { len: size as u16, ..packet(first.wrapping_add(sent), 0) });
            sent += size;
            ours.sent(first.wrapping_add(sent));
        }
        if n % 40 == 0 {
            marks = [0, 1, 5, 10][rng.below(4) as usize];
        }
        let all = rng.below(15) == 0;
        let fresh = if all { sent - acked } else { MSS * rng.below(4) as u32 }.min(sent - acked);
        let late = if rng.below(20) == 0 { (MSS * rng.below(3) as u32).min(acked) } else { 0 };
        acked += if late > 0 { 0 } else { fresh };
        let (ack, echo) = (first.wrapping_add(acked - late), rng.below(10) < marks);
        let field = if rng.below(4) == 0 { rng.below(300) } else { rng.below(65_536) } as u16;
        let before = ours.window();
        largest = largest.max(sent - acked + fresh);
        let mut p = Packet { win: field, ..packet(ack, flag::ACK | if echo { flag::ECE } else { 0 }) };
        theirs.arrives(&mut p);
        let got = ours.acked(&limits, ack, echo, field, scale);
        if echo {
            differs += f64::from(largest) * step / 2.0 + 1.0;
        }
        assert!((f64::from(ours.alpha()) / f64::from(ALPHA_ONE) - theirs.1.alpha()).abs() <= step, "{at}: alpha");
        // A throttle ends where the window has grown to that of the receiver: to a byte more or less is no difference.
        let limit = f64::from(field) * f64::from(1 << scale);
        match (ours.window(), theirs.1.vwnd()) {
            (Some(a), Some(b)) => assert!((f64::from(a) - b as f64).abs() <= differs, "{at}: {a} for {b}, {differs}"),
            (None, None) => {}
            (a, b) => {
                let window = a.map_or(b.unwrap_or(0) as f64, f64::from);
                assert!((window - limit).abs() <= differs, "{at}: {a:?} for {b:?}, the receiver has {limit}");
                met.undecided += 1;
                return;
            }
        }
        let apart = f64::from(got.abs_diff(p.window())) * f64::from(1 << scale);
        assert!(apart < differs + f64::from(1 << scale), "{at}: field {got} for {}", p.window());
        met.cuts += u64::from(ours.window().is_some_and(|w| before.is_none_or(|b| w < b)));
        met.ended += u64::from(before.is_some() && ours.window().is_none());
        met.lowered += u64::from(got < field);
        met.elephants += u64::from(limits.elephant > 0 && acked > limits.elephant);
    }
}

#[test]
fn bpf_window_matches_the_simulator() {
    let mut rng = Rng::stream(3, &[1]);
    let mut met = Met::default();
    for round in 0..CONNECTIONS {
        connection(&mut rng, round, &mut met);
    }
    let all = CONNECTIONS * ACKS;
    assert!(met.cuts > all / 100 && met.ended > all / 1_000 && met.lowered > all / 100 && met.elephants > all / 20, "{met:?}");
    assert!(met.restarts > all / 100, "{met:?}");
    assert!(met.undecided < CONNECTIONS / 50, "{met:?}");
}
