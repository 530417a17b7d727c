//! Accept queues of listening sockets (`listen-backlog` of a workload), as in Linux.
//!
//! A connection whose handshake is complete waits in the accept queue until the server calls accept(2); the server needs `accept-time` for each
//! connection. While more than `backlog` connections wait (sk_acceptq_is_full), the host drops SYNs (tcp_conn_request counts ListenOverflows), and every
//! packet that would complete a handshake (tcp_v4_syn_recv_sock). Clients send both again when their timers expire. SYN cookies keep the queue of open
//! handshakes from overflowing, so that it has no limit here.
//!
//! The time in the queue delays no data: the kernel receives and acknowledges the data of a connection that waits.

use crate::net::arena::{Arena, Sharing};
use crate::net::packet::{Packet, flag};
use forebay_experiment::listen::Listen;
use forebay_types::{AppId, IndexVec, NodeId, Time};

/// Accept queue of a workload at a host.
#[derive(Debug, Clone, Copy, Default)]
struct AcceptQueue {
    /// Time from which on the server is idle, if no other connection arrives.
    idle_from: Time,
    /// Packets of handshakes dropped because the queue was full (ListenOverflows).
    dropped: u64,
}

impl AcceptQueue {
    /// Number of connections that the server has not begun to accept at `now`. It begins with them `accept` apart, without a pause.
    fn waiting(&self, now: Time, accept: Time) -> u64 {
        let last = self.idle_from.0.saturating_sub(accept.0);
        last.saturating_sub(now.0).div_ceil(accept.0)
    }

    fn is_full(&self, listen: Listen, now: Time) -> bool {
        self.waiting(now, listen.accept_time()) > u64::from(listen.backlog())
    }

    fn push(&mut self, listen: Listen, now: Time) {
        self.idle_from = self.idle_from.max(now) + listen.accept_time();
    }
}

/// Progress of the handshake at the host that receives a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handshake {
    /// No SYN has been answered.
    Listen,
    /// The SYN-ACK has left, and nothing has arrived since.
    SynReceived,
    /// Complete.
    Established,
}

/// Listening sockets of a workload, by host; `None` for a workload without.
type Sockets = Option<(Listen, Arena<NodeId, AcceptQueue>)>;

/// Accept queues of all workloads that have one.
#[derive(Debug)]
pub(super) struct AcceptQueues {
    any: bool,
    /// By workload.
    sockets: IndexVec<AppId, Sockets>,
}

impl AcceptQueues {
    /// Empty queues at each of `nodes` nodes, for the workloads that listen.
    pub(super) fn new(listens: impl Iterator<Item = Option<Listen>>, nodes: usize) -> AcceptQueues {
        let socket = |listen: Option<Listen>| listen.map(|l| (l, Arena::new(vec![AcceptQueue::default(); nodes])));
        let sockets: IndexVec<AppId, _> = listens.map(socket).collect();
        AcceptQueues { any: sockets.iter().any(Option::is_some), sockets }
    }

    /// Shares the queues with a partition of a run. Only the partition that runs a host accesses its queues.
    pub(super) fn share(&mut self, sharing: &Sharing) -> AcceptQueues {
        let share = |one: &mut Sockets| {
            let (listen, queues) = one.as_mut()?;
            Some((*listen, queues.share(sharing)))
        };
        AcceptQueues { any: self.any, sockets: self.sockets.iter_mut().map(share).collect() }
    }

    /// Returns true if a workload has accept queues.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// Returns true if `app` has accept queues.
    pub(super) fn has(&self, app: AppId) -> bool {
        self.any && self.sockets.get(app).is_some_and(Option::is_some)
    }

    /// Returns true if host `node` takes `segments` of a connection of `app`, the first of which is `p`. Otherwise it drops them, because the accept
    /// queue is full.
    pub(super) fn takes(&mut self, app: AppId, node: NodeId, (p, segments): (&Packet, u32), handshake: Handshake) -> bool {
        let Some(Some((listen, queues))) = self.sockets.get_mut(app) else { return true };
        let (queue, now) = (&mut queues[node], p.arrival);
        match handshake {
            // tcp_check_req answers a repeated SYN of an open handshake.
            Handshake::Established => return true,
            Handshake::SynReceived if p.has(flag::SYN) => return true,
            Handshake::Listen if !p.has(flag::SYN) || p.has(flag::DATAGRAM) => return true,
            Handshake::Listen | Handshake::SynReceived => {}
        }
        if queue.is_full(*listen, now) {
            queue.dropped += u64::from(segments);
            return false;
        }
        if handshake == Handshake::SynReceived {
            queue.push(*listen, now);
        }
        true
    }

    /// Packets that each host has dropped, for hosts that dropped some.
    pub(super) fn dropped(&self) -> impl Iterator<Item = (NodeId, u64)> {
        let queues = self.sockets.iter().flatten().flat_map(|(_, queues)| queues.enumerate());
        queues.filter(|(_, q)| q.dropped > 0).map(|(node, q)| (node, q.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCEPT: Time = Time::from_us(50);

    #[test]
    fn server_accepts_one_after_another() {
        let (listen, mut queue) = (Listen::new(2, ACCEPT), AcceptQueue::default());
        let now = Time::from_us(1000);
        assert_eq!(queue.waiting(now, ACCEPT), 0);
        // The first one is accepted at once, and three wait: one more than the backlog, as in Linux.
        for waiting in [0, 1, 2, 3] {
            assert!(!queue.is_full(listen, now));
            queue.push(listen, now);
            assert_eq!(queue.waiting(now, ACCEPT), waiting);
        }
        assert!(queue.is_full(listen, now));
        assert!(queue.is_full(listen, now + Time::from_us(49)));
        assert!(!queue.is_full(listen, now + ACCEPT), "the server takes the next one");
        assert_eq!(queue.waiting(now + Time::from_us(125), ACCEPT), 1);
        assert_eq!(queue.waiting(now + Time::from_us(200), ACCEPT), 0);
    }

    #[test]
    fn full_queue_drops_syns_and_handshakes() {
        let node = NodeId::new(0);
        let mut all = AcceptQueues::new([Some(Listen::new(1, ACCEPT)), None].into_iter(), 1);
        let app = AppId::new(0);
        let (syn, ack) = (Packet { flags: flag::SYN, ..Packet::default() }, Packet::default());
        for _ in 0..3 {
            assert!(all.takes(app, node, (&syn, 1), Handshake::Listen));
        }
        for _ in 0..3 {
            assert!(all.takes(app, node, (&ack, 1), Handshake::SynReceived));
        }
        // One is accepted, two wait.
        assert!(!all.takes(app, node, (&ack, 1), Handshake::SynReceived));
        assert!(!all.takes(app, node, (&syn, 1), Handshake::Listen));
        assert!(all.takes(app, node, (&syn, 1), Handshake::SynReceived), "a repeated SYN is answered");
        assert!(all.takes(app, node, (&ack, 1), Handshake::Established));
        assert!(all.takes(AppId::new(1), node, (&syn, 1), Handshake::Listen), "another workload has no queue");
        assert_eq!(all.dropped().collect::<Vec<_>>(), [(node, 2)]);
    }
}
