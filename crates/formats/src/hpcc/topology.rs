//! HPCC's `topology.txt`, and the variants of SimAI.
//!
//! Tokens; line breaks have no meaning:
//!
//! * HPCC: `nodes switches links`, the ids of the switches, then `end end rate delay loss` for each link.
//! * SimAI: `nodes gpus-per-server nvswitches switches links gpu-type`, the ids of the NVSwitches and of the switches, then the same links. Newer
//!   versions have a seventh number.
//!
//! Node ids number hosts and switches together, and nodes are called `n0`, `n1`, ... here.

use crate::FileError;
use crate::fabric::{Fabric, Link, LinkProperties, Node};
use crate::quantity;
use crate::tokens::Tokens;
use std::collections::BTreeSet;

/// Maximum number of nodes, of a scenario.
const MAX_NODES: u32 = 1 << 20;

/// A topology, whose links have no queues yet.
#[derive(Debug)]
pub(crate) struct Topology {
    fabric: Fabric,
    /// Number of nodes, hosts and switches.
    nodes: u32,
    switches: BTreeSet<u32>,
    /// NVSwitches that were left out.
    nvswitches: usize,
}

impl Topology {
    /// Reads a topology. The links of NVSwitches are left out if `without_nvswitches`.
    ///
    /// # Errors
    /// A file in another format, ids out of range, and links that a scenario does not have.
    pub(crate) fn parse(file: &str, text: &str, without_nvswitches: bool) -> Result<Topology, FileError> {
        let mut tokens = Tokens::new(file, text);
        let words = text.lines().find(|l| !l.trim().is_empty()).map_or(0, |l| l.split_whitespace().count());
        let nodes: u32 = tokens.number("the number of nodes")?;
        if nodes == 0 || nodes > MAX_NODES {
            return Err(tokens.error(format!("{nodes} nodes; legal: 1 to {MAX_NODES}")));
        }
        let mut nvswitches = 0;
        if words >= 6 {
            let _per_server: u32 = tokens.number("the number of GPUs of a server")?;
            nvswitches = tokens.number("the number of NVSwitches")?;
        }
        let switches: u32 = tokens.number("the number of switches")?;
        let links: usize = tokens.number("the number of links")?;
        if words >= 6 {
            let _gpu = tokens.next("the type of the GPUs")?;
        }
        if words == 7 {
            let _: u64 = tokens.number("the seventh field of SimAI's first line")?;
        }
        let nv = ids(&mut tokens, nvswitches, nodes, "NVSwitch", &BTreeSet::new())?;
        let switches = ids(&mut tokens, switches, nodes, "switch", &nv)?;
        let node = |id| Node { kind: "n", id };
        let mut fabric = Fabric {
            hosts: (0..nodes).filter(|id| !switches.contains(id) && !nv.contains(id)).map(node).collect(),
            switches: switches.iter().copied().map(node).collect(),
            ..Fabric::default()
        };
        if !without_nvswitches {
            fabric.switches.extend(nv.iter().copied().map(node));
            fabric.switches.sort_unstable();
        }
        for number in 0..links {
            let (from, to, properties) = link(&mut tokens, number, links, nodes)?;
            if without_nvswitches && (nv.contains(&from) || nv.contains(&to)) {
                continue;
            }
            fabric.links.push(Link { from: node(from), to: node(to), properties, line: tokens.line() });
        }
        if !tokens.is_empty() {
            let token = tokens.next("nothing")?;
            return Err(tokens
                .error(format!("`{token}` follows the last of {links} links; correct the number of links in the first line")));
        }
        if let Some((host, lines)) = crate::fabric::host_without_one_link(&fabric) {
            return Err(several_links(file, host, &lines, !nv.is_empty()));
        }
        let nvswitches = if without_nvswitches { nv.len() } else { 0 };
        Ok(Topology { fabric, nodes, switches: switches.union(&nv).copied().collect(), nvswitches })
    }

