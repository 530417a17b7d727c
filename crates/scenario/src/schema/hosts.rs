//! Naming hosts: `"all"`, a group of the topology, a host, a range `"h0..h7"`, or a list of those.

use crate::schema::cx::{Cx, MAX_NAMES};
use crate::text::doc::{Node, Raw};
use crate::text::error::{either, short};
use crate::text::set::did_you_mean;
use forebay_experiment::network::Network;
use forebay_units::NodeId;
use std::collections::HashMap;

/// Names searched for a likely slip; more would make an error slow.
const NEAREST_AMONG: usize = 2_000;

/// The names of a built network.
#[derive(Debug, Default)]
pub(crate) struct HostIndex {
    nodes: HashMap<String, (NodeId, bool)>,
    groups: Vec<(String, Vec<NodeId>)>,
}

impl HostIndex {
    pub fn new(network: &Network) -> HostIndex {
        let nodes = network.nodes.enumerate().map(|(id, n)| (n.name.clone(), (id, n.host))).collect();
        let mut groups = network.host_groups.clone();
        let all = network.nodes.enumerate().filter(|(_, n)| n.host).map(|(id, _)| id).collect();
        groups.retain(|g| g.0 != "all");
        groups.push(("all".into(), all));
        HostIndex { nodes, groups }
    }

    /// Name of a node, for messages.
    pub fn name(&self, node: NodeId) -> &str {
        self.nodes.iter().find(|n| n.1.0 == node).map_or("?", |n| n.0)
    }
}

/// The hosts `node` names, in its order; a host named twice counts twice.
pub(crate) fn hosts(cx: &mut Cx, what: &str, node: &Node) -> Option<Vec<NodeId>> {
    let mut list = Vec::new();
    let ok = match &node.raw {
        Raw::Text(text) => one(cx, what, text, node, &mut list),
        Raw::Array(nodes) if !nodes.is_empty() => nodes.iter().fold(true, |ok, n| match n.text() {
            Some(text) if list.len() <= MAX_NAMES => one(cx, what, text, n, &mut list) && ok,
            Some(_) => false,
            None => wrong(cx, what, n) && ok,
        }),
        _ => wrong(cx, what, node),
    };
    if ok && list.is_empty() {
        cx.sink.error(node.at, format!("{what} names no host"), "the group is empty", None);
        return None;
    }
    if list.len() > MAX_NAMES {
        cx.sink.error(node.at, format!("{what} names more than {MAX_NAMES} hosts"), "too many", None);
        return None;
    }
    ok.then_some(list)
}

fn wrong(cx: &mut Cx, what: &str, node: &Node) -> bool {
    let help = "hosts are \"all\", a group of the topology, a host name, a range \"h0..h7\", or a list of those".to_owned();
    cx.sink.error(node.at, format!("{what} must name hosts, not {}", node.describe()), "expected hosts", Some(help));
    false
}

fn one(cx: &mut Cx, what: &str, text: &str, node: &Node, list: &mut Vec<NodeId>) -> bool {
    // Without a network the topology's own errors are reported, and that is enough.
    let Some(index) = cx.hosts.as_ref() else { return false };
    if let Some((_, ids)) = index.groups.iter().find(|g| g.0 == text) {
        list.extend(ids);
        return true;
    }
    let names = if text.contains("..") { expand(text) } else { Some(vec![text.to_owned()]) };
    let Some(names) = names else {
        let message = format!("{what}: `{}` is not a range of hosts", short(text));
        cx.sink.error(
            node.at,
            message,
            "not a range",
            Some("write \"h0..h7\": the same prefix, rising numbers, both ends included".to_owned()),
        );
        return false;
    };
    for name in names {
        match index.nodes.get(&name) {
            Some((id, true)) => list.push(*id),
            Some((_, false)) => {
                cx.sink.error(
                    node.at,
                    format!("{what}: `{}` is a switch", short(&name)),
                    "only hosts can send and receive",
                    None,
                );
                return false;
            }
            None => {
                let groups = index.groups.iter().map(|g| g.0.as_str());
                let known = groups.clone().chain(index.nodes.iter().take(NEAREST_AMONG).filter(|n| n.1.1).map(|n| n.0.as_str()));
                let label = did_you_mean(&name, known).unwrap_or_else(|| "unknown host".into());
                let help =
                    format!("groups of this topology: {}; forebay check lists its hosts", either(groups).replace(" or ", ", "));
                cx.sink.error(node.at, format!("{what}: there is no host or group `{}`", short(&name)), label, Some(help));
                return false;
            }
        }
    }
    true
}

/// `h0..h7` as a list of names, both ends included.
pub(crate) fn expand(range: &str) -> Option<Vec<String>> {
    let (from, to) = range.split_once("..")?;
    let split = |s: &str| {
        let digits = s.len() - s.chars().rev().take_while(char::is_ascii_digit).count();
        let number: usize = s[digits..].parse().ok()?;
        // A number with leading zeros would not come back as it was written.
        (number.to_string() == s[digits..]).then(|| (s[..digits].to_owned(), number))
    };
    let ((p, a), (q, b)) = (split(from.trim())?, split(to.trim())?);
    if p != q || b < a || b - a >= MAX_NAMES {
        return None;
    }
    Some((a..=b).map(|i| format!("{p}{i}")).collect())
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn ranges() {
        assert_eq!(expand("h2..h4").unwrap(), ["h2", "h3", "h4"]);
        assert_eq!(expand("h7..h7").unwrap(), ["h7"]);
        for bad in ["h4..h2", "h1..s3", "h1..", "..", "h01..h03", "h0..h99999999999", "h0..h18446744073709551616"] {
            assert!(expand(bad).is_none(), "{bad}");
        }
    }
}
