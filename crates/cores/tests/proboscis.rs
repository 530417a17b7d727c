//! ProBoSCIS in the guest's driver (`driver/proboscis.h`) against the simulator's, on random handshakes, trains, losses, marks, echoes and ticks,
//! under random parameters. Every packet that either changes, holds or sends, and the state of both, must be identical.

use forebay_cores::{Acceptor, Opener, Packet as Seen, Sent};
use forebay_experiment::profile::defaults;
use forebay_experiment::transport::{Chosen, Profile, Transport};
use forebay_kernel::shims::shim;
use forebay_sim::net::generation::Generation;
use forebay_sim::net::packet::{Codepoint, Extra, Meta, Packet, Wire, flag};
use forebay_sim::shim::endpoint::{End, EndpointShim};
use forebay_sim::shim::proboscis::{Config, Host, Proboscis, ReceiverShim, Rules, SenderShim, State, Verdict};
use forebay_sim::shim::{ShimConfig, build, endpoint_shims};
use forebay_types::param::{Value, Values};
use forebay_types::{Bytes, NodeId, Rate, Rng, Time};

const CONNECTIONS: u64 = 20_000;
const STEPS: u64 = 60;

/// A transport under the shim, with random parameters around the defaults.
fn draw(rng: &mut Rng) -> (Transport, Config) {
    let mut one_of = |all: &[&str]| all[rng.below(all.len() as u64) as usize].to_owned();
    let word = |w: String| Value::Text(w);
    let mut values = vec![
        ("hold-on", word(one_of(&["insufficient", "any"]))),
        ("release-window", word(one_of(&["newest", "original"]))),
        ("ecn-mode", word(one_of(&["shim", "shim", "guest"]))),
        ("ends", word(one_of(&["both", "both", "both", "opener", "acceptor"]))),
    ];
    let mut real = |all: &[f64]| Value::Float(all[rng.below(all.len() as u64) as usize]);
    values.extend([
        ("k", real(&[0.5, 0.25, 1.0, 0.0])),
        ("kappa1", real(&[0.0, 0.1, 0.5])),
        ("kappa2", real(&[0.9, 0.5, 0.7])),
        ("g", real(&[0.0625, 0.3, 1.0])),
        ("alpha-init", real(&[1.0, 0.0, 0.37])),
        ("probe-budget", real(&[0.01, 1.0])),
    ]);
    let mut below = |n: u64| rng.below(n);
    let gamma = 1 + below(12) as i64;
    values.extend([
        ("gamma", Value::Int(gamma)),
        ("icwnd", Value::Int(1 + below(12) as i64)),
        ("probe-retry-cap", Value::Int(1 + below(6) as i64)),
        ("probe-burst", Value::Int(gamma + below(60) as i64)),
        ("tick", Value::Time(Time::from_ms(1))),
        ("beta1", Value::Time(Time::from_ms(1 + below(6)))),
        ("beta2", Value::Time(Time::from_ms(1 + below(20)))),
        ("beta3", Value::Time(Time::from_ms(below(10)))),
        ("max-time", Value::Time(Time::from_ms(5 + below(40)))),
        ("recent", Value::Time(Time::ZERO)),
        ("elephant-bytes", if below(2) == 0 { Value::Unset } else { Value::Bytes(Bytes(below(60_000))) }),
        ("probe-size", if below(2) == 0 { Value::Unset } else { Value::Bytes(Bytes(40 + below(60))) }),
        ("restart-after", if below(2) == 0 { Value::Unset } else { Value::Time(Time::from_ms(below(3))) }),
        ("floor", if below(2) == 0 { Value::Unset } else { Value::Int(1 + below(4) as i64) }),
        ("lost-as-marked", Value::Bool(below(2) == 0)),
        ("no-shrink", Value::Bool(below(2) == 0)),
        ("answers", Value::Bool(below(4) > 0)),
        ("peer-has-shim", Value::Bool(below(3) > 0)),
    ]);
    let shim = Chosen { name: "proboscis", values: Values(values) };
    let Ok(ShimConfig::Endpoint(endpoint_shims::Config::Proboscis(config))) = build(&shim) else { panic!("{shim:?}") };
    let mut stack = defaults(Profile::Linux);
    stack.ack_every = 1 + below(2) as u32;
    stack.mss = [536, 1_460][below(2) as usize];
    let cc = Chosen { name: "reno", values: Values(Vec::new()) };
    (Transport { stack, cc, shims: vec![shim] }, config)
}

/// Packets that the simulator's shim sends.
#[derive(Default)]
struct EmittedPackets(Vec<Packet>);

impl Wire for EmittedPackets {
    fn emit(&mut self, packet: Packet, _extra: Option<&Extra>) {
        self.0.push(packet);
    }
}

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
/// Of a TCP header, and what the simulator calls them.
const FLAGS: [(u8, u8); 5] = [(FIN, flag::FIN), (SYN, flag::SYN), (ACK, flag::ACK), (ECE, flag::ECE), (CWR, flag::CWR)];

