//! Analysis of captured TCP traffic, of flow records and of snapshots of sockets: packet trains, round-trip times, retransmissions and incast events, and workloads made from them.
//!
//! [`capture`] reads pcap and pcapng files, [`packet`] finds the TCP header of a frame, and [`Analysis`] follows the connections. It keeps a state of
//! constant size for each live connection, and retires connections that are closed or idle, so that captures of any size fit in memory. Results
//! leave through a [`Sink`] while the capture is read; [`Summary`] has the totals.

pub mod capture;
pub mod packet;

mod analysis;
mod anonymise;
mod answer;
mod clock;
mod connection;
mod error;
mod histogram;
mod host_rules;
mod incast;
mod numbers;
mod options;
mod records;
mod replay;
mod resample;
mod scenario;
mod sink;
mod sockets;
mod source;
mod summary;
mod tables;

pub use analysis::Analysis;
pub use anonymise::{Anonymise, HostNames};
pub use answer::{Answer, answer};
pub use error::Error;
pub use histogram::Histogram;
pub use host_rules::HostRules;
pub use options::{Gap, Options};
pub use records::Records;
pub use replay::{Flow, FlowList, Replay, flows};
pub use resample::Resample;
pub use scenario::{Network, replay_scenario, resample_scenario};
pub use sink::{ConnectionRow, DirectionRow, Host, Incast, Message, RetransmissionKind, Retransmissions, Sink, Train};
pub use sockets::{Socket, Sockets};
pub use source::{InputFile, in_order};
pub use summary::{Skipped, SocketTotals, Summary, Trains};
pub use tables::{FILES, Open, Tables};
