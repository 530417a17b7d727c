//! An egress port of the software switch: a queue and a transmitter, in exact time.

use forebay_queues::{
    Arrival, BufferedDiscipline, Codepoint, DropReason, Effects, FifoDiscipline, Handle, PortState, Queue, QueueState, Queued,
    Verdict,
};
use forebay_types::{Rate, Time};
use std::collections::VecDeque;

/// A packet: its frame, which the port does not read, and the fields for queue disciplines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skb<F> {
    /// The frame.
    pub frame: F,
    /// Packet properties that disciplines use; the ECN field is the current one.
    pub meta: Arrival,
}

/// Receives the joins, marks and drops of a port, to record them.
pub trait Watch<F> {
    /// The packet that arrives joined the queue; with CE set here, or not.
    fn joined(&mut self, skb: &Skb<F>, marked: bool);
    /// A packet that had joined before got CE.
    fn marked(&mut self, skb: &Skb<F>);
    /// The packet was dropped.
    fn dropped(&mut self, skb: Skb<F>, reason: DropReason);
}

/// An egress port.
#[derive(Debug)]
pub struct Port<F> {
    rate: Rate,
    limit: QueueState,
    order: QueueKind<F>,
    /// Waiting and in service.
    queue: QueueState,
    serving: Option<Skb<F>>,
    idle_since: Time,
}

#[derive(Debug)]
enum QueueKind<F> {
    Fifo { discipline: FifoDiscipline, waiting: VecDeque<Skb<F>> },
    Buffered { discipline: BufferedDiscipline, waiting: Slab<F> },
}

/// The packets of a backlog by handle. Handles of packets that have left are used again.
#[derive(Debug)]
struct Slab<F> {
    held: Vec<Option<Skb<F>>>,
    unused: Vec<Handle>,
}

impl<F> Slab<F> {
    fn insert(&mut self, skb: Skb<F>) -> Handle {
        if let Some(handle) = self.unused.pop() {
            self.held[handle.0 as usize] = Some(skb);
            return handle;
        }
        self.held.push(Some(skb));
        Handle(self.held.len() as u32 - 1)
    }

    fn remove(&mut self, handle: Handle) -> Skb<F> {
        self.unused.push(handle);
        self.held[handle.0 as usize].take().expect("a discipline names packets that it holds")
    }
}

/// Carries out what a buffered discipline does.
struct Sink<'a, F, W> {
    waiting: &'a mut Slab<F>,
    queue: &'a mut QueueState,
    arriving: Option<Handle>,
    arriving_marked: bool,
    refused: bool,
    /// Overflows are those of a shared memory.
    shared: bool,
    watch: &'a mut W,
}

impl<F, W: Watch<F>> Effects for Sink<'_, F, W> {
    fn mark(&mut self, packet: Handle) {
        let skb = self.waiting.held[packet.0 as usize].as_mut().expect("a discipline marks packets that it holds");
        if skb.meta.ecn != Codepoint::Ce {
            skb.meta.ecn = Codepoint::Ce;
            if self.arriving == Some(packet) {
                self.arriving_marked = true;
            } else {
                self.watch.marked(skb);
            }
        }
    }

    fn drop(&mut self, packet: Handle, reason: DropReason) {
        let skb = self.waiting.remove(packet);
        if self.arriving == Some(packet) {
            self.refused = true;
        } else {
            less(self.queue, skb.meta.wire);
        }
        let reason = if reason == DropReason::Overflow && self.shared { DropReason::SharedBuffer } else { reason };
        self.watch.dropped(skb, reason);
    }
}

fn less(queue: &mut QueueState, wire: u32) {
    queue.packets -= 1;
    queue.bytes -= u64::from(wire);
}

impl<F> Port<F> {
    /// A port of this rate with this buffer. `queue` has been [started](Queue::start).
    pub fn new(rate: Rate, limit: QueueState, queue: Queue) -> Port<F> {
        let order = match queue {
            Queue::Fifo(discipline) => QueueKind::Fifo { discipline, waiting: VecDeque::new() },
            Queue::Buffered(discipline) => {
                QueueKind::Buffered { discipline, waiting: Slab { held: Vec::new(), unused: Vec::new() } }
            }
        };
        Port { rate, limit, order, queue: QueueState::default(), serving: None, idle_since: Time::ZERO }
    }

    /// Rate of its transmitter.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Packets and bytes that wait or are in service.
    pub fn queue(&self) -> QueueState {
        self.queue
    }

