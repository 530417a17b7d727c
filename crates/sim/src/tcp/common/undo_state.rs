//! State to undo a reduction of the window that was spurious (`sender/undo.rs`).

use crate::cc::{Ack, Threshold};
use forebay_types::Time;

/// State before an episode.
#[derive(Debug, Clone, Copy)]
pub struct Undo {
    /// The episode may be undone (Linux `undo_marker`).
    pub(in crate::tcp) open: bool,
    /// Window and threshold before the episode; `None`: the reduction is final, even if the episode is undone (Linux `prior_ssthresh`).
    pub(in crate::tcp) prior: Option<(f64, Threshold)>,
    /// `snd_una` at its start: duplicates reported below it are not of its retransmissions.
    pub(in crate::tcp) from: u64,
    /// Number of its retransmissions that have not been reported as duplicates.
    pub(in crate::tcp) retransmissions: u32,
    /// All of them have been reported (Linux `undo_retrans` is 0; before the first retransmission it is not).
    pub(in crate::tcp) all_reported: bool,
    /// Send time of its first retransmission (Linux `retrans_stamp`).
    pub(in crate::tcp) first: Option<Time>,
    /// F-RTO is deciding whether the timeout was genuine.
    pub(in crate::tcp) frto: bool,
    /// Nothing is retransmitted before the next ACK.
    pub(in crate::tcp) hold: bool,
}

impl Default for Undo {
    fn default() -> Undo {
        Undo::NONE
    }
}

impl Undo {
    /// Before the first episode.
    pub const NONE: Undo = Undo {
        open: false,
        prior: None,
        from: 0,
        retransmissions: 0,
        all_reported: false,
        first: None,
        frto: false,
        hold: false,
    };

    /// Counts a retransmission of the episode.
    #[inline]
    pub fn retransmitted(&mut self, now: Time) {
        self.retransmissions += 1;
        self.all_reported = false;
        self.first.get_or_insert(now);
    }

    /// Forbids the undo: a reduction for marks or a probe is final.
    pub fn forbid(&mut self) {
        (self.open, self.prior) = (false, None);
    }

    /// Takes a D-SACK for a duplicate that ends at `end`, in the episode that ends at `recover`.
    pub fn reported(&mut self, end: u64, recover: u64) {
        if (self.from + 1..=recover).contains(&end) {
            self.report(1);
        }
    }

    /// Counts retransmissions that were reported as duplicates.
    pub(in crate::tcp) fn report(&mut self, segments: u32) {
        if self.retransmissions > 0 && self.open {
            self.retransmissions = self.retransmissions.saturating_sub(segments);
            self.all_reported = self.retransmissions == 0;
        }
    }

    /// Returns true if the ACK echoes a timestamp from before the first retransmission: it acknowledges an original (RFC 3522 section 3.2 step 5).
    /// `linux`: before the first retransmission, also without timestamps (tcp_packet_delayed).
    pub(in crate::tcp) fn original_echoed(&self, ack: &Ack, tick: Time, linux: bool) -> bool {
        (linux && self.first.is_none()) || older(ack.rtt.map(|rtt| ack.now.saturating_sub(rtt)), self.first, tick)
    }
}

/// Returns true if the echo of a timestamp is older than `sent`, by a clock of this tick.
pub(in crate::tcp) fn older(echo: Option<Time>, sent: Option<Time>, tick: Time) -> bool {
    // Timestamps are nanoseconds.
    let tick = tick.max(Time::from_ns(1));
    echo.is_some_and(|echo| sent.is_none_or(|sent| echo / tick < sent / tick))
}
