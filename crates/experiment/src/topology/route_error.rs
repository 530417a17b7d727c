//! Errors of networks that cannot be routed, and the bounds of the tables.

use std::fmt;

/// Maximum number of equal-cost ports: the count has 8 bits of an entry.
pub(super) const MAX_CHOICES: usize = 255;

/// Reason why a network cannot be routed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteError {
    /// No path leads from the first host to the second.
    NoPath(String, String),
    /// A switch has more equal-cost ports towards one destination than an entry can hold.
    TooManyChoices(String, usize),
    /// The distinct sets of equal-cost ports do not fit 24 bits.
    TooManySets,
    /// The tables have more entries than 32 bits can number: switches, and switches with hosts.
    TooManySwitches(usize, usize),
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RouteError::NoPath(from, to) => {
                write!(f, "no path from host `{from}` to host `{to}`; every host must reach every other")
            }
            RouteError::TooManyChoices(switch, n) => {
                write!(f, "switch `{switch}` has {n} equal-cost ports to one destination; at most {MAX_CHOICES} are supported")
            }
            RouteError::TooManySwitches(rows, columns) => {
                write!(f, "{rows} switches with ways to {columns} that have hosts: at most 4294967295 pairs are supported")
            }
            RouteError::TooManySets => {
                f.write_str("the network has too many different sets of equal-cost ports (over 16 million ports)")
            }
        }
    }
}

impl std::error::Error for RouteError {}
