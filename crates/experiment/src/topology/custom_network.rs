//! Topology `custom`: any network, node by node and link by link.

use super::builder::{Builder, check_link, check_size};
use super::{BuildError, Fib, TopologyEntry, extra_delay, find_port, shared_buffer};
use crate::network::Network;
use forebay_types::NodeId;
use forebay_types::param::{Entry, Kind, Values, nearest, optional, required};
use std::collections::HashMap;

pub(crate) const ENTRY: TopologyEntry = TopologyEntry {
    entry: Entry {
        name: "custom",
        summary: "hosts and switches by name, joined by the listed links",
        params: &[
            required("hosts", Kind::Names, "names of the hosts; each needs exactly one link"),
            optional("switches", Kind::Names, "", "names of the switches"),
            required(
                "links",
                Kind::Links,
                "links between named nodes; several in parallel between switches are shared by flow hash. An end may be a range, \
                 `from = \"h0..h63\"`; two ranges of equal length are joined pairwise. Buffer and queue are those of the switch ports",
            ),
            optional(
                "bottleneck",
                Kind::Text,
                "",
                "link `from->to` that results, observers and load definitions call `bottleneck`",
            ),
            shared_buffer::TOTAL,
            shared_buffer::SWITCH,
            extra_delay::EXTRA_DELAY,
            shared_buffer::ALPHA,
            shared_buffer::PER_PORT,
        ],
    },
    build,
};

fn build(values: &Values) -> Result<Network, BuildError> {
    let (host_names, switch_names) = (values.names("hosts"), values.opt_names("switches").unwrap_or_default());
    check_size(&["hosts", "switches"], (host_names.len() + switch_names.len()) as u64)?;
    let mut b = Builder::new(values)?;
    let mut ids: HashMap<&str, NodeId> = HashMap::new();
    for (key, names) in [("hosts", &host_names), ("switches", &switch_names)] {
        for name in names {
            // `all` is the group of all hosts, and `->` joins two names to a link.
            if name.is_empty() || name == "all" || name.contains("->") {
                return Err(BuildError::new(key, format!("`{name}` is not a legal name: not empty, not `all`, no `->` inside")));
            }
            let id = if key == "hosts" { b.host(name) } else { b.switch(name) };
            if ids.insert(name, id).is_some() {
                return Err(BuildError::new(key, format!("two nodes are called `{name}`; names must differ")));
            }
        }
    }
    let id = |name: &str| ids.get(name).copied().ok_or_else(|| unknown(name, host_names.iter().chain(&switch_names)));
    for link in values.links("links") {
        let (from, to) = (id(&link.from)?, id(&link.to)?);
        let name = format!("{}->{}", link.from, link.to);
        if from == to {
            return Err(BuildError::new("links", format!("{name}: joins a node to itself")));
        }
        check_link("links", &name, &link.link)?;
        if link.both {
            b.link(from, to, &link.link);
        } else {
            b.port(from, to, &link.link);
        }
    }
    let mut network = b.finish()?;
    check_hosts(&network)?;
    Fib::new(&network).map_err(|e| BuildError::new("links", e.to_string()))?;
    if let Some(name) = values.opt_text("bottleneck") {
        let port = find_port(&network, &name).ok_or_else(|| {
            BuildError::new("bottleneck", format!("`{name}` is not a link; write `from->to` with two names of nodes"))
        })?;
        network.named_ports.push(("bottleneck".into(), port));
    }
    Ok(network)
}

fn unknown<'a>(name: &str, names: impl Iterator<Item = &'a String>) -> BuildError {
    let hint = nearest(name, names.map(String::as_str)).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
    BuildError::new("links", format!("no host or switch is called `{name}`{hint}"))
}

