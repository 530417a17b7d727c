//! Recovery of Linux without SACK. A duplicate ACK shows that some segment has left the network, and counts as the SACK of one (`sacked_out`,
//! tcp_add_reno_sack). The rest follows from the count as from SACKs: limited transmit, proportional rate reduction, undo by timestamps, and F-RTO.
//! Only the first outstanding segment is ever marked as lost, and both of its parts if the receive window divides it.

use crate::cc::{Ack, Event};
use crate::net::packet::Wire;
use crate::tcp::common::rack::MAX_REORDERING;
use crate::tcp::common::sack_state::SackState;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Sender};
use forebay_experiment::transport::Growth;

/// Remaining steps of an ACK after its recovery state is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Search for losses, and react to losses and marks.
    Losses,
    /// Search for losses only: tcp_fastretrans_alert returns after tcp_try_undo_partial if there are none.
    LossesAlone,
    /// None: the state is kept (tcp_fastretrans_alert returns).
    Nothing,
}

impl Sender {
    /// Processes an ACK (tcp_ack without SACK). `duplicate`: it brings no data, acknowledges nothing and opens no window, while data is outstanding.
    #[inline(never)]
    pub(in crate::tcp) fn on_ack_without_sack(&mut self, c: &TcpConfig, ack: &mut Ack, duplicate: bool, out: &mut impl Wire) {
        let Some(mut s) = self.loss.sack.take() else { return };
        let marked = s.board.marked;
        let counted = std::mem::take(&mut s.board.sacked_segs);
        let info = self.update_scoreboard(c, &mut s, ack, None);
        let mut delivered = s.remove_reno_sacks(counted, info.segments);
        self.loss.sack = Some(s);
        let _ = self.sample_ages(c, ack, info.ages);
        ack.absent = self.absent();
        (ack.segments, ack.delivered) = (delivered, u64::from(delivered) * u64::from(c.mss));
        let covered = delivered;
        if self.cc.wants_all_acks() {
            if c.plb.is_some() {
                self.check_congested_round(c, ack);
            }
            self.cc.in_ack_event(ack);
        }
        if self.cc.wants_new_acks() {
            self.pkts_acked(ack);
        }
        // tcp_clean_rtx_queue: if the ACK also covers retransmissions, the originals cannot be distinguished.
        let next = self.reno_sack_state(c, ack, duplicate, info.original && !info.repeated, &mut delivered);
        if delivered > covered {
            self.cc.cwnd_event(Event::Counted { ece: ack.ece });
        }
        if c.growth == (Growth::PerSegment { limit: u32::MAX }) {
            // tcp_cong_avoid. Other rules count the ACK, or bytes that it covers.
            ack.grow = f64::from(delivered);
        }
        ack.delivered = u64::from(delivered) * u64::from(c.mss);
        let reduced = next != Next::Nothing && self.reno_sack_losses(c, ack, next == Next::Losses, out);
        ack.absent = self.absent();
        ack.lost = self.loss.sack.as_ref().map_or(0, |s| s.board.marked.wrapping_sub(marked));
        // tcp_cong_control.
        if c.prr && matches!(self.loss.ca_state(), CaState::Recovery | CaState::Cwr) {
            self.proportional_window(c, ack.delivered, delivered, ack.acked > 0 && ack.lost == 0);
        } else if ack.acked > 0 && !reduced && self.loss.ca_state() != CaState::Recovery {
            self.grow(c, ack);
        }
    }

    /// Effect of the ACK on the current episode (tcp_fastretrans_alert, D and E). Adds newly delivered segments to `delivered`.
    fn reno_sack_state(&mut self, c: &TcpConfig, ack: &Ack, duplicate: bool, original: bool, delivered: &mut u32) -> Next {
        let advanced = ack.acked > 0;
        let state = self.loss.ca_state();
        let Some(s) = &mut self.loss.sack else { return Next::Nothing };
        if let Some(episode) = s.episode.made() {
            episode.undo.hold = false;
            if ack.ece {
                // A: the reduction is required.
                episode.undo.prior = None;
            }
        }
        match state {
            CaState::Cwr => self.leave_episode(c),
            CaState::Recovery if self.stream.snd_una() >= self.cold.recover => {
                s.board.sacked_segs = 0;
                if self.held_after_recovery(c, ack) {
                    return Next::Nothing;
                }
            }
            CaState::Recovery if advanced => return self.reno_sack_partial_ack(c, ack),
            CaState::Recovery => {
                *delivered += s.add_reno_sack(duplicate);
                return Next::Losses;
            }
            CaState::Loss => {
                let next = self.reno_sack_loss(c, ack, duplicate, original, delivered);
                if next == Next::Nothing || self.loss.ca_state() == CaState::Loss {
                    return next;
                }
                // tcp_identify_packet_loss comes before the duplicates are reset, and finds enough of them in a state that is open again.
                self.mark_lost_by_dupacks(false);
            }
            CaState::Open | CaState::Disorder => {}
        }
        let Some(s) = &mut self.loss.sack else { return Next::Nothing };
        if advanced {
            s.board.sacked_segs = 0;
        }
        *delivered += s.add_reno_sack(duplicate);
        Next::Losses
    }

