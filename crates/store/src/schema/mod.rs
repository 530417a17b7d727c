//! All result tables and columns, one file per table. Parquet and CSV files, their metadata and `docs/reference/results.md` are generated from them.
//!
//! To add a column: add one line in the file of its table, then run `UPDATE_DOCS=1 cargo test -p forebay-store` to refresh the documentation.

mod common;
mod events;
mod flows;
mod goodput;
mod ports;
mod queries;
mod queue;
mod tcp;
mod timeouts;

pub(crate) use common::WORLD;
pub use common::{deadline_met, duration_ps, ns, slowdown};
pub use events::EVENTS;
pub use flows::FLOWS;
pub use goodput::GOODPUT;
pub use ports::PORTS;
pub use queries::QUERIES;
pub use queue::QUEUE;
pub use tcp::TCP;
pub use timeouts::TIMEOUTS;
