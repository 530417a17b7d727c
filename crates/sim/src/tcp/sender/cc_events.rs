//! Notifications of congestion controls that record single segments or own their window.

use super::{CaState, Sender};
use crate::cc::{Ack, Departure, Event, InNetwork, Loss, Outcome, RecoveryKind};
use crate::tcp::config::TcpConfig;
use forebay_types::{Rate, Time};

impl Sender {
    /// Notifies of a transmission of the segment at `index` of the scoreboard; `again`: a retransmission.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn record(&mut self, now: Time, index: usize, again: bool) {
        let in_flight = self.pipe();
        let Some(s) = &self.loss.sack else { return };
        let at = Departure { now, bytes: s.board.get(index).len, in_flight, alone: s.board.len() == 1 && !again, again };
        self.cc.algorithm_mut().segment_sent(s.board.base + index as u64, &at);
    }

    /// Notifies of segments that are newly deemed lost.
    #[inline]
    pub(in crate::tcp) fn report_losses(&mut self, now: Time) {
        if self.cc.hooks().records() {
            self.report(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn report(&mut self, now: Time) {
        let Some(s) = &mut self.loss.sack else { return };
        let Some(losses) = &mut s.board.losses else { return };
        let mut losses = std::mem::take(losses);
        for number in losses.drain(..) {
            let seg = s.board.get((number - s.board.base) as usize);
            self.cc.algorithm_mut().segment_lost(number, &Loss { now, start: seg.start, bytes: seg.len });
        }
        s.board.losses = Some(losses);
    }

    /// Lets a congestion control that owns its window set it. This ACK delivered `segments`, with `duplicates`; `prior_in_flight` segments were in the
    /// network before it.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn control(
        &mut self,
        c: &TcpConfig,
        ack: &mut Ack,
        (segments, duplicates): (u32, u32),
        prior_in_flight: u32,
    ) {
        // A segment may have been retransmitted since the losses were found.
        ack.absent = self.absent();
        let outcome = Outcome {
            segments,
            stamp: self.stamp(c, ack.now),
            duplicates,
            prior_in_flight,
            in_flight: self.loss.sack.as_ref().map_or(0, |s| s.board.in_network()),
            repair: match self.loss.ca_state() {
                CaState::Open | CaState::Disorder | CaState::Cwr => RecoveryKind::None,
                CaState::Recovery => RecoveryKind::Recovery,
                CaState::Loss => RecoveryKind::Timeout,
            },
            next_departure: self.cold.pacer.as_ref().map_or(Time::ZERO, |p| p.next()),
            max_pacing_rate: c.max_pacing_rate.unwrap_or(Rate(u64::MAX)),
        };
        self.cc.control(ack, &outcome);
    }

    /// Notifies the congestion control if the application calls, and less than a segment of the data up to stream offset `written` is left to send
    /// although the window has space. Linux does so at the start of tcp_sendmsg_locked (tcp_rate_check_app_limited).
    #[inline(always)]
    pub(in crate::tcp) fn check_app_limited(&mut self, c: &TcpConfig, now: Time, written: u64) {
        if self.cc.hooks().records() {
            self.check_limits(c, now, written);
        }
    }

    /// The same before an ACK or a timer changes the data in flight, for congestion controls with
    /// `LIMITS_BETWEEN_WRITES` (draft-ietf-ccwg-bbr, CheckIfApplicationLimited).
    #[inline(always)]
    pub(in crate::tcp) fn check_app_limited_between_writes(&mut self, c: &TcpConfig, now: Time) {
        if self.cc.hooks().records() && self.cc.algorithm().limits_between_writes() {
            self.check_limits(c, now, self.stream.written());
        }
    }

    #[cold]
    #[inline(never)]
    fn check_limits(&mut self, c: &TcpConfig, now: Time, written: u64) {
        if let Some(q) = &mut self.tx.tsq {
            q.remove_departed(now);
        }
        let in_flight = InNetwork {
            bytes: self.pipe(),
            segments: self.loss.sack.as_ref().map_or_else(|| self.segments_out(c), |s| s.board.in_network()),
        };
        let queued = self.tx.tsq.as_ref().is_some_and(|q| !q.is_empty());
        let waiting = self.loss.sack.as_mut().is_some_and(|s| s.board.next_lost().is_some());
        let room = u64::from(in_flight.segments) < self.cc.window.cwnd as u64;
        if written.saturating_sub(self.stream.snd_nxt()) < u64::from(c.mss) && !queued && room && !waiting {
            self.cc.cwnd_event(Event::AppLimited(in_flight));
        }
    }
}
