//! ProBoSCIS: a shim below any TCP, in the hypervisors of both ends. Against the loss of a connection's first burst it sends a train of probes ahead
//! of the SYN, and sets the window in the SYN-ACK by their fate. Against later losses it keeps DCTCP's window outside the guest and writes it into
//! the ACKs. Numbers in comments are sections of its specification; "4, item n" are inconsistencies of the published text and their resolution.
//!
//! The state machines are sans-IO: packets and times in, packets out. [`SenderShim`] and [`ReceiverShim`] are the two roles of an entry of the flow
//! table (here: of a connection slot), [`Host`] is the state of a host for all of them.
//!
//! A persistent connection is probed again when it restarts after a pause ("restarting afresh"): a train goes ahead of the data, and the first ACK of that
//! data brings the window in place of a SYN-ACK. The publication does not say how; `sender` and `receiver` name the readings.
//!
//! Pull traffic (4, item 24): on a TCP connection with data in both directions, data of the host that accepts it is protected, too. Each direction has the
//! two roles of its own. That of the acceptor's data has its train ahead of the SYN-ACK, and the third packet of the handshake has the window.

mod budget;
mod config;
mod receiver;
mod row;
mod sender;
mod train_cache;
pub mod window;

#[cfg(test)]
mod answers_tests;
#[cfg(test)]
mod receiver_tests;
#[cfg(test)]
mod sender_tests;
#[cfg(test)]
mod testing;

pub(super) use config::ENTRY;

pub use budget::Budget;
pub use config::{Config, EcnMode, Ends, HoldOn, Release, Rules};
pub use receiver::{ReceiverShim, ReceiverStats};
pub use sender::{SenderShim, SenderStats, State};
pub use train_cache::TrainCache;
pub use window::Verdict;

use super::endpoint::EndpointShim;
use forebay_experiment::shim_row::ShimRow;
use forebay_experiment::transport::Stack;
use forebay_types::{Rate, Time};

/// State of a host for all its connections.
#[derive(Debug)]
pub struct Host {
    /// Budget of repeated probes.
    pub budget: Budget,
    /// Results of recent trains.
    pub train_cache: TrainCache,
}

/// The shim as an [`EndpointShim`].
#[derive(Debug)]
pub struct Proboscis;

impl EndpointShim for Proboscis {
    type Config = Config;
    type Rules = Rules;
    type Host = Host;
    type Sender = SenderShim;
    type Receiver = ReceiverShim;

    fn rules(c: &Config, stack: &Stack) -> Rules {
        Rules::new(c, stack)
    }

    fn host(rules: &Rules, rate: Option<Rate>) -> Host {
        let budget = Budget::new(rules, rate.map_or(Time::ZERO, |r| r.tx_time(u64::from(rules.probe_size))));
        Host { budget, train_cache: TrainCache::default() }
    }

    fn period(rules: &Rules) -> Time {
        rules.c.tick
    }

    fn smallest_packet(rules: &Rules) -> u32 {
        u32::from(rules.probe_size)
    }

    fn sender_row(sender: &mut SenderShim, _first: bool) -> ShimRow {
        row::of_sender(sender)
    }

    fn receiver_row(receiver: &ReceiverShim, first: bool, row: &mut ShimRow) {
        row::add_receiver(receiver, first, row);
    }
}
