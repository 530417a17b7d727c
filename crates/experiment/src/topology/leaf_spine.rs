//! Topology `leaf-spine`: two tiers, every leaf (top-of-rack) switch linked to every spine.

use super::builder::{Builder, check_link, check_size, link};
use super::{BuildError, MAX_NODES, TopologyEntry, extra_delay, shared_buffer};
use crate::network::Network;
use forebay_types::Rate;
use forebay_types::param::{Entry, Kind, LinkValue, Values, optional, required};

pub(crate) const ENTRY: TopologyEntry = TopologyEntry {
    entry: Entry {
        name: "leaf-spine",
        summary: "racks of hosts h0, h1, ... on leaf switches, each linked to every spine; groups rack0, rack1, ...",
        params: &[
            required("leaves", Kind::Int(1, 30_000), "number of leaf switches leaf0, leaf1, ..., one a rack"),
            required("hosts-per-leaf", Kind::Int(1, MAX_NODES as i64 - 2), "number of hosts on each leaf"),
            required("spines", Kind::Int(1, 255), "number of spine switches spine0, spine1, ..."),
            required("host", Kind::Link, "link of each host; its buffer and queue are those of the leaf ports towards the hosts"),
            optional(
                "fabric",
                Kind::Link,
                "",
                "link between a leaf and a spine. Default: as `host`, with the rate that `oversubscription` gives",
            ),
            optional(
                "oversubscription",
                Kind::Float(0.01, 1000.0),
                "",
                "hosts-per-leaf * host rate / (spines * fabric rate). Sets the fabric rate when `fabric` is left out (default 1, \
                 non-blocking); with `fabric` it must agree with the rate given there",
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
    let host_link = link(values, "host")?;
    let [leaves, per_leaf, spines] = ["leaves", "hosts-per-leaf", "spines"].map(|k| values.int(k) as usize);
    check_size(&["leaves", "hosts-per-leaf", "spines"], leaves as u64 * (per_leaf as u64 + 1) + spines as u64)?;
    let fabric = fabric_link(values, &host_link, per_leaf, spines)?;
    let mut b = Builder::new(values)?;
    let hosts = b.hosts("h", leaves * per_leaf);
    let leaf: Vec<_> = (0..leaves).map(|i| b.switch(format!("leaf{i}"))).collect();
    let spine: Vec<_> = (0..spines).map(|i| b.switch(format!("spine{i}"))).collect();
    for (rack, &l) in hosts.chunks(per_leaf).zip(&leaf) {
        for &h in rack {
            b.link(h, l, &host_link);
        }
        for &s in &spine {
            b.link(l, s, &fabric);
        }
    }
    for (i, rack) in hosts.chunks(per_leaf).enumerate() {
        b.group(format!("rack{i}"), rack.to_vec());
    }
    b.finish()
}

fn fabric_link(values: &Values, host: &LinkValue, per_leaf: usize, spines: usize) -> Result<LinkValue, BuildError> {
    let down = per_leaf as f64 * host.rate.0 as f64;
    let wanted = values.opt_float("oversubscription");
    if let Some(fabric) = values.opt_link("fabric") {
        check_link("fabric", "", &fabric)?;
        let actual = down / (spines as f64 * fabric.rate.0 as f64);
        if let Some(wanted) = wanted
            && (actual / wanted - 1.0).abs() > 1e-3
        {
            return Err(BuildError::new(
                "oversubscription",
                format!("the given rates make it {actual:.4}, not {wanted}; leave out either this or `fabric`"),
            ));
        }
        return Ok(fabric);
    }
    let rate = down / (spines as f64 * wanted.unwrap_or(1.0));
    if rate < Rate::MIN.0 as f64 || rate > Rate::MAX.0 as f64 {
        return Err(BuildError::new(
            "oversubscription",
            format!("needs fabric links of {rate:.3e} bit/s; legal rates are {} to {}", Rate::MIN, Rate::MAX),
        ));
    }
    let fabric = LinkValue { rate: Rate(rate.round() as u64), ..host.clone() };
    check_link("fabric", "", &fabric)?;
    Ok(fabric)
}

#[cfg(test)]
mod tests {
    use crate::topology::testing::{build, degrees, link};
    use crate::topology::{BuildError, find_port};
    use forebay_types::param::Value;
    use forebay_types::{NodeId, Rate};

    fn build_with(extra: &[(&'static str, Value)]) -> Result<crate::network::Network, BuildError> {
        let mut all = vec![("leaves", Value::Int(3)), ("hosts-per-leaf", Value::Int(8)), ("spines", Value::Int(2))];
        all.extend_from_slice(extra);
        build("leaf-spine", &all)
    }

    #[test]
    fn structure() {
        let n = build_with(&[("fabric", Value::Link(link("40Gbps", "1us")))]).unwrap();
        assert_eq!(n.nodes.len(), 24 + 3 + 2);
        assert_eq!(degrees(&n)[24..], [10, 10, 10, 3, 3]);
        assert_eq!(n.host_groups[1], ("rack1".to_owned(), (8..16).map(NodeId::new).collect()));
        let up = find_port(&n, "leaf2->spine1").unwrap();
        assert_eq!(n.ports[up].rate, Rate(40_000_000_000));
    }

    #[test]
    fn oversubscription_sets_fabric_rate() {
        let rate = |n: crate::network::Network| n.ports[find_port(&n, "leaf0->spine0").unwrap()].rate;
        // 8 hosts at 1 Gbps over 2 spines.
        assert_eq!(rate(build_with(&[]).unwrap()), Rate(4_000_000_000));
        assert_eq!(rate(build_with(&[("oversubscription", Value::Float(2.0))]).unwrap()), Rate(2_000_000_000));
        let fabric = ("fabric", Value::Link(link("1Gbps", "1us")));
        assert!(build_with(&[fabric.clone(), ("oversubscription", Value::Float(4.0))]).is_ok());
        let e = build_with(&[fabric, ("oversubscription", Value::Float(2.0))]).unwrap_err();
        assert!(e.key == "oversubscription" && e.message.contains("4.0000"), "{e:?}");
    }

    #[test]
    fn size_is_limited() {
        let e = build(
            "leaf-spine",
            &[("leaves", Value::Int(30_000)), ("hosts-per-leaf", Value::Int(64_000)), ("spines", Value::Int(1))],
        );
        assert_eq!(e.unwrap_err().key, "leaves");
    }
}
