//! What is usual for an endpoint, so that there is a short way for it.

/// The kinds of endpoints whose usual packets need not be looked at closely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FastPath {
    /// None of those below: all that happens is looked at closely.
    None,
    /// A sender without scoreboard (`sender/usual.rs`), a receiver that acknowledges every segment (`receiver/usual.rs`).
    Plain,
    /// Those of Linux: a sender that lists its segments (`sender/untouched.rs`, `sender/listed.rs`), a receiver that delays ACKs and tunes its window
    /// (`receiver/in_order.rs`).
    Linux,
}