    /// Returns true if the ACK shows that retransmitted data had arrived (tcp_may_undo). At the end of an episode without outstanding retransmissions
    /// it cannot show that (tcp_packet_delayed).
    fn originals_arrived(&self, c: &TcpConfig, ack: &Ack) -> bool {
        let Some(s) = &self.loss.sack else { return false };
        let undo = &s.episode.undo;
        c.eifel
            && undo.open
            && !(undo.first.is_none() && self.stream.snd_una() >= self.cold.recover)
            && ack.acked > 0
            && undo.original_echoed(ack, c.timestamp_clock, true)
    }

    /// Ends an episode when everything from before it is acknowledged (tcp_try_undo_recovery). The state is kept until data above its end is
    /// acknowledged, or duplicates caused by retransmissions would start a recovery (tcp_is_non_sack_preventing_reopen, RFC 6582 section 3.2 step 2).
    /// Returns true if it is kept.
    fn held_after_recovery(&mut self, c: &TcpConfig, ack: &Ack) -> bool {
        if self.originals_arrived(c, ack) {
            self.restore_window();
        }
        if self.holds_state() {
            return true;
        }
        let reduction = self.loss.ca_state() == CaState::Recovery;
        self.loss.set_ca_state(CaState::Open);
        if reduction {
            // tcp_end_cwnd_reduction.
            if self.loss.sack.as_ref().is_some_and(|s| s.episode.undo.open) {
                self.cc.window.fall();
            }
            self.cc.cwnd_event(Event::Complete);
        }
        false
    }

    /// tcp_is_non_sack_preventing_reopen.
    fn holds_state(&mut self) -> bool {
        if let Some(s) = &mut self.loss.sack
            && self.stream.snd_una() == self.cold.recover
            && !s.board.repeats()
            && let Some(episode) = s.episode.made()
        {
            episode.undo.first = None;
        }
        self.stream.snd_una() == self.cold.recover
    }

    /// Handles a partial acknowledgment in fast recovery (tcp_try_undo_partial).
    fn reno_sack_partial_ack(&mut self, c: &TcpConfig, ack: &Ack) -> Next {
        if !self.originals_arrived(c, ack) {
            return Next::Losses;
        }
        let Some(s) = &mut self.loss.sack else { return Next::Nothing };
        // tcp_check_sack_reordering: without SACK, this ACK covers the highest data that is known to have arrived.
        let mss = u64::from(c.mss);
        if ack.acked > u64::from(s.reordering) * mss {
            s.reordering = (ack.acked.div_ceil(mss) as u32).min(MAX_REORDERING);
        }
        if s.board.retx_segs > 0 {
            // Until the fate of the outstanding retransmissions is clear, only new data leaves.
            s.episode.undo.hold = true;
            return Next::Nothing;
        }
        if !s.board.repeats() {
            s.episode.undo.first = None;
        }
        self.restore_window();
        self.unmark();
        self.keep_open();
        Next::LossesAlone
    }

