//! Parameter `extra-delay` of all topologies: hosts with longer links, and so longer round trips.

use super::BuildError;
use crate::network::{Network, PortConfig};
use forebay_types::param::{Kind, Param, optional};
use forebay_types::{NodeId, Time};
use std::collections::BTreeMap;

/// Parameter of every topology.
pub(super) const EXTRA_DELAY: Param = optional(
    "extra-delay",
    Kind::Text,
    "",
    "additional delay of the links of some hosts, such as \"s0..s7: 100us, recv: 1ms\": a host, a range or a group of the topology, and the delay added in each direction, so that round trips differ",
);

/// Adds the extra delay of `list` to the links of hosts.
pub(super) fn apply(network: &mut Network, list: &str) -> Result<(), BuildError> {
    // Part of the text in which a host was named before.
    let mut named_in: BTreeMap<NodeId, &str> = BTreeMap::new();
    for text in list.split(',').map(str::trim).filter(|t| !t.is_empty()) {
        let fail = |message: String| BuildError::new(EXTRA_DELAY.key, format!("\"{text}\": {message}"));
        let form = "legal: hosts and a time, such as \"s0..s7: 100us\"";
        let (hosts, time) = text.split_once(':').ok_or_else(|| fail(form.to_owned()))?;
        let more: Time = time.trim().parse().map_err(|e| fail(format!("{e}; {form}")))?;
        let hosts = named(network, hosts.trim()).ok_or_else(|| fail(format!("no such host, range or group of hosts; {form}")))?;
        for host in &hosts {
            if let Some(before) = named_in.insert(*host, text) {
                let host = &network.nodes[*host].name;
                return Err(fail(format!(
                    "`{host}` is in \"{before}\" already, and its links can be longer by one time only; legal: each host once. Leave it out of \
                     one of them"
                )));
            }
        }
        for port in &mut network.ports {
            if hosts.contains(&port.from) || hosts.contains(&port.to) {
                port.delay = port.delay.saturating_add(more);
                if more > PortConfig::MAX_DELAY || port.delay > PortConfig::MAX_DELAY {
                    return Err(fail(format!("the longest legal delay of a link is {}", PortConfig::MAX_DELAY)));
                }
            }
        }
    }
    Ok(())
}

/// Hosts by a group, a name, or a range `s0..s7`, both ends included.
fn named(network: &Network, text: &str) -> Option<Vec<NodeId>> {
    if let Some((_, hosts)) = network.host_groups.iter().find(|(name, _)| name == text) {
        return Some(hosts.clone());
    }
    let find = |name: &str| network.nodes.enumerate().find(|(_, n)| n.host && n.name == name).map(|(id, _)| id);
    match text.split_once("..") {
        None => Some(vec![find(text)?]),
        Some((from, to)) => {
            let (from, to) = (find(from.trim())?, find(to.trim())?);
            let all = || (from.index()..=to.index()).map(NodeId::from_index);
            // Switches may stand between them.
            (from <= to).then(|| all().filter(|n| network.nodes[*n].host).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::topology::testing::build;
    use forebay_types::Time;
    use forebay_types::param::Value;

    fn delays(text: &str) -> Result<Vec<u64>, String> {
        let list = Value::Text(text.to_owned());
        let network = build("many-to-one", &[("senders", Value::Int(4)), ("extra-delay", list)])
            .map_err(|e| format!("{} {}", e.key, e.message))?;
        let of = |name: &str| {
            let id = network.nodes.enumerate().find(|(_, n)| n.name == name).unwrap().0;
            let both: Vec<Time> = network.ports.iter().filter(|p| p.from == id || p.to == id).map(|p| p.delay).collect();
            assert_eq!(both[0], both[1], "both directions of {name}");
            both[0].as_ns() / 1000
        };
        Ok(["s0", "s1", "s2", "s3", "recv"].map(of).to_vec())
    }

    #[test]
    fn hosts_ranges_and_groups() {
        assert_eq!(delays("").unwrap(), [10, 10, 10, 10, 10]);
        assert_eq!(delays("s0..s1: 100us, s3: 1ms").unwrap(), [110, 110, 10, 1010, 10]);
        assert_eq!(delays("senders:5us,receiver: 7us").unwrap(), [15, 15, 15, 15, 17]);
    }

    #[test]
    fn invalid_delays_are_refused() {
        for (text, word) in [
            ("s0", "such as"),
            ("s9: 1ms", "no such host"),
            ("s1..s0: 1ms", "no such host"),
            ("s0: fast", "such as"),
            ("s0: 11s", "longest"),
            ("s2: 1us, s1..s3: 5us", "`s2` is in \"s2: 1us\" already"),
            ("senders: 1us, s0: 5us", "Leave it out"),
        ] {
            let e = delays(text).unwrap_err();
            assert!(e.starts_with("extra-delay ") && e.contains(word), "{e}");
            let part = text.rsplit(", ").next().unwrap();
            assert!(e.contains(part), "{e}");
        }
    }
}
