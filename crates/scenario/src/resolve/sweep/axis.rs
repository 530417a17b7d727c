//! Axis of a sweep, with its values as texts and as numbers.

use crate::text::doc::{Node, Raw};
use crate::text::write::inline;
use forebay_types::{Bytes, QueueLen, Rate, Time};
use serde_json::Value as Json;
use std::collections::HashSet;

/// Key of the scenario with its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Path of the key, such as `topology.senders`.
    pub key: String,
    /// Shortest end of the path that distinguishes this axis from others, such as `senders`.
    pub short: String,
    /// Part of `[sweep]` that defines it.
    pub source: Source,
    /// Distinct values, in the order of the file. Points of a list may leave the key unset.
    pub values: Vec<AxisValue>,
    /// Unit of the numbers, as a suffix: `s`, `bps`, `bytes` or `pkts`; empty for plain numbers and texts.
    pub unit: &'static str,
}

/// Part of `[sweep]` that defines an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Every combination.
    Grid,
    /// Values change together with those of other zip keys.
    Zip,
    /// Values of individual points.
    List,
}

impl Source {
    /// The key in `[sweep]`.
    pub fn name(self) -> &'static str {
        match self {
            Source::Grid => "grid",
            Source::Zip => "zip",
            Source::List => "list",
        }
    }
}

/// Value of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisValue {
    /// As written.
    pub json: Json,
    /// Display text, unique among the values of the axis.
    pub text: String,
    /// Number if all values are numbers or quantities of one dimension, in SI units, bytes or packets.
    pub number: Option<f64>,
}

impl Axis {
    /// Axis with the given values; `short` is filled in when all axes are known.
    pub(super) fn new(key: String, source: Source, values: &[&Node]) -> Axis {
        let json: Vec<Json> = values.iter().map(|v| v.json()).collect();
        let mut texts: Vec<String> = json.iter().map(text).collect();
        if texts.iter().collect::<HashSet<_>>().len() < texts.len() {
            // Such as the number 1 and the text "1": only the exact form distinguishes them.
            texts = json.iter().map(|v| inline(v, 0)).collect();
        }
        let (unit, numbers) = numbers(&values.iter().map(|n| &n.raw).collect::<Vec<_>>());
        let values = json.into_iter().zip(texts).zip(numbers).map(|((json, text), number)| AxisValue { json, text, number });
        Axis { short: key.clone(), key, source, values: values.collect(), unit }
    }

    /// Returns true if all values are whole numbers without a unit.
    pub fn is_int(&self) -> bool {
        self.values.iter().all(|v| v.json.is_i64())
    }

    /// Returns true if all values have a number.
    pub fn is_number(&self) -> bool {
        self.values.iter().all(|v| v.number.is_some())
    }
}

/// Display text of a value: a choice as its name and its parameters, anything else as in a file, without quotes.
fn text(v: &Json) -> String {
    match v {
        Json::String(s) => s.clone(),
        Json::Object(t) => match t.get("kind").and_then(Json::as_str) {
            Some(kind) => {
                let rest = t.iter().filter(|(k, _)| *k != "kind");
                rest.fold(kind.to_owned(), |out, (k, v)| format!("{out} {k}={}", text(v)))
            }
            None => inline(v, 0),
        },
        other => inline(other, 0),
    }
}

/// Numbers of the values, and the suffix of their unit.
fn numbers(values: &[&Raw]) -> (&'static str, Vec<Option<f64>>) {
    let plain = |v: &&Raw| match v {
        Raw::Int(i) => Some(*i as f64),
        Raw::Float(f) => Some(*f),
        _ => None,
    };
    let all = |of: &dyn Fn(&&Raw) -> Option<f64>| values.iter().map(of).collect::<Option<Vec<f64>>>();
    let quantity = |of: fn(&str) -> Option<f64>| all(&|v| if let Raw::Text(s) = v { of(s) } else { None });
    let known = all(&plain).map(|n| ("", n));
    let known = known.or_else(|| quantity(|s| s.parse::<Time>().ok().map(|t| t.0 as f64 / 1e12)).map(|n| ("s", n)));
    let known = known.or_else(|| quantity(|s| s.parse::<Rate>().ok().map(|r| r.0 as f64)).map(|n| ("bps", n)));
    let known = known.or_else(|| quantity(|s| s.parse::<Bytes>().ok().map(|b| b.0 as f64)).map(|n| ("bytes", n)));
    let packets = |s: &str| match s.parse::<QueueLen>() {
        Ok(QueueLen::Packets(n)) => Some(n as f64),
        _ => None,
    };
    match known.or_else(|| quantity(packets).map(|n| ("pkts", n))) {
        Some((unit, numbers)) => (unit, numbers.into_iter().map(Some).collect()),
        None => ("", vec![None; values.len()]),
    }
}

/// Sets the short name of each axis to the shortest unique end of its path.
pub(super) fn shorten(axes: &mut [Axis]) {
    let paths: Vec<Vec<String>> = axes.iter().map(|a| a.key.split('.').map(str::to_owned).collect()).collect();
    for (i, axis) in axes.iter_mut().enumerate() {
        let own = &paths[i];
        let unique = |n: &usize| {
            let end = &own[own.len() - n..];
            paths.iter().enumerate().all(|(j, p)| j == i || !p.ends_with(end))
        };
        let n = (1..=own.len()).find(unique).unwrap_or(own.len());
        axis.short = own[own.len() - n..].join(".");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[&str]) -> Vec<Raw> {
        values.iter().map(|v| Raw::Text((*v).to_owned())).collect()
    }

    fn axis(values: &[Raw]) -> (&'static str, Vec<Option<f64>>) {
        numbers(&values.iter().collect::<Vec<_>>())
    }

    #[test]
    fn quantities_of_one_dimension_have_numbers() {
        assert_eq!(axis(&texts(&["10ms", "1us"])), ("s", vec![Some(0.01), Some(1e-6)]));
        assert_eq!(axis(&texts(&["1Gbps", "2.5Gbps"])), ("bps", vec![Some(1e9), Some(2.5e9)]));
        assert_eq!(axis(&texts(&["64KB", "1KiB"])), ("bytes", vec![Some(64e3), Some(1024.0)]));
        assert_eq!(axis(&texts(&["100pkt", "5pkt"])), ("pkts", vec![Some(100.0), Some(5.0)]));
        assert_eq!(axis(&[Raw::Int(1), Raw::Float(2.5)]), ("", vec![Some(1.0), Some(2.5)]));
        for mixed in [texts(&["100pkt", "64KB"]), texts(&["10ms", "none"]), vec![Raw::Int(1), Raw::Text("1ms".into())]] {
            assert_eq!(axis(&mixed), ("", vec![None, None]), "{mixed:?}");
        }
    }

    #[test]
    fn axis_names_are_shortest_unique() {
        let node = Node { at: crate::text::source::At::default(), raw: Raw::Int(1) };
        let one = |key: &str| Axis::new(key.into(), Source::Grid, &[&node]);
        let mut axes = ["topology.senders", "topology.access.rate", "topology.bottleneck.rate", "rate"].map(one);
        shorten(&mut axes);
        assert_eq!(axes.each_ref().map(|a| a.short.as_str()), ["senders", "access.rate", "bottleneck.rate", "rate"]);
    }
}
