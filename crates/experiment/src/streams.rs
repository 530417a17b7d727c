//! The random streams of a run: who draws from which.

use forebay_types::Rng;

/// What random numbers are drawn for. Each use has streams of its own, one for each owner: the place in this list is part of a
/// stream's name, so two uses cannot share one. A new use is appended; anywhere else it would rename the streams behind it.
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
    /// Port number of a connection, as ECMP hashes it; by connection (instead of the seed), source and destination.
    FlowHash,
    /// A congestion control; by connection.
    CongestionControl,
    /// An application; by workload and part of it.
    Workload,
    /// Who sends to whom, where a workload draws it once and for all.
    Pattern,
    /// Order of what happens at the same instant.
    Ties,
    /// Ways of the packets of a host, where each packet takes its own; by node.
    Spraying,
    /// Bit errors of a link; by port.
    BitErrors,
}

impl RngStream {
    /// The stream of this use under `seed` that belongs to `owner`.
    pub fn stream(self, seed: u64, owner: &[u64]) -> Rng {
        // Always three tags, so that no owner's number is read as another's use.
        let mut tags = [self as u64, u64::MAX, u64::MAX];
        tags[1..=owner.len()].copy_from_slice(owner);
        Rng::stream(seed, &tags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ports drew from the streams of shims whose transport had the same number as a port.
    #[test]
    fn the_same_owner_has_different_streams_for_different_uses() {
        let draw = |d: RngStream, owner: &[u64]| d.stream(7, owner).next_u64();
        assert_eq!(draw(RngStream::Queue, &[3]), draw(RngStream::Queue, &[3]));
        assert_ne!(draw(RngStream::Queue, &[3]), draw(RngStream::ShimPhase, &[3]));
        assert_ne!(draw(RngStream::Queue, &[3]), draw(RngStream::Queue, &[4]));
        assert_ne!(draw(RngStream::SequenceNumbers, &[]), draw(RngStream::SendJitter, &[0]));
    }
}
