//! `forebay list`: what a scenario can name, from the registries.

use crate::failure::Failure;
use crate::output::print;
use crate::style::{self, BOLD, DIM, NAME, paint};
use clap::builder::PossibleValuesParser;
use forebay_scenario::{Section, describe};
use std::fmt::Write;

/// List what a scenario can name, one line each
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this kind
    #[arg(value_parser = PossibleValuesParser::new(describe(forebay_worlds::all()).iter().map(word)))]
    what: Option<String>,
}

/// A section's title as one word of the command line: its last.
fn word(section: &Section) -> &'static str {
    section.title.rsplit(' ').next().unwrap_or(section.title)
}

/// Prints the lists.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let colour = style::stdout();
    let mut sections = describe(forebay_worlds::all());
    sections.retain(|s| args.what.as_ref().is_none_or(|w| w == word(s)));
    let width = sections.iter().flat_map(|s| &s.items).map(|i| i.name.len()).max().unwrap_or(0);
    // One kind alone needs no title: the output is a list for scripts too.
    let titles = sections.len() > 1;
    let mut out = String::new();
    for (i, section) in sections.iter().enumerate() {
        if titles {
            let gap = if i > 0 { "\n" } else { "" };
            let _ = writeln!(out, "{gap}{}  {}", paint(colour, BOLD, section.title), paint(colour, DIM, section.usage));
        }
        let indent = if titles { "  " } else { "" };
        for item in &section.items {
            let _ = writeln!(out, "{indent}{}  {}", paint(colour, NAME, &format!("{:width$}", item.name)), item.summary);
        }
    }
    print(&out)
}
