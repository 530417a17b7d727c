//! Undo of spurious reductions. One of three signs proves a reduction spurious. Every retransmission is reported as a duplicate (RFC 3708, Linux
//! tcp_try_undo_dsack). An ACK echoes a timestamp from before the first retransmission (Eifel, RFC 3522 and 4015; Linux tcp_packet_delayed). Data
//! arrives that was sent only once (F-RTO, RFC 5682 section 3.1; Linux tcp_process_loss).

use super::{CaState, Sender};
use crate::cc::{Ack, Event, Window};
use crate::tcp::common::sack_state::SackState;
use crate::tcp::common::undo_state::Undo;
use crate::tcp::config::TcpConfig;

impl Sender {
    /// Keeps the window at the start of an episode. An episode that interrupts another keeps the window of the first, except for a timeout after
    /// progress since the last (Linux tcp_enter_loss). `marks`: marks require a reduction too.
    pub(in crate::tcp) fn init_undo(&mut self, c: &TcpConfig, marks: bool) {
        let state = self.loss.ca_state();
        let Window { cwnd, mut ssthresh } = self.cc.window;
        let linux = c.is_linux();
        if linux && !matches!(state, CaState::Cwr | CaState::Recovery) {
            // tcp_current_ssthresh: at least three quarters of the window.
            ssthresh = ssthresh.raised_to(f64::from(cwnd as u32 / 2 + cwnd as u32 / 4));
        }
        let reducing = self.reducing() && !(linux && state == CaState::Cwr);
        // tcp_enter_recovery: a reduction for marks is not undone.
        let stands = linux && (marks || state == CaState::Cwr);
        let Some(s) = &mut self.loss.sack else { return };
        if !reducing {
            // tcp_init_undo: a tail loss probe may be outstanding.
            let probe = linux && s.rack.probe_end.is_some() && s.rack.probe_is_retx;
            let probes = s.board.retx_segs + u32::from(probe);
            // Linux tcp_retrans_stamp_cleanup: unacknowledged retransmissions belong to this episode too.
            let again = linux && s.board.repeats();
            let first = if state == CaState::Loss || again { s.episode.undo.first } else { None };
            let Undo { frto, hold, .. } = s.episode.undo;
            let prior = (!stands).then_some((cwnd, ssthresh));
            s.episode.undo = Undo {
                open: true,
                prior,
                from: self.stream.snd_una(),
                retransmissions: probes,
                all_reported: false,
                first,
                frto,
                hold,
            };
        }
    }

    /// Starts F-RTO before the state changes on a timeout. It does not start if the timeout ends another recovery, or follows a timeout after which
    /// there was progress (RFC 5682 section 3.1 step 1, Linux tcp_enter_loss). `fresh`: the window is reduced now; `repeated`: the same data has
    /// timed out before.
    pub(in crate::tcp) fn start_frto(&mut self, c: &TcpConfig, fresh: bool, repeated: bool) {
        let first_or_repeated = self.loss.ca_state() < CaState::Recovery || repeated;
        if !fresh && self.loss.ca_state() < CaState::Recovery {
            // Marks have reduced the window already. That reduction is not undone, but the effect of the timeout can be. In the middle of a reduction
            // Linux discards all undo state (tcp_enter_cwr).
            self.init_undo(c, false);
        }
        let in_cwr = self.loss.ca_state() == CaState::Cwr && self.reducing();
        let Some(s) = &mut self.loss.sack else { return };
        if in_cwr {
            s.episode.undo.forbid();
        }
        s.episode.undo.frto = c.frto && first_or_repeated;
        s.episode.undo.hold = false;
    }

