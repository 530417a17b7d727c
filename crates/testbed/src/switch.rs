//! The network between the hosts: every egress port of the experiment, in virtual time that follows the clock.
//!
//! A packet enters with the time at which its host sent it, and leaves with the time at which its last bit is due. All times between are exact,
//! independent of the time of the computation. Only the delivery can be late.

use crate::port::{Port, Skb};
use crate::records::{Loss, Packet, PortObserver, Records};
use crate::routes::Routes;
use crate::spray::Spray;
use forebay_experiment::faults::Balance;
use forebay_experiment::link_errors::{LinkErrors, OnLink};
use forebay_experiment::network::Network;
use forebay_experiment::streams::RngStream;
use forebay_experiment::topology::reverse;
use forebay_queues::{Arrival, Queue, QueueState, SharedBuffer};
use forebay_types::{IndexVec, NodeId, PortId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Kind of the next event. The order of the variants decides at equal times: a packet whose last bit leaves at the instant of an arrival still
/// occupies its buffer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A link goes down or comes back,
    Change,
    /// and switches that spread packets know.
    Learn,
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
    in_flight: Vec<Option<InFlight>>,
    unused: Vec<u32>,
    /// Slots in `in_flight` of packets that have not left their hosts, in arrival order.
    held: Vec<u32>,
    announced: u64,
    routes: Routes,
    /// Routing tables, with per-packet load balancing.
    spray: Option<Spray>,
    seed: u64,
}

/// A packet that is on the link behind a port, or held before it.
struct InFlight {
    on: PortId,
    skb: Skb<Packet>,
    damaged: bool,
}

struct Link {
    port: Port<Packet>,
    delay: Time,
    from: NodeId,
    to: NodeId,
    /// Number of the departure event of the packet in service; earlier departure events are of packets that have been lost.
    serving: u64,
    /// Number of failures for which it is down.
    dead: u32,
    /// Errors of the link, if it has any.
    errors: Option<LinkErrors>,
    /// Its initial queue, to restart it after a failure, and the number of restarts.
    queue: Queue,
    returns: u64,
}

struct Pool {
    memory: SharedBuffer,
    used: u64,
}

/// A packet that has reached its host.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Arrival time of its last bit.
    pub due: Time,
    /// The port by which it came.
    pub port: PortId,
    /// The host.
    pub host: NodeId,
    /// The packet, with the ECN field that it has by now.
    pub skb: Skb<Packet>,
}

impl Switch {
    /// The idle network of an experiment under `seed`, with the random streams that the simulator gives its ports.
    pub fn new(network: &Network, seed: u64) -> Switch {
        let link = |(id, c): (PortId, &forebay_experiment::network::PortConfig)| {
            let mut queue = c.queue.clone();
            queue.start(c.rate, RngStream::Queue.stream(seed, &[u64::from(id.get())]));
            let limit = c.buffer.map_or(QueueState::UNLIMITED, QueueState::limit);
            Link {
                port: Port::new(c.rate, limit, queue),
                delay: c.delay,
                from: c.from,
                to: c.to,
                serving: 0,
                dead: 0,
                errors: LinkErrors::of(&network.faults, id, seed),
                queue: c.queue.clone(),
                returns: 0,
            }
        };
        let mut switch = Switch {
            ports: network.ports.enumerate().map(link).collect(),
            shared: network.nodes.iter().map(|n| n.shared_buffer.map(|memory| Pool { memory, used: 0 })).collect(),
            events: BinaryHeap::new(),
            in_flight: Vec::new(),
            unused: Vec::new(),
            held: Vec::new(),
            announced: 0,
            routes: Routes::default(),
            spray: None,
            seed,
        };
        if network.faults.balance == Balance::Packet {
            switch.spray = Spray::new(network, seed);
            for (time, port, up) in Spray::updates(network) {
                switch.announce(time, Due::Learn, port.get() << 1 | u32::from(up));
            }
        }
        for failure in &network.faults.failures {
            for port in std::iter::once(failure.port).chain(reverse(network, failure.port)) {
                switch.announce(failure.down, Due::Change, port.get() << 1);
                if let Some(up) = failure.up.get() {
                    switch.announce(up, Due::Change, port.get() << 1 | 1);
                }
            }
        }
        switch
    }

