//! Random streams of a run.

use forebay_types::Rng;

/// Uses of random numbers. Each use has one stream per owner. The discriminant is part of the stream's name, so that two uses cannot share a stream.
/// Append new uses: anywhere else they would rename the streams of later uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RngStream {
    /// Processing time of a host's packets; by node.
    SendJitter,
    /// Decisions of a queue discipline; by port.
    Queue,
    /// Phase of a host's shim timer; by transport and node.
    ShimPhase,
    /// Initial sequence numbers.
    SequenceNumbers,
    /// Port number of a connection, as ECMP hashes it; by connection and, in one number, source and destination.
    FlowHash,
    /// A congestion control; by connection.
    CongestionControl,
    /// An application; by workload and partition of it.
    Workload,
    /// Pairs of senders and receivers that a workload draws once.
    Pattern,
    /// Order of simultaneous events.
    Ties,
    /// Paths of the packets of a host under packet spraying; by node.
    Spraying,
    /// Bit errors of a link; by port.
    BitErrors,
    /// Phase of a host's clock; by node.
    HostPhase,
    /// Latency variation of a host's interface; by node.
    HostJitter,
    /// Loss of packets on a link; by port.
    LinkLoss,
    /// Deviation of a host's clock; by node.
    HostClock,
    /// Initial sequence number in a capture of a host that sends no data; by connection.
    CaptureSequenceNumbers,
    /// Late packets of a link; by port.
    Reordering,
    /// Ports of flowlets; by switch.
    Flowlets,
    /// Flows that are alive at time zero; by workload and use.
    WarmStart,
}

impl RngStream {
    /// Stream of this use under `seed` for `owner`.
    pub fn stream(self, seed: u64, owner: &[u64]) -> Rng {
        // Always three tags, so that an owner's number cannot be read as another use.
        let mut tags = [self as u64, u64::MAX, u64::MAX];
        tags[1..=owner.len()].copy_from_slice(owner);
        Rng::stream(seed, &tags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ports and shims with equal numbers have different streams.
    #[test]
    fn uses_have_independent_streams() {
        let draw = |d: RngStream, owner: &[u64]| d.stream(7, owner).next_u64();
        assert_eq!(draw(RngStream::Queue, &[3]), draw(RngStream::Queue, &[3]));
        assert_ne!(draw(RngStream::Queue, &[3]), draw(RngStream::ShimPhase, &[3]));
        assert_ne!(draw(RngStream::Queue, &[3]), draw(RngStream::Queue, &[4]));
        assert_ne!(draw(RngStream::SequenceNumbers, &[]), draw(RngStream::SendJitter, &[0]));
    }
}
