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
    interface_of(queue, Rate(1_000_000_000), Time(1))
}

/// The same at another rate, of a host with this unit of its clock.
fn interface_of(queue: Queue, rate: Rate, clock: Time) -> Port {
    let (from, to) = (NodeId::new(0), NodeId::new(1));
    let c = PortConfig { from, to, rate, delay: DELAY, buffer: None, queue, queue_config: Default::default() };
    let mut port = Port::new(&c, true, 0, Rng::stream(1, &[]));
    port.set_transmit_ring(TransmitRingConfig { byte_queue_limits: true, framing: 0, syn_options: 0, clock });
    port
}

/// A packet that bypasses the empty queue waits until the first one has left the ring, whose limit is 0 at the start. The host passes it on at the next
/// nanosecond of its clock (net_tx_action). At 25 Gbps a packet of 1501 B takes 480.32 ns.
#[test]
fn requeued_packet_starts_at_host_clock() {
    let mut port = interface_of(queue("fq-codel", &[]), Rate(25_000_000_000), Time::from_ns(1));
    for seq in 0..2 {
        port.offer((Time::ZERO, Time::ZERO), &packet(1, seq, 1501), None, |_| {});
    }
    port.serve_host(Time::from_secs(1), |_| {});
    let first = port.ring.head();
    let arrivals = [first, port.ring.next(first)].map(|at| port.ring.packet(at).arrival);
    assert_eq!(arrivals, [Time(480_320) + DELAY, Time(481_000 + 480_320) + DELAY]);
}

/// Packet `seq` of a connection.
fn packet(conn: u32, seq: u32, wire: u16) -> Packet {
    Packet { conn: ConnSlot::new(conn), seq, wire, len: wire.saturating_sub(52), ..Packet::default() }
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

/// The interface draws the latency of each packet in the order of the wire, of bursts too: here all packets are of one connection. They leave late, but
/// neither out of order nor at the same instant.
#[test]
fn host_jitter_delays_each_segment() {
    let timing = HostTiming { phase: Time::ZERO, jitter: Time::from_us(2), interrupt_delay: None, clock: 0, whole_ns: false };
    let mut draws = timing.jitter(3, NodeId::new(0));
    let mut port = interface(queue("fq-codel", &[]));
    port.set_timing(Time::ZERO, draws);
    let mut seq = 0;
    (0..4).for_each(|_| assert_eq!(burst(&mut port, Time(8), 1, &mut seq, 3), 0));
    port.serve_host(Time::from_secs(1), |_| {});
    let (mut at, mut last, mut late) = (port.ring.head(), Time::ZERO, 0);
    for i in 1..=12 {
        let turn = Time(8) + Time(BYTE.0 * 1500 * i) + DELAY;
        last = (turn + draws.draw()).max(last + Time(1));
        assert_eq!(port.ring.packet(at).arrival, last, "packet {i}");
        late += u32::from(last > turn);
        at = port.ring.next(at);
    }
    assert!(late > 0);
}

/// Everything about the ring of a port.
#[cfg(debug_assertions)]
fn state(port: &Port) -> String {
    let ring = port.transmit_ring.as_ref().expect("a ring");
    format!("{:?}", (&ring.limits, &ring.sent, ring.requeued, ring.held, ring.open))
}

/// The segments of a burst that follow its first one together are counted as one by one: packets, bytes, limits and times.
#[test]
#[cfg(debug_assertions)]
fn whole_burst_equals_its_segments() {
    let timing = HostTiming { phase: Time::ZERO, jitter: Time::from_ns(500), interrupt_delay: None, clock: 0, whole_ns: false };
    for kind in ["fq-codel", "fq", "codel"] {
        let [mut whole, mut single] = [(); 2].map(|()| interface(queue(kind, &[])));
        single.offer_by_segment();
        [&mut whole, &mut single].iter_mut().for_each(|p| p.set_timing(Time::ZERO, timing.jitter(5, NodeId::new(0))));
        let (mut rng, mut now, mut seq, mut joined) = (Rng::stream(9, &[]), Time(1), 0, 0);
        for _ in 0..3_000 {
            // Bursts of up to 22 segments of 12 us each: the ring is empty, open and full by turns.
            now += Time::from_us(rng.below(300));
            let (conn, count) = (rng.below(4) as u32, 1 + rng.below(22) as u32);
            burst(&mut single, now, conn, &mut seq.clone(), count);
            let mut bytes = 0;
            for i in 0..count {
                let arrival = if i > 0 { CONTINUES } else { Time::ZERO };
                let segment = Packet { arrival, ..packet(conn, seq + i, 1500) };
                if i > 0 && whole.burst_is_in_ring(now) {
                    bytes += whole.pass_segment((now, Time::ZERO), &segment);
                    joined += 1;
                } else {
                    whole.offer((now, Time::ZERO), &segment, None, |_| {});
                }
            }
            whole.extend_burst(bytes);
            seq += count;
            assert_eq!(state(&whole), state(&single));
            assert_eq!(
                (whole.busy_until, whole.latest, whole.next_host_start()),
                (single.busy_until, single.latest, single.next_host_start())
            );
        }
        assert!(joined > 5_000, "{kind}: {joined} segments on the short path");
        assert_eq!((whole.sent_pkts, whole.sent_bytes, whole.sojourn()), (single.sent_pkts, single.sent_bytes, single.sojourn()));
        whole.audit();
        assert_eq!(runs(&mut whole), runs(&mut single), "{kind}");
    }
}

/// fq holds a connection back until the departure time of its next packet. A burst that joins it meanwhile stays together in the queue, though the ring is
/// open, and one of another connection passes it.
#[test]
fn burst_of_held_connection_waits() {
    let mut port = interface(queue("fq", &[]));
    let later = Time::from_ms(10);
    port.hold(Time::ZERO, &packet(1, 0, 1500), |_| {});
    // One in the ring, eight on the short path, and one in the queue of its connection.
    let mut seqs = [0; 3];
    for _ in 0..10 {
        burst(&mut port, Time::ZERO, 3, &mut seqs[0], 1);
    }
    port.offer((Time::ZERO, Time::ZERO), &packet(1, seqs[1], 100), None, |_| {});
    seqs[1] += 1;
    port.serve_host(later, |_| panic!("a packet is dropped"));
    burst(&mut port, later, 1, &mut seqs[1], 2);
    assert_eq!(port.host_drain_time(), Time(u64::MAX));
    burst(&mut port, later, 2, &mut seqs[2], 2);
    let released = Packet { arrival: RELEASED, ..packet(1, seqs[1], 1500) };
    port.offer((later * 2, Time::ZERO), &released, None, |_| {});
    assert_eq!(runs(&mut port), [(3, 10), (2, 2), (1, 4)]);
}
