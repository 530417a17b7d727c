//! Recovery with a SACK scoreboard: RFC 6675, and the parts that RACK (RFC 8985) shares with it.

use super::ack::whole_ticks;
use super::rate_sample::{AckedSegments, Ages};
use super::sack_option::SackReport;
use super::{CaState, Sender, Timer};
use crate::cc::Ack;
use crate::net::packet::{SackBlocks, Wire};
use crate::tcp::common::rtt::Sent;
use crate::tcp::common::sack_state::SackState;
use crate::tcp::common::scoreboard::SACKED;
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::{Growth, Recovery};
use forebay_units::{Time, TimeOrNever};

/// What the SACK option of one ACK said.
pub(in crate::tcp) struct SackInfo {
    /// It reported a duplicate (RFC 2883).
    dsack: bool,
    /// Offset behind the reported duplicate.
    dsack_end: u64,
    /// How many segments the duplicate is, whether that can be of repetitions of ours (tcp_dsack_seen), and of how many of the episode.
    duplicates: u32,
    ours: bool,
    repetitions: u32,
    /// When the segment left that was sent last of those newly reported.
    newest: Option<Time>,
    /// It SACKed something new.
    sacked: bool,
    /// It newly covers data from before the end of the episode that was sent only once (Linux FLAG_ORIG_SACK_ACKED).
    pub(in crate::tcp) original: bool,
    /// Segments that it reported for the first time, by SACK or by the cumulative ACK.
    pub(in crate::tcp) segments: u32,
    /// Some of what the cumulative ACK covers had been sent more than once.
    pub(in crate::tcp) repeated: bool,
    /// Ages of the segments that it covers (Karn: if none was sent twice), and SACKs.
    pub(in crate::tcp) ages: (Ages, Ages),
}

impl Sender {
    /// The time as the scoreboard and laws that record segments know it: of Linux in whole microseconds (tcp_skb_timestamp_us, `tcp_mstamp`).
    #[inline]
    pub(in crate::tcp) fn stamp(&self, c: &TcpConfig, now: Time) -> Time {
        if c.is_linux() { Time::from_us(now.as_us()) } else { now }
    }

