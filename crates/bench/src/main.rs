//! Runs one scenario without writing results and prints packet transmissions, user time and memory: the measuring end of `make bench`.

use std::ops::ControlFlow;
use std::path::Path;

fn user_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or("");
    after.split_whitespace().nth(11).and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0) / 100.0
}

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_else(|| "benches/scenarios/s1.toml".into());
    let sets: Vec<String> = args.collect();
    let resolved = match forebay_scenario::load(Path::new(&file), &sets, None).and_then(|s| s.resolve()) {
        Ok(r) => r,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2);
        }
    };
    for v in &resolved.variants {
        let before = user_seconds();
        match forebay_sim::run::run(&v.config, &mut |_| ControlFlow::Continue(())) {
            Ok(r) => {
                let used = user_seconds() - before;
                let rtos: u64 = r.flows.iter().map(|f| u64::from(f.rtos)).sum();
                let drops: u64 = r.ports.iter().map(|p| p.dropped_overflow + p.dropped_shared + p.dropped_early).sum();
                let marks: u64 = r.ports.iter().map(|p| p.marked).sum();
                let acked: u64 = r.flows.iter().map(|f| f.bytes_acked).sum();
                println!(
                    "{{\"case\":\"{}\",\"cc\":\"{}\",\"pts\":{},\"user_s\":{used:.2},\"mpts\":{:.2},\"flows\":{},\"acked\":{acked},\"rtos\":{rtos},\"drops\":{drops},\"marks\":{marks},\"sim_s\":{},\"fingerprint\":\"{:016x}\"}}",
                    resolved.name,
                    v.label,
                    r.packet_hops,
                    r.packet_hops as f64 / used.max(0.01) / 1e6,
                    r.flows.len(),
                    r.end.as_secs_f64(),
                    r.fingerprint
                );
                for p in r.ports.iter().filter(|p| p.queue_percentiles.is_some()).take(3) {
                    eprintln!(
                        "{} mean {:.2} max {} pct {:?} busy {:.4}",
                        v.port_names[p.port as usize], p.queue_mean_pkts, p.queue_max_pkts, p.queue_percentiles, p.busy
                    );
                }
            }
            Err(e) => eprintln!("{e}"),
        }
    }
}
