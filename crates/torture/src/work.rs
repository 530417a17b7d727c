//! Totals of what cases simulate.

use std::ops::AddAssign;

/// Amount of work of cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Simulated connections, once for each case, however often it ran.
    pub connections: u64,
    /// Runs.
    pub runs: u64,
    /// Packet transmissions of all runs.
    pub transmissions: u64,
    /// Longer runs that reached a limit, so that the attempts of unfinished connections were not compared.
    pub unfinished: u64,
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.connections += other.connections;
        self.runs += other.runs;
        self.transmissions += other.transmissions;
        self.unfinished += other.unfinished;
    }
}
