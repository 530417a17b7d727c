//! The network between the hosts: every egress port of the experiment, in virtual time that follows the clock.
//!
//! A packet enters with the time at which its host handed it over, and leaves with the time at which its last bit is due. Between the two
//! everything is exact, whenever it is computed; what the machine does late is only the hand-over itself.

use crate::frame::Headers;
use crate::port::{Parcel, Port, Watch};
use forebay_experiment::network::Network;
use forebay_experiment::streams::Draws;
use forebay_queues::{Arrival, DropReason, QueueState, SharedBuffer};
use forebay_units::{IndexVec, NodeId, PortId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// A packet on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The packet as the kernel made it.
    pub(crate) bytes: Vec<u8>,
    /// What its headers say.
    pub(crate) headers: Headers,
    /// The ports that it passes, the host's own first.
    pub(crate) path: Arc<[PortId]>,
    /// Number of the packet, in the order in which hosts sent them.
    pub(crate) id: u64,
    /// Ports that it has passed.
    hop: usize,
}

impl Packet {
    /// A packet that has not left yet.
    pub fn new(bytes: Vec<u8>, headers: Headers, path: Arc<[PortId]>, id: u64) -> Packet {
        Packet { bytes, headers, path, id, hop: 0 }
    }
}

/// What happened to packets, in the order of time.
pub trait Records {
    /// The packet joined the queue of `port`, in which it found `found`; with CE set there, or not.
    fn joined(&mut self, time: Time, port: PortId, parcel: &Parcel<Packet>, found: QueueState, marked: bool);
    /// A packet that had joined the queue of `port` before got CE.
    fn marked(&mut self, time: Time, port: PortId, parcel: &Parcel<Packet>);
    /// The packet was dropped at `port`, where there was `found` before.
    fn dropped(&mut self, time: Time, port: PortId, parcel: &Parcel<Packet>, found: QueueState, reason: DropReason);
    /// The packet's last bit left `port`.
    fn left(&mut self, time: Time, port: PortId, parcel: &Parcel<Packet>);
}

struct Noted<'a, R> {
    records: &'a mut R,
    time: Time,
    port: PortId,
    found: QueueState,
}

impl<R: Records> Watch<Packet> for Noted<'_, R> {
    fn joined(&mut self, parcel: &Parcel<Packet>, marked: bool) {
        self.records.joined(self.time, self.port, parcel, self.found, marked);
    }

    fn marked(&mut self, parcel: &Parcel<Packet>) {
        self.records.marked(self.time, self.port, parcel);
    }

    fn dropped(&mut self, parcel: Parcel<Packet>, reason: DropReason) {
        self.records.dropped(self.time, self.port, &parcel, self.found, reason);
    }
}

/// What is due next, in the order of the variants where times are equal: a packet whose last bit leaves at the instant at which another
/// arrives still holds its buffer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Arrive,
    Depart,
    Release,
}

/// An event: time, kind, and the order in which it was announced.
type Key = (Time, Due, u64, u32);

/// The network.
pub struct Switch {
    ports: IndexVec<PortId, Link>,
    /// Ports of each node with shared memory.
    shared: IndexVec<NodeId, Option<Pool>>,
    events: BinaryHeap<Reverse<Key>>,
    /// Packets that are on a link or held, by the last part of their key.
    flying: Vec<Option<Parcel<Packet>>>,
    unused: Vec<u32>,
    /// Of those in `flying`, the ones that have not left their hosts yet, in the order in which they came.
    held: Vec<u32>,
    announced: u64,
}

struct Link {
    port: Port<Packet>,
    delay: Time,
    from: NodeId,
    to: NodeId,
}

struct Pool {
    memory: SharedBuffer,
    used: u64,
}

/// A packet that has reached its host.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When it was there completely.
    pub due: Time,
    /// The host.
    pub host: NodeId,
    /// The packet, with the ECN field that it has by now.
    pub parcel: Parcel<Packet>,
}

