//! Tests of strict priority.

use super::*;
use crate::Handle;
use crate::class_queues::even_map;
use crate::testing::{Effect, Port, build_with, packet};
use forebay_types::param::Value;

fn strict(queues: usize) -> StrictPriority {
    StrictPriority {
        map: even_map(queues),
        queues: vec![PriorityQueue::default(); queues],
        busy: 0,
        serving: 0,
        k: QueueState::UNLIMITED,
        k_of_queue: false,
        buffer_of_queue: false,
        tail_drop: false,
        common: false,
    }
}

fn port(s: StrictPriority, buffer: u64) -> Port {
    Port::new(BufferedDiscipline::StrictPriority(s.with_common()), QueueState::limit(QueueLen::Packets(buffer)))
}

fn arrive(p: &mut Port, class: u8) -> Verdict {
    p.arrive(packet(1500, class, 0, 0))
}

const FULL: Verdict = Verdict::Drop(DropReason::Overflow);

#[test]
fn even_maps() {
    assert_eq!(even_map(2), [1, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(even_map(4), [3, 3, 2, 2, 1, 1, 0, 0]);
    assert_eq!(even_map(8), [7, 6, 5, 4, 3, 2, 1, 0]);
}

#[test]
fn urgent_first_then_order_of_arrival() {
    let mut p = port(strict(8), 100);
    for class in [0, 7, 3, 7, 0] {
        assert_eq!(arrive(&mut p, class), Verdict::Accept);
    }
    let order: Vec<_> = core::iter::from_fn(|| p.serve()).collect();
    assert_eq!(order, [1, 3, 2, 0, 4]);
}

#[test]
fn overflow_drops_newest_of_lowest_queue() {
    let mut p = port(strict(4), 4);
    for class in [3, 0, 0, 7] {
        assert_eq!(arrive(&mut p, class), Verdict::Accept);
    }
    // The lowest queue holds 1 and 2.
    assert_eq!(arrive(&mut p, 7), Verdict::Accept);
    assert_eq!(p.effects, [Effect::Drop(Handle(2), DropReason::Overflow)]);
    assert_eq!(arrive(&mut p, 0), FULL);
    assert_eq!(p.effects, []);
    assert_eq!(arrive(&mut p, 3), Verdict::Accept);
    assert_eq!(p.effects, [Effect::Drop(Handle(1), DropReason::Overflow)]);
    assert_eq!(arrive(&mut p, 7), Verdict::Accept);
    assert_eq!(p.effects, [Effect::Drop(Handle(6), DropReason::Overflow)]);
    let mut s = strict(4);
    s.tail_drop = true;
    let mut p = port(s, 1);
    assert_eq!((arrive(&mut p, 0), arrive(&mut p, 7)), (Verdict::Accept, FULL));
}

#[test]
fn bytes_evict_enough_packets_or_none() {
    let mut p = Port::new(BufferedDiscipline::StrictPriority(strict(2).with_common()), QueueState::limit(QueueLen::Bytes(3000)));
    p.arrive(packet(1500, 7, 0, 0));
    p.arrive(packet(500, 0, 0, 0));
    p.arrive(packet(1000, 0, 0, 0));
    assert_eq!(p.arrive(packet(1501, 7, 0, 0)), FULL);
    assert_eq!((p.effects.len(), p.backlog.len()), (0, 3));
    assert_eq!(p.arrive(packet(1200, 7, 0, 0)), Verdict::Accept);
    assert_eq!(p.effects.len(), 2);
}

#[test]
fn packet_in_service_counts_and_stays() {
    let mut s = strict(2);
    s.queues[0].limit = Some(QueueState { packets: 2, bytes: u64::MAX });
    s.buffer_of_queue = true;
    let mut p = port(s, 3);
    assert_eq!(arrive(&mut p, 7), Verdict::Accept);
    assert_eq!(p.serve(), Some(0));
    assert_eq!((arrive(&mut p, 7), arrive(&mut p, 7)), (Verdict::Accept, FULL));
    // The ordinary queue has three places of its own.
    for expected in [Verdict::Accept, Verdict::Accept, Verdict::Accept, FULL] {
        assert_eq!(arrive(&mut p, 0), expected);
    }
    assert_eq!(p.serve(), Some(1));
    assert_eq!(p.serve(), Some(3));
    assert_eq!((arrive(&mut p, 0), arrive(&mut p, 7)), (FULL, Verdict::Accept));
    let mut p = port(strict(2), 1);
    arrive(&mut p, 0);
    p.serve();
    assert_eq!(arrive(&mut p, 7), FULL, "the packet in service cannot be evicted");
}

#[test]
fn marks_on_sum_or_own_queue() {
    let mut s = strict(2);
    s.k = QueueState { packets: 2, bytes: u64::MAX };
    let mut p = port(s.clone(), 100);
    for expected in [Verdict::Accept, Verdict::Accept, Verdict::Mark] {
        assert_eq!(arrive(&mut p, 0), expected);
    }
    assert_eq!(arrive(&mut p, 7), Verdict::Mark);
    s.k_of_queue = true;
    let mut p = port(s, 100);
    for expected in [Verdict::Accept, Verdict::Accept, Verdict::Mark] {
        assert_eq!(arrive(&mut p, 0), expected);
    }
    assert_eq!(arrive(&mut p, 7), Verdict::Accept);
}

#[test]
fn queue_threshold_overrides_common_one() {
    let lens = |list: &[u64]| Value::QueueLens(list.iter().map(|n| QueueLen::Packets(*n)).collect());
    let given = [("queues", Value::Int(3)), ("k", Value::QueueLen(QueueLen::Packets(4))), ("ks", lens(&[1, 3]))];
    let queue = build_with(&ENTRY, &given);
    assert!(queue.marks());
    let Queue::Buffered(d) = queue else { panic!("it is buffered") };
    let mut p = Port::new(d, QueueState::limit(QueueLen::Packets(100)));
    // Queue 0 marks from its second packet on, queue 1 from its fourth, and queue 2 by the sum of all.
    let verdicts = [7, 7, 4, 4, 4, 4, 0].map(|class| arrive(&mut p, class));
    use Verdict::{Accept, Mark};
    assert_eq!(verdicts, [Accept, Mark, Accept, Accept, Accept, Mark, Mark]);
    assert!(!build_with(&ENTRY, &[]).marks() && build_with(&ENTRY, &[("ks", lens(&[1]))]).marks());
}

/// All words of seven arrivals of three classes and transmissions: the transmitter takes the oldest packet of the most urgent class that waits.
#[test]
fn exhaustive_words_serve_the_most_urgent() {
    crate::testing::each_sequence(4, 7, |word| {
        let mut p = port(strict(8), 100);
        for letter in word {
            if *letter < 3 {
                assert_eq!(arrive(&mut p, [0, 3, 7][usize::from(*letter)]), Verdict::Accept);
                continue;
            }
            let expected = p.backlog.iter().min_by_key(|q| (7 - q.packet.class, q.handle.0)).map(|q| q.handle.0);
            assert_eq!(p.serve(), expected, "{word:?}");
        }
    });
}
