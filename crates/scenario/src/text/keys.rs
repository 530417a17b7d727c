//! Keys of a sweep: paths into the scenario, written as one quoted key or as nested tables.

use crate::text::doc::{Node, Raw, TomlTable};
use crate::text::error::Sink;
use crate::text::message_text::short;
use crate::text::source::At;

/// Maximum depth of a path; scenarios have four levels.
pub(crate) const MAX_DEPTH: usize = 16;

/// Path and its value.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    /// Path, joined by dots.
    pub key: String,
    pub key_at: At,
    pub node: Node,
}

/// Collects all values below `table`. Tables are followed: `topology.senders = [..]` is a table `topology` with a key `senders`, and is equal to
/// `"topology.senders" = [..]`. With `braces` a table written `{ .. }` is a value itself, as in `--set`.
pub(crate) fn leaves(table: &TomlTable, braces: bool, sink: &mut Sink) -> Option<Vec<Leaf>> {
    let mut list = Vec::new();
    let mut ok = true;
    collect(table, "", braces, &mut list, &mut ok, sink);
    ok.then_some(list)
}

/// Recursion is bounded: the TOML reader refuses more than 80 levels.
fn collect(table: &TomlTable, prefix: &str, braces: bool, list: &mut Vec<Leaf>, ok: &mut bool, sink: &mut Sink) {
    for item in &table.items {
        let key = if prefix.is_empty() { item.key.clone() } else { format!("{prefix}.{}", item.key) };
        match &item.node.raw {
            Raw::Table(t) if !(braces && sink.text_at(item.node.at).starts_with('{')) => collect(t, &key, braces, list, ok, sink),
            _ => match legal(&key, item.key_at, sink) {
                Some(key) => list.push(Leaf { key, key_at: item.key_at, node: item.node.clone() }),
                None => *ok = false,
            },
        }
    }
}

/// Checks that a sweep may vary a path, and returns its plain form.
pub(crate) fn legal(key: &str, at: At, sink: &mut Sink) -> Option<String> {
    let parts: Vec<&str> = key.split('.').map(|p| p.trim().trim_matches('"')).collect();
    if parts.iter().any(|p| p.is_empty()) || parts.len() > MAX_DEPTH {
        let help = Some("write \"topology.senders\" = [8, 16] or \"workload.0.block\" = [\"64KB\"]".to_owned());
        sink.error(at, format!("`{}` is not a path of keys joined by dots", short(key)), "not a path", help);
        return None;
    }
    let help = match parts[0] {
        "seed" | "runs" => "write `seeds = 3` or `seeds = [1, 2, 3]` in [sweep]: every point runs with each of them",
        "name" => "points differ in their values and share the name",
        "sweep" => "a sweep is not part of itself",
        _ => return Some(parts.join(".")),
    };
    sink.error(at, format!("`{}` cannot be swept", parts[0]), "cannot be swept", Some(help.to_owned()));
    None
}
