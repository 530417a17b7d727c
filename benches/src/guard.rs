//! The guard against regressions of speed: instructions and misses of the cache per packet-hop of short runs, against a baseline in the repository.

use crate::callgrind::{self, Count};
use crate::cases::{CASES, Case};
use crate::peers::Engine;
use crate::windows;
use std::fmt::Write;

const BASELINE: &str = "benches/instructions.csv";
const HEADER: &str = "case,short,long,hops,instructions_per_hop,misses_per_hop";
/// Cases that only the benchmark runs: callgrind would take minutes.
const UNGUARDED: [&str; 1] = ["k32"];
/// Tolerance above the baseline. Compilers differ by a few percent.
const TOLERANCE: f64 = 0.10;
/// The same for misses, which depend on addresses of the allocator, and an amount for each hop that does not count.
const TOLERANCE_OF_MISSES: f64 = 0.15;
const NOTHING: f64 = 0.5;

/// Compares with the baseline, or writes it with `--update`.
pub(crate) fn execute(args: &[String]) -> Result<(), String> {
    let update = match args {
        [] => false,
        [one] if one == "--update" => true,
        _ => return Err("guard: the only option is --update".into()),
    };
    if let Err(why) = callgrind::available() {
        if update {
            return Err(why);
        }
        forebay_platform::doctor::requirements::skip("valgrind", &format!("instructions are not counted: {why}"));
        return Ok(());
    }
    let cases: Vec<&Case> = CASES.iter().filter(|c| !UNGUARDED.contains(&c.name)).collect();
    let counts: Vec<Count> = cases.iter().map(|c| callgrind::count(Engine::Forebay, c, true)).collect::<Result<_, _>>()?;
    if update {
        let mut text = format!("{HEADER}\n");
        for (case, count) in cases.iter().zip(&counts) {
            let Count { hops, per_hop, misses } = count;
            let _ = writeln!(text, "{},{},{},{hops:.0},{per_hop:.1},{misses:.2}", case.name, case.short, case.long);
        }
        std::fs::write(BASELINE, &text).map_err(|e| format!("{BASELINE}: {e}"))?;
        print!("{text}");
        return Ok(());
    }
    let baseline = std::fs::read_to_string(BASELINE).map_err(|e| format!("{BASELINE}: {e}"))?;
    compare(&cases, &counts, &baseline)?;
    windows::check()
}

/// Prints a line per case; an error names the failures and the remedy.
fn compare(cases: &[&Case], counts: &[Count], baseline: &str) -> Result<(), String> {
    let (mut failed, mut faster) = (Vec::new(), false);
    for (case, count) in cases.iter().zip(counts) {
        let row = baseline.lines().map(|l| l.split(',').collect::<Vec<_>>()).find(|f| f.first() == Some(&case.name));
        let number = |field: usize| row.as_ref().and_then(|f| f.get(field)?.trim().parse::<f64>().ok());
        let (Some(known), Some(known_misses)) = (number(4).filter(|k| *k > 0.0), number(5)) else {
            return Err(format!("{BASELINE} has no count for {}: run `make bench-baseline` and commit the file", case.name));
        };
        let change = count.per_hop / known - 1.0;
        println!(
            "instruction guard: {:<8} {:6.1} per packet-hop, baseline {known:.1} ({:+.1} %), {:.2} misses, baseline {known_misses:.2}, over {:.0} hops",
            case.name,
            count.per_hop,
            change * 100.0,
            count.misses,
            count.hops
        );
        if change > TOLERANCE {
            failed.push(format!("{} took over {:.0} % more instructions", case.name, TOLERANCE * 100.0));
        }
        if count.misses > known_misses * (1.0 + TOLERANCE_OF_MISSES) + NOTHING {
            failed.push(format!("{} missed the cache over {:.0} % more often", case.name, TOLERANCE_OF_MISSES * 100.0));
        }
        faster |= change < -TOLERANCE;
    }
    if !failed.is_empty() {
        return Err(format!(
            "instruction guard: FAILED, {} per packet-hop than the baseline.\n\
             If that is the price of something worth it, regenerate the baseline with `make bench-baseline`, commit {BASELINE}\n\
             and say in the message what it bought. `valgrind --tool=callgrind` on `forebay-bench run` shows where they went.",
            failed.join(", ")
        ));
    }
    if faster {
        println!("instruction guard: faster than the baseline; keep the gain with `make bench-baseline`");
    }
    println!("instruction guard: {} passed, 0 failed", counts.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(per_hop: f64, misses: f64) -> Result<(), String> {
        let baseline = format!("{HEADER}\ns1,a,b,1000,200.0,4.00\n");
        compare(&[&CASES[0]], &[Count { hops: 1000.0, per_hop, misses }], &baseline)
    }

    #[test]
    fn ten_percent_more_fails() {
        assert!(verdict(150.0, 1.0).is_ok());
        assert!(verdict(219.0, 4.0).is_ok());
        assert!(verdict(221.0, 4.0).unwrap_err().contains("make bench-baseline"));
    }

    #[test]
    fn more_misses_fail_unless_few() {
        assert!(verdict(200.0, 5.09).is_ok());
        assert!(verdict(200.0, 5.11).unwrap_err().contains("s1 missed the cache"));
    }

    #[test]
    fn a_case_without_baseline_fails() {
        assert!(compare(&[&CASES[1]], &[Count { hops: 1.0, per_hop: 1.0, misses: 0.0 }], HEADER).is_err());
    }
}
