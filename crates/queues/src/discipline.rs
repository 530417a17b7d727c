//! The two kinds of disciplines. A FIFO's order never changes, so its port knows at the arrival when a packet will leave. In a waiting
//! room the order, or what waits, can change after the arrival, so the port asks for the next packet whenever it has sent one.

use crate::{
    Arrival, Choke, DctcpStep, DropReason, DropTail, Effect, Found, Pfabric, Protect, Pushout, QueueState, Red, StrictPriority,
    Verdict, Waiter,
};
use forebay_sampling::Rng;
use forebay_units::Rate;

/// The queue of a port, as configured: a discipline in its initial state.
#[derive(Debug, Clone, PartialEq)]
pub enum Queue {
    /// In order of arrival.
    Fifo(Discipline),
    /// In an order of its own.
    Room(Room),
}

impl Queue {
    /// Gets ready for a port of this rate, with a random stream of its own.
    pub fn start(&mut self, rate: Rate, rng: Rng) {
        match self {
            Queue::Fifo(Discipline::Red(d)) => d.start(rate, rng),
            Queue::Room(Room::Choke(d)) => d.start(rate, rng),
            Queue::Fifo(_) | Queue::Room(_) => {}
        }
    }

    /// Sets what the scenario left open and depends on who may send: `senders` hosts, with full packets of `packet` bytes.
    pub fn serve(&mut self, senders: u64, packet: u64) {
        if let Queue::Fifo(Discipline::Protect(d)) = self {
            d.serve(senders, packet);
        }
    }

    /// Whether it can set CE, with the parameters it has.
    pub fn marks(&self) -> bool {
        match self {
            Queue::Fifo(Discipline::DropTail(_)) | Queue::Room(Room::Pfabric(_)) => false,
            Queue::Fifo(Discipline::DctcpStep(_) | Discipline::Red(_)) | Queue::Room(Room::Choke(_)) => true,
            Queue::Fifo(Discipline::Protect(d)) => d.marks(),
            Queue::Room(Room::StrictPriority(d)) => d.marks(),
            Queue::Room(Room::Pushout(d)) => d.marks(),
        }
    }

    /// Whether it looks at classes of service or ranks.
    pub fn reads_tags(&self) -> bool {
        match self {
            Queue::Fifo(Discipline::Protect(_)) => true,
            Queue::Room(Room::StrictPriority(_) | Room::Pushout(_) | Room::Pfabric(_)) => true,
            Queue::Fifo(_) | Queue::Room(Room::Choke(_)) => false,
        }
    }
}

/// A FIFO discipline and its state. An enum, so that the packet path has no indirect call.
#[derive(Debug, Clone, PartialEq)]
pub enum Discipline {
    /// Tail drop only.
    DropTail(DropTail),
    /// DCTCP's step.
    DctcpStep(DctcpStep),
    /// Random early detection.
    Red(Box<Red>),
    /// Drop precedence: a reserve for high classes.
    Protect(Protect),
}

impl Discipline {
    /// A promise that lets a port skip the question: any arrival that finds fewer packets than this and fewer bytes than this, and
    /// fits, is accepted unchanged, and the discipline's state does not depend on having been asked.
    pub fn quiet_below(&self) -> QueueState {
        match self {
            Discipline::DropTail(_) => QueueState::UNLIMITED,
            Discipline::DctcpStep(d) => d.quiet_below(),
            // Every arrival counts for the average.
            Discipline::Red(_) => QueueState::default(),
            Discipline::Protect(d) => d.quiet_below(),
        }
    }

    /// A second promise: any arrival that fits and finds `quiet_below` or more is marked if it is ECN-capable and accepted otherwise,
    /// and the discipline's state does not depend on having been asked.
    pub fn is_step(&self) -> bool {
        match self {
            Discipline::DropTail(_) => true,
            Discipline::DctcpStep(d) => d.is_step(),
            Discipline::Red(_) => false,
            Discipline::Protect(_) => true,
        }
    }

