//! `forebay list`: what a scenario can name, from the registries.

use crate::failure::Failure;
use crate::output::print;
use crate::style::{self, BOLD, NAME, paint};
use forebay_sim::tcp::profile;
use forebay_sim::{cc, topology, workload};
use std::fmt::Write;

/// List what a scenario can name, one line each
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this kind
    what: Option<What>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// Congestion control laws: `cc` in [transport]
    Laws,
    /// Queue disciplines: `queue` of a link
    Queues,
    /// Topologies: `kind` in [topology]
    Topologies,
    /// Workloads: `kind` in [[workload]]
    Workloads,
    /// TCP stacks: `stack` in [transport]
    Stacks,
}

impl What {
    const ALL: [What; 5] = [What::Laws, What::Queues, What::Topologies, What::Workloads, What::Stacks];

    fn title(self) -> &'static str {
        match self {
            What::Laws => "laws ([transport] cc)",
            What::Queues => "queues (queue = { kind = ... } of a link)",
            What::Topologies => "topologies ([topology] kind)",
            What::Workloads => "workloads ([[workload]] kind)",
            What::Stacks => "stacks ([transport] stack)",
        }
    }

    /// Names and summaries.
    fn rows(self) -> Vec<(&'static str, &'static str)> {
        let row = |e: &forebay_param::Entry| (e.name, e.summary);
        match self {
            What::Laws => cc::REGISTRY.iter().map(|e| row(&e.entry)).collect(),
            What::Queues => forebay_queues::REGISTRY.iter().map(|e| row(&e.entry)).collect(),
            What::Topologies => topology::REGISTRY.iter().map(|e| row(&e.entry)).collect(),
            What::Workloads => workload::REGISTRY.iter().map(|e| row(&e.entry)).collect(),
            What::Stacks => profile::PROFILES.iter().copied().zip(profile::SUMMARIES.iter().copied()).collect(),
        }
    }
}

/// Prints the lists.
pub fn execute(args: &Args) -> Result<(), Failure> {
    let colour = style::stdout();
    let kinds: Vec<What> = args.what.map_or_else(|| What::ALL.to_vec(), |w| vec![w]);
    let width = kinds.iter().flat_map(|k| k.rows()).map(|r| r.0.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (i, kind) in kinds.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        // One kind alone needs no title: the output is a list for scripts too.
        if kinds.len() > 1 {
            let _ = writeln!(out, "{}", paint(colour, BOLD, kind.title()));
        }
        let indent = if kinds.len() > 1 { "  " } else { "" };
        for (name, summary) in kind.rows() {
            let _ = writeln!(out, "{indent}{}  {summary}", paint(colour, NAME, &format!("{name:width$}")));
        }
    }
    print(&out)
}
