//! FQ-CoDel (RFC 8290; Linux `net/sched/sch_fq_codel.c`): a queue for each flow, found by a hash, served in turn by deficit round robin,
//! those of new flows first; CoDel controls each of them. Linux's limit on memory is left out: packets here have no overhead in memory.

use crate::codel::{Law, Packets, Params, params};
use crate::{
    Buffered, BufferedDiscipline, Discipline, Effects, Marking, PortState, Queue, QueueEntry, QueueError, QueueState, Queued,
};
use forebay_param::{Entry, Kind, Param, Values};
use forebay_sampling::{Rng, mix};
use forebay_units::{Rate, Time};
use std::collections::VecDeque;

/// No packet.
const NONE: u32 = u32::MAX;

/// The queue of the flows that share a bucket of the hash table.
#[derive(Debug, Clone, PartialEq)]
struct Flow {
    /// Handles of the oldest and the newest packet.
    head: u32,
    tail: u32,
    bytes: u64,
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// Whether it is in one of the two lists.
    listed: bool,
    law: Law,
}

/// A packet and the next one of its queue.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Link {
    packet: Queued,
    next: u32,
}

/// The packets of all queues: chains through one table indexed by handle.
#[derive(Debug, Clone, PartialEq, Default)]
struct Chains {
    links: Vec<Option<Link>>,
    total: QueueState,
}

/// One chain.
struct Chain<'a> {
    chains: &'a mut Chains,
    head: &'a mut u32,
    tail: &'a mut u32,
    bytes: &'a mut u64,
}

impl Chain<'_> {
    fn append(&mut self, packet: Queued) {
        let (index, at) = (packet.handle.0, packet.handle.0 as usize);
        if self.chains.links.len() <= at {
            self.chains.links.resize(at + 1, None);
        }
        self.chains.links[at] = Some(Link { packet, next: NONE });
        match self.chains.links.get_mut(*self.tail as usize) {
            Some(Some(last)) if *self.head != NONE => last.next = index,
            _ => *self.head = index,
        }
        *self.tail = index;
        *self.bytes += u64::from(packet.packet.wire);
        self.chains.total.add(packet.packet.wire);
    }
}

impl Packets for Chain<'_> {
    fn take(&mut self) -> Option<Queued> {
        let link = self.chains.links.get_mut(*self.head as usize)?.take()?;
        *self.head = link.next;
        *self.bytes -= u64::from(link.packet.packet.wire);
        self.chains.total.remove(link.packet.packet.wire);
        Some(link.packet)
    }

    /// What is left in all queues counts (RFC 8289 section 4.4; Linux): a flow's last packet may be dropped while others wait.
    fn bytes(&self) -> u64 {
        self.chains.total.bytes
    }
}

/// The queues.
#[derive(Debug, Clone, PartialEq)]
pub struct FqCodel {
    params: Params,
    limit: u32,
    quantum: i64,
    batch: u32,
    flows: Vec<Flow>,
    /// Queues that became busy lately, and the other busy ones, each in order of service (RFC 8290 section 4.2).
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    chains: Chains,
    /// So that which flows share a queue differs from seed to seed (RFC 8290 section 4.1).
    perturbation: u64,
}

impl FqCodel {
    /// RFC 8290 section 4.1: the queue of a flow.
    fn bucket(&self, flow: u64) -> u32 {
        let hash = mix(flow ^ self.perturbation);
        ((u128::from(hash) * self.flows.len() as u128) >> 64) as u32
    }

    fn chain(&mut self, flow: u32) -> (&mut Law, Chain<'_>) {
        let Flow { head, tail, bytes, law, .. } = &mut self.flows[flow as usize];
        (law, Chain { chains: &mut self.chains, head, tail, bytes })
    }

