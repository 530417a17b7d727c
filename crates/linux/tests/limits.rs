//! Limits of senders, from the counters of the kernel (`tcpi_rwnd_limited`, `tcpi_sndbuf_limited`).

use crate::guest::{experiment, kernel, run_in};
use forebay_linux::world::Linux;
use forebay_sim::world::Simulator;

/// Parts of its time in which the receive window and the send buffer limited the only flow.
fn limits(report: &forebay_experiment::report::Report) -> (f64, f64) {
    let f = &report.flows[0];
    let part = |time: forebay_types::TimeOrNever| time.ps().expect("counted") as f64 / (report.end.0 - f.start.0) as f64;
    (part(f.rwnd_limited), part(f.sndbuf_limited))
}

#[test]
fn receive_window_limits_as_in_simulator() {
    if !kernel() {
        return;
    }
    // The path holds 850 KB, and its queue 150 KB more.
    for (window, limited) in [("200KB", true), ("40MB", false)] {
        let e = experiment(&format!(
            "duration = \"2s\"\n[topology]\nkind = \"dumbbell\"\nleft = 1\naccess = {{ rate = \"10Gbps\", delay = \"1ms\" }}\n\
             bottleneck = {{ rate = \"100Mbps\", delay = \"33ms\", buffer = \"100pkt\" }}\n[transport]\nhost = \"bare\"\ncc = \"cubic\"\n\
             rcv-wnd = \"{window}\"\n[[workload]]\nkind = \"long\"\n"
        ));
        let (kernel, simulator) = (limits(&run_in(&Linux, &e)), limits(&run_in(&Simulator, &e)));
        assert!((kernel.0 - simulator.0).abs() < 0.1, "{window}: {kernel:?} {simulator:?}");
        assert_eq!(kernel.0 > 0.5, limited, "{window}: {kernel:?}");
    }
}
