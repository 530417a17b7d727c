//! Sweeps: many variants of a scenario, run on all cores into a resumable directory.
//!
//! * A [`Plan`] is the list of units to run, derived from a scenario alone, with every point checked.
//! * A *unit* is one variant of one point with one seed: a pure function from a configuration to a [`UnitRecord`] ([`crate::simulate`]). Its result
//!   is kept in a [`UnitStore`] under a hash of all its inputs ([`key`]).
//! * [`run_units`] is the main loop: it takes units from the plan and finds or computes their results.
//! * Units of other processes arrive as files: [`run_batch`] computes them, [`UnitStore::put_files`] stores them. A [`Shard`] is a part of a sweep
//!   that another process runs, and [`merge`] combines shards.
//! * [`Session`] runs one plan after another, such as for the reproduction of a paper.
//! * [`execute`] does everything for one machine and one directory: manifest, units, and the summary table at the end.

mod axes;
mod batch;
mod dataset;
mod error;
mod explain;
mod find;
pub mod key;
mod plan;
mod points;
mod run;
mod session;
mod shards;

pub use batch::{run_batch, run_once};
pub use dataset::{Finished, PreparedSweep, Request, begin, default_dir, execute, read};
pub use error::SweepError;
pub use explain::explain;
pub use find::{Done, running};
pub use forebay_store::unit::{UnitFiles, UnitKey, UnitRecord, UnitStore};
pub use plan::{Plan, Unit};
pub use points::Names;
pub use run::{Records, Status, Watcher, run_units};
pub use session::{Counts, Session, Ticket};
pub use shards::{Shard, ShardDone, execute_shard, merge};
