//! Data that an experiment records beyond the totals of flows and ports.

use crate::capture::Capture;
use forebay_types::{PortId, Time};

/// Data recorded beyond the totals of flows and ports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observe {
    /// Ports whose occupancy distribution (percentiles) is kept.
    pub occupancy: Vec<PortId>,
    /// Occupancy time series of these ports, sampled at this interval.
    pub queue_series: Vec<(PortId, Time)>,
    /// TCP time series: flow indices in order of creation, and the interval (`Time::ZERO`: every ACK).
    pub tcp_series: Vec<(u64, Time)>,
    /// True if each retransmission timeout is recorded.
    pub timeouts: bool,
    /// True if each packet that reaches its host is recorded.
    pub packets: bool,
    /// Packets that are captured with their headers.
    pub capture: Capture,
    /// Statistics (port means, percentiles, goodput) start here.
    pub warmup: Time,
}