    /// Drops from the head of the queue with the most bytes, and no more than a batch (RFC 8290 section 4.1), until half of its bytes are
    /// gone (Linux, `fq_codel_drop`; the RFC counts half of its packets). Of equal queues the one of the lowest bucket.
    fn drop_from_fattest(&mut self, effects: &mut impl Effects, mut dropped: impl FnMut(&Queued)) -> bool {
        let busy = self.new.iter().chain(&self.old);
        let fattest = busy.copied().max_by_key(|&f| (self.flows[f as usize].bytes, std::cmp::Reverse(f)));
        let Some(fattest) = fattest.filter(|&f| self.flows[f as usize].bytes > 0) else { return false };
        let half = self.flows[fattest as usize].bytes / 2;
        let batch = self.batch;
        let (law, mut chain) = self.chain(fattest);
        let (mut count, mut bytes) = (0, 0);
        while let Some(q) = chain.take() {
            q.evict(effects);
            dropped(&q);
            count += 1;
            bytes += u64::from(q.packet.wire);
            if count >= batch || bytes >= half {
                break;
            }
        }
        law.add_drops(count);
        true
    }
}

impl Discipline for FqCodel {
    fn start(&mut self, _rate: Rate, mut rng: Rng) {
        self.perturbation = rng.next_u64();
    }

    fn fit(&mut self, _senders: u64, packet: u64) {
        self.params.fit(packet);
    }

    fn marks(&self) -> bool {
        self.params.marks()
    }
}

impl Buffered for FqCodel {
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
        let index = self.bucket(packet.packet.flow);
        self.chain(index).1.append(packet);
        let flow = &mut self.flows[index as usize];
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(index);
        }
        // The arriving packet is in a queue already, and may be the one that is dropped, but the port does not count it yet.
        let (mut freed, mut refused) = (QueueState::default(), false);
        while !refused && (self.chains.total.packets > self.limit || !port.fits_without(freed, packet.packet.wire)) {
            let dropped = |q: &Queued| {
                if q.handle == packet.handle { refused = true } else { freed.add(q.packet.wire) }
            };
            if !self.drop_from_fattest(effects, dropped) {
                break;
            }
        }
    }

    /// RFC 8290 section 4.2.
    fn pop(&mut self, now: Time, effects: &mut impl Effects) -> Option<Queued> {
        loop {
            let from_new = !self.new.is_empty();
            let index = *if from_new { &self.new } else { &self.old }.front()?;
            let flow = &mut self.flows[index as usize];
            let mut packet = None;
            let spent = flow.deficit <= 0;
            if spent {
                flow.deficit += self.quantum;
            } else {
                let params = self.params;
                let (law, mut chain) = self.chain(index);
                packet = law.pop(&params, now, &mut chain, effects);
            }
            if let Some(q) = packet {
                self.flows[index as usize].deficit -= i64::from(q.packet.wire);
                return packet;
            }
            if from_new { &mut self.new } else { &mut self.old }.pop_front();
            // An empty new queue becomes an old one first, so that it cannot come back as new at once and starve others. Linux forgets it
            // where there are no old ones.
            if spent || from_new {
                self.old.push_back(index);
            } else {
                self.flows[index as usize].listed = false;
            }
        }
    }

    fn len(&self) -> usize {
        self.chains.total.packets as usize
    }
}

fn build(v: &Values) -> Result<Queue, QueueError> {
    let flow = Flow { head: NONE, tail: NONE, bytes: 0, deficit: 0, listed: false, law: Law::default() };
    let quantum = v.bytes("quantum").0;
    if quantum == 0 {
        return Err(QueueError::new("quantum", "is zero; a queue must be able to send"));
    }
    Ok(Queue::Buffered(BufferedDiscipline::FqCodel(Box::new(FqCodel {
        params: Params::new(v)?,
        limit: v.int("limit") as u32,
        quantum: i64::try_from(quantum).unwrap_or(i64::MAX),
        batch: v.int("drop-batch") as u32,
        flows: vec![flow; v.int("flows") as usize],
        new: VecDeque::new(),
        old: VecDeque::new(),
        chains: Chains::default(),
        perturbation: 0,
    }))))
}

/// CoDel's parameters and those of the queues.
const fn all_params() -> [Param; 9] {
    let codel = params("true");
    let own = [
        Param {
            key: "flows",
            kind: Kind::Int(1, 65_536),
            default: Some("1024"),
            doc: "number of queues among which a hash divides the flows (RFC 8290 section 5.2.5)",
        },
        Param {
            key: "quantum",
            kind: Kind::Bytes,
            default: Some("1514B"),
            doc: "what a queue may send in a round (RFC 8290 section 5.2.4)",
        },
        Param {
            key: "limit",
            kind: Kind::Int(1, 10_000_000),
            default: Some("10240"),
            doc: "most packets in all queues, beside the link's `buffer` (RFC 8290 section 5.2.3); the fattest queue is dropped from",
        },
        Param {
            key: "drop-batch",
            kind: Kind::Int(1, 1_000_000),
            default: Some("64"),
            doc: "most packets that one overflow drops: up to half of the fattest queue (RFC 8290 section 4.1), counted in bytes as Linux does",
        },
    ];
    let mut all = [own[0]; 9];
    let mut i = 0;
    while i < 9 {
        all[i] = if i < 5 { codel[i] } else { own[i - 5] };
        i += 1;
    }
    all
}

