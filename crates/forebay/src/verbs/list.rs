//! `forebay list`: names that a scenario can use, from the registries.

use super::check::TextFormat;
use crate::terminal::failure::Failure;
use crate::terminal::output::{print, print_data};
use crate::terminal::style::{self, BOLD, DIM, NAME, paint};
use forebay_scenario::{Section, describe};
use forebay_types::param::nearest;
use serde_json::{Value, json};
use std::fmt::Write;

/// List the names that a scenario can use, one line each
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A kind, such as queues, or a name with its parameters, such as dctcp
    #[arg(value_name = "KIND|NAME")]
    what: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

impl Args {
    /// Arguments for everything called `what`.
    pub(super) fn of(what: &str, format: TextFormat) -> Args {
        Args { what: Some(what.to_owned()), format }
    }
}

/// True for a kind, or a name of a kind.
pub(super) fn has(what: &str) -> bool {
    describe(forebay_backends::all()).iter().any(|s| word(s) == what || s.items.iter().any(|i| i.name == what))
}

/// A section's title as one argument: `size-tables`.
fn word(section: &Section) -> String {
    section.title.replace(' ', "-")
}

/// The first characters of a name, enough for a message.
fn cut(name: &str) -> String {
    const MOST: usize = 60;
    if name.chars().count() <= MOST { name.to_owned() } else { name.chars().take(MOST).collect::<String>() + "..." }
}

/// Everything called `what`, in all kinds that have it.
fn one(what: &str, sections: &[Section], format: TextFormat) -> Result<(), Failure> {
    if sections.is_empty() {
        let all = describe(forebay_backends::all());
        let kinds: Vec<String> = all.iter().map(word).collect();
        let names = all.iter().flat_map(|s| s.items.iter().map(|i| i.name)).chain(kinds.iter().map(String::as_str));
        let guess = nearest(what, names).map_or(".".to_owned(), |g| format!("; did you mean `{g}`?"));
        return Err(Failure::Usage(format!("there is no `{}`{guess} Kinds: {}", cut(what), kinds.join(", "))));
    }
    if format == TextFormat::Json {
        return print_data(&format!("{:#}\n", Value::from(sections.iter().map(json_of).collect::<Vec<_>>())));
    }
    let (colour, mut out) = (style::stdout(), String::new());
    for section in sections {
        for item in &section.items {
            let _ = writeln!(out, "{}  {}", paint(colour, NAME, item.name), paint(colour, DIM, section.usage));
            let _ = writeln!(out, "  {}", item.summary);
            for p in &item.params {
                let default = match p.default {
                    None => "required".to_owned(),
                    Some("") => "not set".to_owned(),
                    Some(text) => format!("default {text}"),
                };
                let _ = writeln!(out, "  {}  {}; {}, {default}", paint(colour, BOLD, p.key), p.doc, p.legal);
            }
        }
    }
    print(&out)
}

/// A kind and its names, for programs.
fn json_of(section: &Section) -> Value {
    let items: Vec<Value> = (section.items.iter())
        .map(|i| {
            let param =
                |p: &forebay_scenario::ParamDoc| json!({"key": p.key, "legal": p.legal, "default": p.default, "meaning": p.doc});
            json!({"name": i.name, "summary": i.summary, "parameters": i.params.iter().map(param).collect::<Vec<_>>()})
        })
        .collect();
    json!({"kind": word(section), "usage": section.usage, "items": items})
}

/// Prints the lists.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let colour = style::stdout();
    let mut sections = describe(forebay_backends::all());
    if let Some(what) = &args.what {
        if sections.iter().any(|s| word(s) == *what) {
            sections.retain(|s| word(s) == *what);
        } else {
            sections.iter_mut().for_each(|s| s.items.retain(|i| i.name == *what));
            sections.retain(|s| !s.items.is_empty());
            return one(what, &sections, args.format);
        }
    }
    if args.format == TextFormat::Json {
        return print_data(&format!("{:#}\n", Value::from(sections.iter().map(json_of).collect::<Vec<_>>())));
    }
    let width = sections.iter().flat_map(|s| &s.items).map(|i| i.name.len()).max().unwrap_or(0);
    // A single kind needs no title: the output is a list for scripts too.
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