    /// The network.
    pub(crate) fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Number of NVSwitches that were left out.
    pub(crate) fn nvswitches(&self) -> usize {
        self.nvswitches
    }

    /// The host with the id `text` of a flow list.
    pub(crate) fn host(&self, text: &str) -> Result<Node, String> {
        let id = text.parse::<u32>().ok().filter(|id| *id < self.nodes);
        let id = id.ok_or_else(|| format!("there is no node `{text}`; the topology has nodes 0 to {}", self.nodes - 1))?;
        if self.switches.contains(&id) {
            return Err(format!("node `{text}` is a switch of the topology; flows are between hosts"));
        }
        Ok(Node { kind: "n", id })
    }
}

/// Reads `count` ids of switches.
fn ids(tokens: &mut Tokens<'_>, count: u32, nodes: u32, what: &str, other: &BTreeSet<u32>) -> Result<BTreeSet<u32>, FileError> {
    let mut all = BTreeSet::new();
    for _ in 0..count {
        let id: u32 = tokens.number(&format!("the id of a {what}"))?;
        if id >= nodes {
            return Err(tokens.error(format!("{what} {id}: the topology has nodes 0 to {}", nodes - 1)));
        }
        if other.contains(&id) || !all.insert(id) {
            return Err(tokens.error(format!("{what} {id} is listed twice")));
        }
    }
    Ok(all)
}

/// Reads a link.
fn link(tokens: &mut Tokens<'_>, number: usize, links: usize, nodes: u32) -> Result<(u32, u32, LinkProperties), FileError> {
    let mut end = || {
        let id: u32 = tokens.number(&format!("an end of link {} of {links}", number + 1))?;
        if id >= nodes {
            return Err(tokens.error(format!("node {id}: the topology has nodes 0 to {}", nodes - 1)));
        }
        Ok(id)
    };
    let (from, to) = (end()?, end()?);
    if from == to {
        return Err(tokens.error(format!("a link joins node {from} to itself")));
    }
    let rate = tokens.next("the rate of a link")?;
    let rate = quantity::rate(rate).map_err(|e| tokens.error(e))?;
    let delay = tokens.next("the delay of a link")?;
    let delay = quantity::time(delay).map_err(|e| tokens.error(e))?;
    let loss = tokens.next("the loss probability of a link")?;
    let p: f64 = loss.parse().ok().filter(|p| (0.0..=1.0).contains(p)).ok_or_else(|| {
        tokens.error(format!("`{loss}` is not a loss probability, 0 to 1; a link is `end end rate delay loss`"))
    })?;
    let loss = (p > 0.0).then(|| loss.to_owned());
    Ok((from, to, LinkProperties { both: true, rate, delay, buffer: None, marking: None, loss }))
}

