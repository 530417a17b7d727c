//! Time in which the application of a connection has nothing to send.
//!
//! A sender is busy while it has data that is unsent or unacknowledged: from `send` (tcp_skb_entail calls tcp_chrono_start with TCP_CHRONO_BUSY) to the
//! last ACK (tcp_rtx_queue_unlink_and_free, tcp_chrono_stop), as `tcpi_busy_time` counts it. The rest of the time between the first `send` and the last
//! ACK is idle: windows, buffers and links do not limit it.

/// Idle time of a connection, and the time from its first `send` to its last ACK, in the unit of `messages`: the time of the `send` and that of the last
/// ACK of each message. Both are zero without a message. The order of messages changes to that of their starts.
pub fn idle_time(messages: &mut [(u64, u64)]) -> (u64, u64) {
    messages.sort_unstable();
    let Some(&(first, _)) = messages.first() else { return (0, 0) };
    let (mut idle, mut until) = (0, first);
    for &(written, acknowledged) in messages.iter() {
        idle += written.saturating_sub(until);
        until = until.max(acknowledged);
    }
    (idle, until - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_messages_are_busy_once() {
        assert_eq!(idle_time(&mut []), (0, 0));
        assert_eq!(idle_time(&mut [(5, 9)]), (0, 4));
        assert_eq!(idle_time(&mut [(10, 14), (0, 4), (2, 6)]), (4, 14));
        assert_eq!(idle_time(&mut [(0, 20), (5, 6), (30, 40)]), (10, 40), "the longer message decides");
    }
}
