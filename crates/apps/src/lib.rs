//! Applications that generate traffic: they open connections, write messages and wait. Clock, network and sockets are those of their [`Host`], which
//! a simulator or a machine with sockets implements.

mod app;
mod application;
mod arrivals;
mod dependent_messages;
mod exchange;
mod host;
mod incast;
mod inter_arrival;
mod long_flows;
mod message;
mod on_off;
mod pool;
mod program_messages;
mod queries;
mod query_ids;
mod query_rows;
mod requests;
mod udp;
mod warm_start;
mod window;

pub use app::App;
pub use arrivals::flows;
pub use host::{Host, Wake};
pub use message::{InitialData, Job, Notice, OpenSpec, QueryStart, RemoteTimer};
pub use query_ids::QueryIds;
pub use query_rows::query_rows;
pub use window::window_length;
