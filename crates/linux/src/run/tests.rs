//! The program's side against a guest without a kernel.

use super::conversation::hello;
use super::*;
use crate::fake_guest::{self, DELAY};
use crate::link::Link;
use crate::testing::{experiment, group};
use forebay_experiment::assign::Assign;
use forebay_experiment::report::EarlyEnd;
use forebay_experiment::traffic::{ReplayFlow, Request, Workload, WorkloadKind};
use forebay_experiment::transport::Profile;
use forebay_experiment::writes::Writes;
use forebay_types::{GroupId, NodeId};
use std::ops::ControlFlow;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

fn with(kind: WorkloadKind) -> Experiment {
    let mut e = experiment(3);
    e.groups = vec![group(Profile::Ns2, "newreno")].into();
    e.workloads =
        vec![Workload { class: "test".into(), transport: Assign::One(GroupId::new(0)), writes: Writes::ONE, listen: None, kind }]
            .into();
    e
}

fn run(e: &Experiment) -> (Report, fake_guest::Seen) {
    let fib = Fib::new(&e.network).unwrap();
    let plan = Plan::new(e);
    let (mut link, guest) = fake_guest::start();
    assert_eq!(hello(&mut link, &plan, e, 7, PATIENCE).unwrap(), "fake");
    let (report, _) = Run::new(e, 7, &fib, &plan).talk(&mut link, PATIENCE, &mut |_| ControlFlow::Continue(())).unwrap();
    (report, guest.join().unwrap())
}

#[test]
fn an_incast_goes_round_by_round() {
    let e = with(WorkloadKind::Incast {
        senders: (0..3).map(NodeId::new).collect(),
        receiver: NodeId::new(3),
        block: 5_000,
        rounds: Some(2),
        start: Time::from_ms(1),
        gap: Time::from_us(50),
        request: Request::OutOfBand(Some(Time::from_us(3))),
        jitter: Time::ZERO,
        deadline: None,
    });
    let (report, seen) = run(&e);
    // A round takes the request, the way there and, before the next one, the pause; the last acknowledgment ends the run.
    let begin = |round: u64| Time::from_ms(1).0 + round * (Time::from_us(3).0 + DELAY + Time::from_us(50).0);
    let ends = |round| begin(round) + Time::from_us(3).0 + DELAY;
    let queries: Vec<_> = report.queries.iter().map(|q| (q.start.0, q.end.ps(), q.fan_in, q.bytes)).collect();
    assert_eq!(queries, [(begin(0), Some(ends(0)), 3, 15_000), (begin(1), Some(ends(1)), 3, 15_000)]);
    assert_eq!(report.end, Time(ends(1) + DELAY));
    assert_eq!(report.flows.len(), 6);
    for (i, f) in report.flows.iter().enumerate() {
        assert_eq!((f.flow_id, f.conn_id), (i as u64, i as u64 % 3));
        assert_eq!(f.start.0, begin(i as u64 / 3) + Time::from_us(3).0);
        assert_eq!((f.end.ps(), f.acked.ps()), (Some(f.start.0 + DELAY), Some(f.start.0 + 2 * DELAY)));
        // The fake sends a message as one packet, of four segments.
        assert_eq!((f.segs_sent, f.segs_retx, f.bytes_acked, f.bytes_measured), (4, 0, 5_000, 5_000));
        assert_eq!((f.rtt_min, f.cwnd_max, f.opens, f.fits), (Time::from_us(200).into(), 10.0, i < 3, false));
    }
    assert_eq!((report.acked.as_slice(), report.peak_connections), (&[30_000][..], 3));
    // A SYN and two messages of each connection; a message passes two ports, of which the second is the switch's.
    assert_eq!(report.packet_hops, 3 + 3 * 2 * 2);
    assert_eq!(report.ports[0].sent_pkts, 6);
    assert!(seen.asks.is_sorted());
    assert!(seen.sysctls.contains(&"0 net/ipv4/tcp_sack=0".to_owned()), "{:?}", seen.sysctls);
    let first = &seen.opens[0];
    assert_eq!((first.forth_len, &first.forth[..2], &first.back[..2]), (2, &[2, 0][..], &[1, 3][..]));
}

