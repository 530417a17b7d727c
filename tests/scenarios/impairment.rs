//! Window inheritance on persistent connections under Reno: the motivation of the TRIM publication.

#![expect(clippy::print_stdout, reason = "what was measured, for `--nocapture`")]

use forebay_tests::{IMPAIRMENT, Outcome, one};

/// For a connection: timeouts of the long train, window before it, and segments of its 200 responses.
fn trains(o: &Outcome) -> Vec<(u32, f64, f64)> {
    const AT: u64 = 500_000_000_000;
    (0..5)
        .map(|conn| {
            let own = || o.report.flows.iter().filter(|f| f.conn_id == conn);
            let rtos = own().map(|f| f.rtos).sum();
            let before = o.report.tcp.iter().rfind(|r| r.conn_id == conn && r.time_ps < AT);
            let segments: u64 = own().filter(|f| f.start.0 < AT).map(|f| f.segs_sent).sum();
            (rtos, before.map_or(0.0, |r| r.cwnd), segments as f64)
        })
        .collect()
}

/// The window is two segments plus one for each segment sent so far (200 responses of 2 to 10 KB: 900 to 920 on average), far above the 118 packets
/// of pipe and buffer. At most one connection avoids a timeout, depending on ties at the full queue. The others stall for one or two timeouts, with
/// `fewest` to 10 in all.
fn check(sets: &[&str], fewest: u32) -> Vec<u32> {
    // The window at every ACK, not every 10 ms, so that the last one before the train is the start window.
    let o = one(IMPAIRMENT, &[&["observe.tcp={ flows = [0, 1, 2, 3, 4], every = \"ack\" }"], sets].concat());
    let trains = trains(&o);
    println!("{sets:?}: {trains:?} drops {}", o.drops());
    for (rtos, window, segments) in &trains {
        assert!(*window == 2.0 + segments && *rtos <= 2, "{trains:?}");
    }
    let mut rtos: Vec<u32> = trains.iter().map(|t| t.0).collect();
    rtos.sort_unstable();
    assert!(rtos[1] >= 1 && rtos.iter().sum::<u32>() >= fewest, "{trains:?}");
    rtos
}

#[test]
fn reno_inherited_window_times_out() {
    // The publication has 0, 1, 2, 2, 2.
    let all: Vec<Vec<u32>> = (1..=10).map(|seed| check(&[&format!("seed={seed}")], 6)).collect();
    assert!(all.iter().filter(|r| r[0] == 0).count() >= 8, "mostly one gets through: {all:?}");
}

#[test]
fn short_timeout_keeps_losses() {
    for seed in 1..=4 {
        check(&["transport.rto-min=1ms", "workload.0.last-size=256KB", &format!("seed={seed}")], 8);
    }
}

#[test]
fn dctcp_marks_come_too_late() {
    let queue = "topology.bottleneck.queue={ kind = \"dctcp-step\", k = \"20pkt\" }";
    for seed in 1..=4 {
        check(&["transport.cc=dctcp", queue, "workload.0.last-size=256KB", &format!("seed={seed}")], 8);
    }
}
