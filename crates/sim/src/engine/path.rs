//! What laws may be told of the path of a connection: how fast it is when empty, and its narrowest switch port.

use super::core::Core;
use crate::cc::Path;
use crate::tcp::config::TcpConfig;
use forebay_experiment::network::{Network, PortConfig};
use forebay_experiment::streams::Draws;
use forebay_experiment::topology::Fib;
use forebay_sampling::Rng;
use forebay_units::{ConnSlot, NodeId, QueueLen, Time};

/// The path from host `src` to host `dst` and back, for data with ECMP hash `forth` and ACKs with `back`. `rng` is the law's.
pub fn empty_path(
    network: &Network,
    fib: &Fib,
    src: NodeId,
    dst: NodeId,
    (forth, back): (u16, u16),
    c: &TcpConfig,
    rng: Rng,
) -> Path {
    let ports = |from, to, hash: u16| {
        let path = fib.path(network, from, to, u32::from(hash));
        path.into_iter().map(|p| &network.ports[p])
    };
    let (full, small) = (u64::from(c.mss + c.header), u64::from(c.ack_size));
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
    // TRIM A11: C and B are those of the bottleneck, the port where flows meet. A host's own interface is none: it has no buffer that
    // could overflow, and a sender behind a slow link of its own shares the switch's port with as many others as fit into it.
    let meet = |p: &&PortConfig| !network.nodes[p.from].host;
    let narrowest = ports(src, dst, forth).filter(meet).min_by_key(|p| p.rate.0).map(|p| p.rate.0);
    // Two hosts without a switch between them have only their own.
    let narrowest = narrowest.or_else(|| ports(src, dst, forth).map(|p| p.rate.0).min()).unwrap_or(1);
    let buffer = ports(src, dst, forth).filter(meet).filter(|p| p.rate.0 == narrowest).map(packets).fold(f64::INFINITY, f64::min);
    // A SYN may be longer than the smallest data packets of an odd configuration.
    let handshake_lacks = data.saturating_sub(syn);
    Path {
        idle_rtt: Time(data + ack),
        handshake_lacks: Time(handshake_lacks),
        packet: full as f64,
        packets_per_s: narrowest as f64 / (8 * full) as f64,
        buffer,
        rng,
    }
}

impl Core {
    /// Tells the law of connection `slot` about its path; `back` is the ECMP hash of its ACKs.
    pub(super) fn describe_path(&mut self, slot: ConnSlot, back: u16) {
        let s = &self.streams[slot];
        let sender = &mut self.senders[slot];
        let c = &self.tcp[sender.group()];
        let rng = Draws::Law.stream(self.seed, &[s.conn_id]);
        sender.law.path(empty_path(&self.network, self.fabric.fib(), s.src, s.dst, (s.hash, back), c, rng));
    }
}
