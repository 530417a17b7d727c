//! ACK processing of Linux with SACK, in the order of the kernel (tcp_ack, tcp_fastretrans_alert, tcp_cong_control).

use super::update_scoreboard::Evidence;
use crate::cc::Ack;
use crate::net::packet::{SackBlocks, Wire};
use crate::tcp::common::clock::whole_ticks;
use crate::tcp::common::rate_sample::Ages;
use crate::tcp::common::rtt::Sent;
use crate::tcp::common::sack_state::SackState;
use crate::tcp::common::scoreboard::SACKED;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::sack::SackInfo;
use crate::tcp::sender::{CaState, Sender, Timer};
use forebay_experiment::transport::Recovery;
use forebay_types::Time;

/// Results of the search for losses after one ACK.
struct Losses {
    /// A lost segment has not been retransmitted yet.
    found: bool,
    /// Retransmissions after a timeout are lost as well (FLAG_LOST_RETRANS).
    retransmissions: bool,
    /// The reordering timer runs for segments that may still arrive.
    waits: bool,
    /// Without RACK: enough segments are SACKed for a recovery.
    counted: bool,
}

impl Sender {
    /// Processes an ACK up to stream offset `number` and completes `ack`. The ACK may be old (tcp_ack, `old_ack`). `widens`: it
    /// carries data or a new window.
    pub(in crate::tcp) fn on_ack_sack_linux(
        &mut self,
        c: &TcpConfig,
        ack: &mut Ack,
        blocks: Option<&SackBlocks>,
        (number, widens): (u64, bool),
        out: &mut impl Wire,
    ) {
        let Some(mut s) = self.loss.sack.take() else { return };
        let overtaken = number < self.stream.snd_una();
        let flight_before = self.stream.snd_nxt() - self.stream.snd_una() + ack.acked;
        // tcp_ack: an ACK that was overtaken, or that comes when nothing is outstanding, changes the window only by an undo.
        let updates_window = !(overtaken || flight_before == 0);
        let prior_state = self.loss.ca_state();
        let (marked, prior_in_flight) = (s.board.marked, s.board.in_network());
        let reordered = s.rack.reordering_seen();
        let mut info = self.update_scoreboard(c, &mut s, ack, blocks.map(|blocks| (blocks, number)));
        if ack.ece
            && let Some(episode) = s.episode.made()
        {
            // tcp_fastretrans_alert, A: the reduction is required.
            episode.undo.prior = None;
        }
        if info.dsack {
            s.dsack_seen(c, &mut info, ack, reordered);
        }
        // tcp_ack_is_dubious: any other ACK leaves the state open.
        let dubious = prior_state != CaState::Open || ack.ece || info.sacked || info.dsack || ack.acked == 0;
        let spurious = self.dsacks_allow_undo(&mut s, ack, dubious);
        if !overtaken && let Some(sent) = info.newest {
            s.rack.widen(self.stamp(c, ack.now), sent);
        }
        // tcp_process_tlp_ack: an ACK whose blocks report nothing new is a duplicate too.
        let duplicate = ack.acked == 0 && !widens && !info.sacked;
        let probe_lost =
            !overtaken && s.rack.settle_probe(self.stream.snd_una(), duplicate, info.dsack.then_some(info.dsack_end));
        self.loss.sack = Some(s);
        let mut restarts = false;
        if overtaken {
            ack.newest_rtt = info.ages.0.last;
        } else {
            restarts = self.sample_ages(c, ack, info.ages);
        }
        self.credit_growth(c, ack, &info);
        if self.cc.wants_all_acks() && !overtaken {
            if c.plb.is_some() {
                self.check_congested_round(c, ack);
            }
            self.cc.in_ack_event(ack);
        }
        if probe_lost && self.loss.ca_state() < CaState::Recovery {
            // tcp_process_tlp_ack comes before tcp_fastretrans_alert: it reduces the current window of a reduction in progress.
            self.on_probe_loss(c, ack);
        }
        let partial = self.loss.ca_state() == CaState::Recovery && self.stream.snd_una() < self.cold.recover;
        // tcp_try_undo_dsack keeps the loss marks, tcp_try_undo_loss clears them.
        let by_dsacks = spurious && self.undo(self.loss.ca_state() == CaState::Loss);
        let undone = by_dsacks || self.try_undo(c, ack, info.original, info.sacked);
        if !undone {
            self.leave_episode(c);
        }
        self.count_dupacks(ack, &info);
        if self.cc.wants_new_acks() && updates_window {
            // tcp_clean_rtx_queue: with every ACK, before the state changes.
            self.pkts_acked(ack);
        }
        let in_network = self.pipe();
        let duplicate = ack.acked == 0 && !widens;
        let evidence = Evidence { dubious, duplicate, sacked: info.sacked, undone: partial && undone };
        let losses = self.find_losses_linux(c, ack, evidence);
        restarts &= !losses.waits;
        self.report_lost(ack, marked);
        let progress = ack.acked > 0 && self.pipe() == in_network;
        // tcp_may_raise_cwnd: where packets are far out of order, SACKs alone make the window grow.
        let may_raise_cwnd =
            updates_window && (ack.acked > 0 || (info.sacked && self.loss.sack.as_ref().is_some_and(|s| s.rack.far > 0)));
        // tcp_fastretrans_alert: after an undo of a recovery, marks are ignored (tcp_try_undo_partial returns, and in tcp_try_to_open the state is
        // not yet another one for tcp_enter_cwr).
        let ignores_marks = partial && undone;
        self.fastretrans_alert(c, ack, losses, (dubious, ignores_marks, may_raise_cwnd), out);
        self.clear_retrans_stamp();
        if restarts && self.uses_linux_timers(c) {
            self.restart_timer(c, ack.now);
        }
        // tcp_cong_control.
        if updates_window && self.cc.hooks().control() {
            let duplicates = if info.dsack && info.dsack_plausible { info.duplicates } else { 0 };
            self.control(c, ack, (info.segments, duplicates), prior_in_flight);
        } else if updates_window && c.prr && matches!(self.loss.ca_state(), CaState::Recovery | CaState::Cwr) {
            self.proportional_window(c, ack.delivered, info.segments, progress);
        }
    }

