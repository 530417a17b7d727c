//! Tests of every discipline of the registry: properties that ports and reports read, refused combinations of parameters, and calls that are equal to
//! others.

use crate::testing::{Effect, build_from, busy, packet, value_from};
use crate::{
    Arrival, Buffered, BufferedDiscipline, Codepoint, DropReason, FifoDiscipline, Handle, Marking, Operation, PortState,
};
use crate::{Queue, QueueConfig, QueueState, Queued, REGISTRY, Verdict};
use forebay_types::param::Value;
use forebay_types::{Bytes, QueueLen, Rate, Rng, Time};

const BUFFER: Option<QueueLen> = Some(QueueLen::Packets(30));

fn build(name: &str, params: &str) -> Queue {
    build_from(name, params, BUFFER).unwrap_or_else(|e| panic!("{name} {params}: {e:?}"))
}

fn buffered(name: &str, params: &str) -> BufferedDiscipline {
    let Queue::Buffered(d) = build(name, params) else { panic!("{name} is buffered") };
    d
}

const PLAIN: u8 = 0;
/// It can set CE.
const MARKS: u8 = 1;
/// It reads classes of service or ranks.
const CLASSES: u8 = 2;
/// Hosts hold packets until their departure times.
const HOLDS: u8 = 4;
/// Its early drops are random loss.
const LOSES: u8 = 8;

/// Discipline, parameters, properties, K of the whole queue.
const PROPERTIES: &[(&str, &str, u8, Option<&str>)] = &[
    ("drop-tail", "", PLAIN, None),
    ("dctcp-step", "k=8pkt", MARKS, Some("8pkt")),
    ("dctcp-step", "k=9KB drop-non-ect-above-k=true", MARKS, Some("9KB")),
    ("red", "min=4pkt max=16pkt", MARKS, None),
    ("choke", "min=4pkt max=16pkt", MARKS, None),
    ("choke-multi", "min=4pkt max=16pkt", MARKS, None),
    ("strict-priority", "", CLASSES, None),
    ("strict-priority", "k=8pkt", MARKS | CLASSES, Some("8pkt")),
    // Thresholds of single queues are none of the whole queue.
    ("strict-priority", "k=8pkt k-scope=queue", MARKS | CLASSES, None),
    ("strict-priority", "ks=8pkt", MARKS | CLASSES, None),
    ("dwrr", "", CLASSES, None),
    ("dwrr", "ks=8pkt", MARKS | CLASSES, None),
    ("wfq", "", CLASSES, None),
    ("wfq", "k=8pkt", MARKS | CLASSES, None),
    ("protect", "", CLASSES, None),
    ("protect", "k=8pkt", MARKS | CLASSES, Some("8pkt")),
    ("pushout", "", CLASSES, None),
    ("pushout", "k=8pkt", MARKS | CLASSES, Some("8pkt")),
    ("pfabric", "", CLASSES, None),
    ("codel", "", PLAIN, None),
    ("codel", "ecn=true", MARKS, None),
    ("codel", "ce-threshold=1ms", MARKS, None),
    ("fq-codel", "", MARKS, None),
    ("fq-codel", "ecn=false", PLAIN, None),
    ("fq-codel", "ecn=false ce-threshold=1ms", MARKS, None),
    ("fq", "", HOLDS, None),
    ("pie", "", PLAIN, None),
    ("pie", "ecn=true", MARKS, None),
    ("dualpi2", "", MARKS, None),
    ("lossy", "p=0.1", LOSES, None),
    ("lossy", "p=0.1 k=8pkt", LOSES | MARKS, Some("8pkt")),
    ("policer", "rate=1Gbps burst=10KB", PLAIN, None),
    ("policer", "rate=1Gbps burst=10KB k=8pkt", MARKS, Some("8pkt")),
];

