//! Causes of retransmissions, from the packets that the capture shows before them.

use crate::trains::sink::RetransmissionKind;

/// ACK information and recovery of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recovery {
    state: State,
    /// End of the data that was sent when the recovery began.
    point: u64,
    /// End of the highest byte that was retransmitted since then.
    resent: u64,
    dup_acks: u32,
    /// Highest byte that a SACK block reported.
    sacked: u64,
    timeouts: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    Fast,
    Timeout,
}

/// A retransmission, for its classification.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retransmitted {
    pub(super) start: u64,
    pub(super) end: u64,
    /// First unacknowledged byte.
    pub(super) una: u64,
    /// End of the highest byte sent.
    pub(super) max: u64,
    /// Time since the last data packet of this direction, ns.
    pub(super) waited: u64,
    /// RTT, ns, if known.
    pub(super) rtt: Option<f64>,
    /// The capture has ACKs of this direction.
    pub(super) has_acks: bool,
}

/// A sender that waits for less than this many round trips did not wait for its retransmission timer (RFC 6298: srtt + 4 rttvar, at least).
const ROUND_TRIPS: f64 = 3.0;
/// The same without a known RTT, ns.
const WAIT_WITHOUT_RTT: f64 = 10_000_000.0;

impl Recovery {
    /// An ACK of new data up to `una`.
    #[inline]
    pub(super) fn advanced(&mut self, una: u64) {
        self.dup_acks = 0;
        if self.state != State::Open && una >= self.point {
            self.state = State::Open;
        }
    }

    /// A duplicate ACK.
    pub(super) fn duplicate(&mut self) {
        self.dup_acks += 1;
    }

    /// A SACK block that ends at `end`.
    pub(super) fn sack(&mut self, end: u64) {
        self.sacked = self.sacked.max(end);
    }

    /// No retransmission is outstanding.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Number of timeouts.
    pub(super) fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Classifies a retransmission.
    pub(super) fn classify(&mut self, r: &Retransmitted) -> RetransmissionKind {
        if r.end <= r.una {
            return RetransmissionKind::Unneeded;
        }
        let long = r.waited as f64 > r.rtt.map_or(WAIT_WITHOUT_RTT, |rtt| ROUND_TRIPS * rtt);
        if self.state != State::Open && r.start < self.point {
            // In recovery, the first missing segment goes out once more after a pause: the timer expired.
            let again = r.start < self.resent;
            if again && r.start <= r.una && long && r.has_acks {
                return self.timeout(r);
            }
            self.resent = self.resent.max(r.end);
            let fast = self.state == State::Fast;
            return if fast { RetransmissionKind::Fast } else { RetransmissionKind::Timeout };
        }
        if self.dup_acks > 0 || self.sacked > r.end || !r.has_acks && !long {
            (self.state, self.point, self.resent) = (State::Fast, r.max, r.end);
            return RetransmissionKind::Fast;
        }
        // A timeout starts with the first unacknowledged segment, a probe is the last one.
        if r.end == r.max && r.has_acks && (r.start > r.una || !long) {
            return RetransmissionKind::Probe;
        }
        self.timeout(r)
    }

    fn timeout(&mut self, r: &Retransmitted) -> RetransmissionKind {
        self.timeouts += 1;
        (self.state, self.point, self.resent, self.dup_acks) = (State::Timeout, r.max, r.end, 0);
        RetransmissionKind::Timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RetransmissionKind::{Fast, Probe, Timeout, Unneeded};

    fn sent(start: u64, end: u64, waited: u64) -> Retransmitted {
        Retransmitted { start, end, una: 10, max: 50, waited, rtt: Some(100.0), has_acks: true }
    }

    #[test]
    fn duplicate_acks_mean_fast_retransmission() {
        let mut r = Recovery::default();
        (0..3).for_each(|_| r.duplicate());
        assert_eq!(r.classify(&sent(10, 20, 5)), Fast);
        assert_eq!(r.classify(&sent(20, 30, 5)), Fast);
        // A slow link, not a timer.
        assert_eq!(r.classify(&Retransmitted { una: 30, ..sent(30, 40, 900) }), Fast);
        // Lost again: only the timer repairs that.
        assert_eq!(r.classify(&sent(10, 20, 900)), Timeout);
        assert_eq!(r.timeouts(), 1);
    }

    #[test]
    fn sack_block_above_means_fast_retransmission() {
        let mut r = Recovery::default();
        r.sack(40);
        assert_eq!(r.classify(&sent(10, 20, 5)), Fast);
        r.advanced(50);
        assert!(r.is_open());
    }

    #[test]
    fn silence_means_timeout() {
        let mut r = Recovery::default();
        assert_eq!(r.classify(&sent(10, 20, 900)), Timeout);
        assert_eq!(r.classify(&sent(20, 30, 5)), Timeout);
        assert_eq!(r.timeouts(), 1);
    }

    #[test]
    fn last_segment_alone_is_a_probe() {
        assert_eq!(Recovery::default().classify(&sent(40, 50, 900)), Probe);
        assert_eq!(Recovery::default().classify(&Retransmitted { una: 40, ..sent(40, 50, 200) }), Probe);
        assert_eq!(Recovery::default().classify(&Retransmitted { una: 40, ..sent(40, 50, 900) }), Timeout);
    }

    #[test]
    fn acknowledged_data_was_unneeded() {
        assert_eq!(Recovery::default().classify(&sent(0, 10, 900)), Unneeded);
    }
}
