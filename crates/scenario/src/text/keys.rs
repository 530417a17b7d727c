//! The keys of a sweep: paths into the scenario, written as one quoted key or as nested tables.

use crate::text::doc::{Node, Raw, TomlTable};
use crate::text::error::Sink;
use crate::text::source::At;
use crate::text::words::short;

/// Deepest path; scenarios nest four levels.
pub(crate) const MAX_DEPTH: usize = 16;

/// A path and what stands behind it.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    /// The path, joined by dots.
    pub key: String,
    pub key_at: At,
    pub node: Node,
}

/// Everything below `table` that is a value. Tables are followed: `topology.senders = [..]` is a table `topology` with a key `senders`,
/// and means what `"topology.senders" = [..]` does. With `braces` a table written `{ .. }` is a value itself, as in `--set`.
pub(crate) fn leaves(table: &TomlTable, braces: bool, sink: &mut Sink) -> Option<Vec<Leaf>> {
    let mut list = Vec::new();
    let mut ok = true;
    collect(table, "", braces, &mut list, &mut ok, sink);
    ok.then_some(list)
}

/// Recursion is bounded as the document is: the TOML reader refuses more than 80 levels.
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

/// A path that a sweep may vary, in its plain form.
pub(crate) fn legal(key: &str, at: At, sink: &mut Sink) -> Option<String> {
    let parts: Vec<&str> = key.split('.').map(|p| p.trim().trim_matches('"')).collect();
    if parts.iter().any(|p| p.is_empty()) || parts.len() > MAX_DEPTH {
        let help = Some("write \"topology.senders\" = [8, 16] or \"workload.0.block\" = [\"64KB\"]".to_owned());
        sink.error(at, format!("`{}` is not a path of keys joined by dots", short(key)), "not a path", help);
        return None;
    }
    let help = match parts[0] {
        "seed" | "runs" => "write `seeds = 3` or `seeds = [1, 2, 3]` in [sweep]: every point runs with each of them",
        "name" => "points are told apart by their values; the name is that of all of them",
        "sweep" => "a sweep is not part of itself",
        _ => return Some(parts.join(".")),
    };
    sink.error(at, format!("`{}` cannot be swept", parts[0]), "cannot be swept", Some(help.to_owned()));
    None
}
