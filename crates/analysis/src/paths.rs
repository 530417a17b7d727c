//! Ports on the path between two hosts, from the table of ports.
//!
//! Packets take shortest paths by hops (`experiment/src/topology/routing.rs`). Among equally short paths, a connection's hash chooses, which
//! results do not include. For such a pair only the ports before the first branch and the port into the receiver are known.

use crate::data::Data;
use crate::hops::{FAR, Hops};
use std::collections::BTreeMap;

/// The links of a network.
pub(crate) struct Paths<'a> {
    /// Number of a node by its name.
    nodes: BTreeMap<&'a str, usize>,
    /// Outgoing ports of each node: index into [`Data::ports`], and the node at the other end.
    out: Vec<Vec<(usize, usize)>>,
    /// Incoming ports of each node, likewise.
    into: Vec<Vec<(usize, usize)>>,
    /// Index of each transit node among the transit nodes, which exclude hosts.
    inner: Vec<Option<usize>>,
    /// Distances between transit nodes.
    hops: Hops,
}

impl<'a> Paths<'a> {
    /// Links of a network.
    pub(crate) fn of(data: &'a Data, network: usize) -> Paths<'a> {
        let mut paths =
            Paths { nodes: BTreeMap::new(), out: Vec::new(), into: Vec::new(), inner: Vec::new(), hops: Hops::default() };
        for (i, p) in data.ports.iter().enumerate().filter(|(_, p)| p.network == network) {
            let (from, to) = (paths.node(&p.from), paths.node(&p.to));
            paths.out[from].push((i, to));
            paths.into[to].push((i, from));
        }
        let mut inner = 0..;
        paths.inner = (0..paths.out.len()).map(|node| if paths.is_end(node) { None } else { inner.next() }).collect();
        let (into, inner) = (&paths.into, &paths.inner);
        let before = |node: usize| into[node].iter().filter_map(|(_, before)| inner[*before]).collect();
        paths.hops = Hops::new((0..into.len()).filter(|node| inner[*node].is_some()).map(before).collect());
        paths
    }

    /// True for a node that no path traverses: it has a single neighbor.
    fn is_end(&self, node: usize) -> bool {
        match (self.out[node].as_slice(), self.into[node].as_slice()) {
            ([], _) | (_, []) => true,
            ([(_, to)], [(_, from)]) => to == from,
            _ => false,
        }
    }

    fn node(&mut self, name: &'a str) -> usize {
        let next = self.out.len();
        let node = *self.nodes.entry(name).or_insert(next);
        if node == next {
            self.out.push(Vec::new());
            self.into.push(Vec::new());
        }
        node
    }

    /// The ports of `at` that lead closer to `end`, and their next nodes; empty if unreachable.
    fn closer(&mut self, at: usize, end: usize) -> Vec<(usize, usize)> {
        let (out, into, inner) = (&self.out[at], &self.into, &self.inner);
        let mut last = out.iter().filter(|(_, next)| *next == end).peekable();
        if last.peek().is_some() {
            return last.copied().collect();
        }
        let before = into[end].iter().filter_map(|(_, before)| inner[*before]);
        let goals: Vec<usize> = inner[end].map_or_else(|| before.collect(), |goal| vec![goal]);
        let [goal] = goals[..] else { return Vec::new() };
        let hops = self.hops.to(goal);
        let far = |node: usize| inner[node].map_or(FAR, |from| hops.from(from));
        out.iter().filter(|(_, next)| far(*next) < far(at)).copied().collect()
    }

    /// Ports among which a hash chooses for the connections from one host to another, at the first branch. Empty without a branch.
    pub(crate) fn choice(&mut self, from: &str, to: &str) -> Vec<usize> {
        let (Some(&start), Some(&end)) = (self.nodes.get(from), self.nodes.get(to)) else { return Vec::new() };
        let mut at = start;
        while at != end {
            match self.closer(at, end).as_slice() {
                [] => break,
                [(_, next)] => at = *next,
                several => return several.iter().map(|(port, _)| *port).collect(),
            }
        }
        Vec::new()
    }

    /// Ports that all traffic from one host to another passes, as far as known, in path order.
    pub(crate) fn ports(&mut self, from: &str, to: &str) -> Vec<usize> {
        let (Some(&start), Some(&end)) = (self.nodes.get(from), self.nodes.get(to)) else { return Vec::new() };
        let (mut at, mut ports) = (start, Vec::new());
        while at != end {
            match (self.closer(at, end).as_slice(), self.into[end].as_slice()) {
                ([(port, next)], _) => {
                    ports.push(*port);
                    at = *next;
                }
                ([_, ..], [(last, _)]) => {
                    ports.push(*last);
                    break;
                }
                _ => break,
            }
        }
        ports
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Port;

    fn named(links: &[(&str, &str)], from: &str, to: &str) -> Vec<String> {
        let port = |(from, to): &(&str, &str)| Port {
            name: format!("{from}{to}"),
            from: (*from).into(),
            to: (*to).into(),
            ..Port::default()
        };
        let both = links.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        let data = Data { ports: both.map(|l| port(&l)).collect(), ..Data::default() };
        Paths::of(&data, 0).ports(from, to).into_iter().map(|p| data.ports[p].name.clone()).collect()
    }

    #[test]
    fn ecmp_choice_lists_ports() {
        let link =
            |(from, to): (&str, &str)| Port { name: format!("{from}{to}"), from: from.into(), to: to.into(), ..Port::default() };
        let ports = [("a", "l"), ("l", "s"), ("l", "t"), ("s", "m"), ("t", "m"), ("m", "b"), ("l", "c")].map(link).to_vec();
        let data = Data { ports, ..Data::default() };
        let mut paths = Paths::of(&data, 0);
        assert_eq!((paths.choice("a", "b"), paths.choice("a", "c"), paths.choice("a", "missing")), (vec![1, 2], vec![], vec![]));
    }

    #[test]
    fn single_path_is_known_completely() {
        let dumbbell = [("a", "x"), ("b", "x"), ("x", "y"), ("y", "c"), ("y", "d")];
        assert_eq!(named(&dumbbell, "a", "d"), ["ax", "xy", "yd"]);
        assert_eq!(named(&dumbbell, "d", "a"), ["dy", "yx", "xa"]);
        assert!(named(&dumbbell, "a", "missing").is_empty() && named(&dumbbell, "a", "a").is_empty());
    }

    #[test]
    fn ecmp_paths_share_both_ends() {
        let leaf_spine = [("a", "l"), ("l", "s"), ("l", "t"), ("s", "m"), ("t", "m"), ("m", "b")];
        assert_eq!(named(&leaf_spine, "a", "b"), ["al", "mb"]);
        assert!(named(&[("a", "x"), ("y", "b")], "a", "b").is_empty(), "no way");
    }
}
