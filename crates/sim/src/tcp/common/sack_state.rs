//! State of senders with a scoreboard.

use super::cold_box::{Cold, Initial};
use super::cwnd_validation::CwndUsage;
use super::prr::Prr;
use super::rack::Rack;
use super::scoreboard::Scoreboard;
use super::undo_state::Undo;
use forebay_types::Time;

/// State that only stacks with a scoreboard need; connections of the others do not carry it.
#[derive(Debug, Clone, Default)]
pub struct SackState {
    /// Outstanding segments.
    pub board: Scoreboard,
    /// Time-based loss detection.
    pub rack: Rack,
    /// Number of duplicate ACKs that indicate a loss, in connections without SACK (Linux `reordering`); 0 with SACK.
    pub reordering: u32,
    /// Time at which the running timer was set.
    pub timer_set: Time,
    /// End of the last short segment sent, a stream offset (`snd_sml`).
    pub snd_sml: u64,
    /// Use of the window.
    pub usage: CwndUsage,
    /// Last episode, if there has been one.
    pub episode: Cold<Episode>,
}

impl SackState {
    /// Returns true if retransmissions of the last episode may still be reported as duplicates.
    pub(in crate::tcp) fn expects_dsacks(&self) -> bool {
        self.episode.undo.retransmissions > 0
    }

    /// Resets everything, and keeps the scoreboard's memory.
    pub fn clear(&mut self) {
        self.board.clear();
        *self = SackState { board: std::mem::take(&mut self.board), ..SackState::default() };
    }
}

/// Time in which the window is reduced, or losses are repaired.
#[derive(Debug, Clone, Default)]
pub struct Episode {
    /// Proportional rate reduction.
    pub prr: Prr,
    /// State to undo it.
    pub undo: Undo,
    /// RFC 6675 rescue retransmission done.
    pub rescued: bool,
}

impl Initial for Episode {
    const INITIAL: &'static Episode = &Episode { prr: Prr::NONE, undo: Undo::NONE, rescued: false };
}
