//! Topology `multi-hop`: two bottlenecks in a row (TRIM Fig. 10; the multi-hop experiment of the DCTCP publication differs only in its rates).
//!
//! ```text
//!  a, c --- sw1 ==link1== sw2 ==link2== front-end
//!                          |
//!                        b, d
//! ```
//! Groups a and b send to the front-end, the i-th host of c to the i-th host of d. Group a crosses both bottlenecks, c only the first, b only the
//! second.

use super::builder::{Builder, check_size, link};
use super::{BuildError, MAX_NODES, TopologyEntry, extra_delay, shared_buffer};
use crate::network::Network;
use forebay_types::param::{Entry, Kind, Values, optional, required};

pub(crate) const ENTRY: TopologyEntry = TopologyEntry {
    entry: Entry {
        name: "multi-hop",
        summary: "two bottlenecks: groups a and b send to `front-end`, c to d; `link1` carries a and c, `link2` carries a and b",
        params: &[
            optional(
                "a",
                Kind::Int(0, MAX_NODES as i64 - 3),
                "10",
                "hosts a0, a1, ... on the first switch, which send to the front-end",
            ),
            optional(
                "b",
                Kind::Int(0, MAX_NODES as i64 - 3),
                "10",
                "hosts b0, b1, ... on the second switch, which send to the front-end",
            ),
            optional(
                "c",
                Kind::Int(0, MAX_NODES as i64 / 2 - 2),
                "20",
                "hosts c0, c1, ... on the first switch, and as many receivers d0, d1, ... on the second",
            ),
            required("access", Kind::Link, "link of every host but the front-end"),
            required("link1", Kind::Link, "link between the two switches"),
            required("link2", Kind::Link, "link between the second switch and the front-end"),
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
    let (access, link1, link2) = (link(values, "access")?, link(values, "link1")?, link(values, "link2")?);
    let [a, b, c] = ["a", "b", "c"].map(|k| values.int(k) as usize);
    check_size(&["a", "b", "c"], (a + b + 2 * c + 3) as u64)?;
    if a + b + c == 0 {
        return Err(BuildError::new("a", "groups a, b and c are all empty: no host could send"));
    }
    let mut net = Builder::new(values)?;
    let (a, b, c, d) = (net.hosts("a", a), net.hosts("b", b), net.hosts("c", c), net.hosts("d", c));
    let front_end = net.host("fe");
    let (sw1, sw2) = (net.switch("sw1"), net.switch("sw2"));
    let (forth, back) = net.link(sw1, sw2, &link1);
    let (to_front_end, _) = net.link(sw2, front_end, &link2);
    for (hosts, switch) in [(&a, sw1), (&b, sw2), (&c, sw1), (&d, sw2)] {
        for &h in hosts {
            net.link(h, switch, &access);
        }
    }
    net.name_port("link1", forth);
    net.name_port("link1-back", back);
    net.name_port("link2", to_front_end);
    for (name, hosts) in [("a", a), ("b", b), ("c", c), ("d", d), ("front-end", vec![front_end])] {
        // An empty group would make a workload that refers to it fail later, with a less clear error.
        if !hosts.is_empty() {
            net.group(name, hosts);
        }
    }
    net.finish()
}

#[cfg(test)]
mod tests {
    use crate::topology::testing::{build, degrees, port_ends};
    use crate::topology::{Fib, find_port};
    use forebay_types::param::Value;

    #[test]
    fn structure() {
        let n = build("multi-hop", &[]).unwrap();
        assert_eq!(n.nodes.len(), 10 + 10 + 20 + 20 + 1 + 2);
        assert_eq!(degrees(&n)[61..], [31, 32]);
        assert_eq!(port_ends(&n, "link1"), ("sw1", "sw2"));
        assert_eq!(port_ends(&n, "link2"), ("sw2", "fe"));
        let sizes: Vec<_> = n.host_groups.iter().map(|(name, hosts)| (name.as_str(), hosts.len())).collect();
        assert_eq!(sizes, [("a", 10), ("b", 10), ("c", 20), ("d", 20), ("front-end", 1)]);
    }

    #[test]
    fn each_group_crosses_its_bottlenecks() {
        let n = build("multi-hop", &[]).unwrap();
        let fib = Fib::new(&n).unwrap();
        let (link1, link2) = (find_port(&n, "link1").unwrap(), find_port(&n, "link2").unwrap());
        let crosses = |src, dst| {
            let path = fib.path(&n, src, dst, 0);
            (path.contains(&link1), path.contains(&link2))
        };
        let first = |g: usize| n.host_groups[g].1[0];
        assert_eq!(crosses(first(0), first(4)), (true, true));
        assert_eq!(crosses(first(1), first(4)), (false, true));
        assert_eq!(crosses(first(2), first(3)), (true, false));
    }

    #[test]
    fn empty_groups_are_left_out() {
        let n = build("multi-hop", &[("b", Value::Int(0))]).unwrap();
        assert!(n.host_groups.iter().all(|(name, _)| name != "b"));
        let none = [("a", Value::Int(0)), ("b", Value::Int(0)), ("c", Value::Int(0))];
        assert_eq!(build("multi-hop", &none).unwrap_err().key, "a");
    }
}