    /// ACK processing of a SACK stack, which fills in what `ack` does not say by itself. It is one up to stream offset `number`; a later ACK may
    /// have come before. `widens`: it opens the receive window further.
    pub(in crate::tcp) fn on_ack_sack(
        &mut self,
        c: &TcpConfig,
        ack: &mut Ack,
        blocks: Option<&SackBlocks>,
        (number, widens): (u64, bool),
        out: &mut impl Wire,
    ) {
        let Some(mut s) = self.loss.sack.take() else { return };
        let overtaken = number < self.stream.snd_una;
        // tcp_ack: an ACK that was overtaken, or comes when nothing is outstanding, changes the window only by what it takes back.
        let steers = !c.is_linux() || !(overtaken || self.stream.snd_nxt - self.stream.snd_una + ack.acked == 0);
        let was = self.loss.ca_state;
        let (marked, before) = (s.board.marked, s.board.pipe(self.stream.snd_nxt + ack.acked - self.stream.snd_una));
        let (reordered, linux) = (s.rack.reordering_seen(), c.is_linux());
        let mut news = self.update_scoreboard(c, &mut s, ack, blocks.map(|blocks| (blocks, number)));
        let mut spurious = false;
        if linux
            && ack.ece
            && let Some(episode) = s.episode.made()
        {
            // tcp_fastretrans_alert, A: the reduction is required.
            episode.undo.prior = None;
        }
        if news.dsack {
            // tcp_dsack_seen: what a probe or somebody else has duplicated says nothing of reordering, nor does anything before it was seen.
            let probe = news.duplicates == 1 && s.rack.probe_end.is_some_and(|end| end.get() == news.dsack_end);
            if !linux {
                s.rack.on_dsack(self.stream.snd_una, self.stream.snd_nxt);
            } else if news.ours && reordered && !probe {
                s.rack.note_dsack();
            }
            if linux && news.ours {
                // A repetition that was not needed is delivered.
                news.segments += news.duplicates;
                ack.delivered += u64::from(news.duplicates * c.mss);
            }
            if news.ours && s.expects_dsacks() {
                match linux {
                    true => s.episode.undo.report(news.repetitions),
                    false => s.episode.undo.reported(news.dsack_end, self.cold.recover),
                }
                spurious = s.episode.undo.all_reported;
            }
        }
        // tcp_ack_is_dubious: any other ACK leaves the state open.
        let dubious = was != CaState::Open || ack.ece || news.sacked || news.dsack || ack.acked == 0;
        if linux {
            // tcp_may_undo: also when the D-SACK has come before. While a timeout is repaired progress must be made (tcp_process_loss), while
            // marks reduce the window nothing is taken back.
            spurious = s.episode.undo.open
                && s.episode.undo.all_reported
                && match was {
                    CaState::Open | CaState::Disorder | CaState::Recovery => dubious,
                    CaState::Loss => ack.acked > 0 || self.stream.snd_una >= self.cold.recover,
                    CaState::Cwr => false,
                };
            if spurious && was != CaState::Loss {
                // tcp_try_undo_dsack.
                s.rack.persist_longer();
            }
        }
        if linux
            && !overtaken
            && let Some(sent) = news.newest
        {
            s.rack.widen(self.stamp(c, ack.now), sent);
        }
        // tcp_process_tlp_ack: blocks without news make it no less a duplicate.
        let plain = ack.acked == 0 && !widens && if linux { !news.sacked } else { blocks.is_none() };
        let probe_lost = !overtaken && s.rack.settle_probe(self.stream.snd_una, plain, news.dsack.then_some(news.dsack_end));
        self.loss.sack = Some(s);
        let mut restarts = false;
        match linux && !overtaken {
            true => restarts = self.sample_ages(c, ack, news.ages),
            false => ack.newest_rtt = news.ages.0.last,
        }

        // As Linux: what SACK reported before does not count again when a repaired hole moves `snd_una` over it.
        match c.growth {
            // tcp_cong_avoid's `acked` are segments, of whatever size.
            Growth::PerSegment { limit: u32::MAX } => ack.grow = f64::from(news.segments),
            Growth::PerSegment { limit } if ack.delivered != ack.acked => {
                ack.grow = (ack.delivered as f64 / f64::from(c.mss)).min(self.growth_limit(limit));
            }
            Growth::PerSegment { .. } | Growth::PerAck => {}
        }
        ack.segments = news.segments;
        ack.absent = self.absent();
        if self.cc.wants_all_acks && !overtaken {
            self.cc.algorithm.in_ack_event(&mut self.cc.window, ack);
        }
        if probe_lost && linux && self.loss.ca_state < CaState::Recovery {
            // tcp_process_tlp_ack comes before tcp_fastretrans_alert: it reduces the window that a reduction under way has left so far.
            self.on_probe_loss(c);
        }
        let partial = self.loss.ca_state == CaState::Recovery && self.stream.snd_una < self.cold.recover;
        // tcp_try_undo_dsack leaves losses as they are, tcp_try_undo_loss does not.
        let by_duplicates = spurious && self.undo(!linux || self.loss.ca_state == CaState::Loss);
        let mistaken = by_duplicates || self.try_undo(c, ack, news.original, news.sacked);
        if !mistaken {
            self.leave_episode(c);
        }
        if probe_lost && !linux && self.loss.ca_state < CaState::Cwr {
            self.on_probe_loss(c);
        }
        if ack.acked > 0 {
            self.loss.dupacks = 0;
        } else if news.sacked {
            // RFC 6675 section 2: without news about the receiver's queue an ACK is no duplicate.
            self.loss.dupacks += 1;
        }
        if linux && self.cc.wants_new_acks && steers {
            // tcp_clean_rtx_queue: with every ACK, before the state changes.
            self.pkts_acked(ack);
        }
        let in_network = self.pipe();
        let again = self.loss.sack.as_ref().map_or(0, |s| s.board.retx_segs);
        let looks = !(self.loss.ca_state == CaState::Recovery && self.holds_back());
        let (lost, wait) = if looks { self.find_losses(c, ack.now) } else { (false, None) };
        restarts &= wait.is_none();
        // tcp_fastretrans_alert: retransmissions that are lost as well (FLAG_LOST_RETRANS) turn the repair after a timeout into a recovery.
        let lost_again =
            linux && self.loss.ca_state == CaState::Loss && self.loss.sack.as_ref().is_some_and(|s| s.board.retx_segs < again);
        ack.absent = self.absent();
        ack.lost = self.loss.sack.as_ref().map_or(0, |s| s.board.marked.wrapping_sub(marked));
        let progress = ack.acked > 0 && self.pipe() == in_network;
        let plain = self.loss.sack.as_ref().is_none_or(|s| s.board.is_plain() && !(linux && s.board.repeats()));
        // tcp_may_raise_cwnd: where packets are far out of order, SACKs alone make the window grow.
        let raises = steers && (ack.acked > 0 || (news.sacked && self.loss.sack.as_ref().is_some_and(|s| s.rack.far > 0)));
        // tcp_time_to_recover: any loss is enough, also one that a recovery which ends here has repaired and that has not arrived yet.
        let evident = linux && self.loss.sack.as_ref().is_some_and(|s| s.board.lost > 0);
        if (lost || evident) && self.loss.ca_state < CaState::Recovery || lost && lost_again {
            self.enter_recovery(c, ack.now, ack.ece, out);
        } else if self.loss.ca_state < CaState::Cwr {
            if dubious || !linux {
                self.loss.ca_state = if plain { CaState::Open } else { CaState::Disorder };
            }
            if plain {
                self.cap_limited_transmit(0);
            }
            // tcp_fastretrans_alert: what has taken a recovery back looks at no marks (tcp_try_undo_partial returns, and in tcp_try_to_open the state
            // is not yet another one for tcp_enter_cwr).
            let returns = linux && partial && mistaken;
            let reduced = !returns && self.reduce_on_ece(c, ack);
            if !reduced && raises {
                self.grow(c, ack);
            }
        } else if self.loss.ca_state == CaState::Loss && raises {
            self.grow(c, ack);
        } else if ack.acked > 0 && !linux {
            self.pkts_acked(ack);
        }
        // tcp_try_to_open: the first stamp is that of repetitions which are still under way.
        if linux
            && self.loss.ca_state < CaState::Recovery
            && let Some(s) = &mut self.loss.sack
            && !s.board.repeats()
            && let Some(episode) = s.episode.made()
        {
            episode.undo.first = None;
        }
        if restarts && self.uses_linux_timers(c) {
            self.restart_timer(c, ack.now);
        }
        if steers && self.cc.hooks.control() {
            self.control(c, ack, news.segments, before);
        } else if steers && c.prr && matches!(self.loss.ca_state, CaState::Recovery | CaState::Cwr) {
            self.proportional_window(c, ack.delivered, news.segments, progress);
        }
    }

