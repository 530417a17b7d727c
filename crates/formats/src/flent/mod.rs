//! Result files of Flent (`.flent.gz`): JSON, compressed by gzip. [`read()`] is for measurements that are compared with a run, [`FlentResult::write`] for results
//! that Flent plots beside its own.

mod read;
mod write;

pub use read::{FlentFile, FlentSeries, MAX_BYTES, read};
pub use write::{FlentResult, SocketSample, Stream};

/// Version of the format.
const VERSION: u64 = 4;

/// Unit of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlentUnit {
    /// Mbit/s.
    MegabitsPerSecond,
    /// ms.
    Milliseconds,
}

impl FlentUnit {
    /// Name in files.
    fn name(self) -> &'static str {
        match self {
            FlentUnit::MegabitsPerSecond => "Mbits/s",
            FlentUnit::Milliseconds => "ms",
        }
    }
}