/// The error of a host whose number of links is not one.
fn several_links(file: &str, host: Node, lines: &[usize], nvswitches: bool) -> FileError {
    let Some(&last) = lines.last() else {
        return FileError::of(file, format!("node {} is a host without a link", host.id));
    };
    let remedy =
        if nvswitches { "leave out the NVSwitches and their links with --without-nvswitches" } else { "keep one of its links" };
    let list: Vec<String> = lines.iter().map(usize::to_string).collect();
    FileError::at(
        file,
        last,
        format!("host {} has {} links (lines {}), and a host has one interface: {remedy}", host.id, lines.len(), list.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::{Rate, Time};

    fn parse(text: &str) -> Result<Topology, String> {
        Topology::parse("t.txt", text, false).map_err(|e| e.to_string())
    }

    #[test]
    fn ids_number_hosts_and_switches() {
        let t = parse("5 1 4\n0\n0 1 25Gbps 1us 0\n0 2 25Gbps 1us 0.0\n3 0 25Gbps 0.001ms 0\n0 4 100Gb/s 1000ns 1e-4\n").unwrap();
        assert_eq!(t.fabric.hosts.iter().map(|n| n.id).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let last = &t.fabric.links[3];
        assert_eq!((last.properties.rate, last.properties.delay), (Rate(100_000_000_000), Time::from_us(1)));
        assert_eq!((last.properties.loss.as_deref(), last.line), (Some("1e-4"), 6));
        assert_eq!(t.host("4").unwrap().to_string(), "n4");
        assert!(t.host("0").unwrap_err().contains("is a switch"));
        assert!(t.host("5").unwrap_err().contains("nodes 0 to 4"));
    }

    #[test]
    fn line_breaks_have_no_meaning() {
        let one = parse("3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n").unwrap();
        let other = parse("3 1 2 \r\n 2 0 2\n1Gbps 1us 0 1 2 1Gbps 1us 0");
        // The first line has the numbers of the variant: line breaks matter there only.
        assert_eq!(one.fabric.switches, other.unwrap().fabric.switches);
    }

    /// Two servers with two GPUs each: node 4 and 5 are NVSwitches, 6 and 7 switches of the rails.
    const SIMAI: &str = "8 2 2 2 8 H100\n4 5\n6 7\n0 4 2880Gbps 0.000025ms 0\n1 4 2880Gbps 0.000025ms 0\n2 5 2880Gbps 0.000025ms 0\n\
                         3 5 2880Gbps 0.000025ms 0\n0 6 400Gbps 0.0005ms 0\n1 7 400Gbps 0.0005ms 0\n2 6 400Gbps 0.0005ms 0\n\
                         3 7 400Gbps 0.0005ms 0\n";

    #[test]
    fn simai_without_nvswitches() {
        let error = parse(SIMAI).unwrap_err();
        assert_eq!(
            error,
            "t.txt:8: host 0 has 2 links (lines 4, 8), and a host has one interface: leave out the NVSwitches and their links with \
             --without-nvswitches"
        );
        for first in ["8 2 2 2 8 H100", "8 2 2 2 8 H100 1"] {
            let t = Topology::parse("t", &SIMAI.replace("8 2 2 2 8 H100", first), true).unwrap();
            assert_eq!((t.fabric.hosts.len(), t.fabric.switches.len(), t.fabric.links.len(), t.nvswitches), (4, 2, 4, 2));
            assert!(t.host("4").is_err());
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (text, error) in [
            ("", "t.txt:1: the file ends before the number of nodes"),
            ("2 0 1\n0 1 1Gbps 1us\n", "t.txt:2: the file ends before the loss probability"),
            ("2 0 1\n0 2 1Gbps 1us 0\n", "t.txt:2: node 2: the topology has nodes 0 to 1"),
            ("2 0 1\n0 0 1Gbps 1us 0\n", "t.txt:2: a link joins node 0 to itself"),
            ("2 0 1\n0 1 1GB 1us 0\n", "t.txt:2: `1GB` is not a rate"),
            ("2 0 1\n0 1 1Gbps 1 h 0\n", "t.txt:2: `h` is not a loss probability"),
            ("2 0 1\n0 1 1Gbps 1us 2\n", "t.txt:2: `2` is not a loss probability"),
            ("2 0 1\n0 1 1Gbps 1us 0\n1 0 1Gbps 1us 0\n", "t.txt:3: `1` follows the last of 1 links"),
            ("3 1 1\n9\n", "t.txt:2: switch 9: the topology has nodes 0 to 2"),
            ("3 2 1\n1 1\n", "t.txt:2: switch 1 is listed twice"),
            ("3 1 1\n2\n0 2 1Gbps 1us 0\n", "t.txt: node 1 is a host without a link"),
            ("4 2 3\n2 3\n0 2 1Gbps 1us 0\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n", "t.txt:4: host 0 has 2 links (lines 3, 4)"),
            ("x 1 2\n", "t.txt:1: `x` is not the number of nodes"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.starts_with(error), "{text:?}: {found}");
        }
    }
}
