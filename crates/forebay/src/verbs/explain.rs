//! `forebay explain`: the meaning of a key of a scenario, from the reference (`docs/reference/scenario.md`); and the causes of late messages, from results.

use super::check::TextFormat;
use super::reference::{self, Entry, everything};
use crate::terminal::failure::Failure;
use crate::terminal::output::{print, print_data};
use crate::terminal::style::{self, BOLD, DIM, NAME, paint};
use forebay_runner::{MessageSelector, explain};
use forebay_store::RunDir;
use forebay_store::sweep::SweepDir;
use forebay_types::QueryId;
use forebay_types::param::nearest;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// Explain a key of a scenario, or the slowest messages of results
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key, such as rto-min, transport.rto-min or dctcp-step.k; a table of the scenario, such as observe; a name, such as dctcp; or a directory
    /// that `forebay run` wrote, for its slowest messages
    #[arg(value_name = "KEY|DIR")]
    what: String,
    /// The message of the results with this flow_id
    #[arg(long, value_name = "N", conflicts_with = "query")]
    flow: Option<u64>,
    /// The slowest message of the query with this query_id
    #[arg(long, value_name = "N")]
    query: Option<u64>,
    /// Variant of the results, instead of the first one
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Run of the variant, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    run: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

/// Prints the explanation.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let dir = Path::new(&args.what);
    if dir.is_dir() || args.flow.is_some() || args.query.is_some() {
        return messages(args, dir);
    }
    let all = everything();
    let key = args.what.rsplit('.').find(|p| p.parse::<u32>().is_err()).unwrap_or_default();
    let mut found = reference::found(&all, &args.what);
    if found.is_empty() && super::list::has(key) {
        return super::list::execute(&super::list::Args::of(key, args.format));
    }
    if found.is_empty() {
        found = reference::table(&all, &args.what);
    }
    if found.is_empty() {
        let guess = nearest(key, all.iter().map(|e| e.key.as_str()));
        let guess = guess.map_or(";".to_owned(), |g| format!("; did you mean `{g}`?"));
        if args.what.contains('/') {
            return Err(Failure::Usage(format!("there is no directory `{}`, and no scenario has such a key", args.what)));
        }
        return Err(Failure::Usage(format!("no scenario has a key `{key}`{guess} `forebay list` lists the keys")));
    }
    if args.format == TextFormat::Json {
        let one =
            |e: &&Entry| json!({"key": e.key, "place": e.place, "legal": e.legal, "default": e.default, "meaning": e.meaning});
        return print_data(&format!("{:#}\n", serde_json::Value::from(found.iter().map(one).collect::<Vec<_>>())));
    }
    let colour = style::stdout();
    let texts: Vec<String> = found.iter().map(|e| text(e, colour)).collect();
    print(&texts.join("\n"))
}

/// Explains the delays of messages of the results in `dir`.
fn messages(args: &Args, dir: &Path) -> Result<(), Failure> {
    if SweepDir::begun(dir).is_ok() {
        return Err(Failure::Usage(format!(
            "`{}` is a sweep, which keeps numbers of its runs and not their messages; run one of its points with `forebay run FILE --set KEY=VALUE`, \
             and explain that",
            dir.display()
        )));
    }
    let which =
        MessageSelector { flow: args.flow, query: args.query.map(QueryId::new), variant: args.variant.clone(), run: args.run };
    let run = RunDir::open(dir)?;
    run.check_files()?;
    let text = explain(forebay_backends::all(), &run, &which)?;
    print(&text)
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