#[test]
fn properties_follow_from_parameters() {
    for &(name, params, expected, k) in PROPERTIES {
        let queue = build(name, params);
        let of = |on: bool, bit: u8| if on { bit } else { 0 };
        let has = of(queue.marks(), MARKS)
            | of(queue.reads_priority(), CLASSES)
            | of(queue.holds_departures(), HOLDS)
            | of(queue.has_random_loss(), LOSES);
        assert_eq!(has, expected, "{name} {params}");
        assert_eq!(queue.marking_threshold(), k.map(|k| QueueState::limit(k.parse().unwrap())), "{name} {params}");
        let rate = (name == "policer").then_some(Rate(1_000_000_000));
        assert_eq!(queue.policing_rate(), rate, "{name} {params}");
        match crate::find(name).unwrap().marking {
            Marking::Always => assert!(queue.marks(), "{name} {params}"),
            Marking::Never => assert!(!queue.marks(), "{name} {params}"),
            Marking::IfSet => {}
        }
    }
    let has_all = |name: &str| PROPERTIES.iter().any(|row| row.0 == name);
    assert!(REGISTRY.iter().all(|e| has_all(e.entry.name)));
}

/// A port asks a FIFO about every packet unless its decisions follow from the length of the queue.
#[test]
fn omissible_decisions_of_fifos() {
    let k = |text: &str| QueueState::limit(text.parse().unwrap());
    let (none, all) = (QueueState::default(), QueueState::UNLIMITED);
    for (name, params, limit, is_step) in [
        ("drop-tail", "", all, true),
        ("dctcp-step", "k=8pkt", k("8pkt"), true),
        ("dctcp-step", "k=9KB drop-non-ect-above-k=true", k("9KB"), false),
        ("red", "min=4pkt max=16pkt", none, false),
        ("protect", "", all, true),
        ("protect", "k=8pkt", k("8pkt"), true),
        ("lossy", "p=0.1", none, false),
        ("policer", "rate=1Gbps burst=10KB", none, false),
    ] {
        let Queue::Fifo(fifo) = build(name, params) else { panic!("{name} is a FIFO") };
        assert_eq!((fifo.fast_path_limit(), fifo.is_step()), (limit, is_step), "{name} {params}");
    }
    let step = |drop: &str| match build("dctcp-step", &format!("k=8pkt drop-non-ect-above-k={drop}")) {
        Queue::Fifo(FifoDiscipline::DctcpStep(step)) => (step.k(), step.drops_non_ect()),
        _ => panic!("it is a FIFO"),
    };
    assert_eq!((step("true"), step("false")), ((k("8pkt"), true), (k("8pkt"), false)));
    assert_eq!(FifoDiscipline::default(), FifoDiscipline::DropTail(crate::DropTail));
}

#[test]
fn names_of_thresholds_have_units() {
    let of = |name: &str, params: &str| -> Vec<String> {
        build(name, params).thresholds().into_iter().map(|(name, length)| format!("{name}: {length}")).collect()
    };
    assert_eq!(of("red", "min=6KB max=14KB"), ["min of the average: 6KB", "max of the average: 14KB"]);
    assert_eq!(of("choke", "min=4pkt max=16pkt"), ["min of the average: 4pkt", "max of the average: 16pkt"]);
    assert_eq!(of("strict-priority", "queues=3 k=4KB k-scope=queue"), ["K of each queue: 4KB"]);
    assert_eq!(of("strict-priority", "queues=3 ks=2pkt,3KB"), ["K of queue 0: 2pkt", "K of queue 1: 3KB"]);
    assert_eq!(of("strict-priority", "queues=3 k=4pkt"), Vec::<String>::new(), "K of the whole queue has its own method");
    assert_eq!(of("drop-tail", ""), Vec::<String>::new());
}