impl Switch {
    /// The idle network of an experiment under `seed`, with the random streams that the simulator gives its ports.
    pub fn new(network: &Network, seed: u64) -> Switch {
        let link = |(id, c): (PortId, &forebay_experiment::network::PortConfig)| {
            let mut queue = c.queue.clone();
            queue.start(c.rate, Draws::Queue.stream(seed, &[u64::from(id.get())]));
            let limit = c.buffer.map_or(QueueState::UNLIMITED, QueueState::limit);
            Link { port: Port::new(c.rate, limit, queue), delay: c.delay, from: c.from, to: c.to }
        };
        Switch {
            ports: network.ports.enumerate().map(link).collect(),
            shared: network.nodes.iter().map(|n| n.shared_buffer.map(|memory| Pool { memory, used: 0 })).collect(),
            events: BinaryHeap::new(),
            flying: Vec::new(),
            unused: Vec::new(),
            held: Vec::new(),
            announced: 0,
        }
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Time> {
        self.events.peek().map(|Reverse(key)| key.0)
    }

    /// A host hands over a packet at `now`, up to which [`Switch::advance`] has been called.
    pub fn send(&mut self, now: Time, packet: Packet, facts: Arrival, records: &mut impl Records) {
        let port = packet.path[0];
        self.arrive(now, port, Parcel { frame: packet, facts }, records);
    }

    /// A host hands over a packet that is not to leave before `until`.
    pub fn hold(&mut self, until: Time, packet: Packet, facts: Arrival) {
        let place = self.keep(Parcel { frame: packet, facts });
        self.held.push(place);
        self.announce(until, Due::Release, place);
    }

    /// The packets of `flow` that are held leave at `now`, up to which [`Switch::advance`] has been called.
    pub fn release(&mut self, now: Time, flow: u64, records: &mut impl Records) {
        let Switch { held, flying, .. } = self;
        let of_flow = |place: &mut u32| flying[*place as usize].as_ref().is_some_and(|p| p.facts.flow == flow);
        // Their places are free again when the time has come that was announced.
        let places: Vec<u32> = held.extract_if(.., of_flow).collect();
        for place in places {
            if let Some(parcel) = self.flying[place as usize].take() {
                self.arrive(now, parcel.frame.path[0], parcel, records);
            }
        }
    }

    /// Lets everything happen that is due by `now`; `deliver` receives what reaches a host.
    pub fn advance(&mut self, now: Time, records: &mut impl Records, mut deliver: impl FnMut(Delivery)) {
        while let Some(Reverse((time, ..))) = self.events.peek()
            && *time <= now
            && let Some(Reverse((time, due, _, subject))) = self.events.pop()
        {
            match due {
                Due::Depart => self.depart(time, PortId::new(subject), records),
                Due::Release => {
                    self.unused.push(subject);
                    if let Some(parcel) = self.flying[subject as usize].take() {
                        self.held.retain(|place| *place != subject);
                        self.arrive(time, parcel.frame.path[0], parcel, records);
                    }
                }
                Due::Arrive => {
                    let mut parcel = self.flying[subject as usize].take().expect("an arrival was announced");
                    self.unused.push(subject);
                    let passed = parcel.frame.path[parcel.frame.hop];
                    parcel.frame.hop += 1;
                    match parcel.frame.path.get(parcel.frame.hop) {
                        Some(&port) => self.arrive(time, port, parcel, records),
                        None => deliver(Delivery { due: time, host: self.ports[passed].to, parcel }),
                    }
                }
            }
        }
    }

    fn arrive(&mut self, now: Time, port: PortId, parcel: Parcel<Packet>, records: &mut impl Records) {
        let link = &mut self.ports[port];
        let before = link.port.queue();
        let wire = u64::from(parcel.facts.wire);
        let memory = self.shared[link.from].as_ref().and_then(|pool| {
            let admits = pool.memory.admits(pool.used, before.bytes, wire);
            (!admits).then_some(before.bytes)
        });
        let departure = link.port.arrive(now, parcel, memory, &mut Noted { records, time: now, port, found: before });
        let after = link.port.queue();
        if let Some(pool) = &mut self.shared[link.from] {
            pool.used = pool.used + after.bytes - before.bytes;
        }
        if let Some(time) = departure {
            self.announce(time, Due::Depart, port.get());
        }
    }

    fn depart(&mut self, now: Time, port: PortId, records: &mut impl Records) {
        let link = &mut self.ports[port];
        let before = link.port.queue();
        let (parcel, next) = link.port.depart(now, &mut Noted { records, time: now, port, found: before });
        records.left(now, port, &parcel);
        let (after, arrival) = (link.port.queue(), now + link.delay);
        if let Some(pool) = &mut self.shared[link.from] {
            pool.used = pool.used + after.bytes - before.bytes;
        }
        if let Some(time) = next {
            self.announce(time, Due::Depart, port.get());
        }
        let place = self.keep(parcel);
        self.announce(arrival, Due::Arrive, place);
    }

    /// Where `parcel` is from now on.
    fn keep(&mut self, parcel: Parcel<Packet>) -> u32 {
        let place = self.unused.pop().unwrap_or_else(|| {
            self.flying.push(None);
            self.flying.len() as u32 - 1
        });
        self.flying[place as usize] = Some(parcel);
        place
    }

    fn announce(&mut self, time: Time, due: Due, subject: u32) {
        self.events.push(Reverse((time, due, self.announced, subject)));
        self.announced += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_experiment::network::{Node, PortConfig};
    use forebay_queues::{Codepoint, Queue};
    use forebay_units::{QueueLen, Rate};
    use std::net::Ipv4Addr;

    #[derive(Default)]
    struct Log(Vec<(u64, u32, &'static str)>);

    impl Log {
        fn add(&mut self, time: Time, port: PortId, what: &'static str) {
            self.0.push((time.as_us(), port.get(), what));
        }
    }

    impl Records for Log {
        fn joined(&mut self, time: Time, port: PortId, _: &Parcel<Packet>, _: QueueState, _: bool) {
            self.add(time, port, "in");
        }
        fn marked(&mut self, time: Time, port: PortId, _: &Parcel<Packet>) {
            self.add(time, port, "mark");
        }
        fn dropped(&mut self, time: Time, port: PortId, _: &Parcel<Packet>, _: QueueState, _: DropReason) {
            self.add(time, port, "drop");
        }
        fn left(&mut self, time: Time, port: PortId, _: &Parcel<Packet>) {
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
            })
        };
        (0..3).for_each(|host| {
            port(host, 3, None);
        });
        port(3, 2, Some(buffer));
        n
    }

    fn packet(from: u32, id: u64) -> (Packet, Arrival) {
        let path = [PortId::new(from), PortId::new(3)];
        let facts = Arrival { wire: 1500, ecn: Codepoint::NotEct, ..Arrival::default() };
        let end = (Ipv4Addr::UNSPECIFIED, 0);
        let headers = Headers { from: end, to: end, ecn: Codepoint::NotEct, payload: 1_448, tcp: None };
        (Packet::new(vec![0; 1500], headers, path.into(), id), facts)
    }

    /// 12 us and 25 us at each of two links.
    #[test]
    fn an_empty_path_takes_what_its_links_take() {
        let (mut s, mut log, mut got) = (Switch::new(&network(4), 1), Log::default(), Vec::new());
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
    fn what_is_held_leaves_when_it_is_time_or_released() {
        let (mut s, mut log, mut got) = (Switch::new(&network(8), 1), Log::default(), Vec::new());
        let of = |from: u32, id: u64| {
            let (p, f) = packet(from, id);
            (p, Arrival { flow: u64::from(from), ..f })
        };
        for id in 0..2 {
            let (p, f) = of(0, id);
            s.hold(Time::from_us(500), p, f);
        }
        let (p, f) = of(1, 2);
        s.send(Time::ZERO, p, f, &mut log);
        let (p, f) = of(1, 3);
        s.hold(Time::from_us(900), p, f);
        s.advance(Time::from_us(600), &mut log, |d| got.push((d.due.as_us(), d.parcel.frame.id)));
        s.release(Time::from_us(600), 1, &mut log);
        s.release(Time::from_us(600), 1, &mut log);
        while let Some(t) = s.next() {
            s.advance(t, &mut log, |d| got.push((d.due.as_us(), d.parcel.frame.id)));
        }
        assert_eq!(got, [(74, 2), (574, 0), (586, 1), (674, 3)]);
        assert_eq!((s.held.len(), s.unused.len()), (0, s.flying.len()), "every place is free again");
    }

    /// Times do not depend on when they are computed.
    #[test]
    fn what_is_late_is_only_late_and_not_different() {
        let run = |late: bool| {
            let (mut s, mut log, mut got) = (Switch::new(&network(2), 1), Log::default(), Vec::new());
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
}
