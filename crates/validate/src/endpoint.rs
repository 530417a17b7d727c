//! Endpoint of a script: the simulator's, or a kernel's.

use crate::connection::Sent;
use crate::script::{Call, Segment};

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Returned {
    /// With this value, and this error if it is -1.
    Value(i64, Option<&'static str>),
    /// The call blocks.
    Waits,
}

/// One end of a connection, with the calls of its application. Times are ps.
pub(crate) trait Endpoint {
    /// Makes a call at `now`. An error for an impossible one.
    fn call(&mut self, now: u64, call: &Call) -> Result<Returned, String>;
    /// A segment arrives at `now`. An error for one that the endpoint cannot receive.
    fn arrive(&mut self, now: u64, segment: &Segment) -> Result<(), String>;
    /// Sets a parameter of the kernel.
    fn set(&mut self, name: &str, value: &str);
    /// Advances the time from `now` until the endpoint acts by itself, at most until `until`. Returns the time of the action; `None` without one.
    fn pass(&mut self, now: u64, until: u64) -> Result<Option<u64>, String>;
    /// Time up to which the script's clock may advance without the endpoint.
    fn idle_until(&self, now: u64) -> u64;
    /// Delay (ns) of events after a wait of `waited`, beyond a script's tolerance.
    fn late(&self, _waited: i64) -> i64 {
        0
    }
    /// Takes the first sent packet that was not taken yet.
    fn take_sent(&mut self) -> Option<Sent>;
    /// Shows the first sent packet that was not taken yet.
    fn first_sent(&self) -> Option<&Sent>;
    /// Number of sent packets that were not taken yet.
    fn sent(&self) -> usize;
    /// Names for assertions, with their current values.
    fn info(&mut self) -> Result<Vec<(&'static str, f64)>, String>;
}