/// Discipline, parameters, buffer, the parameter to change, a part of the message.
const REFUSED: &[(&str, &str, Option<QueueLen>, &str, &str)] = &[
    ("red", "min=4pkt max=16KB", BUFFER, "max", "16KB and `min` = 4pkt must both be packets or both bytes"),
    ("red", "min=4pkt max=4pkt", BUFFER, "max", "4pkt must be above `min` = 4pkt; for a single threshold use `dctcp-step`"),
    ("red", "min=5pkt max=4pkt", BUFFER, "max", "must be above"),
    ("choke-multi", "min=4pkt max=16pkt m=30", BUFFER, "m", "but the buffer holds 30; legal: below 30"),
    ("strict-priority", "queues=2 map=0,1", BUFFER, "map", "has 2 entries; legal: 8, the queues of classes 0 to 7"),
    ("strict-priority", "queues=2 map=0,1,2,0,0,0,0,0", BUFFER, "map", "names queue 2; legal: 0 to 1"),
    ("strict-priority", "queues=2 limits=1pkt,2pkt,3pkt", BUFFER, "limits", "has 3 entries for 2 queues"),
    ("strict-priority", "queues=2 limits=0pkt", BUFFER, "limits", "a limit of zero drops every packet of its queue"),
    ("strict-priority", "queues=2 limits=31pkt", BUFFER, "limits", "31pkt is never reached"),
    ("strict-priority", "queues=2 ks=1pkt,2pkt,3pkt", BUFFER, "ks", "has 3 entries for 2 queues"),
    ("strict-priority", "k-scope=queue", BUFFER, "k-scope", "requires `k`"),
    ("dwrr", "queues=2 weights=1,2,3", BUFFER, "weights", "has 3 entries for 2 queues"),
    ("dwrr", "queues=2 limits=0pkt", BUFFER, "limits", "a limit of zero"),
    ("dwrr", "queues=2 limits=1pkt,2pkt,3pkt", BUFFER, "limits", "has 3 entries for 2 queues"),
    ("dwrr", "quantum=0B", BUFFER, "quantum", "is zero; it must be positive"),
    ("wfq", "queues=3 ks=1pkt,2pkt,3pkt,4pkt", BUFFER, "ks", "has 4 entries for 3 queues"),
    ("wfq", "queues=3 map=0,1,2,3,0,0,0,0", BUFFER, "map", "names queue 3; legal: 0 to 2"),
    ("protect", "", None, "reserve", "needs a finite `buffer` on the link"),
    ("protect", "reserve=9KB", BUFFER, "reserve", "9KB and the buffer of 30pkt must have the same unit"),
    ("codel", "target=0ps", BUFFER, "target", "is zero; it must be longer"),
    ("fq-codel", "interval=0ps", BUFFER, "interval", "is zero; it must be longer"),
    ("fq-codel", "quantum=0B", BUFFER, "quantum", "is zero; it must be positive"),
    ("fq", "quantum=0B", BUFFER, "quantum", "is zero; it must be positive"),
    ("fq", "initial-quantum=0B", BUFFER, "initial-quantum", "is zero; it must be positive"),
    ("pie", "target=0ps", BUFFER, "target", "is zero; it must be longer"),
    ("pie", "update=0ps", BUFFER, "update", "is zero; it must be longer"),
    // 40 Mbit at 10 kbit/s are 4000 s.
    ("policer", "rate=10Kbps burst=5MB", BUFFER, "burst", "legal: at most 3600s"),
];

#[test]
fn contradictions_name_their_parameter() {
    for &(name, params, buffer, key, message) in REFUSED {
        let Err(error) = build_from(name, params, buffer) else { panic!("{name} {params} is accepted") };
        assert_eq!(error.key, key, "{name} {params}: {}", error.message);
        assert!(error.message.contains(message), "{name} {params}: {}", error.message);
    }
    // The neighbors of those at a limit are legal.
    for (name, params) in [
        ("red", "min=4pkt max=5pkt"),
        ("choke-multi", "min=4pkt max=16pkt m=29"),
        ("strict-priority", "queues=2 map=0,1,1,0,0,0,0,0"),
        ("strict-priority", "queues=2 limits=1pkt,30pkt ks=1pkt,2pkt"),
        ("strict-priority", "queues=2 limits=40KB"),
        ("strict-priority", "queues=2 limits=31pkt buffer-scope=queue"),
        ("dwrr", "queues=2 weights=1,2 limits=1pkt,2pkt ks=1pkt,2pkt quantum=1B"),
        // 3600 s exactly.
        ("policer", "rate=10Kbps burst=4500000B"),
    ] {
        build(name, params);
    }
}

/// A configuration builds the queue that the registry builds, with the defaults of its network.
#[test]
fn configuration_builds_the_same_queue() {
    for &(name, params, ..) in PROPERTIES {
        let value = value_from(name, params);
        let mut config = QueueConfig::new(Some(&value));
        assert_eq!(config.value().map(|v| v.kind), Some(name).filter(|n| *n != "drop-tail"));
        let mut expected = build(name, params);
        assert_eq!(config.build(BUFFER), Ok(expected.clone()), "{name} {params}");
        config.set_defaults(9, 4000);
        expected.set_defaults(9, 4000);
        assert_eq!(config.build(BUFFER), Ok(expected), "{name} {params}");
    }
    assert_eq!(QueueConfig::new(None).build(BUFFER), Ok(Queue::Fifo(FifoDiscipline::default())));
}

