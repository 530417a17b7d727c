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
    pub(in crate::tcp) rack_rtt: Time,
    /// Duplicate ACKs in a row.
    pub(in crate::tcp) dupacks: u32,
    /// Recovery state.
    pub(in crate::tcp) ca_state: CaState,
    /// The sender has a scoreboard while anything is outstanding.
    pub(in crate::tcp) uses_scoreboard: bool,
}
