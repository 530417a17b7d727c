//! Window inheritance on persistent connections: the impairment that the TRIM publication starts from, under Reno.

use forebay_checks::{IMPAIRMENT, Outcome, one};

/// Of a connection: timeouts of the long train, window before it, and segments that its 200 responses were.
fn trains(o: &Outcome) -> Vec<(u32, f64, f64)> {
    const AT: u64 = 500_000_000_000;
    (0..5)
        .map(|conn| {
            let own = || o.report.flows.iter().filter(|f| f.conn_id == conn);
            let rtos = own().map(|f| f.rtos).sum();
            let before = o.report.tcp.iter().rfind(|r| r.conn_id == conn && r.time_ps < AT);
            let segments: u64 = own().filter(|f| f.start_ps < AT).map(|f| f.segs_sent).sum();
            (rtos, before.map_or(0.0, |r| r.cwnd), segments as f64)
        })
        .collect()
}

/// A window of two and one for each segment sent so far (200 responses of 2 to 10 KB: 900 to 920 on average), far above the 118 packets
/// that pipe and buffer hold; the first connection gets through, the others stall for one or two timeouts.
fn check(o: &Outcome, first_rtos: u32) {
    let trains = trains(o);
    println!("{trains:?} drops {}", o.drops());
    for (rtos, window, segments) in &trains {
        assert!(*window == 2.0 + segments && *rtos <= 2, "{trains:?}");
    }
    assert_eq!(trains[0].0, first_rtos, "{trains:?}");
    assert!(trains[1..].iter().all(|t| t.0 >= 1) && trains.iter().map(|t| t.0).sum::<u32>() >= 6, "{trains:?}");
}

/// The window at every ACK, and not every 10 ms, so that the last one before the train is the one it starts with.
fn every_ack(sets: &[&str]) -> Outcome {
    one(IMPAIRMENT, &[&["observe.tcp={ flows = [0, 1, 2, 3, 4], every = \"ack\" }"], sets].concat())
}

#[test]
fn reno_inherits_a_window_of_hundreds_and_times_out() {
    // The pattern of the publication, 0, 1, 2, 2, 2, in a run without processing jitter, as its quick check was.
    let o = every_ack(&["transport.send-jitter=0s"]);
    check(&o, 0);
    assert_eq!(trains(&o).iter().map(|t| t.0).collect::<Vec<_>>(), [0, 1, 2, 2, 2]);
    for seed in 1..=6 {
        check(&every_ack(&[&format!("seed={seed}")]), 0);
    }
}

#[test]
fn a_short_timeout_does_not_remove_the_cause() {
    let o = every_ack(&["transport.rto-min=1ms", "workload.0.last-size=256KB"]);
    check(&o, 0);
    assert_eq!(trains(&o).iter().map(|t| t.0).collect::<Vec<_>>(), [0, 2, 2, 2, 2]);
}

#[test]
fn dctcp_sees_the_marks_too_late() {
    let queue = "topology.bottleneck.queue={ kind = \"dctcp-step\", k = \"20pkt\" }";
    let o = every_ack(&["transport.cc=dctcp", queue, "workload.0.last-size=256KB"]);
    check(&o, 0);
    assert_eq!(trains(&o).iter().map(|t| t.0).collect::<Vec<_>>(), [0, 2, 2, 2, 2]);
}
