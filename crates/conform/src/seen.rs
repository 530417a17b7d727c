//! What an endpoint does when a script is nothing but its input; of two endpoints, where they first differ.

use crate::show::seconds;
use std::fmt;

/// Something that an endpoint did, or knows after a packet of its peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Of the event of the script that came next, or that it follows.
    pub line: usize,
    /// ns of the script's clock.
    pub time: i64,
    /// A packet, or values.
    pub what: String,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: at {} s: {}", self.line, seconds(self.time), self.what)
    }
}

/// Where two endpoints first differ: what the one and the other did there, if anything.
pub fn difference<'a>(one: &'a [Seen], other: &'a [Seen]) -> Option<(Option<&'a Seen>, Option<&'a Seen>)> {
    let at = one.iter().zip(other).position(|(a, b)| a != b).unwrap_or(one.len().min(other.len()));
    (at < one.len() || at < other.len()).then(|| (one.get(at), other.get(at)))
}

/// The script with the stack `linux`, whichever it names.
pub fn as_linux(text: &str) -> String {
    ["rfc", "ns2"].iter().fold(text.to_owned(), |t, stack| t.replace(&format!("--stack={stack}"), "--stack=linux"))
}
