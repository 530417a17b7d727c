//! Run directories: a manifest and the result tables, as Parquet or CSV.
//!
//! One run of `forebay` fills one directory with all of its variants (such as transports) and seeds. The directory appears under its
//! final name only when it is complete: everything is written to a sibling, synced, and renamed.
//!
//! * [`schema`] is the one list of tables and columns, with units and meanings; files and documentation come from it.
//! * [`RunWriter`] writes a directory, [`RunDir`] reads one; [`Manifest`] says what is in it.
//! * [`stats`] and [`summary`] turn rows into the few numbers a person wants to see.
//!
//! * [`mod@unit`] holds the results of single runs by what they are results of; [`sweep`] is a directory of many of them.
//!
//! This is the only crate that knows Parquet; of Arrow, `crates/py` knows what it takes to hand tables to Python.

mod arrow_fields;
mod batch;
pub mod bins;
mod column;
mod csv_file;
mod dir;
mod docs;
mod error;
mod events;
mod file;
mod manifest;
mod parquet_bytes;
mod parquet_file;
mod read;
pub mod rows;
mod run_info;
mod run_table;
pub mod schema;
mod stale_files;
pub mod stats;
pub mod summary;
pub mod summary_table;
pub mod sweep;
pub mod unit;
mod writer;

/// Samples of queues, or of senders, that a page draws at the most: it holds them in memory, as the run that took them need not.
pub const LONGEST_SERIES: u64 = 2_000_000;

pub use arrow_array::RecordBatch;
pub use batch::{arrow_schema, batch, each_batch, rows_of, schema_of};
pub use column::{Column, Get, TableSchema};
pub use dir::{Target, file_name};
pub use docs::{markdown, replace_generated};
pub use error::StoreError;
pub use events::event_lines;
pub use file::{replaceable, write_atomic, write_atomic_unsynced};
pub use manifest::{
    Host, Manifest, RunRecord, ScenarioRecord, TableRecord, VariantRecord, built, combined_fingerprint, set_built, utc,
};
pub use parquet_bytes::{pack, unpack};
pub use read::RunDir;
pub use run_info::RunInfo;
pub use run_table::RunTable;
pub use writer::{Format, Pace, RunWriter, TruncatedTable};
