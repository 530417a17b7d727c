//! Features of connections, as words: `sack,timestamps`.

use std::fmt;

/// Common features of the connections of one call. Everything else is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    /// Both ends use SACK, and the peer reports duplicates by D-SACK.
    pub(super) sack: bool,
    /// Both ends use timestamps.
    pub(super) timestamps: bool,
    /// Classic ECN: the path marks, the peer echoes until CWR arrives.
    pub(super) ecn: bool,
    /// The congestion control is DCTCP, and the path marks.
    pub(super) dctcp: bool,
    /// The peer's window varies, closes, or shrinks.
    pub(super) windows: bool,
    /// The endpoint connects; else it accepts.
    pub(super) active: bool,
}

/// A word, its meaning, and its effect.
type Word = (&'static str, &'static str, fn(&mut Kind));

const WORDS: &[Word] = &[
    ("sack", "SACK and D-SACK, as without `nosack`", |k| k.sack = true),
    ("nosack", "without SACK", |k| k.sack = false),
    ("timestamps", "with timestamps", |k| k.timestamps = true),
    ("ecn", "Reno or CUBIC with ECN, over a path that marks", |k| k.ecn = true),
    // The endpoint of a script that accepts takes the last packet of the handshake for an ACK, which lowers DCTCP's alpha; a kernel's alpha begins
    // after it (tcp_init_transfer in tcp_rcv_state_process).
    ("dctcp", "DCTCP, over a path that marks; the endpoint connects", |k| (k.dctcp, k.active) = (true, true)),
    ("windows", "a peer whose window varies, closes, or shrinks", |k| k.windows = true),
    ("active", "the endpoint connects, instead of accepting", |k| k.active = true),
];

impl Kind {
    /// Words with commas between them, in any order.
    pub(super) fn parse(text: &str) -> Result<Kind, String> {
        let mut kind = Kind { sack: true, timestamps: false, ecn: false, dctcp: false, windows: false, active: false };
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        for word in &words {
            let (.., set) = WORDS.iter().find(|w| w.0 == *word).ok_or_else(|| {
                let known: String = WORDS.iter().map(|w| format!("\n  {:<11} {}", w.0, w.1)).collect();
                format!("--connections: `{word}` is none of{known}\nor several of them with commas between")
            })?;
            set(&mut kind);
        }
        for (one, other) in [("sack", "nosack"), ("ecn", "dctcp")] {
            if words.contains(&one) && words.contains(&other) {
                return Err(format!("--connections: `{one}` and `{other}` exclude each other"));
            }
        }
        Ok(kind)
    }

    /// True if packets are ECN-capable.
    pub(super) fn marks(self) -> bool {
        self.ecn || self.dctcp
    }
}

/// The words, in the order of the list.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.sack { "sack" } else { "nosack" })?;
        let rest = [
            (self.timestamps, "timestamps"),
            (self.ecn, "ecn"),
            (self.dctcp, "dctcp"),
            (self.windows, "windows"),
            (self.active, "active"),
        ];
        rest.iter().filter(|(has, _)| *has).try_for_each(|(_, word)| write!(f, ",{word}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_roundtrip() {
        for text in ["sack", "nosack", "sack,timestamps", "nosack,ecn,windows,active", "sack,timestamps,dctcp,active"] {
            assert_eq!(Kind::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Kind::parse("windows, dctcp").unwrap().to_string(), "sack,dctcp,windows,active");
    }

    #[test]
    fn unknown_kind_lists_known_ones() {
        let problem = Kind::parse("sack,window").unwrap_err();
        assert!(problem.contains("`window` is none of"), "{problem}");
        for (word, ..) in WORDS {
            assert!(problem.contains(word), "{problem}");
            assert!(crate::agreement::USAGE.contains(word), "the usage does not know {word}");
        }
        assert!(Kind::parse("").is_err());
        assert!(Kind::parse("sack,nosack").is_err());
        assert!(Kind::parse("dctcp,ecn").is_err());
    }
}