/// Parameters that are not set follow the network: a full packet is the standing queue of CoDel (RFC 8289 section 4.1), and two are a turn of `fq`.
#[test]
fn network_sets_missing_parameters() {
    for (name, unset, set) in [
        ("codel", "", "mtu=4000B"),
        ("fq-codel", "", "mtu=4000B"),
        ("fq", "", "quantum=8000B initial-quantum=40000B"),
        ("pie", "", "mean-packet=4000B"),
        // Three packets of each of nine senders and one more.
        ("protect", "", "reserve=30pkt"),
    ] {
        let (mut queue, given) = (build(name, unset), build(name, set));
        assert_ne!(queue, given, "{name}");
        queue.set_defaults(9, 4000);
        let mut still = given.clone();
        still.set_defaults(7, 1000);
        assert_eq!(given, still, "{name}: the network changes a parameter of the scenario");
        if name != "protect" {
            assert_eq!(queue, given, "{name}");
        }
    }
}

/// A packet of 1500 bytes for a queue.
fn queued(n: u32, now: Time) -> Queued {
    let ecn = Codepoint::from_bits((n % 4) as u8);
    let rank = (n.wrapping_mul(7) % 30) as u16;
    let wire = [300, 1500, 1500][n as usize % 3];
    Queued { handle: Handle(n), since: now, packet: Arrival { ecn, ..packet(wire, n as u8 % 8, rank, u64::from(n % 5)) } }
}

/// Pushes without the question whether there is a fast path.
struct TryPush<'a>(PortState, Queued, &'a mut Vec<Effect>);

impl Operation for TryPush<'_> {
    type Output = bool;

    fn run(self, discipline: &mut impl Buffered) -> bool {
        let TryPush(port, queued, effects) = self;
        match discipline.try_push(&port, &queued) {
            Some(verdict) => _ = queued.admit(verdict, effects),
            None => {
                discipline.push(&port, queued, effects);
                return false;
            }
        }
        true
    }
}

/// `try_push` has the result of `push`, or none and no effect. A full port drops, so that both occur.
#[test]
fn pushes_that_can_fail_equal_pushes() {
    for &(name, params, ..) in PROPERTIES {
        let Queue::Buffered(mut slow) = build(name, params) else { continue };
        slow.apply(Start);
        let (mut fast, mut taken) = (slow.clone(), 0);
        let mut rng = Rng::stream(5, &[]);
        let (mut now, mut backlog) = (Time(0), Vec::<Queued>::new());
        for n in 0..3000 {
            now += Time(rng.below(10_000_000));
            let queued = queued(n, now);
            let mut queue = QueueState { packets: 1, bytes: 1500 };
            backlog.iter().for_each(|q| queue.add(q.packet.wire));
            let state = PortState { now, ..busy(queue, 20) };
            let (mut effects, mut other) = (Vec::new(), Vec::new());
            slow.push(&state, queued, &mut effects);
            taken += u32::from(fast.apply(TryPush(state, queued, &mut other)));
            assert_eq!(effects, other, "{name} {params}");
            assert!(slow == fast, "{name} {params}: packet {n}");
            backlog.push(queued);
            // More packets arrive than leave.
            if rng.below(10) < 9 {
                let popped = slow.pop(now, &mut effects);
                assert_eq!(popped, fast.pop(now, &mut other), "{name} {params}");
                backlog.retain(|q| Some(q.handle) != popped);
            }
            backlog.retain(|q| !effects.iter().any(|e| matches!(e, Effect::Drop(h, _) if *h == q.handle)));
            assert_eq!(slow.len(), backlog.len(), "{name} {params}");
        }
        assert!(taken > 100, "{name} {params}: {taken}");
    }
}

/// Starts at 1 Gbps.
struct Start;

impl Operation for Start {
    type Output = ();

    fn run(self, discipline: &mut impl Buffered) {
        discipline.set_defaults(9, 1500);
        discipline.start(Rate(1_000_000_000), Rng::stream(3, &[]));
    }
}

/// Asks for the fast path.
struct TakesFastPush(PortState, Queued);

impl Operation for TakesFastPush {
    type Output = bool;

    fn run(self, discipline: &mut impl Buffered) -> bool {
        discipline.takes_fast_push(&self.0, &self.1)
    }
}

