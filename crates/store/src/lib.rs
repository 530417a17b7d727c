//! Run directories: a manifest and the result tables, as Parquet or CSV.
//!
//! One run of `forebay` fills one directory with all of its variants (such as transports) and seeds. The directory gets its final name only when it
//! is complete: everything is written to a sibling, synced, and renamed.
//!
//! * [`schema`] lists all tables and columns, with units and meanings; files and documentation are generated from it.
//! * [`RunWriter`] writes a directory, [`RunDir`] reads one, [`Manifest`] describes its contents.
//! * [`stats`] and [`summary`] reduce rows to summary metrics.
//! * [`capture`] writes captured packets in the formats of other programs.
//! * [`mod@unit`] stores the results of single runs by key; [`sweep`] is a directory of many of them.
//!
//! No other crate depends on Parquet. `crates/py` uses the part of Arrow that hands tables to Python.

mod arrow_fields;
mod batch;
pub mod bins;
pub mod capture;
mod column;
mod column_places;
mod csv_file;
mod dir;
mod docs;
mod error;
mod events;
mod file;
mod known_figure;
mod listed_file;
mod manifest;
mod parquet_bytes;
mod parquet_file;
mod read;
pub mod rows;
mod run_info;
mod run_table;
pub mod schema;
mod seal;
mod stale_files;
pub mod stats;
pub mod summary;
pub mod summary_table;
pub mod sweep;
pub mod unit;
mod writer;

/// Maximum number of samples of queues, or of senders, on a page: the page holds them in memory.
pub const LONGEST_SERIES: u64 = 2_000_000;

pub use arrow_array::RecordBatch;
pub use batch::{arrow_schema, batch, each_batch, rows_of, schema_of};
pub use column::{Column, Get, TableSchema};
pub use dir::{Target, file_name};
pub use docs::{markdown, replace_generated};
pub use error::StoreError;
pub use events::{RateChange, event_lines, listen_overflows, losing_links, rate_changes};
pub use file::{remove_unfinished, replaceable, write_atomic, write_atomic_unsynced};
pub use known_figure::KnownFigure;
pub use manifest::{
    CaptureRecord, Host, Manifest, RunRecord, ScenarioRecord, TableRecord, VariantRecord, built, combined_fingerprint, set_built,
    utc,
};
pub use parquet_bytes::{pack, unpack};
pub use read::RunDir;
pub use run_info::RunInfo;
pub use run_table::RunTable;
pub use seal::{file_sum, seal};
pub use writer::{Format, Pace, RunWriter, TruncatedTable};