/// A packet of the guest's driver as the simulator has it.
fn theirs(p: &Seen) -> Packet {
    let flags = FLAGS.iter().filter(|(bit, _)| p.flags & bit != 0).fold(0, |all, (_, own)| all | own);
    let length = if p.size > 0 { u32::from(p.batch) << 8 | u32::from(p.size) } else { p.payload + u32::from(p.scale) };
    Packet {
        seq: p.number,
        len: length as u16,
        win: p.window,
        flags: if p.size > 0 { flag::PROBE } else { flags },
        meta: Meta::new(Generation::new(0), Codepoint::from_bits(p.ecn)),
        ..Packet::default()
    }
}

/// The same packet, as far as shims see it: number, length, window, flags, ECN.
fn essence(p: &Packet) -> (u32, u16, u16, u8, Codepoint) {
    (p.seq, p.len, if p.has(flag::ACK) { p.win } else { 0 }, p.flags, p.ecn())
}

fn held(ours: &[Seen], simulated: &[Packet], at: &str) {
    let ours: Vec<_> = ours.iter().map(|p| essence(&theirs(p))).collect();
    let simulated: Vec<_> = simulated.iter().map(essence).collect();
    assert_eq!(ours, simulated, "{at}");
}

/// Both openers and both acceptors of a connection.
struct Pair {
    rules: Rules,
    host: Host,
    sender: SenderShim,
    receiver: ReceiverShim,
    opener: Opener,
    acceptor: Acceptor,
    now: u64,
    at: String,
}

impl Pair {
    /// A packet of the opener's guest, which the simulator's shim sends on behind what it sends itself.
    fn opener_leaves(&mut self, mut p: Seen) {
        let mut emitted = EmittedPackets::default();
        self.sender.egress(&self.rules, &mut self.host, Time(self.now), theirs(&p), None, &mut emitted);
        let Sent { packets, .. } = self.opener.leaves(self.now, &mut p);
        let all: Vec<Seen> = packets.into_iter().chain([p]).collect();
        held(&all, &emitted.0, &self.at);
    }

    fn opener_arrives(&mut self, mut p: Seen) {
        let mut simulated = theirs(&p);
        self.sender.ingress(&self.rules, &mut self.host, Time(self.now), &mut simulated);
        self.opener.arrives(self.now, &mut p);
        held(&[p], &[simulated], &self.at);
    }

    fn acceptor_leaves(&mut self, mut p: Seen) {
        let mut emitted = EmittedPackets::default();
        self.receiver.egress(&self.rules, &mut self.host, Time(self.now), theirs(&p), None, &mut emitted);
        let (goes, Sent { packets, .. }) = self.acceptor.leaves(self.now, &mut p);
        let all: Vec<Seen> = packets.into_iter().chain(goes.then_some(p)).collect();
        held(&all, &emitted.0, &self.at);
    }

    fn acceptor_arrives(&mut self, mut p: Seen) {
        let mut simulated = theirs(&p);
        let expected = self.receiver.ingress(&self.rules, &mut self.host, Time(self.now), &mut simulated);
        let (passes, _) = self.acceptor.arrives(self.now, &mut p);
        assert_eq!(passes, expected, "{}", self.at);
        if passes {
            held(&[p], &[simulated], &self.at);
        }
    }

    /// The direction is that of the host that accepts, with data behind `isn`.
    fn set_answers(&mut self, isn: u32) {
        self.sender.set_answers(isn);
        self.receiver.set_answers(isn);
        self.opener.set_answers(isn);
        self.acceptor.set_answers(isn);
    }

    /// A SYN of the other direction leaves the receiving end, or a SYN-ACK the sending end.
    fn handshake_leaves(&mut self, p: Seen) {
        let mut emitted = EmittedPackets::default();
        if p.flags & ACK == 0 {
            self.receiver.handshake_egress(&self.rules, Time(self.now), &theirs(&p), &mut emitted);
            self.acceptor.handshake_leaves(&p);
            return assert!(emitted.0.is_empty(), "{}", self.at);
        }
        self.sender.handshake_egress(&self.rules, Time(self.now), &theirs(&p), &mut emitted);
        held(&self.opener.handshake_leaves(self.now, &p).packets, &emitted.0, &self.at);
    }

    /// A SYN of the other direction arrives at the sending end, or a SYN-ACK at the receiving end.
    fn handshake_arrives(&mut self, p: Seen) {
        if p.flags & ACK == 0 {
            self.sender.handshake_ingress(&self.rules, Time(self.now), &theirs(&p));
            self.opener.handshake_arrives(self.now, &p);
        } else {
            self.receiver.handshake_ingress(&self.rules, Time(self.now), &theirs(&p));
            self.acceptor.handshake_arrives(self.now, &p);
        }
    }

