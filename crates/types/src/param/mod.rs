//! Parameters as data. Every congestion control, queue discipline, topology and workload lists its parameters once. Parsing, range checks, help texts
//! and documentation are generated from that list.

mod entry;
mod text;
mod value;

pub use entry::{Entry, Kind, Param, choices, nearest, optional, required};
pub use text::is_hidden;
pub use value::{CustomLink, LinkValue, QueueValue, Value, Values};
