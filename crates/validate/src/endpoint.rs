//! What a script needs of the endpoint that it is run against: the simulator's, or a kernel's.

use crate::connection::Sent;
use crate::script::{Call, Segment};

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Returned {
    /// With this value, and this error if it is -1.
    Value(i64, Option<&'static str>),
    /// It waits.
    Waits,
}

/// One end of a connection, with the calls of its application. Times are ps.
pub(crate) trait Endpoint {
    /// Makes a call at `now`. An error for one that makes no sense here.
    fn call(&mut self, now: u64, call: &Call) -> Result<Returned, String>;
    /// A segment arrives at `now`. An error if it is one that the endpoint cannot be given.
    fn arrive(&mut self, now: u64, segment: &Segment) -> Result<(), String>;
    /// Sets a parameter of the kernel.
    fn set(&mut self, name: &str, value: &str);
    /// Lets time pass from `now` until the endpoint does something by itself, at most until `until`: when that was; `None`: it has done nothing
    /// until then.
    fn pass(&mut self, now: u64, until: u64) -> Result<Option<u64>, String>;
    /// Until when the script's clock may be set forward without the endpoint.
    fn idle_until(&self, now: u64) -> u64;
    /// By how much (ns) what happens after a wait of `waited` may be late beyond a script's tolerance.
    fn late(&self, _waited: i64) -> i64 {
        0
    }
    /// The first of the packets that it has sent and nobody has looked at, which is taken away.
    fn take_sent(&mut self) -> Option<Sent>;
    /// The same, which stays.
    fn first_sent(&self) -> Option<&Sent>;
    /// Number of sent packets that were not taken yet.
    fn sent(&self) -> usize;
    /// The names that assertions may use, with their values now.
    fn info(&mut self) -> Result<Vec<(&'static str, f64)>, String>;
}