    /// A packet is at the port completely at `now`; all departures before `now` have been made. `memory` is the most bytes that the port
    /// may hold because others hold the rest of a shared memory. When the packet starts at once, the time at which its last bit leaves.
    pub fn arrive(&mut self, now: Time, mut skb: Skb<F>, memory: Option<u64>, watch: &mut impl Watch<F>) -> Option<Time> {
        let serving = self.serving.as_ref().map_or(0, |p| p.meta.wire);
        let state = PortState { now, queue: self.queue, limit: self.limit, memory, serving, idle_since: self.idle_since };
        let wire = skb.meta.wire;
        match &mut self.order {
            QueueKind::Fifo { discipline, waiting } => {
                let shared = !state.fits(wire) && self.queue.fits(wire, self.limit);
                match discipline.on_arrival(&state, &skb.meta) {
                    Verdict::Drop(_) if shared => {
                        watch.dropped(skb, DropReason::SharedBuffer);
                        return None;
                    }
                    Verdict::Drop(reason) => {
                        watch.dropped(skb, reason);
                        return None;
                    }
                    Verdict::Mark if skb.meta.ecn != Codepoint::Ce => {
                        skb.meta.ecn = Codepoint::Ce;
                        watch.joined(&skb, true);
                    }
                    Verdict::Mark | Verdict::Accept => watch.joined(&skb, false),
                }
                waiting.push_back(skb);
            }
            QueueKind::Buffered { discipline, waiting } => {
                let meta = skb.meta;
                let handle = waiting.insert(skb);
                let shared = memory.is_some();
                let queue = &mut self.queue;
                let arriving = Some(handle);
                let mut sink = Sink { waiting, queue, arriving, arriving_marked: false, refused: false, shared, watch };
                discipline.push(&state, Queued { handle, since: now, packet: meta }, &mut sink);
                let Sink { refused, arriving_marked, .. } = sink;
                if refused {
                    return None;
                }
                if let Some(skb) = &waiting.held[handle.0 as usize] {
                    watch.joined(skb, arriving_marked);
                }
            }
        }
        self.queue.packets += 1;
        self.queue.bytes += u64::from(wire);
        if self.serving.is_none() { self.start(now, watch) } else { None }
    }

    /// The last bit of the packet in service leaves at `now`: the packet, and when the next one leaves.
    ///
    /// # Panics
    /// Panics if no packet is in service.
    pub fn depart(&mut self, now: Time, watch: &mut impl Watch<F>) -> (Skb<F>, Option<Time>) {
        let skb = self.serving.take().expect("a departure was announced");
        less(&mut self.queue, skb.meta.wire);
        self.idle_since = now;
        let next = self.start(now, watch);
        (skb, next)
    }

    /// Removes all packets that wait or are in service at `now`, in departure order; a discipline may drop some of them.
    pub fn cut(&mut self, now: Time, watch: &mut impl Watch<F>) -> Vec<Skb<F>> {
        let mut all: Vec<Skb<F>> = self.serving.take().into_iter().collect();
        while let Some(skb) = self.take(now, watch) {
            all.push(skb);
        }
        self.queue = QueueState::default();
        self.idle_since = now;
        all
    }

    /// Restarts the port at `now`, empty, with a discipline that has been [started](Queue::start) again.
    pub fn restart(&mut self, now: Time, queue: Queue) {
        *self = Port { idle_since: now, ..Port::new(self.rate, self.limit, queue) };
    }

    /// Starts the transmission of the next packet, if there is one. Returns its departure time.
    fn start(&mut self, now: Time, watch: &mut impl Watch<F>) -> Option<Time> {
        let next = self.take(now, watch)?;
        let departure = now + self.rate.tx_time(u64::from(next.meta.wire));
        self.serving = Some(next);
        Some(departure)
    }

