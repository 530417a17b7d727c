//! Instructions and misses of the cache per packet-hop: the same on a busy and on an idle machine, unlike seconds.

use crate::cases::Case;
use crate::measure;
use crate::peers::{self, Engine, Length};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A count, and the work it belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Count {
    /// Packet transmissions between the two run lengths.
    pub hops: f64,
    /// Instructions for each.
    pub per_hop: f64,
    /// Misses of a first-level data cache for each.
    pub misses: f64,
}

/// Checks that valgrind works.
pub(crate) fn available() -> Result<(), String> {
    let probe =
        Command::new("valgrind").args(["--tool=none", "-q", "true"]).stdout(Stdio::null()).stderr(Stdio::piped()).output();
    match probe {
        Ok(o) if o.status.success() => Ok(()),
        Ok(o) => {
            let log = String::from_utf8_lossy(&o.stderr);
            Err(format!("valgrind does not work here: {}", log.lines().find(|l| !l.trim().is_empty()).unwrap_or("no message")))
        }
        Err(_) => Err("no valgrind here (Debian, Ubuntu: apt install valgrind)".into()),
    }
}

/// Cache for the counts, regardless of the machine that runs them: 48 KB in 12 ways of 64-byte lines, as in current server processors.
const CACHE: [&str; 4] = ["--cache-sim=yes", "--D1=49152,12,64", "--I1=32768,8,64", "--LL=2097152,16,64"];

/// Counts of one run.
#[derive(Clone, Copy)]
struct Collected {
    instructions: f64,
    misses: f64,
}

/// Counts a case: the difference of two run lengths, so that set-up and slow start cancel. Misses are 0 unless they are requested: they take twice
/// the time.
pub(crate) fn count(engine: Engine, case: &Case, misses: bool) -> Result<Count, String> {
    let of = |length| collected(&peers::command(engine, case, length, false), misses);
    let (long, short) = (of(Length::Long)?, of(Length::Short)?);
    let hops = peers::transmissions(engine, case, Length::Long)? - peers::transmissions(engine, case, Length::Short)?;
    if hops <= 0.0 {
        return Err("the longer run does no more work than the shorter one".into());
    }
    let each = |long: f64, short: f64| (long - short) / hops;
    Ok(Count { hops, per_hop: each(long.instructions, short.instructions), misses: each(long.misses, short.misses) })
}

/// Instructions that a command takes from start to end.
pub(crate) fn instructions(line: &[String]) -> Result<f64, String> {
    collected(line, false).map(|c| c.instructions)
}

fn collected(line: &[String], misses: bool) -> Result<Collected, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).args(CACHE.iter().filter(|_| misses)).args(line);
    let output = measure::child(&mut command, Duration::from_secs(900))?;
    let total = output.stderr.lines().rev().find_map(|l| l.split_once("Collected :"));
    let numbers: Vec<f64> = total.map_or(Vec::new(), |(_, n)| n.split_whitespace().filter_map(|n| n.parse().ok()).collect());
    // In the order of its events: Ir, or Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw.
    match numbers[..] {
        [instructions] if !misses => Ok(Collected { instructions, misses: 0.0 }),
        [instructions, _, _, _, reads, writes, ..] if misses => Ok(Collected { instructions, misses: reads + writes }),
        _ => Err("callgrind printed no count".into()),
    }
}
