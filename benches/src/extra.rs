//! Measurements without peers: the memory of a hundred thousand open connections, and several runs at a time on one machine.

use crate::json::number;
use crate::measure::{self, Output};
use std::process::Command;
use std::time::{Duration, Instant};

const FLOWS: &str = "benches/scenarios/flows100k.toml";
const SCALE: &str = "benches/scenarios/s2.toml";

/// The numbers.
#[derive(Debug, Clone)]
pub(crate) struct Extra {
    /// Largest number of connections open at the same time.
    pub flows: f64,
    /// Peak memory with them, kB.
    pub flows_kb: f64,
    /// Peak memory of the same network with few, kB.
    pub empty_kb: f64,
    /// Transmissions per user-CPU second with them.
    pub flows_pts: f64,
    /// (runs at a time, transmissions per second of wall time of all, per user-CPU second)
    pub scale: Vec<(usize, f64, f64)>,
}

impl Extra {
    /// Bytes that one connection adds.
    pub(crate) fn bytes_per_flow(&self) -> f64 {
        (self.flows_kb - self.empty_kb) * 1024.0 / self.flows
    }
}

/// Measures both.
pub(crate) fn measure() -> Result<Extra, String> {
    let many = scenario(FLOWS, &[])?;
    let few = scenario(FLOWS, &["workload.0.per-pair=1", "workload.0.to=rack0", "workload.0.from=h0..h1", "duration=2ms"])?;
    let get = |o: &Output, key: &str| number(&o.line, key).ok_or(format!("{FLOWS}: no {key}"));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut steps = vec![1];
    while steps.last().is_some_and(|&n| n < cores) {
        steps.push(steps.last().map_or(1, |n| (n * 2).min(cores)));
    }
    Ok(Extra {
        flows: get(&many, "peak_connections")?,
        flows_kb: get(&many, "peak_kb")?,
        empty_kb: get(&few, "peak_kb")?,
        flows_pts: get(&many, "mpts_per_s")? * 1e6,
        scale: steps.into_iter().map(side_by_side).collect::<Result<_, _>>()?,
    })
}

fn scenario(file: &str, sets: &[&str]) -> Result<Output, String> {
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    measure::child(Command::new(me).arg("run").arg(file).args(sets), Duration::from_secs(600))
}

/// The same scenario `n` times at once: loss by shared caches and memory, gain by cores.
fn side_by_side(n: usize) -> Result<(usize, f64, f64), String> {
    let started = Instant::now();
    let runs: Vec<_> = (0..n).map(|_| std::thread::spawn(|| scenario(SCALE, &[]))).collect();
    let (mut transmissions, mut user) = (0.0, 0.0);
    for run in runs {
        let output = run.join().map_err(|_| "a thread panicked")??;
        transmissions += number(&output.line, "pts").unwrap_or(0.0);
        user += number(&output.line, "run_user_s").unwrap_or(0.0);
    }
    Ok((n, transmissions / started.elapsed().as_secs_f64(), transmissions / user.max(0.01)))
}
