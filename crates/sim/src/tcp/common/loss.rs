//! Loss detection and recovery of a sender.

use super::sack_state::SackState;
use crate::tcp::common::state::CaState;
use crate::tcp::config::TcpConfig;
use forebay_types::Time;

/// Recovery state of a sender.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct LossState {
    /// Scoreboard of the outstanding segments, while there are any.
    pub(in crate::tcp) sack: Option<Box<SackState>>,
    /// Last RTT of RACK while there is no scoreboard.
    rack_rtt: Time,
    /// Duplicate ACKs in a row.
    dupacks: u32,
    /// Recovery state.
    ca_state: CaState,
    /// The sender has a scoreboard while anything is outstanding.
    uses_scoreboard: bool,
}

impl LossState {
    /// Nothing is outstanding.
    pub(in crate::tcp) fn new(sack: Option<Box<SackState>>, uses_scoreboard: bool) -> LossState {
        LossState { sack, rack_rtt: Time::ZERO, dupacks: 0, ca_state: CaState::Open, uses_scoreboard }
    }

    /// Recovery state.
    #[inline(always)]
    pub(in crate::tcp) fn ca_state(&self) -> CaState {
        self.ca_state
    }

    /// Changes the recovery state.
    #[inline(always)]
    pub(in crate::tcp) fn set_ca_state(&mut self, state: CaState) {
        self.ca_state = state;
    }

    /// Duplicate ACKs in a row.
    #[inline(always)]
    pub(in crate::tcp) fn dupacks(&self) -> u32 {
        self.dupacks
    }

    /// Counts a duplicate ACK.
    #[inline(always)]
    pub(in crate::tcp) fn add_dupack(&mut self) {
        self.dupacks += 1;
    }

    /// Sets the count of duplicate ACKs to zero.
    #[inline(always)]
    pub(in crate::tcp) fn clear_dupacks(&mut self) {
        self.dupacks = 0;
    }

    /// Sets the count of duplicate ACKs to zero and returns it.
    #[inline(always)]
    pub(in crate::tcp) fn take_dupacks(&mut self) -> u32 {
        std::mem::take(&mut self.dupacks)
    }

    /// Returns true if the sender has a scoreboard while anything is outstanding.
    pub(in crate::tcp) fn uses_scoreboard(&self) -> bool {
        self.uses_scoreboard
    }

    /// Empty scoreboard; `lent`: memory of another one.
    pub(in crate::tcp) fn scoreboard(c: &TcpConfig, lent: Option<Box<SackState>>) -> Box<SackState> {
        let mut state = lent.unwrap_or_default();
        state.clear();
        state.board.losses = c.cc.hooks().records().then(Box::default);
        state.reordering = LossState::initial_reordering(c);
        state
    }

    /// Initial number of duplicate ACKs that are a loss, where they are counted (Linux `reordering`).
    fn initial_reordering(c: &TcpConfig) -> u32 {
        // 0 without counting; with a threshold of 0, no number of duplicates is a loss.
        match c.dup_thresh {
            _ if !c.counts_duplicates() => 0,
            0 => u32::MAX,
            duplicates => duplicates,
        }
    }

    /// Creates the scoreboard, before something is sent or a packet is processed.
    #[inline]
    pub(in crate::tcp) fn ensure_scoreboard(&mut self, c: &TcpConfig, snd_una: u64) {
        if self.uses_scoreboard && self.sack.is_none() {
            self.create_scoreboard(c, snd_una);
        }
    }

    #[inline(never)]
    fn create_scoreboard(&mut self, c: &TcpConfig, snd_una: u64) {
        let mut state = LossState::scoreboard(c, None);
        state.rack.resume(self.rack_rtt, snd_una);
        self.sack = Some(state);
    }

    /// Drops the scoreboard of a sender with nothing outstanding, unless it holds more than a new one. The last RTT of RACK is kept.
    #[inline(never)]
    pub(in crate::tcp) fn drop_unused_scoreboard(&mut self, c: &TcpConfig, snd_una: u64) {
        let as_new = |s: &mut Box<SackState>| {
            s.board.is_clear() && s.episode.made().is_none() && s.reordering == LossState::initial_reordering(c)
        };
        if let Some(s) = self.sack.take_if(|s| as_new(s) && s.rack.is_initial(snd_una)) {
            self.rack_rtt = s.rack.rtt;
        }
    }

    /// Last RTT of RACK.
    pub(in crate::tcp) fn last_rtt(&self) -> Time {
        self.sack.as_ref().map_or(self.rack_rtt, |s| s.rack.rtt)
    }

    /// Returns true if lost segments are not retransmitted for now.
    #[inline]
    pub(in crate::tcp) fn holds_back(&self) -> bool {
        self.sack.as_ref().is_some_and(|s| s.episode.undo.hold)
    }

    /// Allows retransmissions again.
    pub(in crate::tcp) fn clear_hold(&mut self) {
        if let Some(episode) = self.sack.as_mut().and_then(|s| s.episode.made()) {
            episode.undo.hold = false;
        }
    }

    /// Counts a segment of `len` bytes in a proportional reduction (`prr_out`). Probes of Linux do not count, because tcp_send_loss_probe does not
    /// call tcp_write_xmit or tcp_xmit_retransmit_queue.
    #[inline]
    pub(in crate::tcp) fn count_in_reduction(&mut self, len: u64, mss: u64) {
        if matches!(self.ca_state, CaState::Recovery | CaState::Cwr)
            && let Some(s) = &mut self.sack
        {
            s.episode.prr.on_send(len, mss);
        }
    }
}
