//! What is remembered of a reduction of the window, in case it proves to be a mistake; `sender/undo.rs` takes it back.

use crate::cc::{Ack, Threshold};
use forebay_units::Time;

/// What is remembered of the episode for taking it back.
#[derive(Debug, Clone, Copy)]
pub struct Undo {
    /// The episode may prove a mistake (Linux `undo_marker`).
    pub(in crate::tcp) open: bool,
    /// Window and threshold before it; `None`: what reduced them stands, whatever becomes of the episode (Linux `prior_ssthresh`).
    pub(in crate::tcp) prior: Option<(f64, Threshold)>,
    /// `snd_una` at its start: duplicates reported below it are not of its retransmissions.
    pub(in crate::tcp) from: u64,
    /// Its retransmissions not yet reported as duplicates.
    pub(in crate::tcp) retransmissions: u32,
    /// All of them have been (Linux `undo_retrans` is 0; before the first it is not).
    pub(in crate::tcp) all_reported: bool,
    /// When its first retransmission was sent (Linux `retrans_stamp`).
    pub(in crate::tcp) first: Option<Time>,
    /// F-RTO is deciding whether the timeout was genuine.
    pub(in crate::tcp) frto: bool,
    /// Nothing is retransmitted before the next ACK has spoken.
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

    /// A segment of the episode is sent again.
    #[inline]
    pub fn retransmitted(&mut self, now: Time) {
        self.retransmissions += 1;
        self.all_reported = false;
        self.first.get_or_insert(now);
    }

    /// The episode's reduction stands: marks or a probe are no mistake.
    pub fn forbid(&mut self) {
        (self.open, self.prior) = (false, None);
    }

    /// A D-SACK reported a duplicate that ends at `end`, of the episode that ends at `recover`.
    pub fn reported(&mut self, end: u64, recover: u64) {
        if (self.from + 1..=recover).contains(&end) {
            self.report(1);
        }
    }

    /// So many retransmissions have been reported as duplicates.
    pub(in crate::tcp) fn report(&mut self, segments: u32) {
        if self.retransmissions > 0 && self.open {
            self.retransmissions = self.retransmissions.saturating_sub(segments);
            self.all_reported = self.retransmissions == 0;
        }
    }

    /// Whether the ACK echoes a timestamp of before the first retransmission: what it acknowledges is an original (RFC 3522 section 3.2
    /// step 5). `linux`: where nothing has been sent again yet it is one without timestamps, too (tcp_packet_delayed).
    pub(in crate::tcp) fn original_echoed(&self, ack: &Ack, tick: Time, linux: bool) -> bool {
        (linux && self.first.is_none()) || older(ack.rtt.map(|rtt| ack.now.saturating_sub(rtt)), self.first, tick)
    }
}

/// Whether a timestamp echo is older than what was `sent`, if anything was, as far as a clock of this tick tells.
pub(in crate::tcp) fn older(echo: Option<Time>, sent: Option<Time>, tick: Time) -> bool {
    // Timestamps are nanoseconds.
    let tick = tick.max(Time::from_ns(1));
    echo.is_some_and(|echo| sent.is_none_or(|sent| echo / tick < sent / tick))
}