    /// Time of the next event.
    pub fn next(&self) -> Option<Time> {
        self.events.peek().map(|Reverse(key)| key.0)
    }

    /// The flow `flow` passes `ports` from now on, the host's own first; behind those, ports of nodes where packets may still be.
    ///
    /// # Panics
    /// A port does not exist.
    pub fn set_route(&mut self, flow: u64, ports: &[PortId]) {
        if let Some(last) = ports.last() {
            self.routes.set(flow, ports, self.ports[*last].to);
        }
    }

    /// Takes the link behind `port` down, or up again with an empty queue. Packets that are on the link or wait for it are lost, as in the simulator.
    fn change(&mut self, now: Time, port: PortId, up: bool, records: &mut impl Records) {
        let link = &mut self.ports[port];
        link.dead = if up { link.dead - 1 } else { link.dead + 1 };
        if link.dead != u32::from(!up) {
            return;
        }
        if up {
            link.returns += 1;
            let mut queue = link.queue.clone();
            queue.start(link.port.rate(), RngStream::Queue.stream(self.seed, &[u64::from(port.get()), link.returns]));
            link.port.restart(now, queue);
            return;
        }
        let before = link.port.queue();
        let lost = link.port.cut(now, &mut PortObserver { records, time: now, port, found: before });
        link.serving = u64::MAX;
        if let Some(pool) = &mut self.shared[link.from] {
            pool.used -= before.bytes;
        }
        let Switch { in_flight, held, .. } = self;
        // Their places are free again when the time has come that was announced.
        for (_, slot) in (0..).zip(in_flight.iter_mut()).filter(|(place, _)| !held.contains(place)) {
            if let Some(in_flight) = slot.take_if(|f| f.on == port) {
                records.dropped(now, port, &in_flight.skb, QueueState::default(), Loss::InFlight);
            }
        }
        lost.iter().for_each(|skb| records.dropped(now, port, skb, QueueState::default(), Loss::Cut));
    }

    /// A host hands over a packet at `now`, up to which [`Switch::advance`] has been called.
    pub fn send(&mut self, now: Time, mut packet: Packet, meta: Arrival, records: &mut impl Records) {
        if let Some(port) = self.routes.first(meta.flow) {
            if let Some(spray) = &mut self.spray {
                packet.hash = spray.draw(self.ports[port].from);
            }
            self.arrive(now, port, Skb { frame: packet, meta }, records);
        }
    }

    /// A host hands over a packet that is not to leave before `until`.
    pub fn hold(&mut self, until: Time, packet: Packet, meta: Arrival) {
        let Some(on) = self.routes.first(meta.flow) else { return };
        let place = self.keep(InFlight { on, skb: Skb { frame: packet, meta }, damaged: false });
        self.held.push(place);
        self.announce(until, Due::Release, place);
    }

    /// The packets of `flow` that are held leave at `now`, up to which [`Switch::advance`] has been called.
    pub fn release(&mut self, now: Time, flow: u64, records: &mut impl Records) {
        let Switch { held, in_flight, .. } = self;
        let of_flow = |place: &mut u32| in_flight[*place as usize].as_ref().is_some_and(|f| f.skb.meta.flow == flow);
        // Their places are free again when the time has come that was announced.
        let places: Vec<u32> = held.extract_if(.., of_flow).collect();
        for place in places {
            if let Some(InFlight { on, skb, .. }) = self.in_flight[place as usize].take() {
                self.arrive(now, on, skb, records);
            }
        }
    }

