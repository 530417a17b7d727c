//! The k-ary fat tree (Al-Fares, Loukissas and Vahdat, SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches,
//! (k/2)^2 core switches, k^3/4 hosts, full bisection bandwidth when all links are equal.

use super::builder::{Builder, check_link, check_size, link};
use super::{BuildError, TopologyEntry, extra_delay, shared_buffer};
use crate::network::Network;
use forebay_types::param::{Entry, Kind, Values, optional, required};

pub(crate) const ENTRY: TopologyEntry = TopologyEntry {
    entry: Entry {
        name: "fat-tree",
        summary: "k-ary fat tree: k^3/4 hosts pod0-h0, ..., three tiers of k-port switches; groups pod0, pod1, ...",
        params: &[
            required(
                "k",
                Kind::Int(2, 158),
                "ports of each switch, even; k = 8 has 128 hosts, k = 16 has 1024, k = 64 has 65 536",
            ),
            required("host", Kind::Link, "link of each host; its buffer and queue are those of the edge ports towards the hosts"),
            optional("fabric", Kind::Link, "", "link between switches. Default: as `host`"),
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
    let host_link = link(values, "host")?;
    let fabric = values.opt_link("fabric").unwrap_or_else(|| host_link.clone());
    check_link("fabric", "", &fabric)?;
    let k = values.int("k") as usize;
    if !k.is_multiple_of(2) {
        return Err(BuildError::new(
            "k",
            format!("{k} is odd; half of a switch's ports go up and half go down, so k must be even"),
        ));
    }
    let half = k / 2;
    check_size(&["k"], (k * half * half + k * k + half * half) as u64)?;

    let mut b = Builder::new(values)?;
    let pods: Vec<_> = (0..k).map(|p| b.hosts(&format!("pod{p}-h"), half * half)).collect();
    let edges: Vec<Vec<_>> = (0..k).map(|p| (0..half).map(|i| b.switch(format!("pod{p}-edge{i}"))).collect()).collect();
    let aggs: Vec<Vec<_>> = (0..k).map(|p| (0..half).map(|i| b.switch(format!("pod{p}-agg{i}"))).collect()).collect();
    let cores: Vec<_> = (0..half * half).map(|i| b.switch(format!("core{i}"))).collect();
    for p in 0..k {
        for (i, &edge) in edges[p].iter().enumerate() {
            for &h in &pods[p][i * half..(i + 1) * half] {
                b.link(h, edge, &host_link);
            }
            for &agg in &aggs[p] {
                b.link(edge, agg, &fabric);
            }
        }
        // The i-th aggregation switch of every pod joins the i-th row of cores: one path from a core to each pod.
        for (i, &agg) in aggs[p].iter().enumerate() {
            for &core in &cores[i * half..(i + 1) * half] {
                b.link(agg, core, &fabric);
            }
        }
    }
    for (p, hosts) in pods.into_iter().enumerate() {
        b.group(format!("pod{p}"), hosts);
    }
    b.finish()
}

#[cfg(test)]
mod tests {
    use crate::topology::testing::{build, degrees, link};
    use forebay_types::param::Value;
    use forebay_types::{NodeId, Rate};

    #[test]
    fn structure() {
        for k in [2usize, 4, 8] {
            let n = build("fat-tree", &[("k", Value::Int(k as i64))]).unwrap();
            let hosts = k * k * k / 4;
            assert_eq!(n.nodes.iter().filter(|x| x.host).count(), hosts);
            assert_eq!(n.nodes.len() - hosts, 5 * k * k / 4);
            let d = degrees(&n);
            assert!(d[..hosts].iter().all(|&d| d == 1));
            assert!(d[hosts..].iter().all(|&d| d == k), "{d:?}");
            assert_eq!(n.host_groups.len(), k);
            assert_eq!(n.nodes[NodeId::new(0)].name, "pod0-h0");
        }
    }

    #[test]
    fn fabric_differs_from_host_links() {
        let n = build("fat-tree", &[("k", Value::Int(4)), ("fabric", Value::Link(link("40Gbps", "2us")))]).unwrap();
        for p in &n.ports {
            let at_host = n.nodes[p.from].host || n.nodes[p.to].host;
            assert_eq!(p.rate, Rate(if at_host { 1_000_000_000 } else { 40_000_000_000 }));
        }
    }

    #[test]
    fn odd_and_huge_k_are_refused() {
        assert!(build("fat-tree", &[("k", Value::Int(5))]).unwrap_err().message.contains("even"));
        assert!(build("fat-tree", &[("k", Value::Int(160))]).unwrap_err().message.contains("1048576"));
    }
}
