//! Steps of ACK processing with a SACK scoreboard that both stacks share.

use super::{CaState, Sender, Timer};
use crate::cc::Ack;
use crate::net::packet::{SackBlocks, Wire};
use crate::tcp::common::rate_sample::{AckedSegments, Ages};
use crate::tcp::common::sack_option::SackReport;
use crate::tcp::common::sack_state::SackState;
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::{Flavor, Growth, Recovery};
use forebay_types::{Time, TimeOrNever};

/// Contents of one ACK, compared with the scoreboard.
pub(in crate::tcp) struct SackInfo {
    /// The ACK reports a duplicate (RFC 2883).
    pub(in crate::tcp) dsack: bool,
    /// Offset behind the duplicate.
    pub(in crate::tcp) dsack_end: u64,
    /// Segments in the duplicate.
    pub(in crate::tcp) duplicates: u32,
    /// The duplicate can be caused by our retransmissions (tcp_dsack_seen).
    pub(in crate::tcp) dsack_plausible: bool,
    /// Retransmissions of the episode in the duplicate.
    pub(in crate::tcp) repetitions: u32,
    /// Send time of the latest segment that is newly acknowledged or SACKed.
    pub(in crate::tcp) newest: Option<Time>,
    /// The ACK SACKs something new.
    pub(in crate::tcp) sacked: bool,
    /// The ACK newly covers data from before the end of the episode that was sent only once (Linux FLAG_ORIG_SACK_ACKED).
    pub(in crate::tcp) original: bool,
    /// Segments newly acknowledged or SACKed.
    pub(in crate::tcp) segments: u32,
    /// Some of the data that the cumulative ACK covers was sent more than once.
    pub(in crate::tcp) repeated: bool,
    /// Ages of the segments that the ACK acknowledges (by Karn's rule, if none was sent twice) and SACKs.
    pub(in crate::tcp) ages: (Ages, Ages),
}

impl Sender {
    /// Time for the scoreboard and for congestion controls that record segments: in Linux whole microseconds (tcp_skb_timestamp_us, `tcp_mstamp`).
    #[inline]
    pub(in crate::tcp) fn stamp(&self, c: &TcpConfig, now: Time) -> Time {
        if c.is_linux() { Time::from_us(now.as_us()) } else { now }
    }

    /// Processes an ACK of a stack with SACK, up to stream offset `number`, and completes `ack`. The ACK may be old (tcp_ack,
    /// `old_ack`). The flag in `at` is true if it carries data or a new window.
    #[inline]
    pub(in crate::tcp) fn on_ack_sack(
        &mut self,
        c: &TcpConfig,
        ack: &mut Ack,
        blocks: Option<&SackBlocks>,
        at: (u64, bool),
        out: &mut impl Wire,
    ) {
        match c.flavor {
            Flavor::Linux => self.on_ack_sack_linux(c, ack, blocks, at, out),
            Flavor::Rfc => self.on_ack_sack_rfc(c, ack, blocks, at, out),
        }
    }

    /// Sets the number of segments by which the window may grow. Data that SACK reported before does not count again when the cumulative ACK covers
    /// it.
    pub(in crate::tcp) fn credit_growth(&self, c: &TcpConfig, ack: &mut Ack, info: &SackInfo) {
        match c.growth {
            // tcp_cong_avoid: `acked` are segments of any size.
            Growth::PerSegment { limit: u32::MAX } => ack.grow = f64::from(info.segments),
            Growth::PerSegment { limit } if ack.delivered != ack.acked => {
                ack.grow = (ack.delivered as f64 / f64::from(c.mss)).min(self.growth_limit(limit));
            }
            Growth::PerSegment { .. } | Growth::PerAck => {}
        }
        ack.segments = info.segments;
        ack.absent = self.absent();
    }

    /// Counts duplicate ACKs.
    #[inline]
    pub(in crate::tcp) fn count_dupacks(&mut self, ack: &Ack, info: &SackInfo) {
        if ack.acked > 0 {
            self.loss.clear_dupacks();
        } else if info.sacked {
            // RFC 6675 section 2: an ACK that reports nothing new about the receiver's queue is no duplicate.
            self.loss.add_dupack();
        }
    }

    /// Completes `ack` after the search for losses; `marked` counts the losses before it.
    #[inline]
    pub(in crate::tcp) fn report_lost(&self, ack: &mut Ack, marked: u32) {
        ack.absent = self.absent();
        ack.lost = self.loss.sack.as_ref().map_or(0, |s| s.board.marked.wrapping_sub(marked));
    }

