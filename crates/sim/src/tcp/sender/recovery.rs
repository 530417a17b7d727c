//! Recovery and reductions of senders with a scoreboard: start, window and end.

use super::{CaState, ReductionCause, Sender, Timer};
use crate::cc::{Event, Trigger, Window};
use crate::net::packet::Wire;
use crate::tcp::common::prr::Prr;
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::SsthreshFrom;
use forebay_types::Time;

impl Sender {
    /// Starts a recovery. `marks`: the ACK carries ECE.
    pub(in crate::tcp) fn enter_recovery(&mut self, c: &TcpConfig, now: Time, marks: bool, out: &mut impl Wire) {
        if let Some(q) = &mut self.tx.tsq {
            q.settle(now);
        }
        self.stats.at(self.stream.snd_una(), &mut self.cold).losses.fast_retx += 1;
        self.cc.cwnd_event(Event::Recovery);
        let before = self.reduction_base(c);
        let answered = self.reduced_by_ecn();
        if self.loss.ca_state() != CaState::Cwr || c.is_linux() {
            self.init_undo(c, marks);
        }
        let reduction = self.start_of_reduction(c);
        // tcp_enter_recovery: a reduction in progress continues, also with the threshold that DCTCP sets for a loss (dctcp_react_to_loss).
        let running = (answered || c.ssthresh_from == SsthreshFrom::Cwnd) && self.loss.ca_state() == CaState::Cwr;
        self.loss.set_ca_state(CaState::Recovery);
        if !answered {
            self.cc.window.ssthresh = self.ssthresh_after(c, Trigger::Loss, before);
            self.stats.at(self.stream.snd_una(), &mut self.cold).losses.loss_reductions += 1;
        }
        if let Some(s) = &mut self.loss.sack {
            if !running {
                s.episode.prr = reduction;
            }
            s.episode.rescued = false;
            // RFC 8985 section 7.4.2 covers losses to which nothing else reacts. Linux drops the probe where a reduction begins
            // (tcp_init_cwnd_reduction), and reduces once more after one that continued.
            if !running || c.ssthresh_from != SsthreshFrom::Cwnd {
                s.rack.probe_end = None;
            }
        }
        if running && c.ssthresh_from == SsthreshFrom::Cwnd {
            // The end is that of the reduction in progress (`high_seq`), whose CWR has been sent or waits (tcp_ecn_queue_cwr).
            self.cold.recover = self.cc.cwr_end();
            self.cc.set_reduction_cause(ReductionCause::Loss);
        } else {
            self.cold.recover = self.stream.snd_nxt();
            self.cc.begin_reduction(self.stream.snd_nxt());
        }
        self.cold.limited = 0;
        if self.timers.kind() == Timer::Probe && !self.uses_linux_timers(c) {
            self.arm_rto(c, now);
        }
        if !c.prr && !self.cc.hooks().control() {
            self.cc.window.fall();
        }
        //= https://www.rfc-editor.org/rfc/rfc6675#section-5
        //# Retransmit the first data segment presumed dropped -- the segment starting with sequence number HighACK + 1.
        // RFC 6675 section 5, (4.3): the first lost segment leaves at once, regardless of the pipe. In Linux the window of the reduction decides,
        // which has space for one (tcp_cwnd_reduction).
        let at_once = !(c.prr && c.ssthresh_from == SsthreshFrom::Cwnd);
        if at_once
            && let Some(index) = self.loss.sack.as_mut().and_then(|s| s.board.next_lost())
            && !self.tsq_throttled(c, c.mss.into(), 2)
            && self.may_retransmit(c, index, 1) > 0
        {
            self.retransmit_index(c, now, index, out);
        }
    }

    /// Ends recovery, CWR or loss once everything outstanding at its start is acknowledged.
    pub(in crate::tcp) fn leave_episode(&mut self, c: &TcpConfig) {
        let done = match self.loss.ca_state() {
            // tcp_fastretrans_alert: kept until data above it is acknowledged, so that CWR reaches the receiver.
            CaState::Cwr if c.ssthresh_from == SsthreshFrom::Cwnd => self.stream.snd_una() > self.cc.cwr_end(),
            CaState::Cwr => self.stream.snd_una() >= self.cc.cwr_end(),
            CaState::Recovery | CaState::Loss => self.stream.snd_una() >= self.cold.recover,
            CaState::Open | CaState::Disorder => false,
        };
        if !done {
            return;
        }
        let reduction = self.loss.ca_state() != CaState::Loss;
        if let (true, Some(s)) = (self.loss.ca_state() >= CaState::Recovery, &mut self.loss.sack) {
            s.rack.on_recovery_end(c.is_linux());
        }
        self.loss.set_ca_state(CaState::Open);
        if reduction {
            if !self.cc.hooks().control() {
                self.cc.window.fall();
            }
            self.cc.cwnd_event(Event::Complete);
        }
    }

    /// Starts a proportional reduction. RecoverFS of RFC 6937 section 3 is the data outstanding; Linux uses the window (tcp_init_cwnd_reduction).
    fn start_of_reduction(&self, c: &TcpConfig) -> Prr {
        match c.ssthresh_from {
            SsthreshFrom::Cwnd => Prr::begin_linux((self.cc.window.cwnd * f64::from(c.mss)) as u64),
            SsthreshFrom::Window | SsthreshFrom::Flight => Prr::begin(self.flight()),
        }
    }

    /// Starts a proportional reduction after ECE; without a scoreboard the window drops at once.
    pub(in crate::tcp) fn begin_cwr(&mut self, c: &TcpConfig) {
        let reduction = self.start_of_reduction(c);
        match &mut self.loss.sack {
            Some(s) => {
                s.episode.prr = reduction;
                // A reduction for marks cannot be undone by a D-SACK.
                s.episode.undo.forbid();
                s.rack.probe_end = None;
                self.loss.set_ca_state(CaState::Cwr);
            }
            None => self.cc.window.cwnd = self.cc.window.ssthresh.cap(self.cc.window.cwnd),
        }
    }

    /// Sets the window of a reduction in progress (RFC 6937), after an ACK delivered `delivered` bytes in so many `segments`.
    pub(in crate::tcp) fn proportional_window(&mut self, c: &TcpConfig, delivered: u64, segments: u32, progress: bool) {
        let mss = u64::from(c.mss);
        let (pipe, threshold) = (self.pipe(), self.cc.window.ssthresh);
        let Some(s) = &mut self.loss.sack else { return };
        if delivered == 0 {
            return;
        }
        self.cc.window.cwnd = match c.ssthresh_from {
            SsthreshFrom::Cwnd => {
                let pipe = s.board.in_network();
                let more = s.episode.prr.on_segments(segments.into(), pipe.into(), threshold.bytes(c.mss) / mss, mss, progress);
                f64::from(pipe) + more as f64
            }
            // At least one segment: the flight may consist of short ones, with fewer bytes.
            SsthreshFrom::Window | SsthreshFrom::Flight => {
                let allowance = s.episode.prr.on_ack(delivered, pipe, threshold.bytes(c.mss), mss);
                Window::of_bytes(pipe + allowance, c.mss).max(1.0)
            }
        };
    }
}
