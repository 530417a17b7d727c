//! The C cores of the kernel's driver, and of the shim for real hosts, as a test sees them: compiled for this machine, under the types of the crates that they follow.
//!
//! Only tests depend on this crate, so that installing the program needs no C compiler.

// Queues for the driver's network.
use forebay_guest as _;

mod network;
mod proboscis;
mod tag;
mod window;

pub use network::{Delivery, Left, Link, Network, PacketEvent, Record, Switch};
pub use proboscis::{Acceptor, Opener, Packet, SEEN, Sent};
pub use tag::{Segment, class};
pub use window::{ALPHA_ONE, Limits, Window};
