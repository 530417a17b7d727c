//! `forebay explain`: what a key of a scenario means, from the reference (`docs/scenario.md`); and of results, why messages were late.

use super::check::Printed;
use crate::failure::Failure;
use crate::output::print;
use crate::style::{self, BOLD, DIM, NAME, paint};
use forebay_exec::{ExplainError, Which, explain};
use forebay_param::nearest;
use forebay_store::RunDir;
use forebay_units::QueryId;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// The reference; what it says of registries is generated from them.
const REFERENCE: &str = include_str!("../../../../docs/scenario.md");

/// Say what a key of a scenario means; or of results, why messages took as long as they did
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key, such as rto-min, transport.rto-min or dctcp-step.k; or a directory that `forebay run` wrote, for its slowest messages
    #[arg(value_name = "KEY|DIR")]
    what: String,
    /// This message of the results, by its flow_id
    #[arg(long, value_name = "N", conflicts_with = "query")]
    flow: Option<u64>,
    /// The slowest message of this query of the results, by its query_id
    #[arg(long, value_name = "N")]
    query: Option<u64>,
    /// Of this variant, instead of the first
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Of this repetition
    #[arg(long, value_name = "N", default_value_t = 0)]
    run: u32,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Printed::Text)]
    format: Printed,
}

/// A key in one place.
struct Entry {
    /// The headings above it.
    place: String,
    key: String,
    legal: String,
    default: String,
    meaning: String,
}

/// Prints it.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let dir = Path::new(&args.what);
    if dir.is_dir() || args.flow.is_some() || args.query.is_some() {
        return messages(args, dir);
    }
    let all = everything();
    let parts: Vec<&str> = args.what.split('.').filter(|p| p.parse::<u32>().is_err()).collect();
    let key = parts.last().copied().unwrap_or_default();
    let named: Vec<&Entry> = all.iter().filter(|e| e.key == key).collect();
    // What stands before the key chooses among several of the name, where it says anything.
    let before: Vec<&str> = parts.iter().rev().skip(1).copied().collect();
    let fits =
        |e: &&&Entry| before.iter().any(|word| e.place.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|w| w == *word));
    let mut found: Vec<&Entry> = named.iter().filter(fits).copied().collect();
    if found.is_empty() {
        found = named;
    }
    if found.is_empty() {
        let guess = nearest(key, all.iter().map(|e| e.key.as_str()));
        let guess = guess.map_or(String::new(), |g| format!("; did you mean `{g}`?"));
        return Err(Failure::Usage(format!("no scenario has a key `{key}`{guess} `forebay list` names what there is")));
    }
    if args.format == Printed::Json {
        let one =
            |e: &&Entry| json!({"key": e.key, "place": e.place, "legal": e.legal, "default": e.default, "meaning": e.meaning});
        return print(&format!("{:#}\n", serde_json::Value::from(found.iter().map(one).collect::<Vec<_>>())));
    }
    let colour = style::stdout();
    let texts: Vec<String> = found.iter().map(|e| text(e, colour)).collect();
    print(&texts.join("\n"))
}

/// Why messages of the results in `dir` took as long as they did.
fn messages(args: &Args, dir: &Path) -> Result<(), Failure> {
    let which = Which { flow: args.flow, query: args.query.map(QueryId::new), variant: args.variant.clone(), run: args.run };
    let told = explain(forebay_worlds::all(), &RunDir::open(dir)?, &which).map_err(|e| match e {
        ExplainError::Store(e) => e.into(),
        ExplainError::Scenario(e) => e.into(),
        ExplainError::Run(e) => e.into(),
        ExplainError::Other(text) => Failure::Usage(text),
    })?;
    print(&told)
}

fn text(e: &Entry, colour: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}  {}", paint(colour, NAME, &e.key), paint(colour, DIM, &e.place));
    let _ = writeln!(out, "  {}", e.meaning);
    for (what, value) in [("legal", &e.legal), ("default", &e.default)] {
        if !value.is_empty() {
            let _ = writeln!(out, "  {}: {value}", paint(colour, BOLD, what));
        }
    }
    out
}

/// The keys of the reference, and of the registries those that it describes elsewhere than in a table.
fn everything() -> Vec<Entry> {
    let mut all = entries(REFERENCE);
    for section in forebay_scenario::describe(forebay_worlds::all()) {
        for (item, p) in section.items.iter().flat_map(|i| i.params.iter().map(move |p| (i, p))) {
            if all.iter().any(|e| e.key == p.key && e.place.contains(item.name)) {
                continue;
            }
            let default = p.default.unwrap_or("required").to_owned();
            let place = format!("{} {}", section.title, item.name);
            all.push(Entry { place, key: p.key.into(), legal: p.legal.clone(), default, meaning: p.doc.into() });
        }
    }
    all
}

/// The keys of the example at the beginning, and of the tables whose columns begin with `key` and `legal` and end with `meaning`.
fn entries(reference: &str) -> Vec<Entry> {
    let (mut all, mut place, mut within) = (Vec::new(), String::new(), String::new());
    let mut heads: Vec<String> = Vec::new();
    for line in reference.lines() {
        if place.is_empty()
            && let Some((key, rest)) = line.split_once(" = ")
            && let Some((example, meaning)) = rest.split_once('#')
        {
            let legal = format!("such as {}", example.trim());
            all.push(Entry {
                place: "the scenario".into(),
                key: plain(key),
                legal,
                default: String::new(),
                meaning: plain(meaning),
            });
        }
        if let Some(title) = line.strip_prefix("## ") {
            (place, within) = (plain(title), String::new());
        } else if let Some(title) = line.strip_prefix("### ") {
            (place, within) = (plain(title), String::new());
        } else if !line.starts_with('|') && !line.is_empty() {
            within = plain(line);
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if !line.starts_with('|') {
            heads.clear();
        } else if let ["key", "legal", .., "meaning"] = cells.as_slice() {
            heads = cells.iter().map(|c| plain(c)).collect();
        } else if let Some((defaults, meaning)) =
            cells.split_at_checked(heads.len().saturating_sub(1)).filter(|_| !heads.is_empty())
            && let [key, legal, defaults @ ..] = defaults
            && key.starts_with('`')
        {
            // One default, or one for each stack.
            let default = match defaults {
                [one] => plain(one),
                several => {
                    several.iter().zip(&heads[2..]).map(|(d, h)| format!("{} ({h})", plain(d))).collect::<Vec<_>>().join(", ")
                }
            };
            // A kind's own table stands under a line with its name.
            let place = if within.len() < 80 { format!("{place} {within}") } else { place.clone() };
            all.push(Entry {
                place: place.trim().to_owned(),
                key: plain(key),
                legal: plain(legal),
                default,
                meaning: plain(&meaning.join(" | ")),
            });
        }
    }
    all
}

/// Text without the marks of Markdown.
fn plain(text: &str) -> String {
    text.replace(['`', '*'], "").replace("\\|", "|").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing that a scenario can hold is missing.
    #[test]
    fn every_key_of_the_registries_is_found() {
        let all = everything();
        for section in forebay_scenario::describe(forebay_worlds::all()) {
            for item in &section.items {
                for p in &item.params {
                    let place = |e: &&Entry| e.key == p.key && e.place.contains(item.name);
                    assert!(all.iter().any(|e| place(&e)), "{} of {}", p.key, item.name);
                }
            }
        }
        for key in ["rto-min", "recovery", "warmup", "timeouts", "class"] {
            assert!(all.iter().any(|e| e.key == key && !e.meaning.is_empty()), "{key}");
        }
    }
}
