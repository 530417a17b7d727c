//! What an endpoint does when a script is nothing but its input; of two endpoints, where they first differ.

use crate::script::Segment;
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
    /// The packet, without what is not compared: its window, its timestamps, the push flag.
    pub packet: Option<Segment>,
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

/// The script with the stack `linux`, whichever it names, whose window grows by a kernel's arithmetic; itself if it says so already. DCTCP's alpha is
/// left as the script has it: in a kernel it begins when the handshake is over, in the endpoint of a script with its last packet.
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