#[test]
fn runs_repeat() {
    let flow = |start, src, bytes| {
        let (src, dst) = (NodeId::new(src), NodeId::new(3));
        ReplayFlow { start: Time::from_us(start), src, dst, bytes, deadline: Time::NEVER }
    };
    let e = with(WorkloadKind::Replay { flows: vec![flow(5, 0, 900), flow(5, 1, 9_000), flow(700, 0, 40)], after: Vec::new() });
    let (first, seen) = run(&e);
    let starts: Vec<_> = first.flows.iter().map(|f| (f.start.0, f.end.or_never().0 - f.start.0)).collect();
    // Two ways for the handshake, one for the data.
    assert_eq!(starts, [5, 5, 700].map(|us| (Time::from_us(us).0, 3 * DELAY)));
    assert_eq!(seen.opens.len(), 3);
    let again = run(&e).0;
    assert_eq!((again.fingerprint, again.flows), (first.fingerprint, first.flows));
}

#[test]
fn statistics_start_after_warm_up() {
    let mut e = with(WorkloadKind::Long {
        pairs: vec![(NodeId::new(0), NodeId::new(3)), (NodeId::new(1), NodeId::new(3))].into(),
        size: Some(3_000),
        start: Time::ZERO,
        stagger: Time::from_ms(1),
        jitter: Time::ZERO,
        stop_after: None,
    });
    e.duration = Some(Time::from_ms(5));
    e.observe.warmup = Time::from_us(900);
    let (report, seen) = run(&e);
    assert_eq!((report.end, report.measured_from), (Time::from_ms(5), Time::from_us(900)));
    assert_eq!(report.acked.as_slice(), [3_000]);
    let measured: Vec<_> = report.flows.iter().map(|f| (f.bytes_acked, f.bytes_measured)).collect();
    // The row of the first was complete before the warm-up was over.
    assert_eq!(measured, [(3_000, 0), (3_000, 3_000)]);
    assert_eq!(seen.asks.last(), Some(&Time::from_ms(5).0));
    // A warm-up that ends when nothing moves any more is measured from as well.
    e.observe.warmup = Time::from_ms(4);
    let report = run(&e).0;
    assert_eq!((report.end, report.measured_from, report.acked.as_slice()), (Time::from_ms(5), Time::from_ms(4), &[0][..]));
}

#[test]
fn callback_ends_run() {
    let e = with(WorkloadKind::Long {
        pairs: vec![(NodeId::new(0), NodeId::new(3))].into(),
        size: Some(3_000),
        start: Time::from_secs(1),
        stagger: Time::ZERO,
        jitter: Time::ZERO,
        stop_after: None,
    });
    let fib = Fib::new(&e.network).unwrap();
    let plan = Plan::new(&e);
    let (guest_reads, to_guest) = io::pipe().unwrap();
    let (from_guest, _guest_writes) = io::pipe().unwrap();
    let mut link = Link::new(to_guest, from_guest);
    let mut talk = |cut| Run::new(&e, 7, &fib, &plan).talk(&mut link, PATIENCE, &mut |_| ControlFlow::Break(cut));
    assert!(matches!(talk(EarlyEnd::Discard), Err(Failed::Interrupted)));
    assert!(talk(EarlyEnd::WithReport).unwrap().0.cut);
    drop(guest_reads);
}

#[test]
fn silent_or_ended_guest_fails() {
    let e = with(WorkloadKind::Replay { flows: Vec::new(), after: Vec::new() });
    let (fib, plan) = (Fib::new(&e.network).unwrap(), Plan::new(&e));
    let (_guest_reads, to_guest) = io::pipe().unwrap();
    let (from_guest, guest_writes) = io::pipe().unwrap();
    let mut link = Link::new(to_guest, from_guest);
    let mut talk = || match Run::new(&e, 7, &fib, &plan).talk(&mut link, Duration::ZERO, &mut |_| ControlFlow::Continue(())) {
        Err(Failed::Guest(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(talk(), "no message from the guest for 0 s");
    drop(guest_writes);
    assert_eq!(talk(), "the guest ended before the run did");
}
