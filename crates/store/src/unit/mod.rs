//! Results by what they are results of. A *unit* is one configuration with one seed; its [`UnitKey`] is a hash of everything that the
//! result depends on, and [`UnitStore`] holds the results of units by their keys. Whoever asks for a unit that somebody computed
//! before, in another sweep or before an interruption, finds it.

mod codec;
mod kept;
mod key;
mod named;
mod packed;
mod record;
mod store;

pub use kept::Kept;
pub use key::{KeyHasher, UnitKey};
pub use named::{RunNames, summary};
pub use packed::Packed;
pub use record::UnitRecord;
pub use store::UnitStore;