    /// tcp_process_loss.
    fn reno_sack_loss(&mut self, c: &TcpConfig, ack: &Ack, duplicate: bool, original: bool, delivered: &mut u32) -> Next {
        let (advanced, recovered) = (ack.acked > 0, self.stream.snd_una() >= self.cold.recover);
        if advanced && self.originals_arrived(c, ack) {
            // tcp_try_undo_loss: the window is restored, the state stays.
            self.restore_window();
            self.unmark();
            self.holds_state();
            return Next::Nothing;
        }
        let fresh = self.stream.snd_nxt() > self.cold.recover;
        let Some(s) = &mut self.loss.sack else { return Next::Nothing };
        if s.episode.undo.frto {
            if original {
                // RFC 5682 section 2.1 step 3.b: the timeout was spurious.
                self.restore_window();
                self.unmark();
                if !self.holds_state() {
                    self.reset_to_open(false);
                    return Next::Losses;
                }
                return Next::Nothing;
            }
            if fresh {
                // Step 3.a: the loss was real.
                s.episode.undo.frto = !duplicate;
            } else if advanced && !recovered {
                // Step 2.b: new data instead of retransmissions, if there is any; see `transmit_until`.
                s.episode.undo.hold = true;
                return Next::Nothing;
            }
        }
        if recovered {
            return if self.held_after_recovery(c, ack) { Next::Nothing } else { Next::Losses };
        }
        if fresh && duplicate {
            // New data of F-RTO has arrived.
            *delivered += s.add_reno_sack(true);
        } else if advanced {
            s.board.sacked_segs = 0;
        }
        Next::Nothing
    }

    /// tcp_newreno_mark_lost.
    fn mark_lost_by_dupacks(&mut self, advanced: bool) {
        let state = self.loss.ca_state();
        let Some(s) = &mut self.loss.sack else { return };
        let enough = s.board.sacked_segs >= s.reordering;
        if s.board.len() > 0 && ((state < CaState::Recovery && enough) || (state == CaState::Recovery && advanced)) {
            s.board.mark_first_lost();
        }
    }

    /// Marks losses and reacts to them, and to marks if `marks`. Returns true if the window was reduced.
    fn reno_sack_losses(&mut self, c: &TcpConfig, ack: &Ack, marks: bool, out: &mut impl Wire) -> bool {
        self.mark_lost_by_dupacks(ack.acked > 0);
        if self.loss.ca_state() == CaState::Recovery {
            return false;
        }
        let Some(s) = &mut self.loss.sack else { return false };
        if s.board.lost > 0 {
            self.enter_recovery(c, ack.now, ack.ece, out);
            return true;
        }
        if !marks {
            return false;
        }
        // tcp_try_to_open.
        if !s.board.repeats()
            && let Some(episode) = s.episode.made()
        {
            episode.undo.first = None;
        }
        let reduced = self.reduce_on_ece(c, ack);
        if self.loss.ca_state() != CaState::Cwr {
            self.keep_open();
        }
        reduced
    }

    /// Clears all loss marks.
    fn unmark(&mut self) {
        if let Some(s) = &mut self.loss.sack {
            s.board.unmark_lost();
        }
    }

    /// tcp_try_keep_open.
    fn keep_open(&mut self) {
        let suspicious =
            self.loss.sack.as_ref().is_some_and(|s| s.board.sacked_segs > 0 || s.board.lost > 0 || s.board.repeats());
        self.loss.set_ca_state(if suspicious { CaState::Disorder } else { CaState::Open });
    }
}

impl SackState {
    /// Counts a duplicate. Returns the segments newly known to be delivered.
    fn add_reno_sack(&mut self, duplicate: bool) -> u32 {
        if !duplicate {
            return 0;
        }
        let before = self.board.sacked_segs;
        self.board.sacked_segs += 1;
        self.check_reno_reordering(0);
        self.board.sacked_segs.saturating_sub(before)
    }

    /// Takes an ACK that covers `segments` after `counted` duplicates (tcp_remove_reno_sacks). One of the segments was missing, duplicates have
    /// announced the others. Returns the segments newly known to be delivered.
    fn remove_reno_sacks(&mut self, counted: u32, segments: u32) -> u32 {
        self.board.sacked_segs = counted.saturating_sub(segments.saturating_sub(1));
        if segments == 0 {
            return 0;
        }
        self.check_reno_reordering(segments);
        segments.saturating_sub(counted).max(1)
    }

    /// Limits the count of duplicates. More duplicates than outstanding segments give the degree of reordering (tcp_check_reno_reordering).
    fn check_reno_reordering(&mut self, acknowledged: u32) {
        let out = self.board.len() as u32;
        // tcp_limit_reno_sacked.
        let most = out - self.board.lost_segs().max(1).min(out);
        if self.board.sacked_segs > most {
            self.board.sacked_segs = most;
            self.reordering = (out + acknowledged).min(MAX_REORDERING);
        }
    }
}
