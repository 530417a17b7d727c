//! Listening sockets of the receiving hosts of a workload (`listen-backlog`, `accept-time`).

use forebay_types::Time;

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
