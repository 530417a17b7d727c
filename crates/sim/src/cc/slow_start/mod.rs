//! Slow start variants: when slow start ends, and how fast it is. Separate from the congestion control, for those with ordinary slow start (below the
//! threshold, `Window::slow_start`), which handle the rest of an ACK above the threshold.

mod hystart;
mod hystart_plus_plus;

pub use hystart::Hystart;
pub use hystart_plus_plus::HystartPlusPlus;

use super::{Ack, Window};
use forebay_types::{Rate, Time};

pub use forebay_experiment::transport::SlowStart as Kind;

/// Creates the state of one connection, which paces at no more than `max_pacing_rate` if there is one; `None` for the standard variant.
pub fn start(kind: Kind, max_pacing_rate: Option<Rate>) -> Option<Box<SlowStart>> {
    match kind {
        Kind::Standard => None,
        Kind::Hystart => Some(Box::new(SlowStart::Hystart(Hystart::new(max_pacing_rate)))),
        Kind::HystartPlusPlus => Some(Box::new(SlowStart::PlusPlus(HystartPlusPlus::new(max_pacing_rate.is_some())))),
    }
}

/// State of one connection.
#[derive(Debug, Clone)]
pub enum SlowStart {
    /// HyStart of Linux.
    Hystart(Hystart),
    /// HyStart++.
    PlusPlus(HystartPlusPlus),
}

impl SlowStart {
    /// Notes that the queue of the host paces the connection.
    pub fn pace(&mut self) {
        match self {
            SlowStart::Hystart(s) => s.pace(),
            SlowStart::PlusPlus(s) => s.pace(),
        }
    }

    /// Handles an ACK that advanced, in any state of recovery (as `pkts_acked`). May lower the threshold to the window, which ends slow start.
    pub fn pkts_acked(&mut self, w: &mut Window, ack: &Ack) {
        match self {
            SlowStart::Hystart(s) => s.pkts_acked(w, ack),
            SlowStart::PlusPlus(s) => s.pkts_acked(w, ack),
        }
    }

    /// Segments of growth on this ACK; the stack's own count is `ack.grow`.
    pub fn grow(&self, w: &Window, ack: &Ack) -> f64 {
        match self {
            SlowStart::PlusPlus(s) if w.in_slow_start() => s.grow(ack),
            SlowStart::Hystart(_) | SlowStart::PlusPlus(_) => ack.grow,
        }
    }

    /// Handles a retransmission timeout at `now`, with `snd_nxt` the next new stream offset.
    pub fn timeout(&mut self, now: Time, snd_nxt: u64) {
        if let SlowStart::Hystart(s) = self {
            s.timeout(now, snd_nxt);
        }
    }
}
