//! Recovery with a SACK scoreboard: RFC 6675, and the parts that RACK (RFC 8985) shares with it.

use super::prr::Prr;
use super::scoreboard::EVER_RETX;
use super::sender::{CaState, SackState, Sender, Timer};
use crate::cc::{Ack, CongestionControl, Event, Trigger};
use crate::config::{Recovery, TcpConfig};
use crate::net::packet::{SackBlocks, Wire};

/// What the SACK option of one ACK said.
struct News {
    /// It reported a duplicate (RFC 2883).
    dsack: bool,
    /// Offset behind the reported duplicate.
    dsack_end: u64,
    /// It SACKed something new.
    sacked: bool,
}

impl Sender {
    /// ACK processing of a SACK stack. Fills in `ack.delivered`.
    pub(super) fn on_ack_sack(&mut self, c: &TcpConfig, ack: &mut Ack, blocks: Option<&SackBlocks>, out: &mut impl Wire) {
        let Some(mut s) = self.sack.take() else { return };
        let news = self.update_scoreboard(&mut s, ack, blocks);
        if news.dsack {
            s.rack.on_dsack(self.una, self.nxt);
            s.undo_retx = s.undo_retx.saturating_sub(1);
        }
        let probe_lost = s.rack.settle_probe(self.una, ack.acked == 0 && blocks.is_none(), news.dsack.then_some(news.dsack_end));
        self.sack = Some(s);

        self.leave_episode(ack);
        if probe_lost && self.ca < CaState::Cwr {
            self.react_to_probe(c);
        }
        if ack.acked == 0 && !news.sacked {
            self.dupacks += u32::from(self.flight() > 0 && !news.dsack);
        } else if ack.acked > 0 {
            self.dupacks = 0;
        }
        let lost = self.find_losses(c, ack.now);
        let plain = self.sack.as_ref().is_none_or(|s| s.board.is_plain());
        if lost && self.ca < CaState::Recovery {
            self.enter_recovery(c, ack.now, out);
        } else if self.ca < CaState::Cwr {
            self.ca = if plain && self.dupacks == 0 { CaState::Open } else { CaState::Disorder };
            self.dupacks = if plain { self.dupacks } else { self.sack.as_ref().map_or(0, |s| s.board.sacked_segs) };
            let reduced = self.reduce_on_ece(c, ack);
            if !reduced && ack.acked > 0 {
                self.grow(c, ack);
            }
        } else if self.ca == CaState::Loss && ack.acked > 0 {
            self.grow(c, ack);
        }
        if c.prr && matches!(self.ca, CaState::Recovery | CaState::Cwr) {
            self.proportional_window(c, ack);
        }
    }

    fn update_scoreboard(&mut self, s: &mut SackState, ack: &mut Ack, blocks: Option<&SackBlocks>) -> News {
        let before = s.board.sacked;
        let SackState { board, rack, .. } = s;
        let (now, min_rtt) = (ack.now, self.rtt.min);
        board.acknowledge(self.una, |seg| rack.on_delivered(seg, now, min_rtt));
        let mut news = News { dsack: false, dsack_end: 0, sacked: false };
        if let Some(blocks) = blocks {
            let offsets = |b: (u32, u32)| (self.addr.offset(b.0, self.una), self.addr.offset(b.1, self.una));
            let second = blocks.iter().nth(1).map(offsets);
            for (i, block) in blocks.iter().enumerate() {
                let (start, end) = offsets(block);
                // RFC 2883 section 4: below the cumulative ACK, or inside the second block.
                if i == 0 && (end <= self.una as i64 || second.is_some_and(|(s2, e2)| s2 <= start && end <= e2)) {
                    news.dsack = true;
                    news.dsack_end = end.max(0) as u64;
                } else if start >= self.una as i64 && end <= self.high as i64 {
                    let bytes = board.sack(start as u64, end as u64, |seg| rack.on_delivered(seg, now, min_rtt));
                    news.sacked |= bytes > 0;
                }
            }
        }
        ack.delivered = (ack.acked + board.sacked).saturating_sub(before);
        news
    }

    /// Marks losses: by count (RFC 6675) or by time (RFC 8985). True if there is a lost segment that was not retransmitted yet.
    pub(super) fn find_losses(&mut self, c: &TcpConfig, now: u64) -> bool {
        let Some(s) = &mut self.sack else { return false };
        if c.recovery == Recovery::Rack {
            if s.board.is_plain() {
                return false;
            }
            let recovering = self.ca >= CaState::Recovery;
            let wait = s.rack.reordering_window(self.rtt.srtt, self.rtt.min, recovering, s.board.sacked_segs, c);
            let timeout = s.rack.detect(&mut s.board, now, wait);
            if timeout > 0 && now + timeout < self.deadline {
                self.timer = Timer::Reorder;
                self.deadline = now + timeout;
            }
        } else {
            s.board.mark_by_count(c.dup_thresh, c.mss);
            // RFC 6675 section 5, (4): enough duplicate ACKs do it too, when SACK blocks were lost or are not there.
            if self.ca < CaState::Recovery
                && self.dupacks >= c.dup_thresh
                && s.board.lost == 0
                && s.board.len() > 0
                && s.board.sacked > 0
            {
                s.board.mark_lost(0);
            }
        }
        s.board.next_lost().is_some()
    }

