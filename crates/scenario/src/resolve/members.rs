//! Connections of a `[[transport.group]]`: those of its `hosts`, which may be a percentage, or a `share` of all. Workloads that name a group use that
//! one.

mod part;

use self::part::Hosts;
use crate::schema::context::Cx;
use crate::schema::fields::Fields;
use crate::schema::quantity;
use crate::text::message_text::{alternatives, short};
use crate::text::source::At;
use forebay_experiment::assign::Assign;
use forebay_experiment::network::Network;
use forebay_experiment::traffic::WorkloadKind;
use forebay_types::{GroupId, NodeId};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;

/// Tolerance of the sum of shares: thirds are written with three decimals.
const ROUNDING: f64 = 0.002;

/// Membership keys of a group.
#[derive(Default)]
pub(crate) struct Member {
    hosts: Option<(Hosts, Json, At)>,
    share: Option<(f64, At)>,
}

/// Rule that assigns the connections of a workload that names no group.
#[derive(Debug, Clone)]
pub(crate) enum Rule {
    /// No rule: every workload names a group.
    ByName,
    /// By the sending host of a connection: (host, group).
    Hosts(Vec<(NodeId, GroupId)>),
    /// By share: (group, share).
    Share(Vec<(GroupId, f64)>),
}

/// Reads `hosts` and `share` of a group.
pub(crate) fn member(cx: &mut Cx, fields: &mut Fields<'_>) -> Option<Member> {
    let hosts = match fields.get("hosts") {
        None => Some(None),
        Some(i) => part::hosts(cx, &i.node).map(|hosts| Some((hosts, i.node.json(), i.node.at))),
    };
    let share = match fields.get("share") {
        None => Some(None),
        Some(i) => quantity::float(cx, "`share`", &i.node, 0.0, 1.0).and_then(|share| {
            if share == 0.0 {
                let help = "leave `share` out of a group that workloads choose by name only".to_owned();
                cx.sink.error(i.node.at, "`share` is 0", "legal: above 0, at most 1", Some(help));
                return None;
            }
            Some(Some((share, i.node.at)))
        }),
    };
    Some(Member { hosts: hosts?, share: share? })
}

/// Rule of all groups, in their order.
pub(crate) fn rule<'a>(cx: &mut Cx, groups: impl Iterator<Item = (&'a str, &'a Member)> + Clone) -> Option<Rule> {
    let first = groups.clone().find(|(_, m)| m.hosts.is_some());
    let shares: Vec<(usize, f64, At)> =
        groups.clone().enumerate().filter_map(|(g, (_, m))| m.share.map(|(share, at)| (g, share, at))).collect();
    match (first, shares.first()) {
        (None, None) => Some(Rule::ByName),
        (Some((name, _)), Some(&(_, _, at))) => {
            let help = "use `hosts` in all groups or `share` in all: otherwise a connection from one of the hosts would belong to two groups";
            let message = format!("`share` beside the `hosts` of the group `{}`", short(name));
            cx.sink.error(at, message, "use one of the two", Some(help.to_owned()));
            None
        }
        (None, Some(_)) => {
            let sum: f64 = shares.iter().map(|s| s.1).sum();
            if (sum - 1.0).abs() > ROUNDING {
                let at = shares.last().map_or(At::default(), |s| s.2);
                let message = format!("the shares of the transport groups add up to {}", (sum * 1e6).round() / 1e6);
                cx.sink.error(at, message, "the sum must be 1", None);
                return None;
            }
            Some(Rule::Share(shares.iter().map(|s| (GroupId::from_index(s.0), s.1)).collect()))
        }
        (Some(_), None) => members(cx, groups).map(Rule::Hosts),
    }
}

