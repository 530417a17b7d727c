//! Settings of the analysis.

/// The pause that ends a packet train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// Longer than the smoothed RTT of the connection, as TRIM's gap detection (its Algorithms 1 and 2).
    Rtt,
    /// Longer than this, ns.
    Fixed(u64),
}

/// Settings of the analysis.
#[derive(Debug, Clone)]
pub struct Options {
    /// The pause that ends a packet train.
    pub gap: Gap,
    /// Packets from which on a train is long. TRIM's short trains have "a few to dozens", long ones "nearly one hundred packets or more".
    pub long_train: u64,
    /// Senders that make an incast event.
    pub incast_senders: usize,
    /// Payload bytes of a full packet; `None`: from the SYNs, or else that of an Ethernet frame.
    pub mss: Option<u32>,
    /// Idle time after which the state of a connection is dropped, ns.
    pub idle_ns: u64,
    /// Longest pause between the parts of a flow that a collector has cut, ns: its inactive timeout.
    pub join_ns: u64,
    /// Most connections with a state.
    pub max_connections: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            gap: Gap::Rtt,
            long_train: 100,
            incast_senders: 8,
            mss: None,
            idle_ns: 300_000_000_000,
            join_ns: 15_000_000_000,
            max_connections: 1 << 17,
        }
    }
}

/// The pause that ends a train while the RTT of a connection is unknown, ns. TRIM measured pauses of hundreds of microseconds to several milliseconds.
pub(crate) const GAP_WITHOUT_RTT_NS: u64 = 1_000_000;
