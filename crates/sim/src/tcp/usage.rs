//! How much of the window an application uses (Linux tcp_cwnd_validate), for stacks whose window grows only where it limits sending.

/// Of one sender, while something is outstanding: with the first segment of another flight it begins anew.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// The window of data ends here.
    pub(super) end: u64,
    /// Most segments outstanding in it (`max_packets_out`).
    pub(super) most_out: u32,
}

impl Usage {
    /// Nothing has been sent.
    pub(super) const NONE: Usage = Usage { end: 0, most_out: 0 };
}
