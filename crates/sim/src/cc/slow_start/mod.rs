//! How slow start ends, and how fast it is on the way: a part of its own beside the law, for every law whose slow start is the ordinary
//! one (below the threshold, `Window::slow_start`). The law has the last word: what is left of an ACK above the threshold is the law's.

mod hystart;
mod plus_plus;

pub use hystart::Hystart;
pub use plus_plus::HystartPlusPlus;

use super::{Ack, Window};

/// Which slow start a transport has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// RFC 5681 section 3.1: until the threshold or a loss.
    #[default]
    Standard,
    /// As Linux tcp_cubic: ends when ACKs arrive in too long a train, or later than they used to.
    Hystart,
    /// RFC 9406: slower once ACKs come later, and over if they still do after some rounds.
    HystartPlusPlus,
}

/// Names in scenarios, in the order of [`Kind`].
pub const NAMES: &[&str] = &["standard", "hystart", "hystart++"];

impl Kind {
    /// The kind that a scenario calls `name`.
    pub fn of(name: &str) -> Option<Kind> {
        [Kind::Standard, Kind::Hystart, Kind::HystartPlusPlus].into_iter().find(|k| k.name() == name)
    }

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The state of one connection; `None` for the standard one, which has none.
    pub fn start(self) -> Option<Box<SlowStart>> {
        match self {
            Kind::Standard => None,
            Kind::Hystart => Some(Box::new(SlowStart::Hystart(Hystart::default()))),
            Kind::HystartPlusPlus => Some(Box::new(SlowStart::PlusPlus(HystartPlusPlus::default()))),
        }
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
    /// An ACK advanced, whatever the state of recovery (as `pkts_acked` of a law). May lower the threshold to the window, which ends
    /// slow start.
    pub fn pkts_acked(&mut self, w: &mut Window, ack: &Ack) {
        match self {
            SlowStart::Hystart(s) => s.pkts_acked(w, ack),
            SlowStart::PlusPlus(s) => s.pkts_acked(w, ack),
        }
    }

    /// Segments to grow by on this ACK; the stack's own count is `ack.grow`.
    pub fn grow(&self, w: &Window, ack: &Ack) -> f64 {
        match self {
            SlowStart::PlusPlus(s) if w.in_slow_start() => s.grow(ack),
            SlowStart::Hystart(_) | SlowStart::PlusPlus(_) => ack.grow,
        }
    }

    /// A retransmission timeout at `now`, ps, with `snd_nxt` the next new stream offset.
    pub fn timeout(&mut self, now: u64, snd_nxt: u64) {
        if let SlowStart::Hystart(s) = self {
            s.timeout(now, snd_nxt);
        }
    }
}
