//! Instructions per packet-hop: the same on a busy and on an idle machine, unlike seconds.

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
}

/// Whether valgrind is here and works; the reason if not.
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

/// Counts a case: the difference of two run lengths, so that set-up and slow start cancel.
pub(crate) fn count(engine: Engine, case: &Case) -> Result<Count, String> {
    let instructions = collected(engine, case, Length::Long)? - collected(engine, case, Length::Short)?;
    let hops = peers::transmissions(engine, case, Length::Long)? - peers::transmissions(engine, case, Length::Short)?;
    if hops <= 0.0 {
        return Err("the longer run does no more work than the shorter one".into());
    }
    Ok(Count { hops, per_hop: instructions / hops })
}

fn collected(engine: Engine, case: &Case, length: Length) -> Result<f64, String> {
    instructions(&peers::command(engine, case, length, false))
}

/// Instructions that a command takes from start to end.
pub(crate) fn instructions(line: &[String]) -> Result<f64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).args(line);
    let output = measure::child(&mut command, Duration::from_secs(900))?;
    let total = output.stderr.lines().rev().find_map(|l| l.split_once("Collected :")?.1.trim().parse().ok());
    total.ok_or("callgrind did not tell its count".into())
}