    /// Undoes the reduction in progress if the ACK proves it spurious, and returns true then. `original`: it newly covers data of before the episode
    /// that was sent once; `sacked`: its SACK blocks report something new.
    pub(in crate::tcp) fn try_undo(&mut self, c: &TcpConfig, ack: &Ack, original: bool, sacked: bool) -> bool {
        let state = self.loss.ca_state();
        let Some(s) = &mut self.loss.sack else { return false };
        if let Some(episode) = s.episode.made() {
            episode.undo.hold = false;
        }
        if state < CaState::Recovery {
            return false;
        }
        let recovered = self.stream.snd_una() >= self.cold.recover;
        let linux = c.is_linux();
        let undo = &mut s.episode.undo;
        // Any ACK ends a recovery whose end was acknowledged before it began. A duplicate echoes a timestamp older than any retransmission, if it
        // echoes one.
        let stale = linux && recovered && ack.acked == 0 && (c.timestamps || undo.first.is_none());
        if c.eifel && undo.open && (stale || (ack.acked > 0 && undo.original_echoed(ack, c.timestamp_clock, linux))) {
            if linux && state == CaState::Recovery && !recovered {
                // tcp_try_undo_partial: the missing segment was late by this distance (tcp_check_sack_reordering).
                s.rack.note_late(&s.board, self.stream.snd_una(), self.stream.snd_una() - ack.acked, c);
            }
            if state == CaState::Loss || recovered || s.board.retx == 0 {
                // Beyond the end of a recovery Linux keeps loss marks (tcp_try_undo_recovery).
                return self.undo(state == CaState::Loss || !recovered || !linux);
            }
            // Linux tcp_try_undo_partial: until the fate of the outstanding retransmissions is clear, only new data leaves.
            s.episode.undo.hold = true;
        }
        if state != CaState::Loss || !s.episode.undo.frto {
            return false;
        }
        if original {
            // RFC 5682 section 3.1 step 3.b. If an earlier reduction cannot be undone, only the timeout is.
            return self.undo(true) || self.reset_to_open(true);
        }
        if self.stream.snd_nxt() > self.cold.recover {
            // Step 3.a: new data arrived, and earlier data did not.
            s.episode.undo.frto = ack.acked > 0 && !sacked;
        } else if ack.acked > 0 && !recovered {
            // Step 2.b: new data instead of retransmissions, if there is any and the receiver has space; see `transmit_until`.
            s.episode.undo.hold = true;
        }
        false
    }

    /// Returns true if F-RTO sends new data in step 2.b, which no short segment delays (REXMIT_NEW in tcp_xmit_recovery).
    pub(in crate::tcp) fn frto_sends_new(&self) -> bool {
        let fresh = self.stream.snd_nxt() > self.cold.recover;
        let undo = |s: &SackState| s.episode.undo.hold && s.episode.undo.frto;
        self.loss.ca_state() == CaState::Loss && !fresh && self.loss.sack.as_ref().is_some_and(|s| undo(s))
    }

    /// Ends F-RTO after step 2.b found no new data to send, and returns true then: recovery continues as after any timeout.
    pub(in crate::tcp) fn frto_falls_back(&mut self) -> bool {
        let state = self.loss.ca_state();
        let fresh = self.stream.snd_nxt() > self.cold.recover;
        let Some(s) = &mut self.loss.sack else { return false };
        let back = s.episode.undo.hold && s.episode.undo.frto && state == CaState::Loss && !fresh;
        if back {
            (s.episode.undo.hold, s.episode.undo.frto) = (false, false);
        }
        back
    }

    /// Undoes the reduction (Linux tcp_undo_cwnd_reduction), and loss marks if `unmark`. Returns true if there was a reduction.
    pub(in crate::tcp) fn undo(&mut self, unmark: bool) -> bool {
        self.restore_window() && self.reset_to_open(unmark)
    }

    /// Restores the window from before the episode, if that is allowed. Returns true if there was an episode.
    pub(in crate::tcp) fn restore_window(&mut self) -> bool {
        let Some(s) = &mut self.loss.sack else { return false };
        if !std::mem::take(&mut s.episode.undo.open) {
            return false;
        }
        // tcp_undo_cwnd_reduction: the search for losses starts again.
        s.rack.advanced = true;
        if let Some((cwnd, ssthresh)) = s.episode.undo.prior.take() {
            self.cc.undo_cwnd(cwnd);
            if ssthresh > self.cc.window.ssthresh {
                self.cc.window.ssthresh = ssthresh;
                self.cc.clear_cwr();
            }
        }
        true
    }

    /// Ends the episode; with `unmark` nothing is lost any more.
    pub(in crate::tcp) fn reset_to_open(&mut self, unmark: bool) -> bool {
        if let Some(s) = &mut self.loss.sack {
            if unmark {
                s.board.unmark_lost();
            }
            (s.episode.undo.frto, s.episode.undo.hold) = (false, false);
        }
        let reduces = matches!(self.loss.ca_state(), CaState::Cwr | CaState::Recovery);
        self.loss.set_ca_state(CaState::Open);
        self.loss.clear_dupacks();
        self.cold.recover = self.stream.snd_una();
        self.cc.set_cwr_end(self.stream.snd_una());
        if reduces {
            self.cc.cwnd_event(Event::Complete);
        }
        true
    }
}
