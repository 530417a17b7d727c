//! Results by what they are results of. A *unit* is one configuration with one seed; its [`UnitKey`] is a hash of everything that the
//! result depends on, and [`UnitStore`] holds the results of units by their keys. Whoever asks for a unit that somebody computed
//! before, in another sweep or before an interruption, finds it.

mod codec;
mod files;
mod key;
mod record;
mod run_names;
mod store;
mod table_record;

pub use files::UnitFiles;
pub use key::{KeyHasher, UnitKey};
pub use record::UnitRecord;
pub use run_names::{RunNames, summary};
pub use store::UnitStore;
pub use table_record::KeptTable;