    /// Lets everything happen that is due by `now`; `deliver` receives what reaches a host.
    pub fn advance(&mut self, now: Time, records: &mut impl Records, mut deliver: impl FnMut(Delivery)) {
        while let Some(Reverse((time, ..))) = self.events.peek()
            && *time <= now
            && let Some(Reverse((time, due, announced, subject))) = self.events.pop()
        {
            match due {
                Due::Depart if self.ports[PortId::new(subject)].serving == announced => {
                    self.depart(time, PortId::new(subject), records);
                }
                Due::Depart => {}
                Due::Learn => {
                    if let Some(spray) = &mut self.spray {
                        spray.learn(PortId::new(subject >> 1), subject & 1 == 1);
                    }
                }
                Due::Change => self.change(time, PortId::new(subject >> 1), subject & 1 == 1, records),
                Due::Release => {
                    self.unused.push(subject);
                    if let Some(InFlight { on, skb, .. }) = self.in_flight[subject as usize].take() {
                        self.held.retain(|place| *place != subject);
                        self.arrive(time, on, skb, records);
                    }
                }
                Due::Arrive => {
                    self.unused.push(subject);
                    if let Some(in_flight) = self.in_flight[subject as usize].take()
                        && let Some(delivery) = self.onward(time, in_flight, records)
                    {
                        deliver(delivery);
                    }
                }
            }
        }
    }

    /// A packet is at the other end of its link: at its host, or at the next port.
    fn onward(&mut self, now: Time, in_flight: InFlight, records: &mut impl Records) -> Option<Delivery> {
        let InFlight { on, mut skb, damaged } = in_flight;
        let (flow, node) = (skb.meta.flow, self.ports[on].to);
        if damaged {
            records.dropped(now, on, &skb, QueueState::default(), Loss::Damaged);
            return None;
        }
        if self.routes.ends_at(flow, node) {
            return Some(Delivery { due: now, port: on, host: node, skb });
        }
        skb.frame.hop += 1;
        let next = match &self.spray {
            Some(spray) => self.routes.end(flow).map(|end| spray.next(node, end, skb.frame.hash)),
            None => self.routes.next(flow, skb.frame.hop, node, |port| self.ports[port].from),
        };
        match next {
            Some(port) => self.arrive(now, port, skb, records),
            None => records.dropped(now, on, &skb, QueueState::default(), Loss::InFlight),
        }
        None
    }

    fn arrive(&mut self, now: Time, port: PortId, skb: Skb<Packet>, records: &mut impl Records) {
        let link = &mut self.ports[port];
        let before = link.port.queue();
        if link.dead > 0 {
            return records.dropped(now, port, &skb, before, Loss::Dead);
        }
        let wire = u64::from(skb.meta.wire);
        let memory = self.shared[link.from].as_ref().and_then(|pool| {
            let admits = pool.memory.admits(pool.used, before.bytes, wire);
            (!admits).then_some(before.bytes)
        });
        let departure = link.port.arrive(now, skb, memory, &mut PortObserver { records, time: now, port, found: before });
        let after = link.port.queue();
        if let Some(pool) = &mut self.shared[link.from] {
            pool.used = pool.used + after.bytes - before.bytes;
        }
        if let Some(time) = departure {
            self.ports[port].serving = self.announce(time, Due::Depart, port.get());
        }
    }

    fn depart(&mut self, now: Time, port: PortId, records: &mut impl Records) {
        let link = &mut self.ports[port];
        let before = link.port.queue();
        let (skb, next) = link.port.depart(now, &mut PortObserver { records, time: now, port, found: before });
        records.left(now, port, &skb);
        let (after, arrival) = (link.port.queue(), now + link.delay);
        if let Some(pool) = &mut self.shared[link.from] {
            pool.used = pool.used + after.bytes - before.bytes;
        }
        if let Some(time) = next {
            self.ports[port].serving = self.announce(time, Due::Depart, port.get());
        }
        let wire = skb.meta.wire.into();
        let damaged =
            self.ports[port].errors.as_mut().is_some_and(|errors| errors.takes(OnLink { at: now, wire, data_of: None }));
        let place = self.keep(InFlight { on: port, skb, damaged });
        self.announce(arrival, Due::Arrive, place);
    }

    /// Stores a packet and returns its slot.
    fn keep(&mut self, in_flight: InFlight) -> u32 {
        let place = self.unused.pop().unwrap_or_else(|| {
            self.in_flight.push(None);
            self.in_flight.len() as u32 - 1
        });
        self.in_flight[place as usize] = Some(in_flight);
        place
    }

    /// Returns the number of the announcement.
    fn announce(&mut self, time: Time, due: Due, subject: u32) -> u64 {
        self.announced += 1;
        self.events.push(Reverse((time, due, self.announced, subject)));
        self.announced
    }
}

#[cfg(test)]
mod tests;
