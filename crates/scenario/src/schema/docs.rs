//! Reference tables of `docs/reference/scenario.md`, generated from the registries.

use crate::schema::choice;
use crate::schema::context::Cx;
use crate::schema::describe::{DEFAULT_CC, Item, ParamDoc, describe, transport_params};
use crate::schema::fields::Fields;
use crate::schema::tcp_echo::tcp_echo;
use crate::text::doc::TomlTable;
use crate::text::error::Sink;
use crate::text::source::At;
use forebay_experiment::profile::{self, PARAMS, PROFILES};
use forebay_experiment::transport::Profile;
use forebay_experiment::worlds::Worlds;
use serde_json::{Map, Value as Json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Generated part of the reference, in Markdown.
pub fn docs(worlds: &'static Worlds) -> String {
    let mut out = String::new();
    for section in describe(worlds) {
        let _ = writeln!(out, "\n### {}\n\n`{}`\n", capital(section.title), section.usage);
        for item in &section.items {
            let _ = writeln!(out, "* **`{}`**: {}", item.name, cell(item.summary));
        }
        let common = common(&section.items);
        for item in &section.items {
            table(&mut out, &format!("`{}`", item.name), item.params.iter().filter(|p| !common.contains(p)).collect());
        }
        table(&mut out, "All of them:", common);
    }
    let _ =
        writeln!(out, "\n### Keys of `[transport]`\n\n| key | legal | ns2 | linux | rfc | meaning |\n|---|---|---|---|---|---|");
    let profiles: Vec<Map<String, Json>> =
        PROFILES.iter().filter_map(|p| Profile::of(p)).map(|p| profile_echo(worlds, p)).collect();
    for p in transport_params() {
        let defaults: Vec<String> = profiles.iter().map(|m| m.get(p.key).map_or(String::new(), plain)).collect();
        let ecn = p.key == "ecn" || p.key == "isn";
        let defaults = if ecn { vec![String::new(); PROFILES.len()] } else { defaults };
        let _ = writeln!(out, "| `{}` | {} | {} | {} |", p.key, cell(&p.legal), defaults.join(" | "), cell(p.doc));
    }
    out
}

/// Parameters that all items share, which are shown once.
fn common(items: &[Item]) -> Vec<&ParamDoc> {
    match items {
        [first, rest @ ..] if !rest.is_empty() => {
            first.params.iter().filter(|p| rest.iter().all(|i| i.params.contains(p))).collect()
        }
        _ => Vec::new(),
    }
}

fn table(out: &mut String, title: &str, params: Vec<&ParamDoc>) {
    if params.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}\n\n| key | legal | default | meaning |\n|---|---|---|---|");
    params.into_iter().for_each(|p| row(out, p));
}

fn row(out: &mut String, p: &ParamDoc) {
    let default = match p.default {
        None => "required".to_owned(),
        Some("") => String::new(),
        Some(text) => format!("`{text}`"),
    };
    let _ = writeln!(out, "| `{}` | {} | {default} | {} |", p.key, cell(&p.legal), cell(p.doc));
}

fn profile_echo(worlds: &'static Worlds, stack: Profile) -> Map<String, Json> {
    let mut echo = Map::new();
    let unset = forebay_types::param::Values(PARAMS.iter().map(|p| (p.key, forebay_types::param::Value::Unset)).collect());
    if let Some(cc) = worlds.cc(DEFAULT_CC) {
        let (mut cx, empty) = (Cx::new(worlds, Sink::new(Vec::new()), PathBuf::new()), TomlTable::default());
        let mut fields = Fields::new("", At::default(), &empty);
        if let Some((values, _)) = choice::params(&mut cx, &mut fields, cc.entry.params, "", At::default()) {
            tcp_echo(&profile::resolve(stack, cc, values, &unset), &mut echo);
        }
    }
    echo
}

fn plain(v: &Json) -> String {
    v.as_str().map_or_else(|| v.to_string(), str::to_owned)
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}
