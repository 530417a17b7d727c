//! Transmit ring: order behind a fair queue, bursts, and the short cut of idle interfaces.

use super::*;
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
fn interface(queue: Queue, largest_packet: u32) -> Port {
    let (from, to) = (NodeId::new(0), NodeId::new(1));
    let c = PortConfig { from, to, rate: Rate(1_000_000_000), delay: DELAY, buffer: None, queue };
    let mut port = Port::new(&c, true, 0, Rng::stream(1, &[]));
    port.set_transmit_ring(TransmitRingConfig { byte_queue_limits: true, largest_packet });
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

/// Two connections send five bursts of ten each at one instant. The ring, whose limit is 0 at the start, takes the first burst, the second one bypasses
/// the empty queue. The rest alternate: the quantum of 1514 B is overdrawn by a burst of 15 000 B of each, for as many rounds. A small packet of a
/// third connection, which comes while the first burst is on the wire, overtakes all bursts in the queue, but not those in the ring.
#[test]
fn fair_queue_serves_whole_bursts() {
    let mut port = interface(queue("fq-codel", &[]), 1500);
    let mut seq = 0;
    for conn in [1, 2] {
        (0..5).for_each(|_| assert_eq!(burst(&mut port, Time(1), conn, &mut seq, 10), 0));
    }
    port.offer((Time::from_us(50), Time::ZERO), &packet(3, 0, 100), None, |_| {});
    let found = runs(&mut port);
    assert_eq!(found[0], (1, 20));
    assert!(found.iter().all(|r| r.1 % 10 == 0 || r.0 == 3), "{found:?}");
    let (small, bulk) = (found.iter().position(|r| r.0 == 3), found.iter().filter(|r| r.0 == 2).count());
    // New queues in their order: 1 and 2 send a burst each in their first turn, then comes 3.
    assert!(small == Some(2) || small == Some(3), "{found:?}");
    assert_eq!((bulk, found.iter().map(|r| r.1).sum::<u32>()), (5, 101), "{found:?}");
}

/// A full queue of a connection drops a burst as a whole.
#[test]
fn burst_is_dropped_as_a_whole() {
    let mut port = interface(queue("fq", &[("flow-limit", Value::Int(2))]), 1500);
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
    let mut port = interface(queue("fq-codel", &[]), 1500);
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

/// Packets that find the interface idle are not counted by the limits. All packets arrive as if they were.
#[test]
fn idle_short_cut_changes_nothing() {
    for (seed, kind) in (0..200).flat_map(|seed| [(seed, "fq-codel"), (seed, "fq"), (seed, "codel")]) {
        let sets = [("target", Value::Time(Time::from_us(50))), ("interval", Value::Time(Time::from_us(500)))];
        let sets = if kind == "fq" { &[][..] } else { &sets };
        let ports = [1500, u32::MAX].map(|largest| interface(queue(kind, sets), largest));
        let mut rng = Rng::stream(seed, &[7]);
        let (mut now, mut seq, mut shortened) = (Time(1), 0, 0);
        let [mut short, mut full] = ports;
        let mut lost = [0, 0];
        for _ in 0..400 {
            let load = 1 + rng.below(4);
            now += if rng.below(3) == 0 { Time(0) } else { Time(rng.below(12_000_000 * 2 / load)) };
            let sent = Packet { seq, ..packet(rng.below(3) as u32, seq, [66, 578, 1500][rng.below(3) as usize]) };
            seq += 1;
            for (port, lost) in [&mut short, &mut full].into_iter().zip(&mut lost) {
                // The timer of the interface.
                while let Some(start) = port.next_host_start().filter(|start| *start < now) {
                    port.serve_host(start + Time(1), |_| *lost += 1);
                }
                let idle = port.busy_until < now && port.threshold.packets > 0;
                match port.enqueue::<true>(now, None, &sent, |_| {}) {
                    Ok(_) => shortened += u32::from(idle),
                    Err(_) => {
                        port.offer((now, Time::ZERO), &sent, None, |_| *lost += 1);
                    }
                }
            }
        }
        let ends = [&mut short, &mut full].map(|port| {
            port.serve_host(Time::from_secs(9), |_| {});
            let (mut at, mut all) = (port.ring.head(), Vec::new());
            while at != port.ring.tail() {
                all.push((port.ring.packet(at).seq, port.ring.packet(at).arrival));
                at = port.ring.next(at);
            }
            (all, port.stats().sojourn, port.events.dropped)
        });
        assert_eq!(ends[0], ends[1], "seed {seed}, {kind}");
        assert_eq!(lost[0], lost[1]);
        assert!(shortened > 0, "seed {seed}, {kind}: no packet took the short cut");
    }
}
