//! Records and experiments for tests.

use crate::protocol::{NEVER, NONE, Packet, Tcp, what};
use forebay_experiment::Experiment;
use forebay_experiment::network::{Network, Node, PortConfig};
use forebay_experiment::observe::Observe;
use forebay_experiment::profile::defaults;
use forebay_experiment::transport::{Chosen, Group, Profile, Transport};
use forebay_queues::{DropTail, FifoDiscipline, Queue};
use forebay_types::param::Values;
use forebay_types::{IndexVec, NodeId, QueueLen, Rate, Time};

/// A data packet that joins an empty queue.
pub(crate) fn data(seq: u32, payload: u32, time: u64) -> Packet {
    Packet {
        time,
        id: 0,
        conn: 0,
        port: 0,
        seq,
        ack: 0,
        payload,
        wire: payload + 40,
        window: 0,
        tcp_flags: crate::protocol::flag::ACK,
        ecn: 0,
        what: what::ARRIVED,
        reason: 0,
        class_of_service: 0,
        back: 0,
        queue_packets: 0,
        pad: 0,
        queue_bytes: 0,
    }
}

/// A sender with nothing outstanding.
pub(crate) fn tcp() -> Tcp {
    Tcp {
        time: 0,
        conn: 0,
        cwnd: 10,
        ssthresh: NONE,
        srtt_us8: 0,
        rttvar_us4: 0,
        rto_us: 200_000,
        acked: 0,
        unacked: 0,
        packets_out: 0,
        sacked_out: 0,
        lost_out: 0,
        retrans_out: 0,
        total_retrans: 0,
        rtt_us: NONE,
        snd_wnd: 65_535,
        alpha: NONE,
        ca_state: 0,
        ece: 0,
        backoff: 0,
        rwnd_limited_us: 0,
        sndbuf_limited_us: 0,
        pacing_rate: 0,
        bbr_bw: NEVER,
        bbr_min_rtt: NONE,
        bbr_pacing_gain: 0,
        bbr_cwnd_gain: 0,
    }
}

/// A transport called as its congestion control.
pub(crate) fn group(profile: Profile, cc: &'static str) -> Group {
    let tcp = Transport { stack: defaults(profile), cc: Chosen { name: cc, values: Values(Vec::new()) }, shims: Vec::new() };
    Group { name: cc.into(), tcp }
}

/// `senders` hosts and, numbered behind them, a receiver, at a switch, over links of 1 Gbps and 10 us; no transport and no traffic yet. Ports
/// 0 and 1 lead to the receiver and back, 2 and 3 from the first sender and to it, and so on.
pub(crate) fn experiment(senders: u32) -> Experiment {
    let node = |name: String, host| Node { name, host, shared_buffer: None };
    let (receiver, switch) = (NodeId::new(senders), NodeId::new(senders + 1));
    let mut network = Network::default();
    for i in 0..senders {
        network.nodes.push(node(format!("s{i}"), true));
    }
    network.nodes.push(node("recv".into(), true));
    network.nodes.push(node("sw".into(), false));
    let port = |from, to, buffer| PortConfig {
        from,
        to,
        rate: Rate(1_000_000_000),
        delay: Time::from_us(10),
        buffer,
        queue: Queue::Fifo(FifoDiscipline::DropTail(DropTail)),
        queue_config: Default::default(),
    };
    network.ports.push(port(switch, receiver, Some(QueueLen::Packets(20))));
    network.ports.push(port(receiver, switch, None));
    for i in 0..senders {
        network.ports.push(port(NodeId::new(i), switch, None));
        network.ports.push(port(switch, NodeId::new(i), None));
    }
    Experiment {
        seed: 1,
        duration: None,
        network,
        groups: IndexVec::new(),
        workloads: IndexVec::new(),
        observe: Observe::default(),
    }
}
