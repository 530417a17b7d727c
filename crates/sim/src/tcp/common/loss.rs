//! Loss detection and recovery of a sender.

use crate::tcp::common::sack_state::SackState;
use crate::tcp::sender::CaState;
use forebay_units::Time;

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

    /// Whether the sender has a scoreboard while anything is outstanding.
    #[inline(always)]
    pub(in crate::tcp) fn uses_scoreboard(&self) -> bool {
        self.uses_scoreboard
    }

    /// Last RTT of RACK while there is no scoreboard.
    #[inline(always)]
    pub(in crate::tcp) fn rack_rtt(&self) -> Time {
        self.rack_rtt
    }

    /// Keeps the last RTT of RACK, before the scoreboard is dropped.
    pub(in crate::tcp) fn set_rack_rtt(&mut self, rtt: Time) {
        self.rack_rtt = rtt;
    }

}
