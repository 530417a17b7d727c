//! One value of each [`Kind`].

use crate::schema::cx::{Cx, MAX_BYTES, MAX_NAMES, MAX_PACKETS, MAX_TIME};
use crate::schema::dist;
use crate::schema::fields::word;
use crate::schema::hosts;
use crate::schema::link;
use crate::text::doc::{Node, Raw};
use crate::text::error::short;
use forebay_param::{Kind, Value};
use forebay_units::{Bytes, QuantityError, QueueLen, Rate, Time};
use serde_json::Value as Json;
use std::str::FromStr;

/// Most entries of a list of numbers.
const MAX_LIST: usize = 64;
/// Longest text that is looked at as a quantity.
const LONGEST_QUANTITY: usize = 100;

/// Reads a value of `kind`; `what` names it in messages. The second part is what the echo shows.
pub(crate) fn read(cx: &mut Cx, kind: Kind, what: &str, node: &Node) -> Option<(Value, Json)> {
    let json = || node.json();
    Some(match kind {
        Kind::Time => time(cx, what, node, MAX_TIME).map(|t| (Value::Time(t), time_text(t).into()))?,
        Kind::Rate => rate(cx, what, node).map(|r| (Value::Rate(r), r.to_string().into()))?,
        Kind::Bytes => bytes(cx, what, node).map(|b| (Value::Bytes(b), b.to_string().into()))?,
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
        Kind::Link => link::link(cx, what, node).map(|(l, j)| (Value::Link(l), j))?,
        Kind::SizeDist => dist::sizes(cx, what, node).map(|d| (Value::SizeDist(d), json()))?,
        Kind::TimeDist => dist::times(cx, what, node).map(|d| (Value::TimeDist(d), json()))?,
        Kind::Names => names(cx, what, node).map(|n| (Value::Names(n), json()))?,
        Kind::Links => link::links(cx, what, node).map(|(l, j)| (Value::Links(l), j))?,
    })
}

/// What is legal for a kind, as a phrase for help texts and documentation.
pub(crate) fn kind_text(kind: Kind) -> String {
    match kind {
        Kind::Time => "a time such as \"25us\"".into(),
        Kind::Rate => "a rate such as \"10Gbps\"".into(),
        Kind::Bytes => "a size such as \"256KB\"".into(),
        Kind::QueueLen => "packets or bytes, \"100pkt\" or \"150KB\"".into(),
        Kind::Int(lo, hi) => format!("an integer, {}", range(lo, hi)),
        Kind::Ints(lo, hi) => format!("a list of integers, {}", range(lo, hi)),
        Kind::QueueLens => "a list of packets or bytes, [\"100pkt\", \"64pkt\"]".into(),
        Kind::Float(lo, hi) if hi > 1e15 => format!("a number, at least {lo}"),
        Kind::Float(lo, hi) => format!("a number, {lo} to {hi}"),
        Kind::Bool => "true or false".into(),
        Kind::Choice(words) => words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", "),
        Kind::Text => "a text".into(),
        Kind::Path => "a file, relative to the scenario".into(),
        Kind::Hosts => "hosts: \"all\", a group, a host, \"h0..h7\" or a list".into(),
        Kind::Link => "a link { rate, delay, buffer, queue }".into(),
        Kind::SizeDist => "a size, or a distribution of sizes such as { cdf = \"websearch\" }".into(),
        Kind::TimeDist => "a time, or a distribution of times such as { exponential = \"1ms\" }".into(),
        Kind::Names => "a list of names".into(),
        Kind::Links => "a list of links { from, to, rate, delay, buffer, queue, both }".into(),
    }
}

fn range(lo: i64, hi: i64) -> String {
    match (lo, hi) {
        (i64::MIN, i64::MAX) => "any".into(),
        (lo, i64::MAX) => format!("at least {lo}"),
        (i64::MIN, hi) => format!("at most {hi}"),
        (lo, hi) => format!("{lo} to {hi}"),
    }
}

/// Reads a text with a unit; a bare number gets the advice to add one.
fn quantity<T: FromStr<Err = QuantityError>>(cx: &mut Cx, what: &str, node: &Node, kind: Kind, unit: &str) -> Option<T> {
    let legal = Some(format!("legal: {}", kind_text(kind)));
    match &node.raw {
        Raw::Text(s) if s.len() > LONGEST_QUANTITY => {
            cx.sink.error(node.at, format!("{what} holds a text of {} bytes", s.len()), "too long for a quantity", legal);
            None
        }
        Raw::Text(s) => match s.parse() {
            Ok(v) => Some(v),
            Err(QuantityError(message)) => {
                let label = if s.trim_start().starts_with('-') { "must not be negative" } else { "not a legal quantity" };
                cx.sink.error(node.at, format!("{what}: {message}"), label, legal);
                None
            }
        },
        Raw::Int(_) | Raw::Float(_) | Raw::Huge(_) => {
            let number = node.describe();
            let advice = format!("quantities carry units: write \"{}{unit}\"", number.trim_start_matches('-'));
            cx.sink.error(node.at, format!("{what} is {number} without a unit"), advice, legal);
            None
        }
        _ => {
            cx.sink.error(
                node.at,
                format!("{what} must be {}, not {}", kind_text(kind), node.describe()),
                "expected a quantity",
                None,
            );
            None
        }
    }
}

