//! The C cores of the congestion controls (`bpf/`) against those of the simulator with `arithmetic = "linux"`. Both get the same random sequences of
//! ACKs, marks, losses, timeouts, gaps and messages. After every event windows, thresholds, timers and estimates must be identical.
//!
//! `FOREBAY_SEQUENCES=1000000 cargo test -p forebay-kernel --release --test congestion_controls` takes so many sequences of each congestion control; a few thousand otherwise.

#[path = "congestion_controls/pipe.rs"]
mod pipe;
#[path = "congestion_controls/sequence.rs"]
mod sequence;

use forebay_types::Rng;
use pipe::Cores;
use sequence::Sequence;

/// Sequences of each congestion control.
fn sequences() -> u64 {
    match std::env::var("FOREBAY_SEQUENCES") {
        Ok(text) => text.parse().expect("FOREBAY_SEQUENCES is a number"),
        Err(_) => 4_000,
    }
}

/// Runs sequences of `cc` through both, in batches.
fn hold(cc: &'static str) {
    let mut cores = Cores::start();
    let total = sequences();
    let mut done = 0;
    let mut events = 0;
    while done < total {
        let batch: Vec<Sequence> =
            (done..total.min(done + 256)).map(|number| Sequence::run(cc, &mut Rng::stream(7, &[number]), number)).collect();
        done += batch.len() as u64;
        events += cores.compare(&batch);
    }
    // Something has happened.
    assert!(events > 20 * total, "{cc}: {events} events");
}

#[test]
fn newreno_matches_c_core() {
    hold("newreno");
}

#[test]
fn dctcp_matches_c_core() {
    hold("dctcp");
}

#[test]
fn l2dct_matches_c_core() {
    hold("l2dct");
}

#[test]
fn d2tcp_matches_c_core() {
    hold("d2tcp");
}

#[test]
fn trim_matches_c_core() {
    hold("trim");
}

#[test]
fn prin_matches_c_core() {
    hold("prin");
}

/// Sequences of facts that no connection has, around the wrap at 2^32: no window below 1, no state out of bounds, and on an orderly path the
/// connection goes on (`bpf/cores_fuzz_test.c`).
#[test]
fn hostile_events_do_not_stall_connections() {
    let fuzz = pipe::compiled("cores_fuzz_test.c");
    for (number, cc) in ["rns", "dctcp", "l2dct", "d2tcp", "trim", "prin"].iter().enumerate() {
        let args = [number.to_string(), "0".into(), sequences().to_string()];
        let done = std::process::Command::new(&fuzz).args(args).output().expect("it starts");
        assert!(done.status.success(), "{cc}: {} {}", done.status, String::from_utf8_lossy(&done.stderr));
    }
}
