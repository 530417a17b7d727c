//! Sets of hosts: `"all"`, a group of the topology, a host, a range `"h0..h7"`, or a list of those.

use crate::schema::context::Cx;
use crate::schema::limits::MAX_NAMES;
use crate::schema::ranges::expand;
use crate::text::doc::{Node, Raw};
use crate::text::message_text::{alternatives, did_you_mean, short};
use forebay_types::NodeId;

/// Maximum number of names searched for a similar one, which bounds the time of an error.
const MAX_SEARCHED: usize = 2_000;

/// Reads the hosts of `node`, in its order; duplicates are kept.
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

/// Advice for several names in one string.
fn as_list(text: &str) -> Option<String> {
    let parts: Vec<String> = text.split(',').map(|part| format!("\"{}\"", short(part.trim()))).collect();
    (parts.len() > 1).then(|| format!("write a list: [{}]", parts.join(", ")))
}

fn one(cx: &mut Cx, what: &str, text: &str, node: &Node, list: &mut Vec<NodeId>) -> bool {
    // Without a network only the errors of the topology are reported.
    let Some(index) = cx.hosts.as_ref() else { return false };
    if let Some(ids) = index.group(text) {
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
            Some(
                as_list(text)
                    .unwrap_or_else(|| "write \"h0..h7\": the same prefix, rising numbers, both ends included".to_owned()),
            ),
        );
        return false;
    };
    let known_groups = || {
        format!("groups of this topology: {}; forebay check lists its hosts", alternatives(index.groups()).replace(" or ", ", "))
    };
    for name in names {
        match index.node(&name) {
            Some((id, true)) => list.push(id),
            Some((_, false)) => {
                cx.sink.error(
                    node.at,
                    format!("{what}: `{}` is a switch", short(&name)),
                    "only hosts can send and receive",
                    Some(known_groups()),
                );
                return false;
            }
            None => {
                let known = index.groups().chain(index.some_hosts(MAX_SEARCHED));
                let label = did_you_mean(&name, known).unwrap_or_else(|| "unknown host".into());
                let help = as_list(text).unwrap_or_else(known_groups);
                cx.sink.error(node.at, format!("{what}: there is no host or group `{}`", short(&name)), label, Some(help));
                return false;
            }
        }
    }
    true
}
