//! A network that was read, node by node and link by link.

use forebay_types::{Rate, Time};

/// Hosts and switches by name, and their links.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fabric {
    /// Hosts, in the order of their numbers in flow lists that count hosts.
    pub hosts: Vec<Node>,
    pub switches: Vec<Node>,
    pub links: Vec<Link>,
    pub failures: Vec<Failure>,
    /// Memory of each switch, bytes.
    pub shared_buffer: Option<u64>,
}

/// A node: the letters before its number, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    pub kind: &'static str,
    pub id: u32,
}

impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.kind, self.id)
    }
}

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Link {
    pub from: Node,
    pub to: Node,
    pub properties: LinkProperties,
    /// Line of the file that has it; 0 if the file describes it indirectly.
    pub line: usize,
}

/// Properties that links can share.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkProperties {
    /// False for one direction only.
    pub both: bool,
    pub rate: Rate,
    pub delay: Time,
    pub buffer: Option<Buffer>,
    pub marking: Option<Marking>,
    /// Probability that a packet is lost, as written in the file; `None`: 0.
    pub loss: Option<String>,
}

/// Buffer of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Buffer {
    Bytes(u64),
    Packets(u64),
}

/// ECN marking of a port by its instantaneous queue, bytes: no marks below `min`, all packets marked above `max`, and a probability that grows to
/// `p_max` between them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Marking {
    pub min: u64,
    pub max: u64,
    /// As written in the file.
    pub p_max: String,
}

/// A link that fails.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub from: Node,
    pub to: Node,
    pub down: Time,
}

/// Links of one line of a scenario: the ends are nodes, or ranges of nodes.
#[derive(Debug, PartialEq)]
pub(crate) struct LinkGroup<'a> {
    pub from: Range,
    pub to: Range,
    pub properties: &'a LinkProperties,
}

/// Nodes with consecutive numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub first: Node,
    pub count: u32,
}

impl Range {
    fn one(node: Node) -> Range {
        Range { first: node, count: 1 }
    }

    /// True if `node` follows the last node.
    fn precedes(&self, node: Node) -> bool {
        node.kind == self.first.kind && node.id == self.first.id + self.count
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.count {
            1 => write!(f, "{}", self.first),
            n => write!(f, "{}..{}{}", self.first, self.first.kind, self.first.id + n - 1),
        }
    }
}

/// Joins nodes with consecutive numbers.
pub(crate) fn ranges(nodes: &[Node]) -> Vec<Range> {
    let mut all: Vec<Range> = Vec::new();
    for &node in nodes {
        match all.last_mut() {
            Some(last) if last.precedes(node) => last.count += 1,
            _ => all.push(Range::one(node)),
        }
    }
    all
}

/// Joins links with equal properties whose ends have consecutive numbers: at one end (all links lead to one node), or at both.
pub(crate) fn link_groups(links: &[Link]) -> Vec<LinkGroup<'_>> {
    let mut all: Vec<LinkGroup<'_>> = Vec::new();
    for link in links {
        if let Some(last) = all.last_mut()
            && *last.properties == link.properties
        {
            let first = last.from.count == 1 && last.to.count == 1;
            let (from, to) = (last.from.precedes(link.from), last.to.precedes(link.to));
            let (same_from, same_to) = (last.from == Range::one(link.from), last.to == Range::one(link.to));
            let both = from && to && last.from.count == last.to.count;
            let from_rises = from && same_to && (first || last.from.count > 1);
            let to_rises = to && same_from && (first || last.to.count > 1);
            if both || from_rises || to_rises {
                last.from.count += u32::from(both || from_rises);
                last.to.count += u32::from(both || to_rises);
                continue;
            }
        }
        all.push(LinkGroup { from: Range::one(link.from), to: Range::one(link.to), properties: &link.properties });
    }
    all
}

/// Checks that every host has one link in each direction.
///
/// The error is the host's name, the lines of its links, and their number.
pub(crate) fn host_without_one_link(fabric: &Fabric) -> Option<(Node, Vec<usize>)> {
    let mut at = std::collections::BTreeMap::new();
    for host in &fabric.hosts {
        at.insert(*host, (Vec::new(), Vec::new()));
    }
    for link in &fabric.links {
        for (node, out) in [(link.from, true), (link.to, false)] {
            if let Some((outgoing, incoming)) = at.get_mut(&node) {
                if out || link.properties.both {
                    outgoing.push(link.line);
                }
                if !out || link.properties.both {
                    incoming.push(link.line);
                }
            }
        }
    }
    at.into_iter().find(|(_, (out, into))| out.len() != 1 || into.len() != 1).map(|(host, (out, _))| (host, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(from: u32, to: u32, gbps: u64) -> Link {
        let properties = LinkProperties {
            both: true,
            rate: Rate(gbps * 1_000_000_000),
            delay: Time::from_us(1),
            buffer: None,
            marking: None,
            loss: None,
        };
        let node = |id| Node { kind: "n", id };
        Link { from: node(from), to: node(to), properties, line: 1 }
    }

    fn groups(links: &[Link]) -> Vec<String> {
        link_groups(links).iter().map(|g| format!("{} {}", g.from, g.to)).collect()
    }

    #[test]
    fn equal_links_become_ranges() {
        assert_eq!(groups(&[link(0, 9, 1), link(1, 9, 1), link(2, 9, 1), link(3, 9, 2)]), ["n0..n2 n9", "n3 n9"]);
        assert_eq!(groups(&[link(0, 5, 1), link(1, 6, 1), link(2, 7, 1)]), ["n0..n2 n5..n7"]);
        assert_eq!(groups(&[link(9, 0, 1), link(9, 1, 1), link(9, 3, 1)]), ["n9 n0..n1", "n9 n3"]);
        // Parallel links, and pairs beside a star.
        assert_eq!(groups(&[link(0, 9, 1), link(0, 9, 1)]), ["n0 n9", "n0 n9"]);
        assert_eq!(groups(&[link(0, 5, 1), link(1, 6, 1), link(2, 6, 1)]), ["n0..n1 n5..n6", "n2 n6"]);
        assert_eq!(groups(&[link(0, 5, 1), link(1, 5, 1), link(2, 6, 1)]), ["n0..n1 n5", "n2 n6"]);
    }

    #[test]
    fn nodes_become_ranges() {
        let nodes: Vec<Node> = [0, 1, 2, 7, 9, 10].map(|id| Node { kind: "n", id }).into();
        assert_eq!(ranges(&nodes).iter().map(Range::to_string).collect::<Vec<_>>(), ["n0..n2", "n7", "n9..n10"]);
    }
}
