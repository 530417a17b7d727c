//! Captured packets of a run as files of other programs: pcapng for Wireshark and tshark ([`PacketFile`]), CSV ([`PacketTable`]), qlog ([`qlog`]),
//! and the XML of ns-3's FlowMonitor ([`FlowMonitor`]).
//!
//! Backends record packets with their header fields (`forebay_experiment::capture`); this module gives hosts their addresses and encodes the frames.

mod addresses;
mod flow;
mod flow_monitor;
mod frame;
mod pcapng;
pub mod qlog;
mod table;

pub use addresses::{Address, Endpoints, host};
pub use flow::{FlowEvent, FlowEventKind, FlowTrace};
pub use flow_monitor::FlowMonitor;
pub use frame::Frame;
pub use pcapng::{Interface, PacketFile};
pub use table::{COLUMNS, PacketTable};
