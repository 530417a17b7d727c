//! FQ-CoDel: fairness in bytes, new flows, the fattest queue (RFC 8290).

use super::*;
use crate::testing::{Effect, Port, build_with, packet};
use crate::{DropReason, Handle, Verdict};
use forebay_types::param::Value;

fn port(sets: &[(&'static str, Value)], buffer: QueueState) -> Port {
    let mut queue = build_with(&ENTRY, sets);
    queue.start(Rate(1_000_000_000), Rng::stream(7, &[]));
    let Queue::Buffered(discipline) = queue else { unreachable!() };
    Port::new(discipline, buffer)
}

fn limit(packets: u32) -> QueueState {
    QueueState { packets, bytes: u64::MAX }
}

#[test]
fn unequal_packets_get_equal_bytes() {
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
fn thin_flow_served_before_bulk_flow() {
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
fn returning_flow_is_not_new() {
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

/// fq_codel_dequeue: an emptied new queue waits for its turn among the old ones (RFC 8290 section 4.2), unless there are none.
#[test]
fn emptied_new_queue_becomes_old() {
    let mut p = port(&[], QueueState::UNLIMITED);
    let served = |p: &mut Port| p.serve().map(|_| p.serving.unwrap().packet.flow);
    // More than a quantum: the second turn of flow 1 comes as an old queue.
    (0..2).for_each(|_| _ = p.arrive(packet(1514, 0, 0, 1)));
    p.arrive(packet(100, 0, 0, 2));
    assert_eq!((served(&mut p), served(&mut p)), (Some(1), Some(2)));
    // Flow 2 is empty, and behind flow 1; flow 3 is new.
    p.arrive(packet(100, 0, 0, 3));
    p.arrive(packet(100, 0, 0, 2));
    assert_eq!((served(&mut p), served(&mut p)), (Some(2), Some(3)));
    assert_eq!((served(&mut p), served(&mut p)), (Some(1), None));
    // All have been removed: flow 1 is new again, and first.
    for flow in [1, 3] {
        p.arrive(packet(100, 0, 0, flow));
    }
    assert_eq!((served(&mut p), served(&mut p), served(&mut p)), (Some(1), Some(3), None));
}

/// Comparison with a search of all queues.
#[test]
fn fattest_queue_equals_a_search() {
    let mut rng = Rng::stream(11, &[]);
    let mut p = port(&[("flows", Value::Int(23)), ("drop-batch", Value::Int(5)), ("limit", Value::Int(60))], limit(200));
    let mut overflows = 0;
    for step in 0..30_000 {
        p.now += Time::from_us(rng.below(300));
        // Arrivals exceed departures in every other phase.
        if rng.below(10) < (if step / 700 % 2 == 0 { 7 } else { 3 }) {
            p.arrive(packet([64, 500, 1500][rng.below(3) as usize], 0, 0, rng.below(50)));
            overflows += usize::from(p.effects.iter().any(|e| matches!(e, Effect::Drop(_, DropReason::Overflow))));
        } else {
            p.serve();
        }
        let BufferedDiscipline::FqCodel(fq) = &mut p.discipline else { unreachable!() };
        // Not at every step, so that several have changed.
        if step % 3 > 0 {
            continue;
        }
        let fattest = fq.fattest();
        let bytes = |f: u32| fq.flows[f as usize].bytes;
        let searched = fq.new.iter().chain(&fq.old).copied().max_by_key(|&f| (bytes(f), core::cmp::Reverse(f)));
        assert_eq!(fattest, searched.filter(|&f| bytes(f) > 0));
    }
    assert!(overflows > 100, "{overflows}");
}

fn dropped(handles: impl IntoIterator<Item = u32>) -> Vec<Effect> {
    handles.into_iter().map(|h| Effect::Drop(Handle(h), DropReason::Overflow)).collect()
}

#[test]
fn overflow_drops_half_of_the_fattest() {
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
fn arriving_packet_may_be_dropped() {
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
fn seeds_distribute_flows_differently_and_evenly() {
    let buckets = |seed| {
        let Queue::Buffered(BufferedDiscipline::FqCodel(mut fq)) = build_with(&ENTRY, &[]) else { unreachable!() };
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

/// The flows of the packets in the order in which single turns of the lists of RFC 8290 section 4.2 serve `sizes` of each flow.
fn turn_by_turn(quantum: i64, mut sizes: Vec<VecDeque<u32>>) -> Vec<usize> {
    let mut deficits = vec![quantum; sizes.len()];
    let (mut new, mut old): (VecDeque<usize>, VecDeque<usize>) = ((0..sizes.len()).collect(), VecDeque::new());
    let mut order = Vec::new();
    while let Some((flow, is_new)) = new.pop_front().map(|f| (f, true)).or_else(|| old.pop_front().map(|f| (f, false))) {
        if deficits[flow] <= 0 {
            deficits[flow] += quantum;
            old.push_back(flow);
        } else if let Some(wire) = sizes[flow].pop_front() {
            deficits[flow] -= i64::from(wire);
            order.push(flow);
            if is_new { &mut new } else { &mut old }.push_front(flow);
        } else if is_new {
            old.push_back(flow);
        }
    }
    order
}

#[test]
fn skipped_rounds_keep_the_order() {
    let mut rng = Rng::stream(5, &[]);
    for _ in 0..200 {
        let quantum = 1 + rng.below(40);
        // Enough queues that no two flows share one.
        let sets = [
            ("flows", Value::Int(65_536)),
            ("quantum", Value::Bytes(forebay_types::Bytes(quantum))),
            ("target", Value::Time(Time::NEVER)),
        ];
        let mut p = port(&sets, QueueState::UNLIMITED);
        let sizes: Vec<VecDeque<u32>> =
            (0..5).map(|_| (0..1 + rng.below(20)).map(|_| 40 + rng.below(9000) as u32).collect()).collect();
        for (flow, sizes) in sizes.iter().enumerate() {
            sizes.iter().for_each(|&wire| assert_eq!(p.arrive(packet(wire, 0, 0, flow as u64)), Verdict::Accept));
        }
        let order: Vec<usize> = core::iter::from_fn(|| p.serve().map(|_| p.serving.unwrap().packet.flow as usize)).collect();
        assert_eq!(order, turn_by_turn(quantum as i64, sizes));
    }
}

/// Turns of one byte for packets of 4 GB: 4 000 000 000 rounds.
#[test]
fn tiny_quantum_takes_bounded_work() {
    let mut p = port(&[("quantum", Value::Bytes(forebay_types::Bytes(1)))], QueueState::UNLIMITED);
    (0..4).for_each(|i| assert_eq!(p.arrive(packet(4_000_000_000 + i, 0, 0, u64::from(i % 2))), Verdict::Accept));
    let order: Vec<u32> = core::iter::from_fn(|| p.serve()).collect();
    assert_eq!(order, [0, 1, 2, 3]);
}