    /// The packet that is to be transmitted next.
    fn take(&mut self, now: Time, watch: &mut impl Watch<F>) -> Option<Skb<F>> {
        match &mut self.order {
            QueueKind::Fifo { waiting, .. } => waiting.pop_front(),
            QueueKind::Buffered { discipline, waiting } => {
                let queue = &mut self.queue;
                let (arriving, shared) = (None, false);
                let mut sink = Sink { waiting, queue, arriving, arriving_marked: false, refused: false, shared, watch };
                let next = discipline.pop(now, &mut sink)?;
                Some(waiting.remove(next))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_queues::DctcpStep;
    use forebay_types::QueueLen;
    use forebay_types::param::{Kind, Param, Value, Values};

    #[derive(Default)]
    struct Seen {
        marked: Vec<u32>,
        dropped: Vec<(u32, DropReason)>,
    }

    impl Watch<u32> for Seen {
        fn joined(&mut self, skb: &Skb<u32>, marked: bool) {
            self.marked.extend(marked.then_some(skb.frame));
        }
        fn marked(&mut self, skb: &Skb<u32>) {
            self.marked.push(skb.frame);
        }
        fn dropped(&mut self, skb: Skb<u32>, reason: DropReason) {
            self.dropped.push((skb.frame, reason));
        }
    }

    fn skb(frame: u32, class: u8) -> Skb<u32> {
        Skb { frame, meta: Arrival { wire: 1500, ecn: Codepoint::Ect0, class, rank: 0, flow: 1 } }
    }

    fn port(discipline: Option<FifoDiscipline>, buffer: u32) -> Port<u32> {
        let limit = QueueState { packets: buffer, bytes: u64::MAX };
        Port::new(GBPS, limit, Queue::Fifo(discipline.unwrap_or_default()))
    }

    const GBPS: Rate = Rate(1_000_000_000);

    /// 1500 bytes at 1 Gbit/s take 12 us; the buffer counts the packet in service.
    #[test]
    fn full_buffer_drops_with_exact_departures() {
        let (mut p, mut seen) = (port(None, 2), Seen::default());
        assert_eq!(p.arrive(Time::ZERO, skb(0, 0), None, &mut seen), Some(Time::from_us(12)));
        assert_eq!(p.arrive(Time::ZERO, skb(1, 0), None, &mut seen), None);
        assert_eq!(p.arrive(Time::ZERO, skb(2, 0), None, &mut seen), None);
        assert_eq!(seen.dropped, [(2, DropReason::Overflow)]);
        let (first, next) = p.depart(Time::from_us(12), &mut seen);
        assert_eq!((first.frame, next), (0, Some(Time::from_us(24))));
        let (second, next) = p.depart(Time::from_us(24), &mut seen);
        assert_eq!((second.frame, next, p.queue()), (1, None, QueueState::default()));
    }

    /// The step is compared with what an arrival finds, in service included.
    #[test]
    fn step_marks_from_threshold() {
        let step = DctcpStep::new(QueueLen::Packets(2), false);
        let (mut p, mut seen) = (port(Some(FifoDiscipline::DctcpStep(step)), 10), Seen::default());
        for i in 0..4 {
            p.arrive(Time::ZERO, skb(i, 0), None, &mut seen);
        }
        assert_eq!(seen.marked, [2, 3]);
        assert_eq!(p.depart(Time::from_us(12), &mut seen).0.meta.ecn, Codepoint::Ect0);
    }

    /// In a pool that others have filled a packet is refused in the name of the pool.
    #[test]
    fn full_shared_buffer_has_own_reason() {
        let (mut p, mut seen) = (port(None, 10), Seen::default());
        p.arrive(Time::ZERO, skb(0, 0), None, &mut seen);
        p.arrive(Time::ZERO, skb(1, 0), Some(1500), &mut seen);
        assert_eq!(seen.dropped, [(1, DropReason::SharedBuffer)]);
        assert_eq!(p.queue().packets, 1);
    }

    /// The urgent packet overtakes those that wait, not the one in service.
    #[test]
    fn a_buffered_discipline_chooses() {
        let queue = forebay_queues::find("strict-priority").expect("registered");
        let value = |p: &Param| match (p.kind, p.default) {
            (_, None | Some("")) => Value::Unset,
            (Kind::Int(..), Some(n)) => Value::Int(n.parse().expect("a number")),
            (_, Some(word)) => Value::Text(word.into()),
        };
        let values = Values(queue.entry.params.iter().map(|p| (p.key, value(p))).collect());
        let Ok(built) = (queue.build)(&values, None) else { panic!("two queues are legal") };
        let mut p = Port::new(GBPS, QueueState::UNLIMITED, built);
        let mut seen = Seen::default();
        for (i, class) in [0, 0, 7].into_iter().enumerate() {
            p.arrive(Time::ZERO, skb(i as u32, class), None, &mut seen);
        }
        let order: Vec<u32> = (1..=3).map(|i| p.depart(Time::from_us(12 * i), &mut seen).0.frame).collect();
        assert_eq!(order, [0, 2, 1]);
    }
}