    /// Returns true if D-SACKs allow an undo (tcp_may_undo), also if the last one came before this ACK. During the repair after a timeout the ACK
    /// must make progress (tcp_process_loss). While marks reduce the window, nothing is undone.
    fn dsacks_allow_undo(&self, s: &mut SackState, ack: &Ack, dubious: bool) -> bool {
        let state = self.loss.ca_state();
        let spurious = s.episode.undo.open
            && s.episode.undo.all_reported
            && match state {
                CaState::Open | CaState::Disorder | CaState::Recovery => dubious,
                CaState::Loss => ack.acked > 0 || self.stream.snd_una() >= self.cold.recover,
                CaState::Cwr => false,
            };
        if spurious && state != CaState::Loss {
            // tcp_try_undo_dsack.
            s.rack.persist_longer();
        }
        spurious
    }

    /// Marks lost segments (tcp_identify_packet_loss; tcp_update_scoreboard without RACK).
    fn find_losses_linux(&mut self, c: &TcpConfig, ack: &Ack, evidence: Evidence) -> Losses {
        let before = self.loss.sack.as_ref().map_or(0, |s| s.board.retx_segs);
        let holds = self.loss.ca_state() == CaState::Recovery && self.loss.holds_back();
        if c.recovery == Recovery::Sack {
            let counted = !holds && self.update_scoreboard_by_count(c, ack, evidence);
            let found = !holds && self.loss.sack.as_mut().is_some_and(|s| s.board.next_lost().is_some());
            self.report_losses(ack.now);
            return Losses { found, retransmissions: false, waits: false, counted };
        }
        let (found, wait) = if holds { (false, None) } else { self.find_losses(c, ack.now) };
        let fewer = self.loss.sack.as_ref().is_some_and(|s| s.board.retx_segs < before);
        let retransmissions = self.loss.ca_state() == CaState::Loss && fewer;
        Losses { found, retransmissions, waits: wait.is_some(), counted: false }
    }