    fn tick(&mut self) {
        let mut emitted = EmittedPackets::default();
        if self.sender.waiting() {
            self.sender.tick(&self.rules, &mut self.host, Time(self.now), &mut emitted);
            held(&self.opener.tick(self.now).packets, &emitted.0, &self.at);
        }
        emitted.0.clear();
        if self.receiver.waiting() {
            self.receiver.tick(&self.rules, &mut self.host, Time(self.now), &mut emitted);
            held(&self.acceptor.tick(self.now).packets, &emitted.0, &self.at);
        }
    }

    /// Compares the state of both.
    fn compare(&self) {
        let (state, s) = (self.sender.state(), self.sender.stats());
        let alpha = if state == State::Open { self.sender.alpha().to_bits() } else { 0 };
        let window = self.sender.vwnd().unwrap_or(u64::MAX);
        let simulated = [state as u64, window, alpha, s.throttled, u64::from(s.probes), u64::from(s.syns)];
        assert_eq!(self.opener.seen(), simulated, "{}", self.at);
        let r = self.receiver.stats();
        let verdict = match r.verdict {
            Verdict::None => 0,
            Verdict::Proportional => 1,
            Verdict::Severe => 2,
            Verdict::Insufficient => 3,
            Verdict::Unprobed => 4,
            Verdict::Recent => panic!("the guest has none: {}", self.at),
        };
        let waits = u64::from(self.receiver.waiting());
        let simulated = [waits, r.window.unwrap_or(u64::MAX), r.held.0, verdict, r.swallowed, r.restarts.into()];
        assert_eq!(self.acceptor.seen(), simulated, "{}", self.at);
    }
}

/// Event counts of a test connection, to check that the events of interest occurred.
#[derive(Debug, Default)]
struct Met {
    verdicts: [u64; 5],
    held: u64,
    throttled: u64,
    syns: u64,
    restarts: u64,
    restarts_answered: u64,
    /// Connections of the accepting host's direction: with a train, and with a window of their third packet.
    answer_trains: u64,
    third_packets: u64,
}

