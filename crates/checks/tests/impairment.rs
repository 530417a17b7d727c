//! Window inheritance on persistent connections: the impairment that the TRIM publication starts from, under Reno.

use forebay_checks::{IMPAIRMENT, Outcome, one};

/// Timeouts of the long train, and window before it, by connection.
fn trains(o: &Outcome) -> Vec<(u32, f64)> {
    (0..5)
        .map(|conn| {
            let rtos = o.report.flows.iter().filter(|f| f.conn_id == conn).map(|f| f.rtos).sum();
            let before = o.report.tcp.iter().rfind(|r| r.conn_id == conn && r.time_ps < 500_000_000_000);
            (rtos, before.map_or(0.0, |r| r.cwnd))
        })
        .collect()
}

/// Windows near the number of segments sent so far (200 responses of 2 to 10 KB: 900 to 920 on average), far above the 118 packets
/// that pipe and buffer hold; the first connection gets through, the others stall for one or two timeouts.
fn check(o: &Outcome, first_rtos: u32) {
    let trains = trains(o);
    println!("{trains:?} drops {}", o.drops());
    for (rtos, window) in &trains {
        assert!((820.0..1000.0).contains(window) && *rtos <= 2, "{trains:?}");
    }
    assert_eq!(trains[0].0, first_rtos, "{trains:?}");
    assert!(trains[1..].iter().all(|t| t.0 >= 1) && trains.iter().map(|t| t.0).sum::<u32>() >= 6, "{trains:?}");
}

#[test]
fn reno_inherits_a_window_of_hundreds_and_times_out() {
    // The pattern of the publication, 0, 1, 2, 2, 2, in a run without processing jitter, as its quick check was.
    let o = one(IMPAIRMENT, &["transport.send-jitter=0s"]);
    check(&o, 0);
    assert_eq!(trains(&o).iter().map(|t| t.0).collect::<Vec<_>>(), [0, 1, 2, 2, 2]);
    for seed in 1..=6 {
        check(&one(IMPAIRMENT, &[&format!("seed={seed}")]), 0);
    }
}

#[test]
fn a_short_timeout_does_not_remove_the_cause() {
    let o = one(IMPAIRMENT, &["transport.rto-min=1ms", "workload.0.last-size=256KB"]);
    check(&o, 0);
    assert_eq!(trains(&o).iter().map(|t| t.0).collect::<Vec<_>>(), [0, 2, 2, 2, 2]);
}

#[test]
fn dctcp_sees_the_marks_too_late() {
    let queue = "topology.bottleneck.queue={ kind = \"dctcp-step\", k = \"20pkt\" }";
    let o = one(IMPAIRMENT, &["transport.cc=dctcp", queue, "workload.0.last-size=256KB"]);
    check(&o, 0);
    assert_eq!(trains(&o).iter().map(|t| t.0).collect::<Vec<_>>(), [0, 2, 2, 2, 2]);
}