    /// Takes in what the ACK says; `blocks`: what it SACKs, and its number.
    pub(in crate::tcp) fn update_scoreboard(
        &mut self,
        c: &TcpConfig,
        s: &mut SackState,
        ack: &mut Ack,
        blocks: Option<(&SackBlocks, u64)>,
    ) -> SackInfo {
        let before = s.board.sacked;
        let missing = s.board.missing();
        let reported = blocks.map_or_else(SackReport::default, |(blocks, number)| self.reported(blocks, number));
        let SackState { board, rack, episode, .. } = s;
        let beyond = rack.highest();
        let linux = c.is_linux();
        let duplicates = reported.dsack.map_or(0, |d| d.1.div_ceil(u64::from(c.mss)) as u32);
        let ours = !linux || (duplicates > 0 && rack.count_duplicates(duplicates, self.cold.retransmitted));
        let (repetitions, late) = match reported.dsack.filter(|_| linux && ours) {
            Some(dsack) => self.repetitions(c, board, episode.undo.from, dsack, ack.acked),
            None => (0, None),
        };
        let mut delivered = AckedSegments {
            now: self.stamp(c, ack.now),
            min_rtt: self.rtt.min().get(),
            linux,
            echo: ack
                .rtt
                .filter(|_| c.timestamps && (c.eifel || !c.is_linux()))
                .map(|rtt| (ack.now.saturating_sub(rtt), c.timestamp_clock)),
            recover: self.cold.recover,
            law: self.cc.hooks.records().then_some(&mut self.cc.algorithm),
            rack,
            late,
            newest: None,
            original: false,
            repeated: false,
            acked: Ages::default(),
            sacked: Ages::default(),
        };
        // Linux takes the blocks in before the cumulative ACK (tcp_ack): RACK's RTT is then that of the latter, and what this ACK SACKs makes
        // nothing below it late.
        let mut early = false;
        if linux {
            early = delivered.sack(board, reported.above());
            // tcp_sacktag_write_queue, tcp_check_sack_reordering.
            if let Some(late) = delivered.late.take().filter(|_| self.loss.ca_state != CaState::Loss || episode.undo.open) {
                delivered.rack.note_late(board, self.stream.snd_una, late, c);
            }
        }
        let again = delivered.acknowledge(board, self.stream.snd_una, linux.then_some(beyond));
        let sacked = early || (!linux && delivered.sack(board, reported.above()));
        let AckedSegments { late, newest, original, acked, sacked: ages, repeated, .. } = delivered;
        if let Some(late) = late.filter(|_| linux) {
            // tcp_clean_rtx_queue: a hole that was not sent again is filled.
            rack.note_late(board, self.stream.snd_una, late, c);
        }
        let spoilt = if linux { again } else { repeated };
        if self.cc.hooks.records() {
            self.cc.algorithm.forget(board.base);
        }
        ack.delivered = (ack.acked + board.sacked).saturating_sub(before);
        SackInfo {
            dsack: reported.dsack.is_some(),
            dsack_end: reported.dsack.map_or(0, |d| d.0),
            duplicates,
            ours,
            repetitions,
            newest,
            sacked,
            original,
            segments: missing - board.missing(),
            repeated: spoilt,
            ages: (if spoilt { Ages::default() } else { acked }, ages),
        }
    }

