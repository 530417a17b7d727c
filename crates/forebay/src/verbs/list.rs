//! `forebay list`: what a scenario can name, from the registries.

use super::check::Printed;
use crate::failure::Failure;
use crate::terminal::output::{print, print_data};
use crate::terminal::style::{self, BOLD, DIM, NAME, paint};
use forebay_scenario::{Section, describe};
use forebay_types::param::nearest;
use serde_json::{Value, json};
use std::fmt::Write;

/// List what a scenario can name, one line each
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this kind, such as queues, or everything about one thing, such as dctcp
    what: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Printed::Text)]
    format: Printed,
}

impl Args {
    /// Everything about what is called `what`.
    pub(super) fn of(what: &str, format: Printed) -> Args {
        Args { what: Some(what.to_owned()), format }
    }
}

/// Whether there is a kind called `what`, or anything of one.
pub(super) fn knows(what: &str) -> bool {
    describe(forebay_backends::all()).iter().any(|s| word(s) == what || s.items.iter().any(|i| i.name == what))
}

/// A section's title as one argument: `size-tables`.
fn word(section: &Section) -> String {
    section.title.replace(' ', "-")
}

/// As much of a name as a message needs.
fn cut(name: &str) -> String {
    const MOST: usize = 60;
    if name.chars().count() <= MOST { name.to_owned() } else { name.chars().take(MOST).collect::<String>() + "..." }
}

/// Everything about what is called `what`, in all kinds that have it.
fn one(what: &str, sections: &[Section], format: Printed) -> Result<(), Failure> {
    if sections.is_empty() {
        let all = describe(forebay_backends::all());
        let kinds: Vec<String> = all.iter().map(word).collect();
        let names = all.iter().flat_map(|s| s.items.iter().map(|i| i.name)).chain(kinds.iter().map(String::as_str));
        let guess = nearest(what, names).map_or(String::new(), |g| format!("; did you mean `{g}`?"));
        return Err(Failure::Usage(format!("nothing is called `{}`{guess}; kinds: {}", cut(what), kinds.join(", "))));
    }
    if format == Printed::Json {
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

/// A kind and what there is of it, for programs.
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
    if args.format == Printed::Json {
        return print_data(&format!("{:#}\n", Value::from(sections.iter().map(json_of).collect::<Vec<_>>())));
    }
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
