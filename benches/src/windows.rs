//! The guard on scale: the cost of an ACK must not grow with the amount of outstanding data.

use crate::callgrind::instructions;
use crate::json::number;
use crate::measure;
use std::process::Command;
use std::time::Duration;

/// A stack for each loss detection with SACK.
const STACKS: [&str; 2] = ["linux", "rfc"];
/// Segments in a window, and connections of the shorter run; the longer one has twice as many.
const WINDOWS: [(u32, u32); 3] = [(10, 1000), (1000, 10), (100_000, 1)];
/// Largest ratio of the most expensive to the cheapest.
const SPREAD: f64 = 1.5;

/// Counts instructions per packet at each window; an error names the growing numbers.
pub(crate) fn check() -> Result<(), String> {
    for stack in STACKS {
        let costs = WINDOWS.iter().map(|w| per_packet(stack, w)).collect::<Result<Vec<f64>, String>>()?;
        let (least, most) = costs.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), &c| (l.min(c), m.max(c)));
        let list: Vec<String> = WINDOWS.iter().zip(&costs).map(|(w, cost)| format!("{cost:.0} at {}", w.0)).collect();
        println!(
            "instruction guard: {stack}, instructions per packet at windows of which every tenth segment is lost: {}",
            list.join(", ")
        );
        if most > SPREAD * least {
            return Err(format!(
                "instruction guard: FAILED, with stack {stack} a packet costs {:.2} times as much at one window as at another, over {SPREAD}.\n\
                 Something walks what is outstanding: `valgrind --tool=callgrind` on `forebay-bench window {stack} 100000 1` shows it.",
                most / least
            ));
        }
    }
    Ok(())
}

/// The difference of two runs, so that reading the scenario cancels.
fn per_packet(stack: &str, &(segments, times): &(u32, u32)) -> Result<f64, String> {
    let run = |times: u32| {
        let me = std::env::current_exe().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
        let line = vec![me, "window".into(), stack.into(), segments.to_string(), times.to_string()];
        let output = measure::child(Command::new(&line[0]).args(&line[1..]), Duration::from_secs(600))?;
        let packets = number(&output.line, "pts").ok_or("no packets")?;
        Ok::<_, String>((instructions(&line)?, packets))
    };
    let (short, long) = (run(times)?, run(2 * times)?);
    Ok((long.0 - short.0) / (long.1 - short.1))
}
