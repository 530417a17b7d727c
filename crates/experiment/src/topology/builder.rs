//! Builder that assembles a [`Network`] node by node and link by link.

use super::{BuildError, MAX_NODES, extra_delay, shared_buffer};
use crate::faults::LinkLoss;
use crate::network::{Network, Node, PortConfig};
use forebay_queues::{QueueConfig, SharedBuffer};
use forebay_types::param::{LinkValue, Values};
use forebay_types::{NodeId, PortId, Time};

/// Network under construction. Add all hosts before the first switch.
pub(crate) struct Builder {
    network: Network,
    shared: Option<SharedBuffer>,
    /// Value of the parameter `extra-delay`.
    extra_delay: String,
}

impl Builder {
    /// Empty network whose switches have the shared memory in `values`.
    pub(super) fn new(values: &Values) -> Result<Builder, BuildError> {
        let extra_delay = values.opt_text(extra_delay::EXTRA_DELAY.key).unwrap_or_default();
        Ok(Builder { network: Network::default(), shared: shared_buffer::from_values(values)?, extra_delay })
    }

    /// Adds a host.
    pub(super) fn host(&mut self, name: impl Into<String>) -> NodeId {
        debug_assert!(self.network.nodes.iter().next_back().is_none_or(|n| n.host), "hosts come first");
        self.node(Node { name: name.into(), host: true, shared_buffer: None })
    }

    /// Adds hosts `prefix0`, `prefix1`, ...
    pub(super) fn hosts(&mut self, prefix: &str, count: usize) -> Vec<NodeId> {
        (0..count).map(|i| self.host(format!("{prefix}{i}"))).collect()
    }

    /// Adds a switch.
    pub(super) fn switch(&mut self, name: impl Into<String>) -> NodeId {
        self.node(Node { name: name.into(), host: false, shared_buffer: self.shared })
    }

    fn node(&mut self, node: Node) -> NodeId {
        self.network.nodes.push(node)
    }

    /// Adds both directions of a link; returns the ports a -> b and b -> a.
    pub(super) fn link(&mut self, a: NodeId, b: NodeId, link: &LinkValue) -> (PortId, PortId) {
        (self.port(a, b, link), self.port(b, a, link))
    }

    /// Adds one direction of a link. The port of a host never drops: a real interface pushes back on the sender instead. The configured buffer and
    /// queue are those of switches.
    ///
    /// # Panics
    /// If the link's queue cannot be built; [`check_link`] refuses such links.
    pub(super) fn port(&mut self, from: NodeId, to: NodeId, link: &LinkValue) -> PortId {
        let host = self.network.nodes[from].host;
        let value = if host { None } else { link.queue.as_ref() };
        // Most ports have the configuration of one of their neighbors, and share it.
        let shared = self.network.ports.iter().rev().take(2).find(|p| p.queue_config.is_of(value));
        let config = shared.map_or_else(|| QueueConfig::new(value), |p| p.queue_config.clone());
        let id = self.network.ports.push(PortConfig {
            from,
            to,
            rate: link.rate,
            delay: link.delay,
            buffer: if host { None } else { link.buffer },
            queue: match config.build(link.buffer) {
                Ok(queue) => queue,
                Err(e) => panic!("`{}`: {}: `check_link` accepts what can be built", e.key, e.message),
            },
            queue_config: config,
        });
        self.network.faults.loss.extend(link.loss.clone().map(|loss| LinkLoss { port: id, loss }));
        id
    }

    /// Names a group of hosts.
    pub(super) fn group(&mut self, name: impl Into<String>, hosts: Vec<NodeId>) {
        self.network.host_groups.push((name.into(), hosts));
    }

    /// Gives a port a short name.
    pub(super) fn name_port(&mut self, name: impl Into<String>, port: PortId) {
        self.network.named_ports.push((name.into(), port));
    }

    /// The finished network.
    pub(super) fn finish(mut self) -> Result<Network, BuildError> {
        extra_delay::apply(&mut self.network, &self.extra_delay)?;
        Ok(self.network)
    }
}

/// Checked link of parameter `key`.
pub(crate) fn link(values: &Values, key: &'static str) -> Result<LinkValue, BuildError> {
    let link = values.link(key);
    check_link(key, "", &link)?;
    Ok(link)
}

/// Refuses links that cannot be simulated; `name` (may be empty) is the name of one of several links.
pub(crate) fn check_link(key: &'static str, name: &str, link: &LinkValue) -> Result<(), BuildError> {
    let prefix = if name.is_empty() { String::new() } else { format!("{name}: ") };
    if link.delay > PortConfig::MAX_DELAY {
        let longest = PortConfig::MAX_DELAY;
        return Err(BuildError::new(key, format!("{prefix}delay {} is above the longest legal delay, {longest}", link.delay)));
    }
    // Every hop must take time, or packets could circulate without end within one instant.
    if link.delay + link.rate.tx_time(1) == Time::ZERO {
        return Err(BuildError::new(key, format!("{prefix}a link of {} needs a delay of at least 1ps", link.rate)));
    }
    if link.buffer.is_some_and(|b| b.amount() == 0) {
        return Err(BuildError::new(key, format!("{prefix}a buffer of zero drops every packet; the least is \"1pkt\"")));
    }
    if let Err(e) = forebay_queues::build(link.queue.as_ref(), link.buffer) {
        return Err(BuildError::new(key, format!("{prefix}queue: `{}`: {}", e.key, e.message)));
    }
    Ok(())
}

/// Refuses more nodes than packets can address, before memory is allocated for them.
pub(crate) fn check_size(keys: &[&'static str], nodes: u64) -> Result<(), BuildError> {
    if nodes > MAX_NODES as u64 {
        let named: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        let text = format!("{} give {nodes} hosts and switches; legal: at most {MAX_NODES}", named.join(", "));
        return Err(BuildError::new(keys.first().copied().unwrap_or_default(), text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::testing::{link as plain, values};
    use forebay_types::{QueueLen, Rate};

    #[test]
    fn only_switch_ports_are_limited() {
        let v = values(crate::topology::find("many-to-one").unwrap().entry, &[]);
        let mut b = Builder::new(&v).unwrap();
        let (h, s) = (b.host("h"), b.switch("s"));
        let mut l = plain("1Gbps", "1us");
        l.buffer = Some(QueueLen::Packets(5));
        let (up, down) = b.link(h, s, &l);
        let n = b.finish().unwrap();
        assert_eq!(n.ports[PortId::from_index(up.index())].buffer, None);
        assert_eq!(n.ports[PortId::from_index(down.index())].buffer, Some(QueueLen::Packets(5)));
    }

    #[test]
    fn impossible_links_are_named() {
        let mut l = plain("1Gbps", "11s");
        assert!(check_link("access", "", &l).unwrap_err().message.contains("10s"));
        l.delay = Time::ZERO;
        assert!(check_link("access", "", &l).is_ok());
        l.rate = Rate::MAX;
        assert!(check_link("access", "", &l).unwrap_err().message.contains("1ps"));
        l.delay = Time(1);
        assert!(check_link("access", "", &l).is_ok());
        l.buffer = Some(QueueLen::Bytes(0));
        assert!(check_link("access", "a-b", &l).unwrap_err().message.starts_with("a-b: "));
        assert!(check_size(&["k"], 1_048_576).is_ok() && check_size(&["k"], 1_048_577).is_err());
    }
}