    /// Decides about a packet.
    pub fn on_arrival(&mut self, found: &Found, packet: &Arrival) -> Verdict {
        match self {
            Discipline::DropTail(_) if found.fits(packet.wire) => Verdict::Accept,
            Discipline::DctcpStep(d) if found.fits(packet.wire) => d.decide(found.queue, packet.ect),
            Discipline::DropTail(_) | Discipline::DctcpStep(_) => Verdict::Drop(DropReason::Overflow),
            Discipline::Red(d) => d.on_arrival(found, packet),
            Discipline::Protect(d) => d.on_arrival(found, packet),
        }
    }
}

/// A waiting room and who is in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Room {
    /// Several FIFOs, the most urgent served first.
    StrictPriority(StrictPriority),
    /// CHOKe, with one or more samples.
    Choke(Choke),
    /// A FIFO in which a high class evicts ordinary packets.
    Pushout(Pushout),
    /// By remaining size.
    Pfabric(Pfabric),
}

impl Room {
    /// Decides about an arriving packet, and what it does to those that wait: `effects` gets them in order, and they have happened
    /// when this returns. A packet accepted (or marked) must be [`push`](Room::push)ed next.
    pub fn on_arrival(&mut self, found: &Found, packet: &Arrival, effects: &mut Vec<Effect>) -> Verdict {
        match self {
            Room::StrictPriority(d) => d.on_arrival(found, packet, effects),
            Room::Choke(d) => d.on_arrival(found, packet, effects),
            Room::Pushout(d) => d.on_arrival(found, packet, effects),
            Room::Pfabric(d) => d.on_arrival(found, packet, effects),
        }
    }

    /// Lets a packet in.
    pub fn push(&mut self, waiter: Waiter) {
        match self {
            Room::StrictPriority(d) => d.push(waiter),
            Room::Choke(d) => d.push(waiter),
            Room::Pushout(d) => d.push(waiter),
            Room::Pfabric(d) => d.push(waiter),
        }
    }

    /// Takes out the packet to transmit next; it is in service until the next call.
    pub fn pop(&mut self) -> Option<Waiter> {
        match self {
            Room::StrictPriority(d) => d.pop(),
            Room::Choke(d) => d.pop(),
            Room::Pushout(d) => d.pop(),
            Room::Pfabric(d) => d.pop(),
        }
    }

    /// Packets that wait.
    pub fn len(&self) -> usize {
        match self {
            Room::StrictPriority(d) => d.len(),
            Room::Choke(d) => d.len(),
            Room::Pushout(d) => d.len(),
            Room::Pfabric(d) => d.len(),
        }
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{found, packet};
    use forebay_units::QueueLen;

    /// What ports rely on: they do not ask where the two promises say what the answer is.
    #[test]
    fn promises_are_kept() {
        let k = QueueLen::Packets(7);
        let protect = |k| Discipline::Protect(Protect::new(4, QueueLen::Packets(15), k));
        let all = [
            Discipline::DropTail(DropTail),
            Discipline::DctcpStep(DctcpStep::new(k, false)),
            Discipline::DctcpStep(DctcpStep::new(QueueLen::Bytes(9_000), true)),
            protect(None),
            protect(Some(k)),
        ];
        for mut d in all {
            let quiet = d.quiet_below();
            for packets in 0..10 {
                for bytes in [64, 1000, 1500].map(|b| b * u64::from(packets)) {
                    for (ect, class) in [(false, 0), (true, 0), (true, 7)] {
                        let (queue, arrival) = (QueueState { packets, bytes }, Arrival { ect, ..packet(1500, class, 0, 0) });
                        let verdict = d.on_arrival(&found(queue, 10), &arrival);
                        if !queue.reaches(quiet) {
                            assert_eq!(verdict, Verdict::Accept, "{d:?} {queue:?}");
                        } else if d.is_step() {
                            assert_eq!(verdict, if ect { Verdict::Mark } else { Verdict::Accept }, "{d:?} {queue:?}");
                        }
                    }
                }
            }
        }
    }
}