/// The fast path allocates nothing and drops nothing: the ring needs a free place and the port space.
#[test]
fn fast_path_needs_free_places() {
    for (name, params) in [("choke", "min=4pkt max=16pkt weight=1.0"), ("strict-priority", "queues=2"), ("pushout", "")] {
        let mut d = buffered(name, params);
        d.apply(Start);
        let port = |packets: u32| busy(QueueState { packets, bytes: u64::from(packets) * 1500 }, 30);
        let packet = |n: u32| Queued { handle: Handle(n), since: Time(0), packet: packet(1500, 0, 0, u64::from(n)) };
        assert!(!d.apply(TakesFastPush(port(1), packet(0))), "{name}: a new ring has no place");
        (0..3).for_each(|n| d.push(&port(1 + n), packet(n), &mut Vec::new()));
        assert!(d.apply(TakesFastPush(port(3), packet(3))), "{name}");
        assert!(!d.apply(TakesFastPush(port(30), packet(3))), "{name}: the port is full");
        // The average of CHOKe is the queue itself with a weight of 1, without the packet in service.
        assert_eq!(d.apply(TakesFastPush(port(5), packet(3))), name != "choke", "{name}");
    }
    // Thresholds and limits of single queues need the slow path.
    let mut d = buffered("strict-priority", "queues=2 ks=9pkt");
    let port = busy(QueueState { packets: 1, bytes: 1500 }, 30);
    (0..3).for_each(|n| d.push(&port, queued(n, Time(0)), &mut Vec::new()));
    assert!((0..8).all(|n| !d.apply(TakesFastPush(port, queued(n, Time(0))))));
}

/// Adds 100 bytes to a burst.
struct Extend(Handle);

impl Operation for Extend {
    type Output = bool;

    fn run(self, discipline: &mut impl Buffered) -> bool {
        discipline.extend(self.0, 100)
    }
}

/// A burst grows while it is queued, in the queues of hosts: elsewhere there is no segmentation offload.
#[test]
fn bursts_grow_while_they_wait() {
    for &(name, params, ..) in PROPERTIES {
        let Queue::Buffered(mut d) = build(name, params) else { continue };
        d.apply(Start);
        let has_bursts = ["codel", "fq-codel", "fq"].contains(&name);
        let port = |packets| busy(QueueState { packets, bytes: u64::from(packets) * 1500 }, 30);
        // The short path of `fq` holds eight packets, and is tested in `fq_tests.rs`.
        let short = if name == "fq" { 8 } else { 0 };
        (0..short).for_each(|n| d.push(&port(1), queued(10 + n, Time(0)), &mut Vec::new()));
        d.push(&port(1), queued(1, Time(0)), &mut Vec::new());
        let before = d.clone();
        assert_eq!(d.apply(Extend(Handle(1))), has_bursts, "{name}");
        assert_eq!(d != before, has_bursts, "{name}: its bytes count");
        (0..short).for_each(|n| assert_eq!(d.pop(Time(0), &mut Vec::new()), Some(Handle(10 + n))));
        assert_eq!(d.pop(Time(0), &mut Vec::new()), Some(Handle(1)), "{name}");
        let before = d.clone();
        // `fq` relies on its port, which extends only packets of its backlog.
        if name != "fq" {
            assert!(!d.apply(Extend(Handle(1))), "{name}: it has left");
            assert!(!d.apply(Extend(Handle(7))), "{name}: no such packet");
            assert_eq!(d, before, "{name}");
        }
    }
}

/// Without the size of packets from the network, one of Ethernet may stand in the queue (1514 bytes, RFC 8290 section 5.2.4).
#[test]
fn codel_keeps_a_standing_packet() {
    for (packet_size, signals) in [(None, true), (Some(1499), true), (Some(3000), false)] {
        let mut d = build("codel", "target=1us interval=1ms ecn=true");
        if let Some(size) = packet_size {
            d.set_defaults(9, size);
        }
        let Queue::Buffered(mut d) = d else { unreachable!() };
        let (mut effects, mut signaled) = (Vec::new(), false);
        for n in 0..100 {
            // Two packets of 1500 bytes remain after each departure, and each waits 150 us.
            let now = Time::from_us(50 * u64::from(n));
            let arrival = Arrival { ecn: Codepoint::Ect0, ..packet(1500, 0, 0, 0) };
            d.push(
                &busy(QueueState { packets: 1, bytes: 1500 }, 30),
                Queued { handle: Handle(n), since: now, packet: arrival },
                &mut effects,
            );
            if d.len() > 2 {
                d.pop(now, &mut effects);
                signaled |= !effects.is_empty();
                effects.clear();
            }
        }
        assert_eq!(signaled, signals, "{packet_size:?}");
    }
}

