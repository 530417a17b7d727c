//! Values of each [`Kind`] except links, which contain values themselves.

use crate::schema::context::Cx;
use crate::schema::dist;
use crate::schema::fields::word;
use crate::schema::hosts;
use crate::schema::limits::{MAX_NAMES, MAX_TIME};
use crate::schema::quantity::{boolean, bytes, bytes_or_zero, float, int, queue_len, rate, text, time, time_text};
use crate::schema::ranges::expand;
use crate::text::doc::{Node, Raw};
use crate::text::message_text::short;
use forebay_types::param::{Kind, Value};
use serde_json::Value as Json;

/// Maximum number of entries of a list of numbers.
const MAX_LIST: usize = 64;

/// Reads a value of `kind`; `what` names it in messages. The second part is its echo. A link is an error here; `parameter::read` reads links too.
pub(crate) fn read(cx: &mut Cx, kind: Kind, what: &str, node: &Node) -> Option<(Value, Json)> {
    let json = || node.json();
    Some(match kind {
        Kind::Time => time(cx, what, node, MAX_TIME).map(|t| (Value::Time(t), time_text(t).into()))?,
        Kind::Rate => rate(cx, what, node).map(|r| (Value::Rate(r), r.to_string().into()))?,
        Kind::Bytes => bytes(cx, what, node).map(|b| (Value::Bytes(b), b.to_string().into()))?,
        Kind::BytesOrZero => bytes_or_zero(cx, what, node).map(|b| (Value::Bytes(b), b.to_string().into()))?,
        Kind::QueueLen => queue_len(cx, what, node).map(|q| (Value::QueueLen(q), q.to_string().into()))?,
        Kind::Int(lo, hi) => int(cx, what, node, lo, hi).map(|i| (Value::Int(i), i.into()))?,
        Kind::Ints(lo, hi) => list(cx, what, node, |cx, n| int(cx, what, n, lo, hi)).map(|l| (Value::Ints(l), json()))?,
        Kind::QueueLens => list(cx, what, node, |cx, n| queue_len(cx, what, n)).map(|l| (Value::QueueLens(l), json()))?,
        Kind::Float(lo, hi) => float(cx, what, node, lo, hi).map(|f| (Value::Float(f), f.into()))?,
        Kind::Bool => boolean(cx, what, node).map(|b| (Value::Bool(b), b.into()))?,
        Kind::Choice(words) => word(node, what, words, &mut cx.sink).map(|w| (Value::Text(w.to_owned()), w.into()))?,
        Kind::Text => text(cx, what, node).map(|t| (Value::Text(t.to_owned()), json()))?,
        Kind::Path => text(cx, what, node).map(|t| (Value::Path(cx.file(t)), json()))?,
        Kind::Hosts => hosts::hosts(cx, what, node).map(|h| (Value::Hosts(h), json()))?,
        Kind::SizeDist => dist::sizes(cx, what, node).map(|d| (Value::SizeDist(d), json()))?,
        Kind::TimeDist => dist::times(cx, what, node).map(|d| (Value::TimeDist(d), json()))?,
        Kind::Names => names(cx, what, node).map(|n| (Value::Names(n), json()))?,
        Kind::Link | Kind::Links => {
            cx.sink.error(node.at, format!("{what} cannot be a link"), "links belong to a topology", None);
            return None;
        }
    })
}

/// Reads a short list, with `item` as the reader of its items.
fn list<T>(cx: &mut Cx, what: &str, node: &Node, mut item: impl FnMut(&mut Cx, &Node) -> Option<T>) -> Option<Vec<T>> {
    let Raw::Array(nodes) = &node.raw else {
        cx.sink.error(node.at, format!("{what} must be a list, not {}", node.describe()), "expected a list in brackets", None);
        return None;
    };
    if nodes.is_empty() || nodes.len() > MAX_LIST {
        cx.sink.error(node.at, format!("{what} has {} entries", nodes.len()), format!("legal: 1 to {MAX_LIST}"), None);
        return None;
    }
    let items: Vec<Option<T>> = nodes.iter().map(|n| item(cx, n)).collect();
    items.into_iter().collect()
}

/// Reads node names: a list of names and of ranges `"h0..h7"`.
fn names(cx: &mut Cx, what: &str, node: &Node) -> Option<Vec<String>> {
    let Raw::Array(nodes) = &node.raw else {
        let help = "write [\"a\", \"b\"]; \"h0..h7\" stands for eight names".to_owned();
        cx.sink.error(node.at, format!("{what} must be a list of names, not {}", node.describe()), "expected a list", Some(help));
        return None;
    };
    let mut list: Vec<String> = Vec::new();
    let mut ok = true;
    for n in nodes {
        let Some(name) = text(cx, what, n) else {
            ok = false;
            continue;
        };
        match name.contains("..").then(|| expand(name)) {
            None => list.push(name.to_owned()),
            Some(Some(range)) => list.extend(range),
            Some(None) => {
                let help = format!(
                    "a range is a name with a number, up to the same name with a larger one; legal: up to {MAX_NAMES} names"
                );
                cx.sink.error(n.at, format!("{what}: `{}` is not a range of names", short(name)), "write \"h0..h7\"", Some(help));
                ok = false;
            }
        }
        if list.len() > MAX_NAMES {
            cx.sink.error(node.at, format!("{what} has more than {MAX_NAMES} names"), "too many", None);
            return None;
        }
    }
    ok.then_some(list)
}