/// One connection: a handshake with losses, marks and repetitions, then data and ACKs with echoes.
fn connection(rng: &mut Rng, round: u64, met: &mut Met) {
    let (t, config) = draw(rng);
    let numbers = shim(&t).unwrap();
    let rules = Rules::new(&config, &t.stack);
    let rate = Rate(100_000_000);
    let cost = forebay_kernel::shims::cost_of_probe(&t, &numbers, rate);
    let mut pair = Pair {
        host: Proboscis::host(&rules, Some(rate)),
        rules,
        sender: SenderShim::with(NodeId::new(1)),
        receiver: ReceiverShim::with(NodeId::new(0)),
        opener: Opener::new(numbers, cost),
        acceptor: Acceptor::new(numbers),
        now: 0,
        at: String::new(),
    };
    let isn = if rng.below(2) == 0 { u32::MAX - rng.below(50_000) as u32 } else { rng.below(1 << 32) as u32 };
    let mss = t.stack.mss;
    let answers = rng.below(3) == 0;
    if answers {
        pair.set_answers(isn);
    }
    let (mut batch, mut sent, mut acked) = (0u8, 0u64, 0u64);
    let ecn = |rng: &mut Rng| [0, 2, 3, 3][rng.below(4) as usize];
    for step in 0..STEPS {
        pair.at = format!("round {round}, step {step}");
        // A pause of more than a minute is rare.
        pair.now += if rng.below(200) == 0 { 61_000_000_000_000 } else { rng.below(4_000_000_000) };
        let opens = step < STEPS / 3 || rng.below(60) == 0;
        let number = isn.wrapping_add(1).wrapping_add(acked as u32);
        match rng.below(if opens { 6 } else { 4 }) {
            _ if step == 0 && answers => {
                let mut p = Seen::new(0, 0, SYN | [0, ECE | CWR][rng.below(2) as usize], 0);
                p.scale = rng.below(15) as u8;
                pair.handshake_leaves(p);
                pair.handshake_arrives(p);
            }
            _ if step == 0 => pair.opener_leaves(Seen::new(isn, 0, SYN, 0)),
            // Data, and what carries none.
            0 => {
                let size = [0, mss, 1 + rng.below(u64::from(mss)) as u32][rng.below(3) as usize];
                let at = isn.wrapping_add(1).wrapping_add(sent as u32);
                pair.opener_leaves(Seen::new(at, size, if rng.below(20) == 0 { FIN } else { 0 }, ecn(rng)));
                sent += u64::from(size);
            }
            1 => {
                let size = rng.below(u64::from(mss) + 1) as u32;
                pair.acceptor_arrives(Seen::new(number, size, 0, ecn(rng)));
            }
            // ACKs, new and duplicate, with windows of all sizes.
            2 => {
                acked += rng.below(4) * u64::from(mss).min(sent.saturating_sub(acked));
                if rng.below(4) == 0 {
                    acked = sent;
                }
                let ack = isn.wrapping_add(1).wrapping_add(acked as u32);
                let mut p = Seen::new(ack, 0, ACK | if rng.below(2) == 0 { ECE } else { 0 }, 0);
                p.window = rng.below(65_536) as u16;
                pair.opener_arrives(p);
            }
            3 if rng.below(2) == 0 => {
                let mut p = Seen::new(number, 0, ACK | if rng.below(8) == 0 { ECE } else { 0 }, 0);
                p.window = rng.below(65_536) as u16;
                pair.acceptor_leaves(p);
            }
            3 => pair.tick(),
            // A train, with losses and marks.
            4 => {
                batch = batch.wrapping_add([0, 1, 1, 255][rng.below(4) as usize]);
                for _ in 0..rng.below(1 + u64::from(config.gamma) * 2) {
                    let mut p = Seen::new(isn, 0, 0, ecn(rng));
                    (p.batch, p.size) = (batch, config.gamma as u8);
                    pair.acceptor_arrives(p);
                }
            }
            // SYN and SYN-ACK of the other direction.
            _ if answers => {
                let flags = [SYN, SYN | ECE | CWR, SYN | ACK, SYN | ACK | ECE][rng.below(4) as usize];
                let mut p = Seen::new(0, 0, flags, 0);
                (p.window, p.scale) = (rng.below(65_536) as u16, rng.below(15) as u8);
                if rng.below(2) == 0 { pair.handshake_leaves(p) } else { pair.handshake_arrives(p) }
            }
            // SYN and SYN-ACK, seldom of another connection with the same addresses.
            _ => {
                let isn = if rng.below(40) == 0 { isn ^ 1 } else { isn };
                match rng.below(4) {
                    0 => pair.opener_leaves(Seen::new(isn, 0, SYN, 0)),
                    1 => {
                        let negotiates = [0, ECE | CWR, ECE][rng.below(3) as usize];
                        pair.acceptor_arrives(Seen::new(isn, 0, SYN | negotiates, 0));
                    }
                    way => {
                        let mut p = Seen::new(isn.wrapping_add(1), 0, SYN | ACK | if rng.below(4) == 0 { ECE } else { 0 }, 0);
                        (p.window, p.scale) = (rng.below(65_536) as u16, rng.below(15) as u8);
                        if way == 2 { pair.acceptor_leaves(p) } else { pair.opener_arrives(p) }
                    }
                }
            }
        }
        pair.compare();
    }
    let (o, a) = (pair.opener.seen(), pair.acceptor.seen());
    met.verdicts[a[3] as usize] += 1;
    met.held += u64::from(a[2] > 0);
    met.throttled += u64::from(o[3] > 0);
    met.syns += u64::from(o[5] > 0);
    met.restarts += u64::from(pair.sender.stats().restarts > 0);
    met.restarts_answered += u64::from(a[5] > 0);
    met.answer_trains += u64::from(answers && o[4] > 0);
    met.third_packets += u64::from(answers && a[1] != u64::MAX);
}

#[test]
fn guest_shim_matches_simulator() {
    let mut rng = Rng::stream(1, &[1]);
    let mut met = Met::default();
    for round in 0..CONNECTIONS {
        connection(&mut rng, round, &mut met);
    }
    let least = CONNECTIONS / 200;
    assert!(met.verdicts.iter().all(|&n| n > least), "{met:?}");
    assert!(met.held > least && met.throttled > least && met.syns > least, "{met:?}");
    assert!(met.restarts > least && met.restarts_answered > least, "{met:?}");
    assert!(met.answer_trains > least && met.third_packets > least, "{met:?}");
}

#[test]
fn unsupported_parameters_are_refused_by_name() {
    let (mut t, _) = draw(&mut Rng::stream(2, &[1]));
    assert!(shim(&t).is_ok_and(|numbers| numbers[0] == forebay_kernel::shims::PROBOSCIS));
    let recent = t.shims[0].values.0.iter_mut().find(|v| v.0 == "recent").unwrap();
    recent.1 = Value::Time(Time::from_ms(20));
    assert!(shim(&t).unwrap_err().contains("legal: `recent = \"0s\"`"));
    t.shims = vec![Chosen { name: "ictcp", values: Values(Vec::new()) }];
    let why = shim(&t).unwrap_err();
    assert!(why.contains("`ictcp`") && why.contains("legal: pias, prin, service, proboscis"), "{why}");
    t.shims.clear();
    assert_eq!(shim(&t), Ok([0; forebay_kernel::shims::SHIM]));
}
