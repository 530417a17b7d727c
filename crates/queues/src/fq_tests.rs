//! Fair queue: turns, the short path, limits (Linux sch_fq).

use super::*;
use crate::testing::{Port, build_with, packet};
use crate::{QueueState, Verdict};
use forebay_types::param::Value;

fn port(sets: &[(&'static str, Value)]) -> Port {
    let Queue::Buffered(mut discipline) = build_with(&ENTRY, sets) else { unreachable!() };
    discipline.apply(Defaults);
    Port::new(discipline, QueueState::UNLIMITED)
}

/// Sets the defaults for full packets of 1500 bytes.
struct Defaults;

impl crate::Operation for Defaults {
    type Output = ();

    fn run(self, discipline: &mut impl Buffered) {
        discipline.set_defaults(8, 1500);
    }
}

/// Flow of the next packet.
fn next_flow(p: &mut Port) -> Option<u64> {
    p.serve()?;
    p.serving.map(|q| q.packet.flow)
}

/// The first eight packets take the short path in order of arrival. Then each connection sends its first quantum of ten packets, and two in each
/// further turn.
#[test]
fn connections_take_turns_by_quantum() {
    let mut p = port(&[]);
    (0..8).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, 1)), Verdict::Accept));
    for flow in [1, 2] {
        (0..20).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, flow)), Verdict::Accept));
    }
    let flows: Vec<u64> = std::iter::from_fn(|| next_flow(&mut p)).collect();
    let turns = |flow: u64, count: usize| std::iter::repeat_n(flow, count);
    let mut expected: Vec<u64> = turns(1, 8 + 10).chain(turns(2, 10)).collect();
    (0..5).for_each(|_| expected.extend(turns(1, 2).chain(turns(2, 2))));
    assert_eq!(flows, expected);
}

/// A burst of 15 segments is one packet for both limits, and all its bytes count for the turn.
#[test]
fn burst_counts_as_one_packet() {
    let mut p = port(&[("flow-limit", Value::Int(2)), ("initial-quantum", Value::Bytes(forebay_types::Bytes(3000)))]);
    (0..8).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, 9)), Verdict::Accept));
    for _ in 0..2 {
        assert_eq!(p.arrive(packet(1500, 0, 0, 1)), Verdict::Accept);
        let handle = p.backlog.last().unwrap().handle;
        (1..15).for_each(|_| assert!(p.discipline.apply(Extend(handle))));
    }
    assert_eq!(p.arrive(packet(1500, 0, 0, 1)), Verdict::Drop(DropReason::Overflow));
    (0..2).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, 2)), Verdict::Accept));
    (0..8).for_each(|_| assert_eq!(next_flow(&mut p), Some(9)));
    // The burst of 22 500 B overdraws the 3000 B by 19 500 B: 2 sends both of its packets, which are its whole turn.
    let flows: Vec<u64> = std::iter::from_fn(|| next_flow(&mut p)).collect();
    assert_eq!(flows, [1, 2, 2, 1]);
}

/// Adds a segment to a burst.
struct Extend(Handle);

impl crate::Operation for Extend {
    type Output = bool;

    fn run(self, discipline: &mut impl Buffered) -> bool {
        discipline.extend(self.0, 1500)
    }
}

/// The quantum of a connection is not renewed by leaving the lists for a moment, but after 40 ms a turn is due, and after 3 s a first one.
#[test]
fn credit_returns_after_a_pause() {
    for (pause, packets) in [(Time::from_ms(1), 1), (Time::from_ms(41), 2)] {
        let mut p = port(&[]);
        let fill = |p: &mut Port, counts: &[usize]| {
            // Flow 9 fills the short path; the others take turns.
            (0..8).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, 9)), Verdict::Accept));
            for (flow, count) in (1..).zip(counts) {
                (0..*count).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, flow)), Verdict::Accept));
            }
            std::iter::from_fn(|| next_flow(p)).skip(8).collect::<Vec<u64>>()
        };
        // 9 of the 10 packets of the first quantum: credit for one remains. The turns of the empty queues before the last packet of flow 3 detach them;
        // the kernel does not look at any queue once all are empty.
        assert_eq!(fill(&mut p, &[9, 9, 11]).len(), 29);
        p.now += pause;
        let flows = fill(&mut p, &[4, 4]);
        assert_eq!(flows.iter().take_while(|&&f| f == 1).count(), packets, "{flows:?}");
    }
}

#[test]
fn total_limit_drops_arrivals() {
    let mut p = port(&[("limit", Value::Int(5))]);
    // The short path does not count (`band_pkt_count`).
    (0..13).for_each(|i| assert_eq!(p.arrive(packet(1500, 0, 0, i)), Verdict::Accept));
    assert_eq!(p.arrive(packet(1500, 0, 0, 99)), Verdict::Drop(DropReason::Overflow));
}

/// A packet that was held returns behind the other old connections (fq_flow_unset_throttled), and not on the short path (fq_fastpath_check), even if
/// nothing waits.
#[test]
fn released_packets_go_behind_others() {
    let mut p = port(&[]);
    let released = |flow: u64| packet(1500, 0, 0, flow | Arrival::RELEASED);
    p.discipline.apply(Hold(1, Time(1)));
    assert_eq!(next_flow(&mut p), None, "its turn comes too early");
    assert_eq!(p.arrive(released(1)), Verdict::Accept);
    (0..14).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, 2)), Verdict::Accept));
    // The second connection sends its first quantum in the first band, and is an old one behind connection 1 in the second band then. Connection 3 is
    // new. Its turn does not come before its packet is released, so that it stays in the first band, whose turn comes at the end.
    let serve = |p: &mut Port| next_flow(p).unwrap() & !Arrival::RELEASED;
    let mut flows: Vec<u64> = (0..11).map(|_| serve(&mut p)).collect();
    p.discipline.apply(Hold(3, Time(1)));
    flows.push(serve(&mut p));
    assert_eq!(p.arrive(released(3)), Verdict::Accept);
    flows.extend(std::iter::from_fn(|| next_flow(&mut p)).map(|flow| flow & !Arrival::RELEASED));
    let expected: Vec<u64> = std::iter::repeat_n(2, 10).chain([1, 2, 2, 2, 2, 3]).collect();
    assert_eq!(flows, expected);
}

