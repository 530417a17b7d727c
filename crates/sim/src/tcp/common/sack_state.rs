//! What a sender with a scoreboard has besides what every sender has.

use super::cold::{Cold, Initial};
use super::cwnd_validation::CwndUsage;
use super::prr::Prr;
use super::rack::Rack;
use super::scoreboard::Scoreboard;
use super::undo::Undo;
use forebay_units::Time;

/// State that only stacks with a scoreboard need; connections of the others do not carry it.
#[derive(Debug, Clone, Default)]
pub struct SackState {
    /// Outstanding segments.
    pub board: Scoreboard,
    /// Time-based loss detection.
    pub rack: Rack,
    /// Where duplicate ACKs are counted instead of SACKs, how many of them are a loss (Linux `reordering`); 0 with SACK.
    pub reordering: u32,
    /// When the timer that runs was set.
    pub timer_set: Time,
    /// How the window has been used.
    pub usage: CwndUsage,
    /// The last episode, if there has been one.
    pub episode: Cold<Episode>,
}

impl SackState {
    /// Whether retransmissions of the last episode may still be reported as duplicates.
    pub(in crate::tcp) fn expects_dsacks(&self) -> bool {
        self.episode.undo.retransmissions > 0
    }

    /// Forgets everything but the scoreboard's memory.
    pub fn clear(&mut self) {
        self.board.clear();
        *self = SackState { board: std::mem::take(&mut self.board), ..SackState::default() };
    }
}

/// A time in which the window is reduced, or losses are repaired.
#[derive(Debug, Clone, Default)]
pub struct Episode {
    /// Rate reduction in progress.
    pub prr: Prr,
    /// What it can be taken back with.
    pub undo: Undo,
    /// RFC 6675 rescue retransmission done.
    pub rescued: bool,
}

impl Initial for Episode {
    const INITIAL: &'static Episode = &Episode { prr: Prr::NONE, undo: Undo::NONE, rescued: false };
}
