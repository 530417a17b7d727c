//! Losses by count in Linux without RACK (`tcp_recovery` = 0): tcp_time_to_recover, tcp_update_scoreboard, tcp_force_fast_retransmit.

use crate::cc::Ack;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Sender};

/// Properties of an ACK that decide about a search for losses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evidence {
    /// tcp_ack_is_dubious: any other ACK leaves the state as it is.
    pub dubious: bool,
    /// It is a duplicate ACK (`num_dupack`).
    pub duplicate: bool,
    /// The ACK SACKs something new (FLAG_DATA_SACKED).
    pub sacked: bool,
    /// It has shown that a recovery was spurious (tcp_try_undo_partial).
    pub undone: bool,
}

impl Sender {
    /// Marks segments as lost that have at least as many SACKed segments above them as packets are out of order (tcp_update_scoreboard). Returns true
    /// if a recovery is due (tcp_time_to_recover).
    pub(super) fn update_scoreboard_by_count(&mut self, c: &TcpConfig, ack: &Ack, evidence: Evidence) -> bool {
        let Evidence { dubious, duplicate, sacked, undone } = evidence;
        let state = self.loss.ca_state();
        let snd_una = self.stream.snd_una();
        let Some(s) = self.loss.sack.as_mut().filter(|_| dubious && c.dup_thresh > 0) else { return false };
        // `reordering`.
        let reordering = s.rack.far.max(c.dup_thresh);
        // tcp_force_fast_retransmit.
        let forced = s.board.behind_sacked().is_some_and(|end| end > snd_una + u64::from(reordering) * u64::from(c.mss));
        let (starts, looks) = match state {
            CaState::Loss => return false,
            // tcp_try_undo_partial.
            CaState::Recovery if ack.acked > 0 => (false, forced),
            CaState::Recovery => (false, duplicate || (sacked && forced)),
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                // tcp_dupack_heuristics.
                let starts = s.board.lost_segs() > 0 || s.board.sacked_segs + 1 > reordering;
                (starts, starts && (duplicate || (sacked && forced)))
            }
        };
        if looks {
            match s.board.sacked_segs.checked_sub(reordering) {
                Some(upto) => s.board.mark_head_lost(upto),
                // An undo that a recovery follows retransmits nothing by itself (`fast_rexmit`).
                None if starts && !undone => s.board.mark_oldest_lost(),
                None => {}
            }
        }
        starts
    }
}
