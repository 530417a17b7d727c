//! Properties of the unloaded path of a connection, as congestion controls may use them.

use super::Fib;
use crate::network::{Network, PortConfig};
use crate::transport::Stack;
use forebay_types::{NodeId, QueueLen, Time};

/// Path from a host to another and back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Route {
    /// RTT of a full data packet and its ACK.
    pub idle_rtt: Time,
    /// Difference between that RTT and the RTT of a SYN and its SYN-ACK: the serialization of the larger packet.
    pub handshake_deficit: Time,
    /// Bytes of a full packet on the wire.
    pub packet: f64,
    /// Rate of the slowest link in packets of full size per second.
    pub packets_per_s: f64,
    /// Buffer before that link in packets of full size, the smallest of several equally slow links; infinite if unlimited.
    pub buffer: f64,
}

impl Route {
    /// Path from host `src` to host `dst` and back, for data with ECMP hash `forth` and ACKs with `back`, in packets of `stack`.
    pub fn of(network: &Network, fib: &Fib, (src, dst): (NodeId, NodeId), (forth, back): (u16, u16), stack: &Stack) -> Route {
        let ports = |from, to, hash: u16| {
            let path = fib.path(network, from, to, u32::from(hash));
            path.into_iter().map(|p| &network.ports[p])
        };
        let (full, small) = (u64::from(stack.mss + stack.header), u64::from(stack.ack_size));
        let time = |p: &PortConfig, bytes: u64| p.delay.0 + p.rate.tx_time(bytes).0;
        let data: u64 = ports(src, dst, forth).map(|p| time(p, full)).sum();
        let syn: u64 = ports(src, dst, forth).map(|p| time(p, small)).sum();
        let ack: u64 = ports(dst, src, back).map(|p| time(p, small)).sum();
        let packets = |p: &PortConfig| match p.buffer {
            None => f64::INFINITY,
            Some(QueueLen::Packets(n)) => n as f64,
            // TRIM section 5: buffers in bytes are converted by floor(bytes / packet size).
            Some(QueueLen::Bytes(b)) => (b / full) as f64,
        };
        // TRIM A11: C and B are those of the bottleneck, the port that flows share. A host's own interface is no bottleneck: its queue cannot
        // overflow. A sender behind a slow link shares the switch's port with as many others as fit into it.
        let meet = |p: &&PortConfig| !network.nodes[p.from].host;
        let narrowest = ports(src, dst, forth).filter(meet).min_by_key(|p| p.rate.0).map(|p| p.rate.0);
        // Two directly connected hosts have only their own ports.
        let narrowest = narrowest.or_else(|| ports(src, dst, forth).map(|p| p.rate.0).min()).unwrap_or(1);
        let buffer =
            ports(src, dst, forth).filter(meet).filter(|p| p.rate.0 == narrowest).map(packets).fold(f64::INFINITY, f64::min);
        Route {
            idle_rtt: Time(data + ack),
            // A SYN may be longer than the smallest data packets of an odd configuration.
            handshake_deficit: Time(data.saturating_sub(syn)),
            packet: full as f64,
            packets_per_s: narrowest as f64 / (8 * full) as f64,
            buffer,
        }
    }
}