    /// Updates the scoreboard; `blocks`: SACK blocks of the ACK, and its number.
    pub(in crate::tcp) fn update_scoreboard(
        &mut self,
        c: &TcpConfig,
        s: &mut SackState,
        ack: &mut Ack,
        blocks: Option<(&SackBlocks, u64)>,
    ) -> SackInfo {
        let before = s.board.sacked;
        let missing = s.board.missing();
        let reported = blocks.map_or_else(SackReport::default, |(blocks, number)| {
            SackReport::read(blocks, number, self.tx.numbers(), &self.stream)
        });
        let SackState { board, rack, episode, .. } = s;
        let beyond = rack.highest();
        let linux = c.is_linux();
        let duplicates = reported.dsack().map_or(0, |d| d.1.div_ceil(u64::from(c.mss)) as u32);
        let dsack_plausible = !linux || (duplicates > 0 && rack.count_duplicates(duplicates, self.cold.retransmitted));
        let (repetitions, late) = match reported.dsack().filter(|_| linux && dsack_plausible) {
            Some(dsack) => board.dsack_retransmissions(dsack, self.stream.snd_una() - ack.acked, episode.undo.from, c.mss),
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
            cc: self.cc.hooks().records().then_some(self.cc.algorithm_mut()),
            rack,
            buffers: self.tx.send_buffer.as_mut().and_then(|b| b.queue_mut()),
            late,
            newest: None,
            original: false,
            repeated: false,
            acked: Ages::default(),
            sacked: Ages::default(),
        };
        // Linux processes the blocks before the cumulative ACK (tcp_ack): the RTT of RACK is then that of the latter, and segments below blocks of
        // this ACK are not late.
        let mut early = false;
        if linux {
            early = delivered.sack(board, reported.above());
            // tcp_sacktag_write_queue, tcp_check_sack_reordering.
            if let Some(late) = delivered.late.take().filter(|_| self.loss.ca_state() != CaState::Loss || episode.undo.open) {
                delivered.rack.note_late(board, self.stream.snd_una(), late, c);
            }
        }
        let again = delivered.acknowledge(board, self.stream.snd_una(), linux.then_some(beyond));
        let sacked = early || (!linux && delivered.sack(board, reported.above()));
        let AckedSegments { late, newest, original, acked, sacked: ages, repeated, .. } = delivered;
        if let Some(late) = late.filter(|_| linux) {
            // tcp_clean_rtx_queue: a hole is filled that was not sent again.
            rack.note_late(board, self.stream.snd_una(), late, c);
        }
        let spoilt = if linux { again } else { repeated };
        if self.cc.hooks().records() {
            self.cc.algorithm_mut().forget(board.base);
        }
        ack.delivered = (ack.acked + board.sacked).saturating_sub(before);
        SackInfo {
            dsack: reported.dsack().is_some(),
            dsack_end: reported.dsack().map_or(0, |d| d.0),
            duplicates,
            dsack_plausible,
            repetitions,
            newest,
            sacked,
            original,
            segments: missing - board.missing(),
            repeated: spoilt,
            ages: (if spoilt { Ages::default() } else { acked }, ages),
        }
    }

    /// Marks losses by count (RFC 6675) or by time (RFC 8985). Returns true if a lost segment has not been retransmitted yet, and the time to wait
    /// for segments that may still be reordered.
    pub(in crate::tcp) fn find_losses(&mut self, c: &TcpConfig, now: Time) -> (bool, Option<Time>) {
        let state = self.loss.ca_state();
        let (mut wait, dupacks) = (None, self.loss.dupacks());
        let linux = self.uses_linux_timers(c);
        let Some(s) = &mut self.loss.sack else { return (false, None) };
        if linux {
            // tcp_rack_mark_lost: without a delivery there is nothing to find.
            if std::mem::take(&mut s.rack.advanced) {
                wait = self.detect_losses(c, now);
            }
            if let Some(wait) = wait {
                // TCP_TIMEOUT_MIN more, in whole ticks, and at most the timeout.
                let tick = c.rto_granularity;
                self.set_timer(c, Timer::Reorder, now, (wait + tick * 2).round_up(tick).min(self.rtt.rto(c)));
            }
        } else if c.recovery == Recovery::Rack {
            if s.board.is_plain() && s.rack.nothing_older(&s.board) {
                return (false, None);
            }
            wait = self.detect_losses(c, now);
            // RFC 8985 section 8: there is one timer, and segments that may be lost come before a probe.
            if let Some(wait) = wait
                && (TimeOrNever::at(now + wait) < self.timers.due() || self.timers.kind() == Timer::Probe)
            {
                self.set_timer(c, Timer::Reorder, now, wait);
            }
        } else if c.dup_thresh > 0 {
            s.board.mark_by_count(c.dup_thresh, c.mss);
            // RFC 6675 section 5, (4): enough duplicate ACKs start it too, if SACK blocks were lost or are missing.
            if state < CaState::Recovery
                && dupacks >= c.dup_thresh
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

    /// Marks losses by time (tcp_rack_detect_loss). Returns the time to wait for the other segments.
    pub(in crate::tcp) fn detect_losses(&mut self, c: &TcpConfig, now: Time) -> Option<Time> {
        let (stamp, recovering) = (self.stamp(c, now), self.loss.ca_state() >= CaState::Recovery);
        let s = self.loss.sack.as_mut()?;
        let wait = s.rack.reordering_window(&self.rtt, recovering, s.board.sacked_segs, c);
        s.rack.detect(&mut s.board, stamp, wait, c.is_linux())
    }
}
