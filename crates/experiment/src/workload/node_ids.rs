//! Node ids of an HPCC topology, which number hosts and switches together.

use std::collections::BTreeSet;

/// Maximum number of nodes.
const MAX_NODES: u64 = 1 << 20;

/// Ids of the hosts of a topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeIds {
    nodes: u64,
    switches: BTreeSet<u64>,
}

impl NodeIds {
    /// Reads the head of a `topology.txt`: numbers of nodes, switches and links, then the ids of the switches. Line breaks have no meaning there.
    pub(super) fn parse(text: &str) -> Result<NodeIds, String> {
        let first = text.lines().next().unwrap_or_default().split_ascii_whitespace().count();
        if first != 3 {
            return Err(format!("the first line has {first} fields; an HPCC topology begins with `nodes switches links`"));
        }
        let mut numbers = text.split_ascii_whitespace().map(|token| {
            token.parse::<u64>().map_err(|_| {
                format!("`{token}` is not an integer; the file begins with `nodes switches links` and the ids of the switches")
            })
        });
        let mut next =
            || numbers.next().unwrap_or_else(|| Err("the file ends before the ids of the switches: is it truncated?".into()));
        let (nodes, count, _links) = (next()?, next()?, next()?);
        if nodes > MAX_NODES || count >= nodes {
            return Err(format!("{nodes} nodes, {count} of them switches; legal: up to {MAX_NODES} nodes, fewer switches"));
        }
        let mut switches = BTreeSet::new();
        for _ in 0..count {
            let id = next()?;
            if id >= nodes || !switches.insert(id) {
                return Err(format!("switch {id}: ids of switches are 0 to {} and differ", nodes - 1));
            }
        }
        Ok(NodeIds { nodes, switches })
    }

    /// Place of a node among the hosts, in order of their ids.
    pub(super) fn place(&self, text: &str) -> Result<usize, String> {
        let id = text.parse::<u64>().ok().filter(|id| *id < self.nodes);
        let id = id.ok_or_else(|| format!("there is no node `{text}`; the topology has nodes 0 to {}", self.nodes - 1))?;
        if self.switches.contains(&id) {
            return Err(format!("node `{text}` is a switch of the topology"));
        }
        Ok(id as usize - self.switches.range(..id).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_without_switches() {
        let ids = NodeIds::parse("6 2 5\n0 3\n0 1 100Gbps 1us 0\n").unwrap();
        let places: Vec<_> = ["1", "2", "4", "5"].map(|id| ids.place(id).unwrap()).into();
        assert_eq!(places, [0, 1, 2, 3]);
        assert!(ids.place("3").unwrap_err().contains("is a switch"));
        assert!(ids.place("6").unwrap_err().contains("nodes 0 to 5"));
        assert!(ids.place("h1").is_err());
        for (text, error) in
            [("", "first line has 0"), ("4 1 3\n", "truncated"), ("4 1 3\n9\n", "switch 9"), ("4 4 3\n", "fewer switches")]
        {
            assert!(NodeIds::parse(text).unwrap_err().contains(error), "{text}");
        }
    }
}