/// A time as people write it.
pub(crate) fn time_text(t: Time) -> String {
    if t == Time::ZERO { "0s".into() } else { t.to_string() }
}

/// A time of at most `max`.
pub(crate) fn time(cx: &mut Cx, what: &str, node: &Node, max: Time) -> Option<Time> {
    let unit = if max > MAX_TIME { "s" } else { "us" };
    let t: Time = quantity(cx, what, node, Kind::Time, unit)?;
    if t > max {
        let days = max.0 / Time::from_secs(86_400).0;
        cx.sink.error(node.at, format!("{what} is {}", node.describe()), format!("legal: at most {days} days"), None);
        return None;
    }
    Some(t)
}

pub(crate) fn rate(cx: &mut Cx, what: &str, node: &Node) -> Option<Rate> {
    let unit = if matches!(node.raw, Raw::Int(i) if i > 10_000) { "bps" } else { "Gbps" };
    quantity(cx, what, node, Kind::Rate, unit)
}

/// A size of at least one byte: nothing in a scenario is usefully empty.
pub(crate) fn bytes(cx: &mut Cx, what: &str, node: &Node) -> Option<Bytes> {
    let b: Bytes = quantity(cx, what, node, Kind::Bytes, "B")?;
    if b.0 == 0 || b.0 > MAX_BYTES {
        cx.sink.error(node.at, format!("{what} is {b}"), "legal: 1B to 1000000GB", None);
        return None;
    }
    Some(b)
}

pub(crate) fn queue_len(cx: &mut Cx, what: &str, node: &Node) -> Option<QueueLen> {
    let q: QueueLen = quantity(cx, what, node, Kind::QueueLen, "pkt")?;
    let max = if matches!(q, QueueLen::Packets(_)) { MAX_PACKETS } else { MAX_BYTES };
    if q.amount() > max {
        cx.sink.error(node.at, format!("{what} is {q}"), format!("legal: at most {MAX_PACKETS}pkt or 1000000GB"), None);
        return None;
    }
    Some(q)
}

pub(crate) fn int(cx: &mut Cx, what: &str, node: &Node, lo: i64, hi: i64) -> Option<i64> {
    match &node.raw {
        Raw::Int(i) if (lo..=hi).contains(i) => return Some(*i),
        Raw::Int(_) | Raw::Huge(_) => {
            cx.sink.error(node.at, format!("{what} is {}", node.describe()), format!("legal: {}", range(lo, hi)), None);
        }
        Raw::Text(s) if s.trim().parse::<i64>().is_ok() => {
            let message = format!("{what} must be an integer, not {}", node.describe());
            cx.sink.error(node.at, message, format!("write {} without quotes", s.trim()), None);
        }
        _ => {
            let message = format!("{what} must be an integer, not {}", node.describe());
            cx.sink.error(node.at, message, format!("legal: {}", kind_text(Kind::Int(lo, hi))), None);
        }
    }
    None
}

/// A short list, each of whose items is read by `item`.
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

pub(crate) fn float(cx: &mut Cx, what: &str, node: &Node, lo: f64, hi: f64) -> Option<f64> {
    let f = match &node.raw {
        Raw::Float(f) => *f,
        Raw::Int(i) => *i as f64,
        Raw::Huge(_) => f64::INFINITY,
        _ => {
            let message = format!("{what} must be a number, not {}", node.describe());
            cx.sink.error(node.at, message, format!("legal: {}", kind_text(Kind::Float(lo, hi))), None);
            return None;
        }
    };
    if !f.is_finite() || f < lo || f > hi {
        cx.sink.error(
            node.at,
            format!("{what} is {}", node.describe()),
            format!("legal: {}", kind_text(Kind::Float(lo, hi))),
            None,
        );
        return None;
    }
    Some(f)
}

pub(crate) fn boolean(cx: &mut Cx, what: &str, node: &Node) -> Option<bool> {
    if let Raw::Bool(b) = node.raw {
        return Some(b);
    }
    cx.sink.error(
        node.at,
        format!("{what} must be true or false, not {}", node.describe()),
        "write true or false, without quotes",
        None,
    );
    None
}

/// A text that is not empty.
pub(crate) fn text<'n>(cx: &mut Cx, what: &str, node: &'n Node) -> Option<&'n str> {
    match node.text() {
        Some(t) if t.trim().is_empty() => cx.sink.error(node.at, format!("{what} is empty"), "expected a text", None),
        Some(t) if t.len() > 4096 || t.contains('\0') => {
            cx.sink.error(node.at, format!("{what} is not a usable text"), "at most 4096 bytes, none of them zero", None);
        }
        Some(t) => return Some(t),
        None => {
            cx.sink.error(node.at, format!("{what} must be a text, not {}", node.describe()), "expected a text in quotes", None)
        }
    }
    None
}

/// Node names: a list of names and of ranges `"h0..h7"`.
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
        match name.contains("..").then(|| hosts::expand(name)) {
            None => list.push(name.to_owned()),
            Some(Some(range)) => list.extend(range),
            Some(None) => {
                cx.sink.error(n.at, format!("{what}: `{}` is not a range of names", short(name)), "write \"h0..h7\"", None);
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
