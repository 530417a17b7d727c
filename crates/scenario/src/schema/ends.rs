//! The ends of the range of a [`Kind`], as a scenario writes them.

use crate::schema::limits::{MAX_BYTES, MAX_PACKETS, MAX_TIME};
use forebay_param::Kind;
use forebay_units::{Bytes, QueueLen, Rate, Time};

/// The least and the greatest values of a number, in the notation of a scenario: what a key of this kind accepts unless its own text narrows
/// it. A time has two least values, zero and a picosecond, and a queue has ends in both of its units. Empty for a kind that is no number.
pub fn ends(kind: Kind) -> Vec<String> {
    let quoted = |text: String| format!("\"{text}\"");
    match kind {
        Kind::Time => [Time::ZERO, Time(1), MAX_TIME].map(|t| quoted(t.to_string())).to_vec(),
        Kind::Rate => [Rate::MIN, Rate::MAX].map(|r| quoted(r.to_string())).to_vec(),
        Kind::Bytes => [1, MAX_BYTES].map(|b| quoted(Bytes(b).to_string())).to_vec(),
        Kind::QueueLen => queue_lengths(),
        Kind::Int(lo, hi) => vec![lo.to_string(), hi.to_string()],
        Kind::Float(lo, hi) => vec![float(lo), float(hi)],
        Kind::Ints(lo, hi) => lists(&[lo.to_string(), hi.to_string()]),
        Kind::QueueLens => lists(&queue_lengths()),
        Kind::SizeDist => ends(Kind::Bytes),
        Kind::TimeDist => ends(Kind::Time),
        Kind::Bool | Kind::Choice(_) | Kind::Text | Kind::Path | Kind::Hosts | Kind::Link | Kind::Names | Kind::Links => {
            Vec::new()
        }
    }
}

fn queue_lengths() -> Vec<String> {
    let lengths = [QueueLen::Packets(1), QueueLen::Packets(MAX_PACKETS), QueueLen::Bytes(1), QueueLen::Bytes(MAX_BYTES)];
    lengths.map(|q| format!("\"{q}\"")).to_vec()
}

/// TOML takes a number without a point for an integer, which a key for numbers accepts as well.
fn float(f: f64) -> String {
    if f.abs() < 1e-4 { format!("{f:e}") } else { format!("{f}") }
}

/// Lists of one entry, and of as many as there are classes.
fn lists(items: &[String]) -> Vec<String> {
    let list = |item: &String, n: usize| format!("[{}]", vec![item.as_str(); n].join(", "));
    items.iter().flat_map(|item| [1, 2, 8].map(|n| list(item, n))).collect()
}
