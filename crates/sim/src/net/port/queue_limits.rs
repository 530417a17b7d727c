//! Byte queue limits (Linux `lib/dynamic_queue_limits.c`): the number of bytes that the transmit ring of an interface may hold. The limit is as low
//! as it can be without letting the ring run empty while packets wait in the queue above it.

use forebay_types::Time;

/// `slack_hold_time` (netdev_queue init: HZ).
const HOLD: Time = Time::from_secs(1);
/// `DQL_MAX_LIMIT`.
const MOST: u32 = u32::MAX / 2 - u32::MAX / 16;

/// State of the limit (`struct dql`). Counts of bytes wrap as in the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueLimits {
    /// Bytes ever queued and ever completed.
    queued: u32,
    completed: u32,
    limit: u32,
    /// `limit` plus `completed`.
    adjusted: u32,
    /// Bytes of the last packet.
    last: u32,
    /// Values at the last completion: excess over the limit, bytes queued, bytes of the last packet.
    prev_over: u32,
    prev_queued: u32,
    prev_last: u32,
    lowest_slack: u32,
    slack_since: Time,
}

/// `POSDIFF`.
fn excess(a: u32, b: u32) -> u32 {
    let difference = a.wrapping_sub(b);
    if difference as i32 > 0 { difference } else { 0 }
}

impl QueueLimits {
    /// An empty ring without a limit yet (dql_reset).
    pub(super) fn new(now: Time) -> QueueLimits {
        QueueLimits {
            queued: 0,
            completed: 0,
            limit: 0,
            adjusted: 0,
            last: 0,
            prev_over: 0,
            prev_queued: 0,
            prev_last: 0,
            lowest_slack: u32::MAX,
            slack_since: now,
        }
    }

    /// The limit, bytes.
    #[cfg(test)]
    fn limit(&self) -> u32 {
        self.limit
    }

    /// Returns true if the ring takes another packet (dql_avail): its bytes do not exceed the limit yet.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        self.available() >= 0
    }

    /// Bytes up to the limit (dql_avail).
    #[inline(always)]
    pub(super) fn available(&self) -> i32 {
        self.adjusted.wrapping_sub(self.queued) as i32
    }

    /// Counts a packet that enters the ring (dql_queued).
    #[inline(always)]
    pub(super) fn queue(&mut self, bytes: u32) {
        self.last = bytes;
        self.queued = self.queued.wrapping_add(bytes);
    }

    /// Counts another segment of the packet that entered last.
    #[inline(always)]
    pub(super) fn extend(&mut self, bytes: u32) {
        self.last += bytes;
        self.queued = self.queued.wrapping_add(bytes);
    }

    /// Counts a packet of `bytes` that has left at `now`, and adapts the limit (dql_completed).
    #[inline]
    pub(super) fn complete(&mut self, bytes: u32, now: Time) {
        let completed = self.completed.wrapping_add(bytes);
        let mut limit = self.limit;
        let mut over = excess(self.queued.wrapping_sub(self.completed), limit);
        let in_progress = self.queued.wrapping_sub(completed);
        let prev_in_progress = self.prev_queued.wrapping_sub(self.completed);
        let prev_completed = completed.wrapping_sub(self.prev_queued) as i32 >= 0;
        if (over > 0 && in_progress == 0) || (self.prev_over > 0 && prev_completed) {
            // Starved: the ring ran empty, or may have, while it was over its limit.
            limit = limit.wrapping_add(excess(completed, self.prev_queued)).wrapping_add(self.prev_over);
            (self.slack_since, self.lowest_slack) = (now, u32::MAX);
        } else if in_progress > 0 && prev_in_progress > 0 && !prev_completed {
            // Busy all the time: the smallest excess over a second is not needed.
            let slack = excess(limit.wrapping_add(self.prev_over), bytes.wrapping_mul(2));
            let of_last = if self.prev_over > 0 { excess(self.prev_last, self.prev_over) } else { 0 };
            self.lowest_slack = self.lowest_slack.min(slack.max(of_last));
            if now > self.slack_since + HOLD {
                limit = excess(limit, self.lowest_slack);
                (self.slack_since, self.lowest_slack) = (now, u32::MAX);
            }
        }
        limit = limit.min(MOST);
        if limit != self.limit {
            (self.limit, over) = (limit, 0);
        }
        self.adjusted = limit.wrapping_add(completed);
        (self.prev_over, self.prev_last) = (over, self.last);
        (self.completed, self.prev_queued) = (completed, self.queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's own sequence by hand: packets of 1500 B, as many as the ring takes, and one completion each.
    #[test]
    fn limit_grows_until_ring_never_empties() {
        let mut ring = QueueLimits::new(Time::ZERO);
        let mut held = 0;
        let mut limits = Vec::new();
        for packet in 0..20_u64 {
            while ring.is_open() {
                ring.queue(1500);
                held += 1;
            }
            ring.complete(1500, Time::from_us(12 * packet));
            held -= 1;
            limits.push((ring.limit(), held));
        }
        // One packet at a limit of 0 starves: the limit becomes 1500, at which two fit: the second one exceeds it. The excess of the interval before
        // ends with the packets of that interval, which adds it: 3000, at which three are in the ring. From then on it never runs empty.
        assert_eq!(limits[..2], [(1500, 0), (1500, 1)]);
        let (limit, held) = limits[19];
        assert!(limit <= 3000 && (1..=2).contains(&held), "{limits:?}");
        assert!(limits[5..].iter().all(|l| *l == limits[19]), "{limits:?}");
    }

    /// After a second without a starved ring the excess is taken back.
    #[test]
    fn limit_shrinks_after_a_second() {
        let mut ring = QueueLimits::new(Time::ZERO);
        // Bursts of 60 000 B have raised it.
        for burst in 0..10_u64 {
            while ring.is_open() {
                ring.queue(60_000);
            }
            ring.complete(60_000, Time::from_ms(burst));
        }
        let raised = ring.limit();
        assert!(raised >= 60_000);
        while ring.queued.wrapping_sub(ring.completed) > 0 {
            ring.complete(60_000, Time::from_ms(10));
        }
        for packet in 0..200_000_u64 {
            while ring.is_open() {
                ring.queue(1500);
            }
            ring.complete(1500, Time::from_ms(11) + Time::from_us(12 * packet));
        }
        assert!(ring.limit() <= 3000, "{} after {raised}", ring.limit());
    }
}