/// An overflow is no congestion signal of the discipline.
#[test]
fn full_port_drops_by_overflow() {
    for &(name, params, ..) in PROPERTIES {
        if ["lossy", "pfabric", "fq-codel"].contains(&name) {
            continue;
        }
        let mut queue = build(name, params);
        queue.start(Rate(1_000_000_000), Rng::stream(3, &[]));
        // Of class 0: it evicts no other packet, and has no reserve.
        let state = PortState { now: Time::from_us(1), ..busy(QueueState { packets: 30, bytes: 45_000 }, 30) };
        let arrival = packet(1500, 0, 0, 1);
        let full = Verdict::Drop(DropReason::Overflow);
        match &mut queue {
            Queue::Fifo(d) => assert_eq!(d.on_arrival(&state, &arrival), full, "{name} {params}"),
            Queue::Buffered(d) => {
                let (queued, mut effects) = (Queued { handle: Handle(1), since: state.now, packet: arrival }, Vec::new());
                d.push(&state, queued, &mut effects);
                assert_eq!(effects, [Effect::Drop(Handle(1), DropReason::Overflow)], "{name} {params}");
            }
        }
    }
    let Queue::Fifo(mut d) = build("protect", "reserve=1pkt") else { unreachable!() };
    let at = |packets: u32| busy(QueueState { packets, bytes: u64::from(packets) * 1500 }, 30);
    let of_class = |class: u8| Arrival { class, ..packet(1500, 0, 0, 1) };
    assert_eq!(d.on_arrival(&at(30), &of_class(4)), Verdict::Accept, "the reserve holds one packet");
    assert_eq!(d.on_arrival(&at(31), &of_class(4)), Verdict::Drop(DropReason::Overflow));
    assert_eq!(d.on_arrival(&at(30), &of_class(3)), Verdict::Drop(DropReason::Overflow));
}

/// The default reserve holds three packets of each sender and one more (B_hi = max(B, 3 N + 1)).
#[test]
fn default_reserve_covers_all_senders() {
    for (buffer, senders, holds) in [("10pkt", 9, 10 + 28), ("40pkt", 9, 40 + 40), ("15KB", 9, 10 + 28), ("60KB", 9, 40 + 40)] {
        let mut queue = build_from("protect", "", Some(buffer.parse().unwrap())).unwrap();
        queue.set_defaults(senders, 1500);
        let Queue::Fifo(mut d) = queue else { unreachable!() };
        let limit = QueueState::limit(buffer.parse().unwrap());
        let port = |packets: u32| PortState { limit, ..busy(QueueState { packets, bytes: u64::from(packets) * 1500 }, 0) };
        let urgent = Arrival { class: 7, ..packet(1500, 0, 0, 1) };
        assert_eq!(d.on_arrival(&port(holds - 1), &urgent), Verdict::Accept, "{buffer}");
        assert_eq!(d.on_arrival(&port(holds), &urgent), Verdict::Drop(DropReason::Overflow), "{buffer}");
    }
}

/// Parameters in bytes are kept as they are.
#[test]
fn quanta_are_bounded() {
    let fq = |params: &str| buffered("fq", params);
    // fq_init, and our choice: at most 1 MiB, as a larger one would stop the other connections.
    assert_eq!(fq("quantum=2MB initial-quantum=3MB"), fq("quantum=1048576B initial-quantum=1048576B"));
    assert_ne!(fq("quantum=1048575B"), fq("quantum=1048576B"));
    for (packet, quantum, first) in [(100, 256, 1000), (128, 256, 1280), (129, 258, 1290), (600_000, 1 << 20, 1 << 20)] {
        let mut queue = build("fq", "");
        queue.set_defaults(9, packet);
        let entry = crate::find("fq").unwrap();
        let bytes = |n: u64| Value::Bytes(Bytes(n));
        let given = crate::testing::build_for(entry, &[("quantum", bytes(quantum)), ("initial-quantum", bytes(first))], BUFFER);
        assert_eq!(queue, given, "{packet}");
    }
}