pub(crate) const ENTRY: QueueEntry = QueueEntry {
    entry: Entry {
        name: "fq-codel",
        summary: "a queue for each flow, served in turn, thin and new flows first, each under CoDel (FQ-CoDel, RFC 8290)",
        params: &all_params(),
    },
    marking: Marking::IfSet,
    thresholds: &[],
    example: "{ kind = \"fq-codel\", target = \"100us\", interval = \"2ms\" }",
    build: |v, _| build(v),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Effect, Port, built, packet};
    use crate::{DropReason, Handle, Verdict};
    use forebay_param::Value;

    fn port(sets: &[(&'static str, Value)], buffer: QueueState) -> Port {
        let mut queue = built(&ENTRY, sets);
        queue.start(Rate(1_000_000_000), Rng::stream(7, &[]));
        let Queue::Buffered(discipline) = queue else { unreachable!() };
        Port::new(discipline, buffer)
    }

    fn limit(packets: u32) -> QueueState {
        QueueState { packets, bytes: u64::MAX }
    }

    #[test]
    fn flows_of_unequal_packets_get_equal_bytes() {
        let mut p = port(&[], QueueState::UNLIMITED);
        // Packets of 1500 B, of 300 B and of 9000 B, more than a quantum.
        for _ in 0..200 {
            p.arrive(packet(1500, 0, 0, 1));
            p.arrive(packet(9000, 0, 0, 3));
            (0..10).for_each(|_| assert_eq!(p.arrive(packet(300, 0, 0, 2)), Verdict::Accept));
        }
        let mut bytes = [0_i64; 4];
        for _ in 0..700 {
            p.serve();
            let q = p.serving.unwrap().packet;
            bytes[q.flow as usize] += i64::from(q.wire);
            // Deficit round robin: no busy queue is ahead of another by more than a quantum and a packet of each.
            let (most, least) = (bytes[1..].iter().max().unwrap(), bytes[1..].iter().min().unwrap());
            assert!(most - least <= 2 * (1514 + 9000), "{bytes:?}");
        }
        assert!(bytes[1] > 100_000 && (bytes[1] - bytes[2]).abs() <= 2 * 1514 + 1500, "{bytes:?}");
    }

    #[test]
    fn a_thin_flow_is_served_next_while_a_bulk_flow_stands() {
        let mut p = port(&[], QueueState::UNLIMITED);
        (0..100).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, 1)), Verdict::Accept));
        // The bulk flow is new too until its first quantum is spent.
        (0..2).for_each(|_| assert!(p.serve().is_some()));
        for round in 0..10 {
            p.serve();
            assert_eq!(p.serving.unwrap().packet.flow, 1);
            p.arrive(packet(100, 0, 0, 2));
            p.serve();
            assert_eq!(p.serving.unwrap().packet.flow, 2, "round {round}");
            // Until the bulk flow's turn ends; the thin flow's empty queue then leaves the lists.
            (0..3).for_each(|_| assert!(p.serve().is_some()));
        }
    }

    #[test]
    fn a_flow_that_comes_back_at_once_is_not_new_again() {
        let mut p = port(&[], QueueState::UNLIMITED);
        (0..20).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, 1)), Verdict::Accept));
        let mut thin = 0;
        for _ in 0..20 {
            // Always one packet there: more than its share if it were new each time.
            if !p.backlog.iter().any(|q| q.packet.flow == 2) {
                p.arrive(packet(1500, 0, 0, 2));
            }
            p.serve();
            thin += u32::from(p.serving.unwrap().packet.flow == 2);
        }
        assert!((9..=11).contains(&thin), "{thin}");
    }

    /// RFC 8290 section 4.2: emptied, it waits for its turn among the old queues, even if it is the only one of them.
    #[test]
    fn an_emptied_new_queue_is_old_before_it_is_forgotten() {
        let mut p = port(&[], QueueState::UNLIMITED);
        let served = |p: &mut Port| p.serve().map(|_| p.serving.unwrap().packet.flow);
        (1..=2).for_each(|flow| assert_eq!(p.arrive(packet(100, 0, 0, flow)), Verdict::Accept));
        // The second look at flow 1 finds nothing.
        assert_eq!((served(&mut p), served(&mut p)), (Some(1), Some(2)));
        for flow in [1, 3] {
            p.arrive(packet(100, 0, 0, flow));
        }
        assert_eq!((served(&mut p), served(&mut p), served(&mut p)), (Some(3), Some(1), None));
        // Forgotten by now: new again, and first.
        for flow in [1, 3] {
            p.arrive(packet(100, 0, 0, flow));
        }
        assert_eq!((served(&mut p), served(&mut p), served(&mut p)), (Some(1), Some(3), None));
    }

    fn dropped(handles: impl IntoIterator<Item = u32>) -> Vec<Effect> {
        handles.into_iter().map(|h| Effect::Drop(Handle(h), DropReason::Overflow)).collect()
    }

    #[test]
    fn overflow_drops_half_of_the_fattest_from_its_head() {
        let mut p = port(&[], limit(12));
        // Twelve packets, nine of them and most bytes in flow 1.
        for i in 0..12 {
            assert_eq!(p.arrive(packet(1000, 0, 0, if i < 9 { 1 } else { 2 })), Verdict::Accept);
        }
        assert_eq!((p.arrive(packet(1000, 0, 0, 2)), p.effects.clone()), (Verdict::Accept, dropped(0..5)));
        let BufferedDiscipline::FqCodel(fq) = &p.discipline else { unreachable!() };
        assert_eq!(fq.len(), 8);
        // A batch ends it earlier.
        let mut p = port(&[("drop-batch", Value::Int(2)), ("limit", Value::Int(10))], QueueState::UNLIMITED);
        (0..10).for_each(|_| assert_eq!(p.arrive(packet(1000, 0, 0, 1)), Verdict::Accept));
        assert_eq!((p.arrive(packet(1000, 0, 0, 2)), p.effects.clone()), (Verdict::Accept, dropped(0..2)));
    }

    #[test]
    fn the_arriving_packet_may_be_the_fattest() {
        let mut p = port(&[("limit", Value::Int(2))], QueueState::UNLIMITED);
        assert_eq!((p.arrive(packet(40, 0, 0, 1)), p.arrive(packet(40, 0, 0, 2))), (Verdict::Accept, Verdict::Accept));
        assert_eq!(p.arrive(packet(1500, 0, 0, 3)), Verdict::Drop(DropReason::Overflow));
        assert_eq!((p.serve(), p.serve(), p.serve()), (Some(0), Some(1), None));
        // In bytes, as many batches as needed.
        let mut p = port(&[("drop-batch", Value::Int(1))], QueueState { packets: u32::MAX, bytes: 3_000 });
        (0..30).for_each(|_| assert_eq!(p.arrive(packet(100, 0, 0, 1)), Verdict::Accept));
        assert_eq!((p.arrive(packet(500, 0, 0, 2)), p.effects.clone()), (Verdict::Accept, dropped(0..5)));
    }

    #[test]
    fn seeds_divide_flows_differently_and_evenly() {
        let buckets = |seed| {
            let Queue::Buffered(BufferedDiscipline::FqCodel(mut fq)) = built(&ENTRY, &[]) else { unreachable!() };
            fq.start(Rate(1), Rng::stream(seed, &[]));
            (0..100_000).map(|flow| fq.bucket(flow)).collect::<Vec<_>>()
        };
        let (one, two) = (buckets(1), buckets(2));
        let same = one.iter().zip(&two).filter(|(a, b)| a == b).count();
        assert!((50..150).contains(&same), "{same} of 100 000, one in 1024 is chance");
        let mut sizes = [0; 1024];
        one.iter().for_each(|&b| sizes[b as usize] += 1);
        // Mean 97.7, standard deviation 9.9.
        assert!(sizes.iter().all(|s| (45..150).contains(s)));
    }
}
