//! Sweeps: many scenarios out of one, run on all cores into a directory that can be continued.
//!
//! * A [`Plan`] is the list of units to run, and nothing but that: made once, from a scenario alone, with every point checked.
//! * A *unit* is one variant of one point with one seed: a pure function from a configuration to a [`UnitRecord`]
//!   ([`crate::simulate`]), whose result is kept in a [`UnitStore`] under a hash of all that it depends on ([`key`]).
//! * [`run_units`] is the loop: it takes units out of the plan, finds their results or makes them.
//! * Units that run elsewhere come back as files: [`run_batch`] makes them where they run, [`UnitStore::put_files`] takes them in. A
//!   [`Shard`] is a part of a sweep that another process runs to its end, and [`merge`] puts such parts together.
//! * [`Session`] is the loop for those who ask for one plan after another, such as the reproduction of a paper.
//! * [`execute`] is all of it for one machine and one directory: manifest, units, and all numbers as one table at the end.

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
pub use dataset::{Begun, Finished, Request, begin, default_dir, execute, read};
pub use error::SweepError;
pub use explain::explain;
pub use find::{Done, running};
pub use forebay_store::unit::{UnitFiles, UnitKey, UnitRecord, UnitStore};
pub use plan::{Plan, Unit};
pub use points::Names;
pub use run::{Records, Status, Watcher, run_units};
pub use session::{Counts, Session, Ticket};
pub use shards::{Shard, ShardDone, execute_shard, merge};
