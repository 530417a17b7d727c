//! Topology `dumbbell`: hosts left and right of one link between two switches.

use super::builder::{Builder, check_size, link};
use super::{BuildError, MAX_NODES, TopologyEntry, extra_delay, shared_buffer};
use crate::network::Network;
use forebay_types::param::{Entry, Kind, Values, optional, required};

pub(crate) const ENTRY: TopologyEntry = TopologyEntry {
    entry: Entry {
        name: "dumbbell",
        summary: "hosts l0, l1, ... and r0, r1, ... on two switches joined by one link, `bottleneck` (left to right) and `bottleneck-back`",
        params: &[
            required("left", Kind::Int(1, MAX_NODES as i64 - 3), "number of hosts on the left switch"),
            optional(
                "right",
                Kind::Int(1, MAX_NODES as i64 - 3),
                "",
                "number of hosts on the right switch. Default: as many as on the left",
            ),
            required(
                "access",
                Kind::Link,
                "link of each host; its buffer and queue are those of the switch ports towards the hosts",
            ),
            required("bottleneck", Kind::Link, "link between the switches; its buffer and queue are those of both directions"),
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
    let (access, bottleneck) = (link(values, "access")?, link(values, "bottleneck")?);
    let left = values.int("left") as usize;
    let right = values.opt_int("right").map_or(left, |n| n as usize);
    check_size(&["left", "right"], left as u64 + right as u64 + 2)?;
    let mut b = Builder::new(values)?;
    let (left, right) = (b.hosts("l", left), b.hosts("r", right));
    let (swl, swr) = (b.switch("swl"), b.switch("swr"));
    let (forth, back) = b.link(swl, swr, &bottleneck);
    for (hosts, switch) in [(&left, swl), (&right, swr)] {
        for &h in hosts {
            b.link(h, switch, &access);
        }
    }
    b.name_port("bottleneck", forth);
    b.name_port("bottleneck-back", back);
    b.group("left", left);
    b.group("right", right);
    b.finish()
}

#[cfg(test)]
mod tests {
    use crate::topology::testing::{build, degrees, port_ends};
    use forebay_types::NodeId;
    use forebay_types::param::Value;

    #[test]
    fn structure() {
        let n = build("dumbbell", &[("left", Value::Int(3)), ("right", Value::Int(2))]).unwrap();
        assert_eq!(n.nodes.len(), 7);
        assert_eq!(degrees(&n), [1, 1, 1, 1, 1, 4, 3]);
        assert_eq!(port_ends(&n, "bottleneck"), ("swl", "swr"));
        assert_eq!(port_ends(&n, "bottleneck-back"), ("swr", "swl"));
        assert_eq!(
            n.host_groups,
            [("left".to_owned(), [0, 1, 2].map(NodeId::new).to_vec()), ("right".to_owned(), [3, 4].map(NodeId::new).to_vec())]
        );
    }

    #[test]
    fn right_defaults_to_left() {
        assert_eq!(build("dumbbell", &[("left", Value::Int(4))]).unwrap().host_groups[1].1.len(), 4);
        assert_eq!(build("dumbbell", &[("left", Value::Int(600_000))]).unwrap_err().key, "left");
    }
}
