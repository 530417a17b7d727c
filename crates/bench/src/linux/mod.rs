//! `forebay-bench linux`: the simulator's stack `linux` against the TCP of a Linux kernel, scenario by scenario and packet by packet.

mod measure;
mod scenarios;
mod table;

use scenarios::{Case, cases};

/// Runs all scenarios, or those whose name contains the word, in both worlds; prints the table and writes it.
pub(crate) fn execute(args: &[String]) -> Result<(), String> {
    let (mut out, mut word, mut show) = (None, None, false);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--out" => out = Some(args.next().ok_or("--out: which file?")?.clone()),
            "--show" => show = true,
            _ => word = Some(arg.clone()),
        }
    }
    let chosen: Vec<Case> = cases().into_iter().filter(|c| word.as_ref().is_none_or(|w| c.name.contains(w.as_str()))).collect();
    let mut rows = Vec::new();
    for case in &chosen {
        if show {
            println!("{}", case.text);
        }
        match measure::both(&case.name, &case.text) {
            Ok(row) => {
                println!("{}", table::line(case, &row));
                rows.push((case, row));
            }
            Err(why) => println!("{}: {why}", case.name),
        }
    }
    println!("{}", table::summary(&rows));
    if let Some(out) = out {
        std::fs::write(&out, table::csv(&rows)).map_err(|e| format!("{out}: {e}"))?;
    }
    if rows.len() < chosen.len() { Err(format!("{} scenarios did not run", chosen.len() - rows.len())) } else { Ok(()) }
}
