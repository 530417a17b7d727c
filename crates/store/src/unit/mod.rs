//! Content-addressed results. A *unit* is one configuration with one seed; its [`UnitKey`] is a hash of all inputs of the result, and [`UnitStore`]
//! holds the results of units by key. Results of another sweep, or from before an interruption, are reused.

mod codec;
mod files;
mod key;
mod record;
mod run_names;
mod store;
mod table_record;

pub use codec::reseal;
pub use files::UnitFiles;
pub use key::{KeyHasher, UnitKey};
pub use record::UnitRecord;
pub use run_names::{RunNames, summary};
pub use store::UnitStore;
pub use table_record::KeptTable;
