//! Transmit ring: order behind a fair queue, bursts, and jitter.

use super::*;
use forebay_experiment::host_timing::HostTiming;
use forebay_experiment::network::PortConfig;
use forebay_queues::{Queue, find};
use forebay_types::param::{Kind, Param, Value, Values};
use forebay_types::{Bytes, ConnSlot, NodeId, Rate, Rng};

/// Time of a byte at 1 Gbps.
const BYTE: Time = Time::from_ns(8);
const DELAY: Time = Time::from_us(1);

/// A queue with its defaults and some parameters set.
fn queue(kind: &str, sets: &[(&str, Value)]) -> Queue {
    let entry = find(kind).expect("a queue");
    let value = |p: &Param| {
        let text = p.default.unwrap_or("");
        let default = match p.kind {
            _ if text.is_empty() => Value::Unset,
            Kind::Int(..) => Value::Int(text.parse().expect("a number")),
            Kind::Bool => Value::Bool(text.parse().expect("a truth value")),
            Kind::Bytes => Value::Bytes(text.parse::<Bytes>().expect("bytes")),
            _ => Value::Time(text.parse().expect("a time")),
        };
        (p.key, sets.iter().find(|s| s.0 == p.key).map_or(default, |s| s.1.clone()))
    };
    let mut queue = (entry.build)(&Values(entry.entry.params.iter().map(value).collect()), None).expect("legal parameters");
    queue.set_defaults(1, 1500);
    queue
}

/// An interface of 1 Gbps with byte queue limits.
fn interface(queue: Queue) -> Port {
    let (from, to) = (NodeId::new(0), NodeId::new(1));
    let c =
        PortConfig { from, to, rate: Rate(1_000_000_000), delay: DELAY, buffer: None, queue, queue_config: Default::default() };
    let mut port = Port::new(&c, true, 0, Rng::stream(1, &[]));
    port.set_transmit_ring(TransmitRingConfig { byte_queue_limits: true });
    port
}

/// Packet `seq` of a connection.
fn packet(conn: u32, seq: u32, wire: u16) -> Packet {
    Packet { conn: ConnSlot::new(conn), seq, wire, ..Packet::default() }
}

/// Sends a burst of full packets; numbers continue in `seq`.
fn burst(port: &mut Port, now: Time, conn: u32, seq: &mut u32, segments: u32) -> u32 {
    let mut lost = 0;
    for i in 0..segments {
        let arrival = if i > 0 { CONTINUES } else { Time::ZERO };
        port.offer((now, Time::ZERO), &Packet { arrival, ..packet(conn, *seq, 1500) }, None, |_| lost += 1);
        *seq += 1;
    }
    lost
}

/// Connections of all packets in the order of the wire, as (connection, packets in a row), after everything has been sent.
fn runs(port: &mut Port) -> Vec<(u32, u32)> {
    port.serve_host(Time::from_secs(100), |_| panic!("a packet is dropped"));
    let mut runs: Vec<(u32, u32)> = Vec::new();
    let (mut at, mut seqs) = (port.ring.head(), std::collections::BTreeMap::new());
    while at != port.ring.tail() {
        let p = *port.ring.packet(at);
        // Each connection in order.
        let last = seqs.insert(p.conn.get(), p.seq);
        assert!(last.is_none_or(|last| last < p.seq), "{p:?} follows {last:?}");
        match runs.last_mut().filter(|run| run.0 == p.conn.get()) {
            Some(run) => run.1 += 1,
            None => runs.push((p.conn.get(), 1)),
        }
        at = port.ring.next(at);
    }
    runs
}

/// Two connections send five bursts of ten packets each at one instant. The ring, whose limit is 0 at the start, takes the first burst of 1, the second
/// one bypasses the empty queue, the third one is the first turn of 1. From then on a turn is a burst of 15 000 B, which overdraws the quantum of
/// 1514 B by as many rounds for both. A small packet of connection 3, which comes while the first burst is on the wire, has its turn behind the new
/// queues 1 and 2. When 1 has nothing left, 2 sends its last three bursts in a row.
#[test]
fn fair_queue_serves_whole_bursts() {
    let mut port = interface(queue("fq-codel", &[]));
    let mut seq = 0;
    for conn in [1, 2] {
        (0..5).for_each(|_| assert_eq!(burst(&mut port, Time(1), conn, &mut seq, 10), 0));
    }
    port.offer((Time::from_us(50), Time::ZERO), &packet(3, 0, 100), None, |_| {});
    assert_eq!(runs(&mut port), [(1, 30), (2, 10), (3, 1), (1, 10), (2, 10), (1, 10), (2, 30)]);
}

/// A full queue of a connection drops a burst as a whole.
#[test]
fn burst_is_dropped_as_a_whole() {
    let mut port = interface(queue("fq", &[("flow-limit", Value::Int(2))]));
    let mut seq = 0;
    // One in the ring, eight on the short path, two in the queue of the connection.
    let lost: u32 = (0..13).map(|_| burst(&mut port, Time(1), 1, &mut seq, 4)).sum();
    assert_eq!(lost, 2 * 4);
    assert_eq!((port.queue.packets, port.events.dropped), (11 * 4, [8, 0, 0]));
    port.audit();
    assert_eq!(runs(&mut port), [(1, 44)]);
}

/// Packets in the ring leave at the rate of the link without gaps, and each `late` after its turn, in order.
#[test]
fn jitter_delays_behind_the_queue() {
    let mut port = interface(queue("fq-codel", &[]));
    let late = [700, 0, 300, 0, 0, 900].map(Time::from_ns);
    for (seq, late) in late.into_iter().enumerate() {
        port.offer((Time(8), late), &packet(1, seq as u32, 1500), None, |_| {});
    }
    port.serve_host(Time::from_secs(1), |_| {});
    let mut at = port.ring.head();
    for (i, late) in late.into_iter().enumerate() {
        let turn = Time(8) + Time(BYTE.0 * 1500 * (i as u64 + 1)) + DELAY;
        assert_eq!(port.ring.packet(at).arrival, turn + late, "packet {i}");
        at = port.ring.next(at);
    }
}

/// Jitter of a host's interface is that of a port without a ring: each packet is late by the next number of the same sequence.
#[test]
fn interface_jitter_applies_behind_the_ring() {
    let timing = HostTiming { phase: Time::from_ns(6), jitter: Time::from_ns(25) };
    let host = NodeId::new(0);
    let mut port = interface(queue("fq-codel", &[]));
    port.set_timing(timing.phase(3, host), timing.jitter(3, host));
    let mut seq = 0;
    burst(&mut port, Time(8), 1, &mut seq, 4);
    port.offer((Time(8), Time::ZERO), &packet(2, 0, 1500), None, |_| {});
    port.serve_host(Time::from_secs(1), |_| {});
    let (mut at, mut jitter) = (port.ring.head(), timing.jitter(3, host));
    let mut late = Vec::new();
    for i in 1..=5 {
        let turn = Time(8) + Time(BYTE.0 * 1500 * i) + DELAY + timing.phase(3, host);
        late.push(jitter.draw());
        assert_eq!(port.ring.packet(at).arrival, turn + late[late.len() - 1], "packet {i}");
        at = port.ring.next(at);
    }
    assert!(late.iter().any(|l| *l != late[0]), "{late:?}");
}
