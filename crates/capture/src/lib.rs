//! Captured packets of a run as files of other programs: pcapng for Wireshark and tshark ([`PacketFile`]), CSV ([`PacketTable`]), and
//! qlog ([`qlog`]).
//!
//! Backends record packets with their header fields (`forebay_experiment::capture`); this crate gives hosts their addresses and encodes the frames.

mod addresses;
mod flow;
mod frame;
mod headers;
mod pcapng;
pub mod qlog;
mod table;

pub use addresses::{Address, Endpoints, host};
pub use flow::{FlowEvent, FlowEventKind, FlowTrace};
pub use frame::Frame;
pub use headers::Headers;
pub use pcapng::{Interface, PacketFile};
pub use table::{COLUMNS, PacketTable};
