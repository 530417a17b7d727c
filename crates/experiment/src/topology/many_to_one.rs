//! Topology `many-to-one`: many senders, one switch, one receiver, as in incast.

use super::builder::{Builder, check_size, link};
use super::{BuildError, MAX_NODES, TopologyEntry, extra_delay, shared_buffer};
use crate::network::Network;
use forebay_types::param::{Entry, Kind, Values, required};

pub(crate) const ENTRY: TopologyEntry = TopologyEntry {
    entry: Entry {
        name: "many-to-one",
        summary: "senders s0, s1, ... and one receiver `recv` on one switch; the port to the receiver is `bottleneck`",
        params: &[
            required("senders", Kind::Int(1, MAX_NODES as i64 - 2), "number of sending hosts"),
            required(
                "access",
                Kind::Link,
                "link of each sender; its buffer and queue are those of the switch ports towards the senders",
            ),
            required(
                "bottleneck",
                Kind::Link,
                "link between switch and receiver, the same rate and delay both ways; buffer and queue of the switch port",
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
    let (access, bottleneck) = (link(values, "access")?, link(values, "bottleneck")?);
    let count = values.int("senders") as usize;
    check_size(&["senders"], count as u64 + 2)?;
    let mut b = Builder::new(values)?;
    let senders = b.hosts("s", count);
    let receiver = b.host("recv");
    let switch = b.switch("sw");
    let (to_receiver, _) = b.link(switch, receiver, &bottleneck);
    for &s in &senders {
        b.link(s, switch, &access);
    }
    b.name_port("bottleneck", to_receiver);
    b.group("senders", senders);
    b.group("receiver", vec![receiver]);
    b.finish()
}

#[cfg(test)]
mod tests {
    use crate::topology::testing::{build, degrees, link, port_ends};
    use forebay_queues::{DropTail, FifoDiscipline, Queue, SharedPolicy};
    use forebay_types::param::Value;
    use forebay_types::{Bytes, NodeId, QueueLen, Rate};

    #[test]
    fn structure() {
        let mut bottleneck = link("2Gbps", "7us");
        bottleneck.buffer = Some(QueueLen::Packets(100));
        let n = build("many-to-one", &[("senders", Value::Int(5)), ("bottleneck", Value::Link(bottleneck))]).unwrap();
        assert_eq!((n.nodes.len(), n.ports.len()), (7, 12));
        assert_eq!(degrees(&n), [1, 1, 1, 1, 1, 1, 6]);
        assert_eq!(port_ends(&n, "bottleneck"), ("sw", "recv"));
        assert_eq!(n.host_groups[0], ("senders".into(), [0, 1, 2, 3, 4].map(NodeId::new).to_vec()));
        assert_eq!(n.host_groups[1], ("receiver".into(), vec![NodeId::new(5)]));
        let back = n.ports.iter().find(|p| p.from == NodeId::new(5)).unwrap();
        assert_eq!((back.rate, back.buffer), (Rate(2_000_000_000), None));
        assert_eq!(back.queue, Queue::Fifo(FifoDiscipline::DropTail(DropTail)));
    }

    #[test]
    fn shared_memory_belongs_to_the_switch() {
        let n = build("many-to-one", &[("senders", Value::Int(2)), ("shared-buffer", Value::Bytes(Bytes(4_000_000)))]).unwrap();
        assert_eq!(n.nodes[NodeId::new(0)].shared_buffer, None);
        assert_eq!(n.nodes[NodeId::new(3)].shared_buffer.unwrap().policy, SharedPolicy::Dynamic { alpha: 1.0 });
    }

    #[test]
    fn bad_links_name_their_key() {
        let e = build("many-to-one", &[("senders", Value::Int(2)), ("access", Value::Link(link("1Gbps", "11s")))]).unwrap_err();
        assert_eq!(e.key, "access");
    }
}