/// Checks that every host has one interface. TCP endpoints do not choose an interface per flow.
fn check_hosts(network: &Network) -> Result<(), BuildError> {
    if !network.nodes.iter().any(|n| n.host) {
        return Err(BuildError::new("hosts", "there are no hosts; at least two are needed for traffic"));
    }
    let mut links = vec![(0u32, 0u32); network.nodes.len()];
    for p in &network.ports {
        links[p.from.index()].0 += 1;
        links[p.to.index()].1 += 1;
    }
    for (node, (out, into)) in network.nodes.iter().zip(links).filter(|(n, _)| n.host) {
        if (out, into) != (1, 1) {
            let name = &node.name;
            return Err(BuildError::new(
                "links",
                format!(
                    "host `{name}` has {out} outgoing and {into} incoming links; a host has exactly one of each (one interface). For a bond, place a \
                     switch between the host and its links, as in scenarios/bond.toml"
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::testing::{build as build_topology, link, port_ends};
    use forebay_types::param::{CustomLink, Value};

    fn net(hosts: &[&str], switches: &[&str], links: &[(&str, &str, bool)]) -> Result<Network, BuildError> {
        with_bottleneck(hosts, switches, links, Value::Unset)
    }

    fn with_bottleneck(
        hosts: &[&str],
        switches: &[&str],
        links: &[(&str, &str, bool)],
        name: Value,
    ) -> Result<Network, BuildError> {
        let names = |n: &[&str]| Value::Names(n.iter().map(|s| s.to_string()).collect());
        let links = links
            .iter()
            .map(|&(from, to, both)| CustomLink { from: from.into(), to: to.into(), both, link: link("1Gbps", "1us") })
            .collect();
        build_topology(
            "custom",
            &[("hosts", names(hosts)), ("switches", names(switches)), ("links", Value::Links(links)), ("bottleneck", name)],
        )
    }

    fn message(r: Result<Network, BuildError>) -> String {
        let e = r.unwrap_err();
        format!("{}: {}", e.key, e.message)
    }

    #[test]
    fn builds_listed_nodes_and_links() {
        let links = [("a", "x", true), ("x", "y", true), ("x", "y", true), ("b", "y", true)];
        let n = with_bottleneck(&["a", "b"], &["x", "y"], &links, Value::Text("x->y".into())).unwrap();
        assert_eq!((n.nodes.len(), n.ports.len()), (4, 8));
        assert_eq!(port_ends(&n, "bottleneck"), ("x", "y"));
        // Two hosts back to back, and a ring of one-way links.
        assert!(net(&["a", "b"], &[], &[("a", "b", true)]).is_ok());
        let chain = [("a", "x", false), ("x", "b", false), ("b", "y", false), ("y", "a", false)];
        assert!(net(&["a", "b"], &["x", "y"], &chain).is_ok());
        let ring = [("a", "x", true), ("b", "y", true), ("x", "y", false), ("y", "z", false), ("z", "x", false)];
        assert!(net(&["a", "b"], &["x", "y", "z"], &ring).is_ok());
    }

    #[test]
    fn invalid_links_are_refused() {
        let ab = ["a", "b"];
        let cases = [
            (
                net(&ab, &["switch1"], &[("a", "swich1", true)]),
                "links: no host or switch is called `swich1`; did you mean `switch1`?",
            ),
            (net(&["a", "a"], &[], &[]), "hosts: two nodes are called `a`"),
            (net(&["a", "b"], &["b"], &[]), "switches: two nodes are called `b`"),
            (net(&ab, &["x"], &[("a", "a", true)]), "links: a->a: joins a node to itself"),
            (net(&ab, &["x", "y"], &[("a", "x", true), ("a", "y", true), ("b", "y", true)]), "links: host `a` has 2 outgoing"),
            (net(&ab, &["x"], &[("a", "x", true)]), "links: host `b` has 0 outgoing"),
            (net(&ab, &["x"], &[("a", "x", false), ("b", "x", true)]), "links: host `a` has 1 outgoing and 0 incoming"),
            (net(&ab, &["x", "y"], &[("a", "x", true), ("b", "y", true)]), "links: no path from host `"),
            (
                net(&ab, &["x", "y"], &[("a", "x", true), ("b", "y", true), ("x", "y", false)]),
                "links: no path from host `b` to host `a`",
            ),
            // a listens at y, where no path leads; the message must name its neighbor b, though a comes first.
            (
                net(&["a", "b"], &["x", "y"], &[("a", "x", false), ("y", "a", false), ("b", "x", true)]),
                "links: no path from host `b`",
            ),
            (net(&[], &["x"], &[]), "hosts: there are no hosts"),
            (net(&["a->b"], &[], &[]), "hosts: `a->b` is not a legal name"),
            (with_bottleneck(&ab, &[], &[("a", "b", true)], Value::Text("a-b".into())), "bottleneck: `a-b` is not a link"),
        ];
        for (result, expected) in cases {
            let m = message(result);
            assert!(m.starts_with(expected), "{m}");
        }
    }

    #[test]
    fn too_many_parallel_links_are_refused() {
        let mut links = vec![("a", "x", true), ("b", "y", true)];
        links.extend([("x", "y", true); 256]);
        assert!(message(net(&["a", "b"], &["x", "y"], &links)).contains("255"));
    }
}
