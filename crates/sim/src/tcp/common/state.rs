//! States of a sender: connection, recovery, timer and fast path.

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not open yet.
    Closed,
    /// SYN sent.
    SynSent,
    /// Data may flow.
    Established,
    /// Everything including the FIN is acknowledged, and the peer has not closed yet (FIN-WAIT-2).
    FinWait2,
    /// The peer has closed too.
    Done,
}

/// State of congestion and recovery, as in Linux (`TCP_CA_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing suspicious.
    Open = 0,
    /// Duplicate ACKs or SACKs, not yet enough.
    Disorder = 1,
    /// Reducing the window after ECE.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a retransmission timeout.
    Loss = 4,
}

/// Running timer; TCP has one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// Nothing outstanding.
    Idle,
    /// Retransmission timeout.
    Rto,
    /// Tail loss probe (RFC 8985 section 7.2).
    Probe,
    /// RACK's reordering timer (RFC 8985 section 6.2).
    Reorder,
}

/// Cause of the last reduction of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tcp) enum ReductionCause {
    /// A loss; or there was none.
    Loss,
    /// ECE.
    Ecn,
    /// ECE at a window of one segment. New data waits for the retransmission timer.
    EcnAtOneSegment,
}

/// Fast path of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tcp) enum FastPath {
    /// There is none.
    None,
    /// For stacks without a scoreboard.
    Plain,
    /// For Linux with a scoreboard.
    Linux,
}