/// Notes that the sender of a flow holds a packet.
struct Hold(u64, Time);

impl crate::Operation for Hold {
    type Output = ();

    fn run(self, discipline: &mut impl Buffered) {
        discipline.hold(self.0, self.1);
    }
}

/// A held packet keeps the short path closed (fq_fastpath_check) until its connection's turn comes, which is too early for it. Then it returns behind
/// the others. If its turn comes after its departure time, it has the place of its announcement.
#[test]
fn announced_packets_keep_their_place() {
    for early_turn in [true, false] {
        let mut p = port(&[]);
        p.discipline.apply(Hold(1, Time(1)));
        (0..2).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, 2)), Verdict::Accept));
        let mut flows = Vec::new();
        if early_turn {
            flows.extend(next_flow(&mut p));
        }
        assert_eq!(p.arrive(packet(1500, 0, 0, 1 | Arrival::RELEASED)), Verdict::Accept);
        flows.extend(std::iter::from_fn(|| next_flow(&mut p)).map(|flow| flow & !Arrival::RELEASED));
        assert_eq!(flows, if early_turn { [2, 2, 1] } else { [1, 2, 2] });
    }
}

/// SYN-ACKs whose hashes have the same lowest bits are one flow, and not that of their connection (fq_classify). The second one waits for the next
/// turn, and data of its connection does not.
#[test]
fn syn_acks_share_flow_by_hash() {
    let mut p = port(&[("initial-quantum", Value::Bytes(forebay_types::Bytes(60)))]);
    let mut seen = std::collections::BTreeMap::new();
    let pair = |flow: u64| seen.insert((mix(flow) >> 32) % ORPHANS, flow).map(|earlier| (earlier, flow));
    let (first, second) = (1..).find_map(pair).unwrap();
    (0..8).for_each(|_| assert_eq!(p.arrive(packet(1500, 0, 0, 9)), Verdict::Accept));
    for flow in [first | Arrival::ORPHAN, second | Arrival::ORPHAN, second] {
        assert_eq!(p.arrive(packet(60, 0, 0, flow)), Verdict::Accept);
    }
    let flows: Vec<u64> = std::iter::from_fn(|| next_flow(&mut p)).skip(8).collect();
    assert_eq!(flows, [first | Arrival::ORPHAN, second, second | Arrival::ORPHAN]);
}

/// Connections of one bucket, whose search removes idle ones.
fn of_one_bucket(count: usize) -> Vec<u64> {
    (100..).filter(|id| Fq::bucket(*id) == 7).take(count).collect()
}

/// A search removes at most eight connections that have been idle for more than 3 s (`FQ_GC_AGE`, `FQ_GC_MAX`). Their places are used again, and the
/// remaining ones keep their credit.
#[test]
fn idle_connections_are_forgotten() {
    let ids = of_one_bucket(14);
    let detach = |fq: &mut Fq, id: u64, at: Time| {
        let index = fq.classify(id, at);
        fq.flows[index as usize].place = Place::Detached(at);
        index
    };
    let new = || {
        let Queue::Buffered(BufferedDiscipline::Fq(fq)) = build_with(&ENTRY, &[]) else { unreachable!() };
        *fq
    };
    let listed = |fq: &Fq| {
        let mut at = fq.buckets[7];
        let mut ids = Vec::new();
        while let Some(flow) = fq.flows.get(at as usize) {
            ids.push(flow.id);
            at = flow.next;
        }
        ids
    };
    let age = |ms: u64| Time::from_ms(1000 + ms);
    // After exactly 3 s none is removed.
    let mut fq = new();
    ids[..12].iter().for_each(|id| _ = detach(&mut fq, *id, Time::from_ms(1000)));
    assert_eq!(fq.find(ids[12], age(3000)), None);
    assert_eq!(listed(&fq), ids[..12].iter().rev().copied().collect::<Vec<_>>());
    // A moment later the eight that are first in the list go.
    assert_eq!(fq.find(ids[12], age(3001)), None);
    assert_eq!(listed(&fq), [ids[3], ids[2], ids[1], ids[0]]);
    // A connection behind the search's end stays, and so do those in the lists.
    let kept = fq.find(ids[3], age(9000));
    assert!(kept.is_some());
    assert_eq!(listed(&fq).len(), 4);
    let busy = fq.find(ids[2], age(3001)).unwrap();
    assert_eq!(listed(&fq), [ids[2], ids[1], ids[0]], "the one before it was removed");
    fq.flows[busy as usize].place = Place::Listed;
    // Nine places are free: the last removed one is used first.
    let places = fq.flows.len();
    let mut used: Vec<u32> = (0..9).map(|i| fq.classify(1_000_000 + i, age(3001))).collect();
    assert_eq!(fq.flows.len(), places, "no place is added");
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 9, "each place is used once");
    fq.classify(2_000_000, age(3001));
    assert_eq!(fq.flows.len(), places + 1);
    // Removal from the middle: the busy one is before them.
    assert_eq!(fq.find(ids[12], age(3001)), None);
    assert_eq!(listed(&fq), [ids[2]]);
}
