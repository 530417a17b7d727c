//! Long trains on inherited windows, beside stock ns-2 given the same messages (`benches/peers/ns2/agree.tcl`).

use forebay_tests::band::{Bands, JITTER};
use forebay_tests::{IMPAIRMENT, Outcome, one};

/// Timeouts of each connection, and the arrival time of the last train, in seconds after their start at 0.5 s.
fn trains(o: &Outcome) -> (Vec<u32>, f64) {
    let rtos = |conn| o.report.flows.iter().filter(|f| f.conn_id == conn).map(|f| f.rtos).sum();
    let end = o.report.flows.iter().map(|f| f.end.ps().expect("delivered")).max().unwrap();
    ((0..5).map(rtos).collect(), end as f64 * 1e-12 - 0.5)
}

/// ns-2 with the same responses at the same times: 0, 2, 2, 2, 2 timeouts with 256 KB, and the end after 0.61 s. With 512 KB: 11 or 12 timeouts and
/// 1.42 s, which is three consecutive timeouts of one connection: 200, 400 and 800 ms. Later losses are not repeated losses of the first data.
#[test]
fn inherited_windows_time_out_like_ns2() {
    let mut bands = Bands::default();
    for jitter in JITTER {
        for seed in 1..=6 {
            let run = |size: &str| {
                let sets = [format!("seed={seed}"), format!("workload.0.last-size={size}"), "duration=8s".into()];
                trains(&one(IMPAIRMENT, &[jitter, &sets.each_ref().map(String::as_str)].concat()))
            };
            let what = format!("five trains, seed {seed}, {jitter:?}");
            let (rtos, end) = run("256KB");
            bands.hold(format!("{what}: timeouts {rtos:?}"), f64::from(rtos.iter().sum::<u32>()), 6.0..=10.0);
            bands.hold(format!("{what}: connections without"), rtos.iter().filter(|&&n| n == 0).count() as f64, 1.0..=1.0);
            bands.hold(format!("{what}: end, 256 KB"), end, 0.4..=0.9);
            let (rtos, end) = run("512KB");
            bands.hold(format!("{what}: end, 512 KB {rtos:?}"), end, 0.9..=2.0);
        }
    }
    bands.judge();
}
