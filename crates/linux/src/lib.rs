//! The backend `linux`: experiments with the TCP of a Linux kernel, in virtual time.
//!
//! The kernel runs as an ordinary program (User-mode Linux; crate `forebay-kernel` builds it). It holds the network, as a driver, and the end
//! points; the applications of `forebay-apps` run here and decide who writes what and when, as they do over the simulator. The guest's time
//! stands still while it waits for an answer, so that the conversation costs none.

mod apps;
mod capture;
mod congestion_controls;
mod connection;
mod failures;
#[cfg(test)]
mod fake_guest;
mod guest;
mod headers;
mod host_queue;
pub mod kernel;
pub mod link;
mod link_changes;
mod loss;
mod message;
mod names;
pub mod plan;
mod ports;
pub mod protocol;
mod queue;
mod reassembly;
mod routes;
pub mod run;
pub mod script;
mod sender;
mod shim_rows;
mod socket_state;
mod stack;
pub mod states;
#[cfg(test)]
mod testing;
mod trace;
pub mod world;
