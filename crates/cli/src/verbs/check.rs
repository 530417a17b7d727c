//! `forebay check`: reads a scenario and says what it means, without running it.

use crate::failure::Failure;
use crate::output::print;
use crate::style::{self, BOLD, paint};
use forebay_scenario::Resolved;
use std::fmt::Write;
use std::path::PathBuf;

/// Check a scenario file and explain what it would run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The scenario file
    file: PathBuf,
    /// Change a value of the file, such as topology.senders=64 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print every variant with all defaults filled in, as JSON
    #[arg(long)]
    resolved: bool,
}

/// Prints the explanation.
pub fn execute(args: &Args) -> Result<(), Failure> {
    let resolved = forebay_scenario::load(&args.file, &args.set, None)?.resolve()?;
    if args.resolved {
        let variants: Vec<_> = resolved.variants.iter().map(|v| (v.label.clone(), v.echo.clone())).collect();
        let text = serde_json::to_string_pretty(&serde_json::Map::from_iter(variants))
            .map_err(|e| Failure::Machine(format!("cannot print the scenario as JSON: {e}")))?;
        return print(&format!("{text}\n"));
    }
    print(&explain(&resolved))
}

fn explain(resolved: &Resolved) -> String {
    let colour = style::stdout();
    let mut out = String::new();
    let mut line = |label: &str, text: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}  {text}", paint(colour, BOLD, &format!("{label:<10}")));
    };
    line("scenario", resolved.name.clone());
    if let Some(v) = resolved.variants.first() {
        let network = &v.config.network;
        let hosts = network.nodes.iter().filter(|n| n.host).count();
        let switches = network.nodes.len() - hosts;
        line("network", format!("{hosts} hosts, {switches} switches, {} ports", network.ports.len()));
        for w in &v.config.workloads {
            line("workload", w.class.clone());
        }
        line("duration", v.config.duration.map_or_else(|| "until all work is done".into(), |d| d.to_string()));
    }
    for v in &resolved.variants {
        let groups: Vec<String> = v.config.groups.iter().map(|g| format!("{} on the {} stack", g.name, g.tcp.stack)).collect();
        line("variant", format!("{}: {}", v.label, groups.join(", ")));
    }
    let last = resolved.run_seed(resolved.runs.saturating_sub(1));
    let seeds = if resolved.runs == 1 { format!("seed {last}") } else { format!("seeds {} to {last}", resolved.seed) };
    line("runs", format!("{} ({} variants, {seeds})", resolved.runs as usize * resolved.variants.len(), resolved.variants.len()));
    for note in &resolved.notes {
        line("note", note.clone());
    }
    out.push_str("no mistakes found\n");
    out
}
