//! Episodes of a sender with a scoreboard: how recovery and reductions begin, what window they have meanwhile, and how they end.

use super::{CaState, Cut, Sender, Timer};
use crate::cc::{Event, Trigger, Window};
use crate::net::packet::Wire;
use crate::tcp::config::TcpConfig;
use crate::tcp::prr::Prr;
use forebay_experiment::transport::Reduce;
use forebay_units::Time;

impl Sender {
    /// `marks`: the ACK that brought us here carries ECE.
    pub(super) fn enter_recovery(&mut self, c: &TcpConfig, now: Time, marks: bool, out: &mut impl Wire) {
        if let Some(q) = &mut self.host_queue {
            q.settle(now);
        }
        self.stats_at(self.una).losses.fast_retx += 1;
        self.law.cwnd_event(&mut self.w, Event::Recovery);
        let before = self.reducible(c);
        let answered = self.marks_answered();
        if self.ca != CaState::Cwr || c.is_linux() {
            self.remember_prior(c, marks);
        }
        let reduction = self.start_of_reduction(c);
        // tcp_enter_recovery: a reduction that is under way goes on, also with the threshold that DCTCP sets for a loss (dctcp_react_to_loss).
        let running = (answered || c.reduce == Reduce::Cwnd) && self.ca == CaState::Cwr;
        self.ca = CaState::Recovery;
        if !answered {
            self.w.ssthresh = self.new_threshold(c, Trigger::Loss, before);
            self.stats_at(self.una).losses.loss_cuts += 1;
        }
        if let Some(s) = &mut self.sack {
            if !running {
                s.episode.prr = reduction;
            }
            s.episode.rescued = false;
            // RFC 8985 section 7.4.2 is about losses that nothing else answers. A kernel forgets the probe where a reduction begins
            // (tcp_init_cwnd_reduction), and reduces once more after one that went on.
            if !running || c.reduce != Reduce::Cwnd {
                s.rack.probe_end = None;
            }
        }
        if running && c.reduce == Reduce::Cwnd {
            // The end is that of the reduction under way (`high_seq`), whose CWR has been sent or waits (tcp_ecn_queue_cwr).
            self.seldom.recover = self.cwr_end;
            self.cut = Cut::Other;
        } else {
            self.seldom.recover = self.nxt;
            self.begin_reduction(self.nxt);
        }
        self.seldom.limited = 0;
        if self.timer == Timer::Probe && !self.times_as_linux(c) {
            self.arm_rto(c, now);
        }
        if !c.prr && !self.hooks.control() {
            self.w.fall();
        }
        //= https://www.rfc-editor.org/rfc/rfc6675#section-5
        //# Retransmit the first data segment presumed dropped -- the segment starting with sequence number HighACK + 1.
        // RFC 6675 section 5, (4.3): the first lost segment leaves at once, whatever the pipe. Linux lets the window of the reduction decide,
        // which has room for one (tcp_cwnd_reduction).
        let at_once = !(c.prr && c.reduce == Reduce::Cwnd);
        if at_once
            && let Some(index) = self.sack.as_mut().and_then(|s| s.board.next_lost())
            && !self.held_back(c, c.mss.into(), 2)
        {
            self.retransmit_index(c, now, index, out);
        }
    }

    /// Ends recovery, CWR or loss once everything outstanding at its start is acknowledged.
    pub(super) fn leave_episode(&mut self, c: &TcpConfig) {
        let done = match self.ca {
            // tcp_fastretrans_alert: held until something above it is acknowledged, so that CWR reaches the receiver.
            CaState::Cwr if c.reduce == Reduce::Cwnd => self.una > self.cwr_end,
            CaState::Cwr => self.una >= self.cwr_end,
            CaState::Recovery | CaState::Loss => self.una >= self.seldom.recover,
            CaState::Open | CaState::Disorder => false,
        };
        if !done {
            return;
        }
        let reduction = self.ca != CaState::Loss;
        if let (Some(s), true) = (&mut self.sack, self.ca >= CaState::Recovery) {
            s.rack.on_recovery_end(c.is_linux());
        }
        self.ca = CaState::Open;
        if reduction {
            if !self.hooks.control() {
                self.w.fall();
            }
            self.law.cwnd_event(&mut self.w, Event::Complete);
        }
    }

    /// A proportional reduction that starts now: RecoverFS of RFC 6937 section 3 is the data outstanding, where Linux has the window
    /// (tcp_init_cwnd_reduction).
    fn start_of_reduction(&self, c: &TcpConfig) -> Prr {
        match c.reduce {
            Reduce::Cwnd => Prr::begin_linux((self.w.cwnd * f64::from(c.mss)) as u64),
            Reduce::Window | Reduce::Flight => Prr::begin(self.flight()),
        }
    }

    /// Starts a proportional reduction after ECE; without a scoreboard the window drops at once.
    pub(super) fn begin_cwr(&mut self, c: &TcpConfig) {
        let reduction = self.start_of_reduction(c);
        match &mut self.sack {
            Some(s) => {
                s.episode.prr = reduction;
                // Marks are no mistake that a D-SACK could reveal.
                s.episode.undo.forbid();
                s.rack.probe_end = None;
                self.ca = CaState::Cwr;
            }
            None => self.w.cwnd = self.w.ssthresh.cap(self.w.cwnd),
        }
    }

    /// The window of a reduction in progress (RFC 6937), after `delivered` bytes more have left the network, in so many `segments`.
    pub(super) fn proportional_window(&mut self, c: &TcpConfig, delivered: u64, segments: u32, progress: bool) {
        let mss = u64::from(c.mss);
        let (pipe, threshold) = (self.pipe(), self.w.ssthresh);
        let Some(s) = &mut self.sack else { return };
        if delivered == 0 {
            return;
        }
        self.w.cwnd = match c.reduce {
            Reduce::Cwnd => {
                let pipe = s.board.in_network();
                let more = s.episode.prr.on_segments(segments.into(), pipe.into(), threshold.bytes(c.mss) / mss, mss, progress);
                f64::from(pipe) + more as f64
            }
            // Never below a segment: of short ones, fewer bytes than that may be all that is under way.
            Reduce::Window | Reduce::Flight => {
                let allowance = s.episode.prr.on_ack(delivered, pipe, threshold.bytes(c.mss), mss);
                Window::of_bytes(pipe + allowance, c.mss).max(1.0)
            }
        };
    }
}
