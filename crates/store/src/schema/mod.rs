//! The one list of result tables and columns, a file for each table. Parquet and CSV files, their metadata and `docs/reference/results.md` come from
//! here.
//!
//! To add a column: one line in the file of its table; then `UPDATE_DOCS=1 cargo test -p forebay-store` refreshes the documentation.

mod events;
mod flows;
mod goodput;
mod ports;
mod queries;
mod queue;
mod shared;
mod tcp;
mod timeouts;

pub use events::EVENTS;
pub use flows::FLOWS;
pub use goodput::GOODPUT;
pub use ports::PORTS;
pub use queries::QUERIES;
pub use queue::QUEUE;
pub(crate) use shared::WORLD;
pub use shared::{deadline_met, duration_ps, ns, slowdown};
pub use tcp::TCP;
pub use timeouts::TIMEOUTS;
