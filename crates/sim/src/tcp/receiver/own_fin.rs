//! The receiver's own FIN. A simulated application closes once it has read the end of the stream (tcp_fin, tcp_close).

use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::Recovery;

/// Value for stacks whose every ACK of the sender's FIN carries a FIN.
const ON_ACKS: u8 = u8::MAX;

/// Number of times that the FIN has been sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnFin(u8);

impl OwnFin {
    /// Creates the initial state. Linux sends a separate FIN and retransmits it; in other stacks the ACK of the sender's FIN carries it.
    pub(super) fn new(c: &TcpConfig) -> OwnFin {
        OwnFin(if c.quickack { 0 } else { ON_ACKS })
    }

    /// Returns true if every ACK of the sender's FIN carries a FIN.
    #[inline(always)]
    pub(super) fn is_on_acks(self) -> bool {
        self.0 == ON_ACKS
    }

    /// Returns true if it has been sent as a separate packet.
    #[inline(always)]
    pub(super) fn is_sent(self) -> bool {
        self.0 > 0 && !self.is_on_acks()
    }

    /// Counts a transmission. Returns the number of doublings of the timeout before the next one: with RACK a tail loss probe comes first, a single
    /// packet no earlier than a timeout, which it does not postpone (tcp_schedule_loss_probe).
    pub(super) fn count_transmission(&mut self, c: &TcpConfig) -> u8 {
        let doublings = self.0.saturating_sub(u8::from(c.recovery == Recovery::Rack)).min(32);
        self.0 = (self.0 + 1).min(ON_ACKS - 1);
        doublings
    }
}
