//! ProBoSCIS: a shim below any TCP, in the hypervisors of both ends. Against the loss of a connection's first burst it sends a train of probes ahead
//! of the SYN, and sets the window in the SYN-ACK by their fate. Against later losses it keeps DCTCP's window outside the guest and writes it into
//! the ACKs. Numbers in comments are sections of its specification; "4, item n" are inconsistencies of the published text and their resolution.
//!
//! [`SenderShim`] and [`ReceiverShim`] are the two roles of an entry of the flow table (here: of a connection), [`Host`] is the state of a host for all of
//! them. Packets are any type with the trait [`Segment`].
//!
//! A persistent connection is probed again when it restarts after a pause ("restarting afresh"): a train goes ahead of the data, and the first ACK of that
//! data brings the window in place of a SYN-ACK. The publication does not say how; `sender` and `receiver` name the readings.
//!
//! Pull traffic (4, item 24): on a TCP connection with data in both directions, data of the host that accepts it is protected, too. Each direction has the
//! two roles of its own. That of the acceptor's data has its train ahead of the SYN-ACK, and the third packet of the handshake has the window.

mod budget;
mod config;
mod receiver;
mod rules;
mod segment;
mod sender;
mod train_cache;
pub mod window;

pub use budget::Budget;
pub use config::{Config, ECN_MODE, ENDS, EcnMode, Ends, HOLD_ON, HoldOn, RELEASE, Release};
pub use receiver::{ReceiverShim, ReceiverStats};
pub use rules::{FORGET, Rules, Tcp, WORDS};
pub use segment::{Output, Probe, Segment};
pub use sender::{SenderShim, SenderStats, State};
pub use train_cache::TrainCache;
pub use window::Verdict;

/// State of a host for all its connections.
#[derive(Debug)]
pub struct Host {
    /// Budget of repeated probes.
    pub budget: Budget,
    /// Results of recent trains.
    pub train_cache: TrainCache,
}

impl Host {
    /// The state at the start, with this budget.
    pub fn new(budget: Budget) -> Host {
        Host { budget, train_cache: TrainCache::default() }
    }
}
