//! Every C core decides as its Rust discipline does, to the bit: random parameters, random arrivals, the same marks, drops, reasons and order.

use crate::parameters;
use forebay_cores::{Core, Effect, Seen};
use forebay_kernel::queue::Discipline;
use forebay_queues::{
    Arrival, BufferedDiscipline, Codepoint, FifoDiscipline, Handle, PortState, Queue, QueueEntry, QueueState, Queued, REGISTRY,
    Verdict,
};
use forebay_types::{QueueLen, Rate, Rng, Time};
use std::collections::VecDeque;

/// Sequences of each discipline in an everyday test.
const EVERYDAY: u64 = 600;
/// Sequences of all disciplines together in the long test.
const MANY: u64 = 1_000_000;

/// Counts of both sides' decisions, to detect a test that compares nothing.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    packets: u64,
    marks: u64,
    drops: u64,
}

/// The traffic of a sequence.
struct Traffic {
    rng: Rng,
    rate: Rate,
    /// Mean gap, ps.
    gap: u64,
    largest: u64,
    now: Time,
}

impl Traffic {
    fn new(mut rng: Rng) -> Traffic {
        let rate = Rate([100_000_000, 1_000_000_000, 10_000_000_000, 12_345_678_901][rng.below(4) as usize]);
        let largest = [200, 1538, 9018][rng.below(3) as usize];
        let mean = rate.tx_time((64 + largest) / 2).0;
        // From half of the link to twice of it.
        let gap = mean / 2 + rng.below(mean * 3 / 2);
        Traffic { rng, rate, gap, largest, now: Time(1) }
    }

    /// The time of the next arrival: now and then at the same instant, or after a pause.
    fn advance(&mut self) {
        let gap = match self.rng.below(80) {
            0 => self.gap * (5 + self.rng.below(200)),
            1 => self.gap * self.rng.below(1_000_000),
            2..=9 => 0,
            _ => self.rng.below(2 * self.gap),
        };
        self.now += Time(gap);
    }

    fn packet(&mut self) -> Arrival {
        let ecn =
            [Codepoint::NotEct, Codepoint::Ect0, Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ce][self.rng.below(5) as usize];
        let wire = match self.rng.below(3) {
            0 => 64 + self.rng.below(self.largest - 63),
            1 => 64,
            _ => self.largest,
        };
        Arrival { wire: wire as u32, ecn, class: self.rng.below(8) as u8, rank: 0, flow: self.rng.below(6) * 0x1_0000_0003 }
    }

    /// Now and then the switch's shared memory is full.
    fn memory(&mut self, queue: QueueState) -> Option<u64> {
        (self.rng.below(25) == 0).then_some(queue.bytes)
    }
}

/// A port that serves in order of arrival.
fn fifo(mut rust: FifoDiscipline, mut core: Core, limit: QueueState, mut traffic: Traffic, arrivals: u64) -> Tally {
    let (mut queue, mut busy_until, mut tally) = (QueueState::default(), Time::ZERO, Tally::default());
    let mut departures: VecDeque<(Time, u32)> = VecDeque::new();
    for _ in 0..arrivals {
        traffic.advance();
        let now = traffic.now;
        while let Some(&(_, wire)) = departures.front().filter(|d| d.0 < now) {
            departures.pop_front();
            queue = QueueState { packets: queue.packets - 1, bytes: queue.bytes - u64::from(wire) };
        }
        let (packet, memory) = (traffic.packet(), traffic.memory(queue));
        let serving = departures.front().map_or(0, |d| d.1);
        let port = PortState { now, queue, limit, memory, serving, idle_since: busy_until };
        let (expected, got) = (rust.on_arrival(&port, &packet), core.on_arrival(&port, &packet));
        assert_eq!(got, expected, "packet {} of {rust:?}: {port:?} {packet:?}", tally.packets);
        tally.packets += 1;
        match expected {
            Verdict::Drop(_) => tally.drops += 1,
            verdict => {
                tally.marks += u64::from(verdict == Verdict::Mark);
                queue = QueueState { packets: queue.packets + 1, bytes: queue.bytes + u64::from(packet.wire) };
                busy_until = busy_until.max(now) + traffic.rate.tx_time(u64::from(packet.wire));
                departures.push_back((busy_until, packet.wire));
            }
        }
    }
    tally
}

/// A port with a discipline that holds its backlog.
struct Buffered {
    rust: BufferedDiscipline,
    core: Core,
    queue: QueueState,
    serving: Option<Handle>,
    busy_until: Time,
    rate: Rate,
    /// By handle.
    wires: Vec<u32>,
    ours: Seen,
    theirs: Seen,
    tally: Tally,
}

impl Buffered {
    /// Both sides have done the same. Counts it; what was dropped is not in the queue any more.
    fn settle(&mut self, arriving: Option<Handle>) -> bool {
        assert_eq!(self.theirs, self.ours, "after {} packets: {:?}", self.tally.packets, self.rust);
        let mut refused = false;
        for effect in self.ours.0.drain(..) {
            match effect {
                Effect::Mark(_) => self.tally.marks += 1,
                Effect::Drop(handle, _) => {
                    self.tally.drops += 1;
                    if arriving == Some(handle) {
                        refused = true;
                    } else {
                        self.queue.packets -= 1;
                        self.queue.bytes -= u64::from(self.wires[handle.0 as usize]);
                    }
                }
            }
        }
        self.theirs.0.clear();
        refused
    }

