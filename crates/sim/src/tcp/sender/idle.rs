//! A sender with nothing outstanding has no scoreboard: it is made for the next segment or packet. What of it outlives the segments in it is the
//! last round trip that RACK saw, as long as nothing unusual has happened.

use super::{Phase, Sender};
use crate::tcp::config::TcpConfig;
use crate::tcp::sack_state::SackState;

impl Sender {
    /// What a scoreboard is at first; `lent`: memory of another one.
    pub(super) fn scoreboard(c: &TcpConfig, lent: Option<Box<SackState>>) -> Box<SackState> {
        let mut state = lent.unwrap_or_default();
        state.clear();
        state.board.losses = c.law.hooks().records().then(Box::default);
        state.reordering = Sender::first_reordering(c);
        state
    }

    /// How many duplicate ACKs are a loss at first, where they are counted.
    fn first_reordering(c: &TcpConfig) -> u32 {
        // None at all where no number of duplicates is a loss.
        match c.dup_thresh {
            _ if !c.counts_duplicates() => 0,
            0 => u32::MAX,
            duplicates => duplicates,
        }
    }

    /// Something is to be sent, or a packet has come.
    #[inline]
    pub(super) fn wake(&mut self, c: &TcpConfig) {
        if self.by_scoreboard && self.sack.is_none() {
            self.make_scoreboard(c);
        }
    }

    #[inline(never)]
    fn make_scoreboard(&mut self, c: &TcpConfig) {
        let mut state = Sender::scoreboard(c, None);
        state.rack.resume(self.rack_rtt, self.una);
        self.sack = Some(state);
    }

    /// An ACK has been dealt with.
    #[inline]
    pub(super) fn rest(&mut self, c: &TcpConfig) {
        if self.una == self.nxt && self.phase == Phase::Established && !self.hooks.records() {
            self.forget_scoreboard(c);
        }
    }

    #[inline(never)]
    fn forget_scoreboard(&mut self, c: &TcpConfig) {
        let una = self.una;
        let as_new = |s: &mut Box<SackState>| {
            s.board.is_clear() && s.episode.made().is_none() && s.reordering == Sender::first_reordering(c)
        };
        if let Some(s) = self.sack.take_if(|s| as_new(s) && s.rack.is_usual(una)) {
            self.rack_rtt = s.rack.rtt;
        }
    }
}
