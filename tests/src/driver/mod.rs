//! C of the guest kernel's driver and of the shim for real hosts, compiled for this machine, with the types of the Rust crates that tests compare it with.
//!
//! Only tests depend on this crate, so that installing the program needs no C compiler.

// Queues for the driver's network.
use forebay_guest as _;

mod network;
mod tag;
mod window;

pub use network::{Delivery, Left, Link, Network, PacketEvent, Record, Switch};
pub use tag::{Segment, class};
pub use window::{ALPHA_ONE, Limits, Window};
