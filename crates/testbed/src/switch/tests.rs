//! The network in virtual time, by what it writes down.

use super::*;
use crate::frame::Headers;
use forebay_experiment::faults::Corruption;
use forebay_experiment::faults::Failure;
use forebay_experiment::network::{Node, PortConfig};
use forebay_queues::{Codepoint, Queue};
use forebay_types::{QueueLen, Rate};
use std::net::Ipv4Addr;

#[derive(Default)]
struct Log(Vec<(u64, u32, &'static str)>);

impl Log {
    fn add(&mut self, time: Time, port: PortId, what: &'static str) {
        self.0.push((time.as_us(), port.get(), what));
    }
}

impl Records for Log {
    fn joined(&mut self, time: Time, port: PortId, _: &Skb<Packet>, _: QueueState, _: bool) {
        self.add(time, port, "in");
    }
    fn marked(&mut self, time: Time, port: PortId, _: &Skb<Packet>) {
        self.add(time, port, "mark");
    }
    fn dropped(&mut self, time: Time, port: PortId, _: &Skb<Packet>, _: QueueState, loss: Loss) {
        let why = match loss {
            Loss::Queue(_) => "drop",
            Loss::Dead => "dead",
            Loss::Cut => "cut",
            Loss::InFlight => "lost",
            Loss::Damaged => "damaged",
        };
        self.add(time, port, why);
    }
    fn left(&mut self, time: Time, port: PortId, _: &Skb<Packet>) {
        self.add(time, port, "out");
    }
}

/// Two senders and a receiver at one switch, 1 Gbit/s and 25 us a link; the receiver's port has `buffer` packets.
fn network(buffer: u64) -> Network {
    let mut n = Network::default();
    let names = ["a", "b", "c", "switch"];
    for name in names {
        n.nodes.push(Node { name: name.into(), host: name != "switch", shared_buffer: None });
    }
    let mut port = |from: u32, to: u32, buffer: Option<u64>| {
        n.ports.push(PortConfig {
            from: NodeId::new(from),
            to: NodeId::new(to),
            rate: Rate(1_000_000_000),
            delay: Time::from_us(25),
            buffer: buffer.map(QueueLen::Packets),
            queue: Queue::Fifo(Default::default()),
            queue_config: Default::default(),
        })
    };
    (0..3).for_each(|host| {
        port(host, 3, None);
    });
    port(3, 2, Some(buffer));
    n
}

/// With the ways of both senders, which are flows 0 and 1.
fn switch(buffer: u64) -> Switch {
    with_ways(&network(buffer))
}

fn with_ways(network: &Network) -> Switch {
    let mut s = Switch::new(network, 1);
    (0..2).for_each(|from| s.set_route(from.into(), &[PortId::new(from), PortId::new(3)]));
    s
}

fn packet(from: u32, id: u64) -> (Packet, Arrival) {
    let meta = Arrival { wire: 1500, ecn: Codepoint::NotEct, flow: from.into(), ..Arrival::default() };
    let end = (Ipv4Addr::UNSPECIFIED, 0);
    let headers = Headers { from: end, to: end, ecn: Codepoint::NotEct, payload: 1_448, tcp: None, probe: false };
    (Packet::new(vec![0; 1500], headers, id), meta)
}

/// 12 us and 25 us at each of two links.
#[test]
fn empty_path_delay_sums_links() {
    let (mut s, mut log, mut got) = (switch(4), Log::default(), Vec::new());
    let (p, f) = packet(0, 0);
    s.send(Time::from_us(100), p, f, &mut log);
    while let Some(t) = s.next() {
        s.advance(t, &mut log, |d| got.push((d.due.as_us(), d.host.get())));
    }
    assert_eq!(got, [(174, 2)]);
    assert_eq!(log.0, [(100, 0, "in"), (112, 0, "out"), (137, 3, "in"), (149, 3, "out")]);
}

/// Held packets leave when it is time, in their order, or when they are released; others pass them.
#[test]
fn held_packets_leave_due_or_released() {
    let (mut s, mut log, mut got) = (switch(8), Log::default(), Vec::new());
    for id in 0..2 {
        let (p, f) = packet(0, id);
        s.hold(Time::from_us(500), p, f);
    }
    let (p, f) = packet(1, 2);
    s.send(Time::ZERO, p, f, &mut log);
    let (p, f) = packet(1, 3);
    s.hold(Time::from_us(900), p, f);
    s.advance(Time::from_us(600), &mut log, |d| got.push((d.due.as_us(), d.skb.frame.id)));
    s.release(Time::from_us(600), 1, &mut log);
    s.release(Time::from_us(600), 1, &mut log);
    while let Some(t) = s.next() {
        s.advance(t, &mut log, |d| got.push((d.due.as_us(), d.skb.frame.id)));
    }
    assert_eq!(got, [(74, 2), (574, 0), (586, 1), (674, 3)]);
    assert_eq!((s.held.len(), s.unused.len()), (0, s.in_flight.len()), "every place is free again");
}

/// Times do not depend on when they are computed.
#[test]
fn late_processing_changes_no_result() {
    let run = |late: bool| {
        let (mut s, mut log, mut got) = (switch(2), Log::default(), Vec::new());
        for i in 0..4u64 {
            for from in [0, 1] {
                let (p, f) = packet(from, i);
                s.send(Time::ZERO, p, f, &mut log);
            }
        }
        if late {
            s.advance(Time::from_secs(1), &mut log, |d| got.push(d.due));
        }
        while let Some(t) = s.next() {
            s.advance(t, &mut log, |d| got.push(d.due));
        }
        (log.0, got)
    };
    assert_eq!(run(false), run(true));
    assert!(run(true).0.iter().any(|e| e.2 == "drop"), "two senders into a buffer of two lose packets");
}

/// A link that fails loses what flies on it, what is in service and what waits, and what comes while it is down; then it is as new. An event
/// that had been announced of a lost packet does nothing.
#[test]
fn failed_link_loses_packets_restarts_empty() {
    let mut net = network(8);
    let out = PortId::new(3);
    let failure = |down, up| Failure { port: out, down: Time::from_us(down), up: Time::from_us(up).into(), reroute: Time::ZERO };
    // The second one begins before the first is over.
    net.faults.failures = vec![failure(55, 70), failure(60, 80)];
    let (mut s, mut log, mut got) = (with_ways(&net), Log::default(), Vec::new());
    for id in 0..6 {
        let (p, f) = packet(0, id);
        s.send(Time::ZERO, p, f, &mut log);
    }
    s.advance(Time::from_us(54), &mut log, |_| {});
    log.0.clear();
    s.advance(Time::from_us(1_000), &mut log, |d| got.push((d.due.as_us(), d.port, d.skb.frame.id)));
    // Packet 0 left the switch at 49, packet 1 is being sent until 61; 2 and 3 come to a link that is down.
    let at_it: Vec<_> = log.0.iter().filter(|e| e.1 == 3).copied().collect();
    let (lost, rest) = at_it.split_at(4);
    assert_eq!(lost, [(55, 3, "lost"), (55, 3, "cut"), (61, 3, "dead"), (73, 3, "dead")]);
    assert_eq!(rest, [(85, 3, "in"), (97, 3, "in"), (97, 3, "out"), (109, 3, "out")]);
    assert_eq!(got, [(122, out, 4), (134, out, 5)]);
    assert_eq!(s.unused.len(), s.in_flight.len(), "every place is free again");
}

/// A packet that set out on the old way goes on from where it is; one for which nothing leads on is lost.
#[test]
fn packets_follow_current_route() {
    let (mut s, mut log, mut got) = (switch(8), Log::default(), Vec::new());
    let (p, f) = packet(0, 0);
    s.send(Time::ZERO, p, f, &mut log);
    s.advance(Time::from_us(10), &mut log, |_| {});
    s.set_route(0, &[PortId::new(1), PortId::new(3)]);
    s.advance(Time::from_us(100), &mut log, |d| got.push(d.skb.frame.id));
    let (p, f) = packet(0, 1);
    s.set_route(0, &[PortId::new(0), PortId::new(3)]);
    s.send(Time::from_us(100), p, f, &mut log);
    s.set_route(0, &[PortId::new(0)]);
    s.advance(Time::from_us(500), &mut log, |d| got.push(d.skb.frame.id));
    assert_eq!(got, [0]);
    assert_eq!(log.0.last(), Some(&(137, 0, "lost")));
}

/// A damaged packet takes its place and time on the link, and is dropped at its end: the ones that the simulator's link damages under the same seed.
#[test]
fn bit_errors_match_simulator() {
    let (mut n, port) = (network(1_000), PortId::new(3));
    n.faults.corruption.push(Corruption { port, bit_errors: 2e-5 });
    let (mut s, mut log, mut got) = (with_ways(&n), Log::default(), Vec::new());
    for id in 0..200 {
        let (p, f) = packet(0, id);
        s.send(Time::ZERO, p, f, &mut log);
    }
    s.advance(Time::from_ms(10), &mut log, |d| got.push(d.skb.frame.id));
    let mut draws = LinkErrors::of(&n.faults, port, 1).unwrap();
    let intact: Vec<u64> = (0..200).filter(|_| !draws.takes(OnLink { at: Time::ZERO, wire: 1_500, data_of: None })).collect();
    let all = draws.damaged().unwrap();
    assert!((20..80).contains(&all), "{all}");
    assert_eq!(got, intact);
    let damaged = log.0.iter().filter(|e| (e.1, e.2) == (3, "damaged")).count();
    assert_eq!((damaged as u64, log.0.iter().filter(|e| (e.1, e.2) == (3, "out")).count()), (all, 200));
}
