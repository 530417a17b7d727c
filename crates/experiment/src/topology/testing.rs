//! Helpers for tests: checked parameters without a scenario file.

use super::BuildError;
use crate::network::Network;
use forebay_types::param::{Entry, Kind, LinkValue, Value, Values};
use forebay_types::{NodeId, SizeDist, TimeDist};

/// A drop-tail link without buffer limit.
pub(crate) fn link(rate: &str, delay: &str) -> LinkValue {
    LinkValue { rate: rate.parse().unwrap(), delay: delay.parse().unwrap(), buffer: None, queue: None, loss: None }
}

/// All parameters of `entry`: those `given`, else the default; required links are 1 Gbps, 10 us.
pub(crate) fn values(entry: Entry, given: &[(&'static str, Value)]) -> Values {
    for (key, _) in given {
        assert!(entry.params.iter().any(|p| p.key == *key), "{} has no parameter {key}", entry.name);
    }
    let value = |p: &forebay_types::param::Param| match given.iter().find(|(k, _)| *k == p.key) {
        Some((_, v)) => v.clone(),
        None => default(p.kind, p.default),
    };
    Values(entry.params.iter().map(|p| (p.key, value(p))).collect())
}

/// The value of a default in the scenario's notation.
fn default(kind: Kind, text: Option<&str>) -> Value {
    match (kind, text) {
        (_, Some("")) => Value::Unset,
        (Kind::Link, None) => Value::Link(link("1Gbps", "10us")),
        (_, None) => Value::Unset,
        (Kind::Time, Some(t)) => Value::Time(t.parse().unwrap()),
        (Kind::Rate, Some(t)) => Value::Rate(t.parse().unwrap()),
        (Kind::Bytes | Kind::BytesOrZero, Some(t)) => Value::Bytes(t.parse().unwrap()),
        (Kind::QueueLen, Some(t)) => Value::QueueLen(t.parse().unwrap()),
        (Kind::Int(lo, hi), Some(t)) => {
            let n = t.parse().unwrap();
            assert!((lo..=hi).contains(&n));
            Value::Int(n)
        }
        (Kind::Float(lo, hi), Some(t)) => {
            let x = t.parse().unwrap();
            assert!((lo..=hi).contains(&x));
            Value::Float(x)
        }
        (Kind::Bool, Some(t)) => Value::Bool(t.parse().unwrap()),
        (Kind::Choice(words), Some(t)) => {
            assert!(words.contains(&t), "{t}");
            Value::Text(t.into())
        }
        (Kind::Text, Some(t)) => Value::Text(t.into()),
        (Kind::SizeDist, Some(t)) => Value::SizeDist(SizeDist::Const(t.parse::<forebay_types::Bytes>().unwrap().0)),
        (Kind::TimeDist, Some(t)) => Value::TimeDist(TimeDist::Const(t.parse().unwrap())),
        (kind, text) => panic!("default {text:?} of kind {kind:?}"),
    }
}

/// Builds topology `name`.
pub(crate) fn build(name: &str, given: &[(&'static str, Value)]) -> Result<Network, BuildError> {
    let t = super::find(name).unwrap();
    (t.build)(&values(t.entry, given))
}

/// Egress ports of each node.
pub(crate) fn degrees(network: &Network) -> Vec<usize> {
    (0..network.nodes.len()).map(|n| network.ports.iter().filter(|p| p.from.index() == n).count()).collect()
}

/// Node names at the ends of a named port.
pub(crate) fn port_ends<'a>(network: &'a Network, name: &str) -> (&'a str, &'a str) {
    let port = &network.ports[super::find_port(network, name).unwrap()];
    (&network.nodes[NodeId::new(port.from.get())].name, &network.nodes[NodeId::new(port.to.get())].name)
}

/// Checks what every registry entry promises: lower-case words with hyphens, no key twice, documentation, defaults in range.
pub(crate) fn check_entry(entry: Entry) {
    let legal = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    assert!(legal(entry.name) && !entry.summary.is_empty());
    for (i, p) in entry.params.iter().enumerate() {
        assert!(legal(p.key) && !p.doc.is_empty(), "{} {}", entry.name, p.key);
        assert!(entry.params[..i].iter().all(|q| q.key != p.key), "{} {}", entry.name, p.key);
    }
    values(entry, &[]);
}
