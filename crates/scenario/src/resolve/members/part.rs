//! `hosts` of a transport group: a list, a percentage of the hosts, or the rest of them.

use crate::schema::context::Cx;
use crate::schema::hosts;
use crate::text::doc::{Node, Raw};
use crate::text::message_text::short;
use crate::text::source::At;
use forebay_types::NodeId;

/// Word for the hosts that are in no other group.
const REST: &str = "rest";
/// 2^64 divided by the golden ratio. Multiples of it modulo 2^64 divide the range evenly, however many there are (Knuth, The Art of Computer
/// Programming, volume 3, section 6.4: the new point always falls into one of the largest gaps).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Hosts of a group.
pub(super) enum Hosts {
    /// These.
    Listed(Vec<NodeId>),
    /// A percentage.
    Part(Part),
    /// All that are in no other group.
    Rest,
}

/// A percentage of some hosts.
pub(super) struct Part {
    percent: f64,
    of: Vec<NodeId>,
}

/// Reads `hosts`: `"25%"`, `"25% of senders"`, `"rest"`, or hosts as everywhere.
pub(super) fn hosts(cx: &mut Cx, node: &Node) -> Option<Hosts> {
    match node.text() {
        Some(REST) => Some(Hosts::Rest),
        Some(text) if text.contains('%') => part(cx, node, text).map(Hosts::Part),
        _ => hosts::hosts(cx, "`hosts`", node).map(Hosts::Listed),
    }
}

fn part(cx: &mut Cx, node: &Node, text: &str) -> Option<Part> {
    let (number, of) = text.split_once('%')?;
    let percent = number.trim().parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p));
    let of = match of.trim() {
        "" => Some("all"),
        of => of.strip_prefix("of ").map(str::trim),
    };
    let (Some(percent), Some(of)) = (percent, of) else {
        let help = "write \"25%\", or \"25% of senders\" for a part of a group or range".to_owned();
        let message = format!("`hosts`: `{}` is not a percentage of hosts", short(text));
        cx.sink.error(node.at, message, "legal: 0% to 100%", Some(help));
        return None;
    };
    let of = hosts::hosts(cx, "`hosts`", &Node { at: node.at, raw: Raw::Text(of.to_owned()) })?;
    Some(Part { percent, of })
}

impl Part {
    /// The hosts of group `name`: the first of all hosts in an order that spreads them evenly, without those that are `taken`. Larger percentages
    /// contain the hosts of smaller ones, and no seed changes the choice.
    pub(super) fn choose(&self, cx: &mut Cx, name: &str, at: At, taken: impl Fn(NodeId) -> bool) -> Option<Vec<NodeId>> {
        let all = self.of.len();
        let count = (self.percent / 100.0 * all as f64).round() as usize;
        if count == 0 && self.percent > 0.0 {
            let message = format!("{}% of {all} hosts is less than half a host", self.percent);
            cx.sink.error(at, message, format!("legal: 0%, or at least {:.3}%", 50.0 / all as f64), None);
            return None;
        }
        let chosen = spread(&self.of, count, taken);
        if chosen.len() < count {
            let message = format!(
                "the transport group `{}` needs {count} of {all} hosts, and other groups leave {}",
                short(name),
                chosen.len()
            );
            cx.sink.error(at, message, "the percentages exceed 100%", None);
            return None;
        }
        Some(chosen)
    }
}

/// The first `count` of `hosts` in the order of the multiples of [`GOLDEN`], without those that are `taken`.
fn spread(hosts: &[NodeId], count: usize, taken: impl Fn(NodeId) -> bool) -> Vec<NodeId> {
    let mut order: Vec<(u64, NodeId)> = (1..).map(|i: u64| i.wrapping_mul(GOLDEN)).zip(hosts.iter().copied()).collect();
    order.sort_unstable();
    order.into_iter().map(|o| o.1).filter(|&host| !taken(host)).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(count: usize, hosts: u32) -> Vec<u32> {
        let all: Vec<NodeId> = (0..hosts).map(NodeId::new).collect();
        spread(&all, count, |_| false).into_iter().map(NodeId::get).collect()
    }

    /// A larger part contains the smaller one.
    #[test]
    fn parts_are_nested() {
        let mut before = Vec::new();
        for count in [0, 4, 10, 20, 30, 40] {
            let now = chosen(count, 40);
            assert_eq!(now.len(), count);
            assert!(before.iter().all(|h| now.contains(h)), "{before:?} {now:?}");
            before = now;
        }
    }

    /// Each of 16 racks has its share of the chosen hosts, give or take one.
    #[test]
    fn parts_are_spread_evenly() {
        for share in [2_u32, 4, 8] {
            let of = chosen(share as usize * 16, 256);
            for rack in 0..16 {
                let here = of.iter().filter(|h| **h / 16 == rack).count() as u32;
                assert!(here.abs_diff(share) <= 1, "rack {rack}: {here} for {share}");
            }
        }
    }
}
