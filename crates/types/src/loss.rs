//! Loss of packets on a link, whatever its queue, as written in a scenario.

use crate::{Time, TimeOrNever};
use alloc::vec::Vec;

/// Loss of packets on one direction of a link, and the time in which it acts.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedLoss {
    /// Selection of the lost packets.
    pub model: LossModel,
    /// Time from which packets are lost.
    pub from: Time,
    /// Time from which none are lost any more.
    pub until: TimeOrNever,
}

impl From<LossModel> for TimedLoss {
    /// The loss of the whole run.
    fn from(model: LossModel) -> TimedLoss {
        TimedLoss { model, from: Time::ZERO, until: TimeOrNever::NEVER }
    }
}

/// Loss of packets on one direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub enum LossModel {
    /// Each packet is lost with this probability, independently of all others.
    Random(f64),
    /// Bursts of losses.
    Bursts(GilbertElliott),
    /// These data packets are lost and no others.
    Listed(Vec<ListedLoss>),
}

/// Two-state model of bursts of losses (Gilbert 1960, Elliott 1963). Each packet is lost with the probability of the current state; then the state may
/// change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// Probability of a change from the good to the bad state, per packet.
    pub to_bad: f64,
    /// Probability of a change from the bad to the good state, per packet.
    pub to_good: f64,
    /// Loss probability in the bad state.
    pub loss_bad: f64,
    /// Loss probability in the good state.
    pub loss_good: f64,
}

impl GilbertElliott {
    /// The model that loses all packets in the bad state and none in the good one, by its loss probability and its mean burst length in packets.
    pub fn of_bursts(p: f64, burst: f64) -> GilbertElliott {
        let to_good = 1.0 / burst;
        GilbertElliott { to_bad: to_good * p / (1.0 - p), to_good, loss_bad: 1.0, loss_good: 0.0 }
    }

    /// Share of all packets that are lost in the long run.
    pub fn mean(&self) -> f64 {
        let bad = self.to_bad / (self.to_bad + self.to_good);
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

/// Data packets of a connection that a link loses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedLoss {
    /// Number of the connection, in order of creation (`conn_id` of the results).
    pub connection: u64,
    /// Numbers of the lost packets among the connection's data packets on this link in the time of the loss, from 1, in ascending order. Retransmissions
    /// count.
    pub packets: Vec<u64>,
}