    /// Changes the state after losses, marks and progress (tcp_fastretrans_alert, E and F; tcp_try_to_open).
    fn fastretrans_alert(
        &mut self,
        c: &TcpConfig,
        ack: &mut Ack,
        losses: Losses,
        (dubious, ignores_marks, may_raise_cwnd): (bool, bool, bool),
        out: &mut impl Wire,
    ) {
        let plain = self.loss.sack.as_ref().is_none_or(|s| s.board.is_plain() && !s.board.repeats());
        // tcp_time_to_recover: any loss is enough. A recovery that ends here may have repaired a segment that has not arrived yet.
        let evident = self.loss.sack.as_ref().is_some_and(|s| s.board.lost > 0);
        let starts = losses.found || evident || losses.counted;
        if starts && self.loss.ca_state() < CaState::Recovery || losses.found && losses.retransmissions {
            self.enter_recovery(c, ack.now, ack.ece, out);
        } else if self.loss.ca_state() < CaState::Cwr {
            if dubious {
                self.loss.set_ca_state(if plain { CaState::Open } else { CaState::Disorder });
            }
            if plain {
                self.cold.cap_limited_transmit(0);
            }
            let reduced = !ignores_marks && self.reduce_on_ece(c, ack);
            if !reduced && may_raise_cwnd {
                self.grow(c, ack);
            }
        } else if self.loss.ca_state() == CaState::Loss && may_raise_cwnd {
            self.grow(c, ack);
        }
    }

    /// Drops the time of the first retransmission when none is outstanding (tcp_try_to_open, `retrans_stamp`).
    fn clear_retrans_stamp(&mut self) {
        if self.loss.ca_state() < CaState::Recovery
            && let Some(s) = &mut self.loss.sack
            && !s.board.repeats()
            && let Some(episode) = s.episode.made()
        {
            episode.undo.first = None;
        }
    }

    /// Takes RTT samples (tcp_clean_rtx_queue, tcp_ack_update_rtt): the age of the oldest segment that the ACK covers, if none of them was sent
    /// twice, else of the first that it SACKs. Else an ACK that advances gives the age of its echo in ticks, at least one. The congestion control
    /// gets the newest sample. Returns true if the ACK restarts the timer (FLAG_SET_XMIT_TIMER).
    pub(in crate::tcp) fn sample_ages(&mut self, c: &TcpConfig, ack: &mut Ack, (acked, sacked): (Ages, Ages)) -> bool {
        let echo = ack.rtt.filter(|_| c.timestamps && ack.acked > 0).map(|rtt| ack.now.saturating_sub(rtt));
        let by_echo = || echo.map(|echo| whole_ticks(c, ack.now, echo));
        let by_segment = acked.first.or(sacked.first);
        let Some(rtt) = by_segment.or_else(by_echo) else {
            ack.newest_rtt = None;
            return ack.acked > 0;
        };
        let newest = if by_segment.is_some() { sacked.last.or(acked.last).unwrap_or(rtt) } else { rtt };
        ack.newest_rtt = Some(newest);
        self.rtt.sample_of(
            c,
            rtt,
            newest.max(Time::from_us(1)),
            Sent { snd_una: self.stream.snd_una(), snd_nxt: self.stream.snd_nxt() },
        );
        self.rtt.reset_backoff();
        (ack.srtt, ack.min_rtt) = (self.rtt.smoothed(), self.rtt.min());
        // An ACK that only SACKs restarts the timer if the oldest segment was sent later than the SACKed one.
        let now = self.stamp(c, ack.now);
        let head = self.loss.sack.as_ref().and_then(|s| s.board.iter().next()).filter(|seg| !seg.is(SACKED));
        let since = head.is_some_and(|head| sacked.first.is_some_and(|age| age > now.saturating_sub(head.sent())));
        if self.timers.kind() == Timer::Rto && (ack.acked > 0 || since) && !self.uses_linux_timers(c) {
            self.arm_rto(c, ack.now);
        }
        ack.acked > 0 || since
    }
}

impl SackState {
    /// Processes a D-SACK (tcp_dsack_seen). Duplicates of a probe, or by the network, are no sign of reordering. Nor is any duplicate before
    /// reordering was seen.
    fn dsack_seen(&mut self, c: &TcpConfig, info: &mut SackInfo, ack: &mut Ack, reordered: bool) {
        if !info.dsack_plausible {
            return;
        }
        let probe = info.duplicates == 1 && self.rack.probe_end.is_some_and(|end| end.get() == info.dsack_end);
        if reordered && !probe {
            self.rack.note_dsack();
        }
        // A spurious retransmission is delivered.
        info.segments += info.duplicates;
        ack.delivered += u64::from(info.duplicates * c.mss);
        if self.expects_dsacks() {
            self.episode.undo.report(info.repetitions);
        }
    }
}
