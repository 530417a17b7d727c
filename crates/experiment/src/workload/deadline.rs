//! Deadlines of messages.

use super::BuildError;
use crate::traffic::Deadline;
use forebay_types::Time;
use forebay_types::param::{Kind, Param, Values, optional};

/// Deadline of messages.
pub(super) const DEADLINE: Param = optional(
    "deadline",
    Kind::Time,
    "",
    "deadline of a message, counted from its start; late messages are still completed. Default: none",
);
/// Deadline of messages of a query, counted from the request.
pub(super) const QUERY_DEADLINE: Param = optional(
    "deadline",
    Kind::Time,
    "",
    "deadline of each answer, counted from the request; late answers are still completed. Default: none",
);
/// Maximum size of messages with a deadline.
pub(super) const DEADLINE_MAX_SIZE: Param =
    optional("deadline-max-size", Kind::Bytes, "", "only messages of at most this size have the deadline. Default: all");

/// Deadline from the parameters.
pub(super) fn deadline(values: &Values) -> Result<Option<Deadline>, BuildError> {
    let max_size = values.opt_bytes(DEADLINE_MAX_SIZE.key).map(|b| b.0);
    match deadline_of_all(values)? {
        None if max_size.is_some() => Err(BuildError::new(DEADLINE_MAX_SIZE.key, "needs `deadline`")),
        None => Ok(None),
        Some(d) => Ok(Some(Deadline { max_size: max_size.unwrap_or(u64::MAX), ..d })),
    }
}

/// Same as [`deadline`], for workloads whose messages all have the same size.
pub(super) fn deadline_of_all(values: &Values) -> Result<Option<Deadline>, BuildError> {
    match values.opt_time(DEADLINE.key) {
        Some(Time::ZERO) => Err(BuildError::new(DEADLINE.key, "must be above zero; leave it out for no deadline")),
        after => Ok(after.map(|after| Deadline { after, max_size: u64::MAX })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_messages_have_deadlines() {
        let d = Some(Deadline { after: Time(200), max_size: 1_000 });
        assert_eq!(Deadline::due(d, Time(50), 1_000), Time(250));
        assert_eq!(Deadline::due(d, Time(50), 1_001), Time::NEVER);
        assert_eq!(Deadline::due(None, Time(50), 1), Time::NEVER);
    }
}
