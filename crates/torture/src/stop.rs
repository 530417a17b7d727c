//! The early end of the checks of a case.

/// Reason to end the checks of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A run has more packets than a case may.
    Cut,
    /// The case is illegal.
    Refused(String),
    /// An invariant does not hold.
    Failed(String),
}