    /// The RTT samples of Linux (tcp_clean_rtx_queue, tcp_ack_update_rtt): the age of the oldest segment that the ACK covers, if none of them was
    /// sent twice, else of the first that it SACKs; else, of an ACK that advances, what its timestamp says in ticks, one at least. The law hears
    /// of the newest. True if the ACK restarts the timer (FLAG_SET_XMIT_TIMER).
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
            Sent { snd_una: self.stream.snd_una, snd_nxt: self.stream.snd_nxt },
        );
        self.rtt.backoff = 0;
        (ack.srtt, ack.min_rtt) = (self.rtt.smoothed(), self.rtt.min());
        // An ACK that only SACKs restarts the timer if the oldest segment has been sent again since.
        let now = self.stamp(c, ack.now);
        let head = self.loss.sack.as_ref().and_then(|s| s.board.iter().next()).filter(|seg| !seg.is(SACKED));
        let since = head.is_some_and(|head| sacked.first.is_some_and(|age| age > now - head.sent()));
        if self.timers.kind == Timer::Rto && (ack.acked > 0 || since) && !self.uses_linux_timers(c) {
            self.arm_rto(c, ack.now);
        }
        ack.acked > 0 || since
    }

    /// Marks losses: by count (RFC 6675) or by time (RFC 8985). Whether there is a lost segment that was not retransmitted yet, and how long
    /// those are waited for that may still be reordered.
    pub(in crate::tcp) fn find_losses(&mut self, c: &TcpConfig, now: Time) -> (bool, Option<Time>) {
        let mut wait = None;
        let linux = self.uses_linux_timers(c);
        let Some(s) = &mut self.loss.sack else { return (false, None) };
        if linux {
            // tcp_rack_mark_lost: nothing delivered, nothing to look for.
            if std::mem::take(&mut s.rack.advanced) {
                wait = self.detect_losses(c, now);
            }
            if let Some(wait) = wait {
                // TCP_TIMEOUT_MIN more, in whole ticks, and no longer than the timeout.
                let tick = c.rto_granularity;
                self.set_timer(Timer::Reorder, now, (wait + tick * 2).round_up(tick).min(self.rtt.rto(c)));
            }
        } else if c.recovery == Recovery::Rack {
            if s.board.is_plain() && s.rack.nothing_older(&s.board) {
                return (false, None);
            }
            wait = self.detect_losses(c, now);
            // RFC 8985 section 8: one timer; what may be lost already comes before a probe.
            if let Some(wait) = wait
                && (TimeOrNever::at(now + wait) < self.timers.due || self.timers.kind == Timer::Probe)
            {
                self.set_timer(Timer::Reorder, now, wait);
            }
        } else if c.dup_thresh > 0 {
            s.board.mark_by_count(c.dup_thresh, c.mss);
            // RFC 6675 section 5, (4): enough duplicate ACKs do it too, when SACK blocks were lost or are not there.
            if self.loss.ca_state < CaState::Recovery
                && self.loss.dupacks >= c.dup_thresh
                && s.board.lost == 0
                && s.board.len() > 0
                && s.board.sacked > 0
            {
                s.board.mark_lost(0);
            }
        }
        let found = self.loss.sack.as_mut().is_some_and(|s| s.board.next_lost().is_some());
        self.report_losses(now);
        (found, wait)
    }

    /// Marks by time what is lost (tcp_rack_detect_loss). How long to wait for the others.
    pub(in crate::tcp) fn detect_losses(&mut self, c: &TcpConfig, now: Time) -> Option<Time> {
        let (stamp, recovering) = (self.stamp(c, now), self.loss.ca_state >= CaState::Recovery);
        let s = self.loss.sack.as_mut()?;
        let wait = s.rack.reordering_window(&self.rtt, recovering, s.board.sacked_segs, c);
        s.rack.detect(&mut s.board, stamp, wait, c.is_linux())
    }
}