    pub(super) fn enter_recovery(&mut self, c: &TcpConfig, now: u64, out: &mut impl Wire) {
        // RFC 6675 section 5: not for data sent before the last recovery or timeout point.
        if self.recover > 0 && self.una < self.recover {
            return;
        }
        self.stats.fast_retx += 1;
        self.disturbed = true;
        self.w.flight = self.flight_segments(c);
        if self.ca != CaState::Cwr {
            self.remember_prior();
            self.ca = CaState::Recovery;
            self.w.ssthresh = self.law.ssthresh(&self.w, Trigger::Loss);
        }
        self.ca = CaState::Recovery;
        self.recover = self.nxt;
        self.cwr_end = self.nxt;
        let flight = self.flight();
        if let Some(s) = &mut self.sack {
            s.prr = Prr::begin(flight);
            s.rescued = false;
        }
        if !c.prr {
            self.w.cwnd = self.w.ssthresh;
        }
        // RFC 6675 section 5, (4.3): the first lost segment leaves at once, whatever the pipe.
        if let Some(index) = self.sack.as_mut().and_then(|s| s.board.next_lost()) {
            self.retransmit_index(c, now, index, out);
        }
    }

    /// Ends recovery, CWR or loss once everything outstanding at its start is acknowledged; undoes it if it proved spurious.
    fn leave_episode(&mut self, ack: &Ack) {
        if self.try_undo(ack) {
            return;
        }
        let done = match self.ca {
            CaState::Cwr => self.una >= self.cwr_end,
            CaState::Recovery | CaState::Loss => self.una >= self.recover,
            _ => false,
        };
        if !done {
            return;
        }
        if self.ca != CaState::Loss {
            self.w.cwnd = self.w.ssthresh;
        }
        if let (Some(s), true) = (&mut self.sack, self.ca >= CaState::Recovery) {
            s.rack.on_recovery_end();
        }
        self.ca = CaState::Open;
        self.dupacks = 0;
        self.law.cwnd_event(&mut self.w, Event::Complete);
    }

    /// Remembers the window at the start of an episode, for undoing it.
    pub(super) fn remember_prior(&mut self) {
        let now_open = self.ca < CaState::Recovery;
        let window = (self.w.cwnd, self.w.ssthresh);
        if let Some(s) = &mut self.sack
            && now_open
        {
            s.prior = Some(window);
            s.undo_retx = 0;
        }
    }

    /// The reduction was spurious when every retransmission of the episode was reported as a duplicate (RFC 3708).
    fn try_undo(&mut self, ack: &Ack) -> bool {
        let Some(s) = &mut self.sack else { return false };
        let Some((cwnd, ssthresh)) = s.prior else { return false };
        let any_retx = s.board.iter().any(|g| g.is(EVER_RETX));
        if self.ca < CaState::Recovery || s.undo_retx > 0 || any_retx || ack.acked == 0 {
            return false;
        }
        s.board.unmark_lost();
        s.prior = None;
        self.w.cwnd = self.law.undo_cwnd(&self.w, cwnd);
        self.w.ssthresh = self.w.ssthresh.max(ssthresh);
        self.ca = CaState::Open;
        self.dupacks = 0;
        true
    }

    /// Starts a proportional reduction after ECE; without a scoreboard the window drops at once.
    pub(super) fn begin_cwr(&mut self) {
        let flight = self.flight();
        match &mut self.sack {
            Some(s) => {
                s.prr = Prr::begin(flight);
                self.ca = CaState::Cwr;
            }
            None => self.w.cwnd = self.w.ssthresh.min(self.w.cwnd),
        }
    }

    /// The window of a reduction in progress (RFC 6937).
    fn proportional_window(&mut self, c: &TcpConfig, ack: &Ack) {
        let mss = u64::from(c.mss);
        let (pipe, threshold) = (self.pipe(), (self.w.ssthresh * c.mss as f64) as u64);
        let Some(s) = &mut self.sack else { return };
        if ack.delivered == 0 {
            return;
        }
        let allowance = s.prr.on_ack(ack.delivered, pipe, threshold, mss);
        self.w.cwnd = (pipe + allowance) as f64 / c.mss as f64;
    }
}
