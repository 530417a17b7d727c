//! Limits of a sender that are not the congestion window.

/// Limit of a sender other than the congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tcp) enum Limit {
    /// The receive window has no space for the next segment (tcp_snd_wnd_test).
    ReceiveWindow,
    /// The send buffer holds no unsent data, and has no space for more (SOCK_NOSPACE; tcp_cwnd_validate).
    SendBuffer,
}
