//! Record of an endpoint's behavior when a script is only its input, and the first difference between two endpoints.

use crate::format::seconds;
use crate::script::Segment;
use std::fmt;

/// An action of an endpoint, or its state after a packet of its peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Line of the next event of the script, or of the packet before the state.
    pub line: usize,
    /// ns of the script's clock.
    pub time: i64,
    /// A packet, or values.
    pub what: String,
    /// The packet, without the fields that are not compared: window, timestamps, push flag.
    pub packet: Option<Segment>,
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: at {} s: {}", self.line, seconds(self.time), self.what)
    }
}

/// First difference between two endpoints: the action of each, if it has one.
pub fn difference<'a>(
    one: &'a [Observation],
    other: &'a [Observation],
) -> Option<(Option<&'a Observation>, Option<&'a Observation>)> {
    let at = one.iter().zip(other).position(|(a, b)| a != b).unwrap_or(one.len().min(other.len()));
    (at < one.len() || at < other.len()).then(|| (one.get(at), other.get(at)))
}

/// The script with the stack `linux` and a kernel's window arithmetic, in place of the stack that it names. DCTCP's alpha is left as in the script:
/// in a kernel it begins after the handshake, in the endpoint of a script with its last packet.
pub fn as_linux(text: &str) -> String {
    const LINUX: &str = "--stack=linux\n--set=arithmetic=linux";
    if text.contains(LINUX) {
        return text.to_owned();
    }
    if text.contains("dctcp") {
        return ["rfc", "ns2"].iter().fold(text.to_owned(), |t, stack| t.replace(&format!("--stack={stack}"), "--stack=linux"));
    }
    let named = ["rfc", "ns2", "linux"].map(|stack| format!("--stack={stack}"));
    match named.iter().find(|n| text.contains(n.as_str())) {
        Some(name) => text.replace(name.as_str(), LINUX),
        None => format!("{LINUX}\n{text}"),
    }
}
