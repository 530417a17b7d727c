//! Bounds of the range of a [`Kind`], in the notation of scenarios.

use crate::schema::limits::{MAX_BYTES, MAX_PACKETS, MAX_TIME};
use forebay_types::param::Kind;
use forebay_types::{Bytes, QueueLen, Rate, Time};

/// Minimum and maximum values of a numeric kind, in the notation of scenarios. A key may have a narrower range. A time has two smallest values, zero
/// and a picosecond; a queue length has both in each of its units. Empty for other kinds.
pub fn bounds(kind: Kind) -> Vec<String> {
    let quoted = |text: String| format!("\"{text}\"");
    match kind {
        Kind::Time => [Time::ZERO, Time(1), MAX_TIME].map(|t| quoted(t.to_string())).to_vec(),
        Kind::Rate => [Rate::MIN, Rate::MAX].map(|r| quoted(r.to_string())).to_vec(),
        Kind::Bytes => [1, MAX_BYTES].map(|b| quoted(Bytes(b).to_string())).to_vec(),
        Kind::BytesOrZero => [0, MAX_BYTES].map(|b| quoted(Bytes(b).to_string())).to_vec(),
        Kind::QueueLen => queue_lengths(),
        Kind::Int(lo, hi) => vec![lo.to_string(), hi.to_string()],
        Kind::Float(lo, hi) => vec![float(lo), float(hi)],
        Kind::Ints(lo, hi) => lists(&[lo.to_string(), hi.to_string()]),
        Kind::QueueLens => lists(&queue_lengths()),
        Kind::SizeDist => bounds(Kind::Bytes),
        Kind::TimeDist => bounds(Kind::Time),
        Kind::Bool | Kind::Choice(_) | Kind::Text | Kind::Path | Kind::Hosts | Kind::Link | Kind::Names | Kind::Links => {
            Vec::new()
        }
    }
}

fn queue_lengths() -> Vec<String> {
    let lengths = [QueueLen::Packets(1), QueueLen::Packets(MAX_PACKETS), QueueLen::Bytes(1), QueueLen::Bytes(MAX_BYTES)];
    lengths.map(|q| format!("\"{q}\"")).to_vec()
}

/// A TOML number without a point is an integer, which a key for numbers also accepts.
fn float(f: f64) -> String {
    if f.abs() < 1e-4 { format!("{f:e}") } else { format!("{f}") }
}

/// Lists of one entry, of two, and of the number of classes.
fn lists(items: &[String]) -> Vec<String> {
    let list = |item: &String, n: usize| format!("[{}]", vec![item.as_str(); n].join(", "));
    items.iter().flat_map(|item| [1, 2, 8].map(|n| list(item, n))).collect()
}