    fn start_next(&mut self, now: Time) {
        self.serving = self.rust.pop(now, &mut self.ours);
        let got = self.core.pop(now, &mut self.theirs);
        assert_eq!(got, self.serving, "after {} packets: {:?}", self.tally.packets, self.rust);
        self.settle(None);
        if let Some(next) = self.serving {
            self.busy_until = now + self.rate.tx_time(u64::from(self.wires[next.0 as usize]));
        }
    }

    /// All transmissions that start before `until`.
    fn serve(&mut self, until: Time) {
        while let Some(sent) = self.serving.filter(|_| self.busy_until < until) {
            self.queue.packets -= 1;
            self.queue.bytes -= u64::from(self.wires[sent.0 as usize]);
            self.start_next(self.busy_until);
        }
    }

    fn arrive(&mut self, now: Time, packet: Arrival, limit: QueueState, memory: Option<u64>) {
        let queued = Queued { handle: Handle(self.wires.len() as u32), since: now, packet };
        self.wires.push(packet.wire);
        let serving = self.serving.map_or(0, |h| self.wires[h.0 as usize]);
        let port = PortState { now, queue: self.queue, limit, memory, serving, idle_since: self.busy_until };
        self.rust.push(&port, queued, &mut self.ours);
        self.core.push(&port, &queued, &mut self.theirs);
        self.tally.packets += 1;
        if !self.settle(Some(queued.handle)) {
            self.queue.packets += 1;
            self.queue.bytes += u64::from(packet.wire);
        }
        if self.serving.is_none() {
            self.start_next(now);
        }
    }
}

fn buffered(rust: BufferedDiscipline, core: Core, limit: QueueState, mut traffic: Traffic, arrivals: u64) -> Tally {
    let (rate, tally) = (traffic.rate, Tally::default());
    let (queue, busy_until) = (QueueState::default(), Time::ZERO);
    let (wires, ours, theirs) = (Vec::new(), Seen::default(), Seen::default());
    let mut port = Buffered { rust, core, queue, serving: None, busy_until, rate, wires, ours, theirs, tally };
    for _ in 0..arrivals {
        traffic.advance();
        port.serve(traffic.now);
        let (packet, memory) = (traffic.packet(), traffic.memory(port.queue));
        port.arrive(traffic.now, packet, limit, memory);
    }
    port.serve(Time(u64::MAX));
    assert_eq!((port.queue, port.rust.len()), (QueueState::default(), 0));
    port.tally
}

/// One sequence with parameters of its own.
fn sequence(entry: &QueueEntry, number: u64) -> Tally {
    let mut rng = Rng::stream(number, &[entry.entry.name.len() as u64, u64::from(entry.entry.name.as_bytes()[0])]);
    let traffic = Traffic::new(Rng::stream(rng.next_u64(), &[]));
    let buffer = match rng.below(3) {
        0 => QueueLen::Bytes(traffic.largest + rng.below(30 * traffic.largest)),
        _ => QueueLen::Packets(2 + rng.below(40)),
    };
    let mut queue = parameters::built(entry, buffer, traffic.rate, &mut rng);
    queue.set_defaults(1 + rng.below(4), traffic.largest);
    let discipline = Discipline::of(&queue).expect("there is a core");
    let stream = Rng::stream(rng.next_u64(), &[]);
    let core = Core::new(&discipline, traffic.rate, stream.state());
    queue.start(traffic.rate, stream);
    let arrivals = 20 + rng.below(300);
    match queue {
        Queue::Fifo(rust) => fifo(rust, core, QueueState::limit(buffer), traffic, arrivals),
        Queue::Buffered(rust) => buffered(rust, core, QueueState::limit(buffer), traffic, arrivals),
    }
}

/// As many sequences of every discipline that has a core.
fn sequences(each: u64) {
    for entry in REGISTRY.iter().filter(|e| e.entry.name != "pfabric") {
        let mut all = Tally::default();
        for number in 0..each {
            let one = sequence(entry, number);
            all.packets += one.packets;
            all.marks += one.marks;
            all.drops += one.drops;
        }
        assert!(all.drops > all.packets / 1000, "{}: {all:?}", entry.entry.name);
        assert!(
            entry.marking == forebay_queues::Marking::Never || all.marks > all.packets / 1000,
            "{}: {all:?}",
            entry.entry.name
        );
    }
}

#[test]
fn cores_decide_as_the_crate_does() {
    sequences(EVERYDAY);
}

#[test]
#[ignore = "minutes: cargo test --release -p forebay-cores -- --ignored"]
fn cores_match_the_queues_crate() {
    sequences(MANY.div_ceil(REGISTRY.len() as u64 - 1));
}

#[test]
fn all_queues_except_pfabric_have_cores() {
    let buffer = QueueLen::Packets(30);
    for entry in REGISTRY {
        let queue = parameters::built(entry, buffer, Rate(1_000_000_000), &mut Rng::stream(1, &[]));
        assert_eq!(Discipline::of(&queue).is_none(), entry.entry.name == "pfabric", "{}", entry.entry.name);
    }
}
