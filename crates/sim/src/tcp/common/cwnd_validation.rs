//! How much of the window an application uses (Linux tcp_cwnd_validate), for stacks whose window grows only where it limits sending.

/// Of one sender, while something is outstanding: with the first segment of another flight it begins anew.
#[derive(Debug, Clone, Copy, Default)]
pub struct CwndUsage {
    /// The window of data ends here.
    pub(in crate::tcp) end: u64,
    /// Most segments outstanding in it (`max_packets_out`).
    pub(in crate::tcp) most_out: u32,
}

impl CwndUsage {
    /// Nothing has been sent.
    pub(in crate::tcp) const NONE: CwndUsage = CwndUsage { end: 0, most_out: 0 };

}
