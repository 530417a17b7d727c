//! Messages of invariants that do not hold.

use std::fmt::Debug;

/// An invariant that does not hold, with the row in which.
pub(super) fn broken(law: &str, row: &impl Debug) -> Result<(), String> {
    Err(format!("{law}: {row:?}"))
}
