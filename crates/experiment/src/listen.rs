//! Listening sockets of the receiving hosts of a workload (`listen-backlog`, `accept-time`).

use crate::traffic::{Workload, WorkloadKind};
use crate::transport::Group;
use forebay_types::{GroupId, IndexVec, NodeId, Time};

/// Listening socket of a workload at each of its receiving hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen {
    backlog: u32,
    accept_time: Time,
}

impl Listen {
    /// `backlog` as in listen(2). The server accepts one connection after another and needs `accept_time` for each; both are above zero.
    pub fn new(backlog: u32, accept_time: Time) -> Listen {
        Listen { backlog, accept_time }
    }

    /// Maximum number of connections that wait to be accepted when the host still takes one more (sk_max_ack_backlog).
    pub fn backlog(self) -> u32 {
        self.backlog
    }

    /// Time between two calls of accept(2) of a busy server.
    pub fn accept_time(self) -> Time {
        self.accept_time
    }
}

impl Workload {
    /// Reason why the workload cannot have a listening socket; `None` without one, or if it can.
    pub fn listen_conflict(&self, groups: &IndexVec<GroupId, Group>) -> Option<String> {
        self.listen?;
        match self.kind {
            WorkloadKind::Long { size: Some(_), .. } | WorkloadKind::Poisson { .. } | WorkloadKind::OnOff { .. } => {}
            WorkloadKind::Replay { .. } | WorkloadKind::Requests { two_way: true, .. } => {}
            WorkloadKind::Requests { .. } => {
                return Some("a response has a connection of its own, which the server opens; with `two-way = true` clients open the connections".into());
            }
            WorkloadKind::Long { .. } => return Some("endless flows open their connections once; give them a `size`".into()),
            WorkloadKind::Incast { .. } | WorkloadKind::Queries { .. } | WorkloadKind::Udp { .. } => {
                return Some(
                    "no client opens a connection to a server in it; legal kinds: long, on-off, poisson, replay, requests".into(),
                );
            }
        }
        let of_hosts = |see: &mut dyn FnMut(NodeId)| self.kind.each_sender(see);
        let mut used = groups.enumerate().filter(|(id, _)| self.transport.uses(*id, &of_hosts)).map(|(_, group)| group);
        used.find_map(|group| {
            let name = &group.name;
            match &group.tcp {
                c if !c.is_linux() || !c.handshake => Some(format!(
                    "the accept queue is that of Linux, and the transport `{name}` has another stack or no handshake; set `stack = \"linux\"`"
                )),
                c if !c.shims.is_empty() => {
                    Some(format!("it is not built for connections with a shim, and `{name}` has `{}`", c.shims[0].name))
                }
                _ => None,
            }
        })
    }
}
