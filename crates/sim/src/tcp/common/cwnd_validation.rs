//! Use of the congestion window by the application (Linux tcp_cwnd_validate), for stacks in which an unused window does not grow.

/// Use of the window in one flight. The first segment of the next flight resets it.
#[derive(Debug, Clone, Copy, Default)]
pub struct CwndUsage {
    /// End of the flight.
    pub(in crate::tcp) end: u64,
    /// Largest number of segments outstanding in the flight (`max_packets_out`).
    pub(in crate::tcp) max_packets_out: u32,
}

impl CwndUsage {
    /// Nothing has been sent.
    pub(in crate::tcp) const NONE: CwndUsage = CwndUsage { end: 0, max_packets_out: 0 };
}
