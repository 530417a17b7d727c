//! Metrics in the text format of Prometheus, for the textfile collector of its node exporter.

use crate::Error;
use crate::sample::quantile;
use crate::status::Status;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The text: connections, their windows and round trips, and every counter and parameter of each attachment.
pub fn text(all: &[Status]) -> String {
    let mut out = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, values: Vec<(String, f64)>| {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(out, "{name}{{{labels}}} {value}");
        }
    };
    let label = |s: &Status| format!("name=\"{}\",program=\"{}\"", s.name, s.program);
    let each = |f: &dyn Fn(&Status) -> f64| all.iter().map(|s| (label(s), f(s))).collect::<Vec<_>>();
    let sorted = |s: &Status, f: fn(&crate::inet_diag::Info) -> u32| {
        let mut v: Vec<u32> = s.sockets.iter().map(|s| f(&s.info)).collect();
        v.sort_unstable();
        v
    };
    let quantiles = |f: fn(&crate::inet_diag::Info) -> u32, unit: f64| {
        let of = |s: &Status, q: f64| (format!("{},quantile=\"{q}\"", label(s)), f64::from(quantile(&sorted(s, f), q)) * unit);
        all.iter().flat_map(|s| [0.5, 0.9, 0.99].map(|q| of(s, q))).collect::<Vec<_>>()
    };
    metric("forebay_sockets", "gauge", "Connections that use it.", each(&|s| s.sockets.len() as f64));
    metric("forebay_cwnd_segments", "gauge", "Congestion windows of its connections.", quantiles(|i| i.cwnd, 1.0));
    metric("forebay_rtt_seconds", "gauge", "Smoothed round trips of its connections.", quantiles(|i| i.rtt_us, 1e-6));
    let numbers = |f: &dyn Fn(&Status) -> Vec<(String, u64)>, key: &str| {
        let of =
            |s: &Status| f(s).into_iter().map(|(n, v)| (format!("{},{key}=\"{n}\"", label(s)), v as f64)).collect::<Vec<_>>();
        all.iter().flat_map(of).collect::<Vec<_>>()
    };
    let counters = |s: &Status| s.counters.as_ref().map(Clone::clone).unwrap_or_default();
    metric("forebay_events_total", "counter", "What the program has counted.", numbers(&counters, "event"));
    let params = |s: &Status| s.params.as_ref().map(Clone::clone).unwrap_or_default();
    metric("forebay_parameter", "gauge", "Parameters of the program.", numbers(&params, "parameter"));
    out
}

/// Writes it in one piece, so that a collector never reads half of it.
pub fn write(path: &Path, all: &[Status]) -> Result<(), Error> {
    let new = path.with_extension("forebay-new");
    fs::write(&new, text(all)).and_then(|()| fs::rename(&new, path)).map_err(|e| Error::io(path.display(), &e))
}
