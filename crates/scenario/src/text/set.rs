//! `--set path=value`: changes to the document before it is checked.

use crate::text::doc::{Item, Node, Raw, TomlTable, parse_loose, parse_value};
use crate::text::error::Sink;
use crate::text::keys::{Leaf, MAX_DEPTH, legal};
use crate::text::message_text::short;
use crate::text::source::{At, Source};

/// Applies an override. Its text becomes a source, so that errors can point into it.
pub(crate) fn apply(root: &mut TomlTable, text: &str, sink: &mut Sink) {
    let source = sink.add_source(Source::new("--set", text));
    let at = |start: usize, end: usize| At { source, start: start as u32, end: end as u32 };
    let whole = at(0, text.len());
    let help = || Some("write --set key=value, such as --set topology.senders=64 or --set workload.0.block=64KB".to_owned());
    let Some(equals) = text.find('=') else {
        sink.error(whole, format!("`--set {}` has no `=`", short(text)), "a key, `=` and a value", help());
        return;
    };
    let path: Vec<&str> = text[..equals].split('.').map(|p| p.trim().trim_matches('"')).collect();
    let key_at = at(0, equals);
    if path.iter().any(|p| p.is_empty()) || path.len() > MAX_DEPTH {
        sink.error(key_at, format!("`{}` is not a path of keys joined by dots", short(&text[..equals])), "not a path", help());
        return;
    }
    let value_text = &text[equals + 1..];
    let trimmed = value_text.trim_start();
    if trimmed.is_empty() {
        sink.error(whole, format!("`--set {}` has no value", short(text)), "a value is missing after `=`", help());
        return;
    }
    // A bare word is a string. A text that starts like a list, a table or a string, but is not TOML, is an error.
    if trimmed.starts_with(['[', '{', '"', '\'']) && parse_value(value_text, source, equals + 1).is_none() {
        sink.error(
            at(equals + 1, text.len()),
            format!("the value of `--set {}` is not valid TOML", short(text)),
            "not TOML",
            Some("lists are written as in the file, [\"newreno\", \"dctcp\"]: quote the whole argument for the shell".to_owned()),
        );
        return;
    }
    let value = parse_loose(value_text, source, equals + 1);
    insert(root, &path, value, key_at, sink);
}

/// Sets the value at `path`; errors point to `key_at`.
pub(crate) fn insert(table: &mut TomlTable, path: &[&str], value: Node, key_at: At, sink: &mut Sink) {
    let [key, rest @ ..] = path else { return };
    let position = table.items.iter().position(|i| i.key == *key).unwrap_or_else(|| {
        let node = Node { at: key_at, raw: Raw::Table(TomlTable::default()) };
        table.items.push(Item { key: (*key).to_owned(), key_at, node });
        table.items.len() - 1
    });
    let item = &mut table.items[position];
    if rest.is_empty() {
        sink.replaced(key_at.source, item.node.at);
        *item = Item { key: (*key).to_owned(), key_at, node: value };
        return;
    }
    descend(&mut item.node, key, rest, value, key_at, sink);
}

fn descend(node: &mut Node, name: &str, path: &[&str], value: Node, key_at: At, sink: &mut Sink) {
    match &mut node.raw {
        Raw::Table(t) => insert(t, path, value, key_at, sink),
        Raw::Array(list) => {
            let [index, rest @ ..] = path else { return };
            let legal = match list.len() {
                0 => "the list is empty".to_owned(),
                n => format!("legal: 0 to {}", n - 1),
            };
            match index.parse::<usize>().ok().and_then(|i| list.get_mut(i)) {
                Some(element) if rest.is_empty() => {
                    sink.replaced(key_at.source, element.at);
                    *element = value;
                }
                Some(element) => descend(element, index, rest, value, key_at, sink),
                None => {
                    let message = format!("`{}` is not the number of an entry of `{}`", short(index), short(name));
                    sink.error(
                        key_at,
                        message,
                        legal,
                        Some("entries are counted from 0: --set workload.0.block=64KB".to_owned()),
                    );
                }
            }
        }
        // `transport.cc.g=0.5` on `cc = "dctcp"`: converts the short form of a choice to its table.
        Raw::Text(kind) if path.len() == 1 => {
            let kind = Node { at: node.at, raw: Raw::Text(std::mem::take(kind)) };
            let items = vec![Item { key: "kind".into(), key_at: kind.at, node: kind }];
            let mut t = TomlTable { items };
            insert(&mut t, path, value, key_at, sink);
            node.raw = Raw::Table(t);
        }
        _ => {
            let message =
                format!("`{}` holds {}, so it has no `{}`", short(name), node.describe(), short(path.first().unwrap_or(&"")));
            sink.error(key_at, message, "leads into a plain value", None);
        }
    }
}

/// Reads an axis of a sweep, `topology.senders=[8, 16]`. Bare words in a list without quotes and brackets are strings: `transport.cc=[newreno,
/// dctcp]`.
pub(crate) fn axis(text: &str, sink: &mut Sink) -> Option<Leaf> {
    let source = sink.add_source(Source::new("--sweep", text));
    let at = |start: usize, end: usize| At { source, start: start as u32, end: end as u32 };
    let help = "write --sweep 'key=[value, value]', such as --sweep 'topology.senders=[8, 16]'".to_owned();
    let Some((key, list)) = text.split_once('=') else {
        sink.error(at(0, text.len()), format!("`--sweep {}` has no `=`", short(text)), "a key, `=` and a list", Some(help));
        return None;
    };
    let key_at = at(0, key.len());
    let (list, offset) = (list.trim(), key.len() + 1 + (list.len() - list.trim_start().len()));
    let node = match parse_value(list, source, offset) {
        Some(node) => node,
        None => Node { at: at(offset, text.len()), raw: Raw::Array(words(list, source, offset).unwrap_or_default()) },
    };
    match &node.raw {
        Raw::Array(nodes) if !nodes.is_empty() => {}
        _ => {
            let message = format!("the value of `--sweep {}` is not a list of values", short(text));
            sink.error(at(offset, text.len()), message, "not a list", Some(help));
            return None;
        }
    }
    legal(key.trim(), key_at, sink).map(|key| Leaf { key, key_at, node })
}

/// Elements of `[a, b]`.
fn words(list: &str, source: u32, offset: usize) -> Option<Vec<Node>> {
    let open = list.find('[')?;
    let inner = list.strip_suffix(']')?.get(open + 1..)?;
    if open > 0 || inner.contains(['[', ']', '{', '}', '"', '\'']) {
        return None;
    }
    let mut start = offset + open + 1;
    let mut nodes = Vec::new();
    for word in inner.split(',') {
        let node = parse_loose(word, source, start);
        start += word.len() + 1;
        nodes.push(node);
    }
    nodes.iter().all(|n| n.text().is_none_or(|t| !t.is_empty())).then_some(nodes)
}