/// All (host, group); a host in two groups is an error.
fn members<'a>(cx: &mut Cx, groups: impl Iterator<Item = (&'a str, &'a Member)> + Clone) -> Option<Vec<(NodeId, GroupId)>> {
    let mut of: HashMap<NodeId, (GroupId, &str)> = HashMap::new();
    let mut list = Vec::new();
    let numbered = || groups.clone().enumerate().map(|(i, g)| (GroupId::from_index(i), g));
    for (group, (name, member)) in numbered() {
        let Some((Hosts::Listed(hosts), _, at)) = &member.hosts else { continue };
        for &host in hosts {
            match of.insert(host, (group, name)) {
                None => list.push((host, group)),
                // A host may be repeated within a list.
                Some((before, _)) if before == group => {}
                Some((_, other)) => {
                    let host = cx.hosts.as_ref().map_or("?", |h| h.name(host)).to_owned();
                    let message =
                        format!("host `{}` is in the transport groups `{}` and `{}`", short(&host), short(other), short(name));
                    cx.sink.error(*at, message, "a host belongs to one group", None);
                    return None;
                }
            }
        }
    }
    // Percentages are of the hosts that no group lists; the remaining ones belong to the group of the rest.
    let mut rest: Option<&str> = None;
    for (group, (name, member)) in numbered() {
        let Some((Hosts::Part(part), _, at)) = &member.hosts else { continue };
        let taken = part.choose(cx, name, *at, |host| of.contains_key(&host))?;
        of.extend(taken.iter().map(|&host| (host, (group, name))));
        list.extend(taken.into_iter().map(|host| (host, group)));
    }
    for (group, (name, member)) in numbered() {
        let Some((Hosts::Rest, _, at)) = &member.hosts else { continue };
        if let Some(other) = rest.replace(name) {
            let message =
                format!("the transport groups `{}` and `{}` both have the rest of the hosts", short(other), short(name));
            cx.sink.error(*at, message, "one group only", None);
            return None;
        }
        let all = cx.hosts.as_ref().and_then(|h| h.group("all")).unwrap_or_default();
        list.extend(all.iter().filter(|host| !of.contains_key(host)).map(|&host| (host, group)));
    }
    Some(list)
}

impl Member {
    /// Its keys, for the echo.
    pub(crate) fn echo(&self, echo: &mut Map<String, Json>) {
        if let Some((_, json, _)) = &self.hosts {
            echo.insert("hosts".into(), json.clone());
        }
        if let Some((share, _)) = self.share {
            echo.insert("share".into(), share.into());
        }
    }
}

impl Rule {
    /// Assignment for the experiment; `None` without a rule.
    pub(crate) fn assign(&self, network: &Network) -> Option<Assign> {
        match self {
            Rule::ByName => None,
            Rule::Hosts(list) => Some(Assign::by_host(network.nodes.len(), list.iter().copied())),
            Rule::Share(parts) => Some(Assign::share(parts.iter().copied())),
        }
    }

    /// First group that can get a connection.
    pub(crate) fn first(&self) -> GroupId {
        match self {
            Rule::ByName => GroupId::new(0),
            Rule::Hosts(list) => list.first().map_or(GroupId::new(0), |m| m.1),
            Rule::Share(parts) => parts.first().map_or(GroupId::new(0), |p| p.0),
        }
    }
}

/// Checks that every sending host of `kind` has a group.
pub(crate) fn check_membership(
    cx: &mut Cx,
    class: &str,
    at: At,
    kind: &WorkloadKind,
    assign: &Assign,
    groups: &[&str],
) -> Option<()> {
    let mut missing: Option<NodeId> = None;
    kind.each_sender(|host| {
        if missing.is_none() && !assign.covers(host) {
            missing = Some(host);
        }
    });
    let host = match missing {
        None => return Some(()),
        Some(host) => cx.hosts.as_ref().map_or("?", |h| h.name(host)).to_owned(),
    };
    let message = format!("the workload `{}` sends from host `{}`, which is in no transport group", short(class), short(&host));
    let help = format!(
        "add it to the `hosts` of {}, give one group `hosts = \"rest\"`, or choose a group for the whole workload with `transport`",
        alternatives(groups.iter().copied())
    );
    cx.sink.error(at, message, "no transport for this host", Some(help));
    None
}
