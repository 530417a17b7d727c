//! `forebay-bench run`: one scenario in this process, without writing results. All other measurements start it.

use crate::json::rounded;
use forebay_sim::run::Cores;
use serde_json::json;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// Runs FILE with the overrides, on as many cores as `--cores=N` in front of it allows, and prints a JSON line per variant.
pub(crate) fn execute(args: &[String]) -> Result<(), String> {
    let (cores, args) = match args.split_first() {
        Some((first, rest)) if first.starts_with("--cores=") => {
            let number = first["--cores=".len()..].parse().map_err(|_| format!("run: `{first}` is not a number of cores"))?;
            (Cores::up_to(number), rest)
        }
        _ => (Cores::ONE, args),
    };
    let (file, sets) = args.split_first().ok_or("run: expected a scenario file")?;
    let scenario = forebay_scenario::load(forebay_backends::all(), Path::new(file), sets, None).map_err(|e| e.render())?;
    let resolved = scenario.resolve().map_err(|e| e.render())?;
    for variant in &resolved.variants {
        // Building the network counts too: it is part of a user's time, and small.
        let before = user_seconds();
        let checked = variant.config.check().map_err(|e| e.to_string())?;
        let (clock, mut used_cores) = (Instant::now(), 1);
        let report = forebay_sim::run::run_seeded(checked, variant.config.seed, cores, &mut |p| {
            used_cores = p.cores;
            ControlFlow::Continue(())
        })
        .map_err(|e| e.to_string())?;
        let (used, wall) = (user_seconds() - before, clock.elapsed().as_secs_f64());
        let ports = || report.ports.iter();
        let line = json!({
            "case": resolved.name,
            "variant": variant.label,
            "sim_s": rounded(report.end.as_secs_f64()),
            "pts": report.packet_hops,
            "run_user_s": rounded(used),
            "run_wall_s": rounded(wall),
            "cores": used_cores,
            "mpts_per_s": rounded(report.packet_hops as f64 / used.max(TICK) / 1e6),
            "peak_kb": peak_kb("self").unwrap_or(0),
            "flows": report.flows.len(),
            "peak_connections": report.peak_connections,
            "bytes_acked": report.flows.iter().map(|f| f.bytes_acked).sum::<u64>(),
            "timeouts": report.flows.iter().map(|f| u64::from(f.rtos + f.syn_rtos)).sum::<u64>(),
            "drops": ports().map(|p| p.dropped_overflow + p.dropped_shared + p.dropped_early).sum::<u64>(),
            "marks": ports().map(|p| p.marked).sum::<u64>(),
            "queries": report.queries.len(),
            "fingerprint": format!("{:016x}", report.fingerprint),
        });
        println!("{line}");
    }
    Ok(())
}

/// The kernel counts user time in ticks of 10 ms (USER_HZ is 100 on every Linux).
const TICK: f64 = 0.01;

/// User CPU time of this process so far.
fn user_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The command name in brackets may hold blanks: count the fields behind it.
    let fields = stat.rsplit(')').next().unwrap_or("");
    fields.split_whitespace().nth(11).and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0) * TICK
}

/// Largest resident memory of a process so far.
pub(crate) fn peak_kb(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
