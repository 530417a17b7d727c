//! Packets of one connection in the interface of its own host, for TCP small queues (Linux `tcp_small_queue_check`).

use crate::tcp::config::TcpConfig;
use forebay_types::{Rate, Time, TimeOrNever};
use std::collections::VecDeque;

/// `tcp_limit_output_bytes` (tcp_sk_init); 4 MB since Linux 6.16.
const MOST: u64 = 1 << 20;
/// `sk_pacing_shift`: the pacing rate's bytes in 1/1024 s.
const PER_SECOND: u64 = 1024;

/// Departure of a packet that waits in a queue whose order is not known ([`TsqBacklog::leave`]).
pub(in crate::tcp) const UNKNOWN: Time = Time(u64::MAX);

/// A packet in the interface.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    departure: Time,
    /// Memory.
    bytes: u32,
    /// Its sequence number.
    seq: u32,
}

/// Reason why the connection waits.
#[derive(Debug, Clone, Copy)]
enum Wait {
    Nothing,
    /// The first packet must leave.
    First,
    /// Fewer bytes than these must be left.
    Below(u64),
}

/// Packets of one connection in the interface.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct TsqBacklog {
    /// In the order in which they leave.
    waiting: VecDeque<Waiting>,
    /// Sum of the bytes.
    pub(in crate::tcp) bytes: u64,
    /// Pacing rate at this opportunity to send; `None` until it is needed.
    pub(in crate::tcp) rate: Option<Rate>,
    /// Time at which sending continues; never while nothing is held back.
    resume: TimeOrNever,
    wait: Wait,
    /// True if this opportunity to send has set no wait yet: `wait`, if any, is that of an earlier one, which a new one replaces.
    kept: bool,
    /// End of the burst that the interface has accepted, a stream offset; only with segmentation offload.
    pub(in crate::tcp) burst: u64,
}

impl Default for TsqBacklog {
    fn default() -> TsqBacklog {
        TsqBacklog {
            waiting: VecDeque::new(),
            bytes: 0,
            rate: None,
            resume: TimeOrNever::NEVER,
            wait: Wait::Nothing,
            kept: false,
            burst: 0,
        }
    }
}

impl TsqBacklog {
    /// Removes packets that have left until `now` (tcp_wfree). A wait continues.
    pub(in crate::tcp) fn remove_departed(&mut self, now: Time) {
        self.rate = None;
        while let Some(first) = self.waiting.front()
            && first.departure <= now
        {
            self.bytes -= u64::from(first.bytes);
            self.waiting.pop_front();
        }
    }

    /// Starts an opportunity to send at `now`. It keeps the wait of an earlier one: only a packet that leaves clears TSQ_THROTTLED (tcp_wfree).
    pub(in crate::tcp) fn settle(&mut self, now: Time) {
        self.remove_departed(now);
        self.kept = true;
    }

    /// Ends the wait for a departure by `now`: the connection continues.
    pub(in crate::tcp) fn end_due_wait(&mut self, now: Time) {
        if self.resume.is_due(now) {
            self.forget_wait();
        }
    }

    /// Ends the wait.
    fn forget_wait(&mut self) {
        (self.resume, self.wait, self.kept) = (TimeOrNever::NEVER, Wait::Nothing, false);
    }

    /// Adds a packet of `bytes` that the queue of the host holds until its departure time.
    pub(in crate::tcp) fn hold(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
    }

    /// Notes that the held packet with sequence number `seq` and `bytes` was passed to the interface at `now`, which it will have left at `departure`.
    pub(in crate::tcp) fn release(&mut self, now: Time, departure: Time, bytes: u32, seq: u32) {
        self.bytes -= u64::from(bytes);
        self.push(now, departure, bytes, seq);
        self.wait_again();
    }

    /// Adds the packet with sequence number `seq` and `bytes` at `now`. It will have left at `departure`, which is in the past where there is no
    /// interface.
    #[inline]
    pub(in crate::tcp) fn push(&mut self, now: Time, departure: Time, bytes: u32, seq: u32) {
        // A failed link has emptied the interface: packets with a later departure are lost.
        while self.waiting.back().is_some_and(|later| later.departure > departure)
            && let Some(lost) = self.waiting.pop_back()
        {
            self.bytes -= u64::from(lost.bytes);
        }
        if departure > now {
            self.bytes += u64::from(bytes);
            self.waiting.push_back(Waiting { departure, bytes, seq });
        }
    }

    /// Adds `bytes` of a further segment to the last packet, if the departure of neither is known: the interface reports that of the whole burst. Returns
    /// false if it is a packet of its own.
    pub(in crate::tcp) fn extend(&mut self, departure: Time, bytes: u32) -> bool {
        let Some(last) = self.waiting.back_mut().filter(|last| last.departure == UNKNOWN && departure == UNKNOWN) else {
            return false;
        };
        last.bytes += bytes;
        self.bytes += u64::from(bytes);
        true
    }

    /// Notes that the packet with sequence number `seq`, whose departure was not known, leaves at `departure` (tcp_wfree).
    pub(in crate::tcp) fn leave(&mut self, seq: u32, departure: Time) {
        let of = |packet: &Waiting| packet.departure == UNKNOWN && packet.seq == seq;
        let Some(place) = self.waiting.iter().position(of) else { return };
        self.waiting[place].departure = departure;
        self.wait_again();
    }

    /// Computes the time at which sending continues again, after another departure has become known.
    fn wait_again(&mut self) {
        match self.wait {
            Wait::Nothing => {}
            Wait::First => self.wait_for_first(),
            Wait::Below(limit) => self.wait_for(limit),
        }
    }

    /// Returns true if no packet waits.
    pub(in crate::tcp) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns true if the last packet has not left by `now`.
    pub(in crate::tcp) fn holds_last(&self, now: Time) -> bool {
        self.waiting.back().is_some_and(|last| last.departure > now)
    }

    /// Returns true if a packet whose sequence number is `seq` or behind it has not left by `now`.
    pub(in crate::tcp) fn holds_from(&self, now: Time, seq: u32) -> bool {
        self.waiting.iter().any(|packet| packet.departure > now && packet.seq.wrapping_sub(seq) as i32 >= 0)
    }

    /// Returns true if the packet with sequence number `seq` has not left by `now`.
    pub(in crate::tcp) fn holds(&self, now: Time, seq: u32) -> bool {
        self.waiting.iter().any(|packet| packet.departure > now && packet.seq == seq)
    }

    /// Time at which sending continues.
    pub(in crate::tcp) fn resume(&self) -> TimeOrNever {
        self.resume
    }

    /// Continues when the first packet has left.
    pub(in crate::tcp) fn wait_for_first(&mut self) {
        if self.kept {
            self.forget_wait();
        }
        self.wait = Wait::First;
        if let Some(first) = self.waiting.front().filter(|first| first.departure != UNKNOWN) {
            self.resume = self.resume.min(first.departure.into());
        }
    }

    /// Continues when fewer than `limit` bytes are left.
    pub(in crate::tcp) fn wait_for(&mut self, limit: u64) {
        if self.kept {
            self.forget_wait();
        }
        // A retransmission may wait for more bytes than new data: what leaves first lets either continue (tcp_wfree).
        self.wait = match self.wait {
            Wait::First => Wait::First,
            Wait::Below(other) => Wait::Below(limit.max(other)),
            Wait::Nothing => Wait::Below(limit),
        };
        let (mut bytes, mut latest) = (self.bytes, Time::ZERO);
        for packet in self.waiting.iter().take_while(|packet| packet.departure != UNKNOWN) {
            bytes -= u64::from(packet.bytes);
            // Packets are removed in their order, although one may leave before an earlier one.
            latest = latest.max(packet.departure);
            if bytes < limit {
                self.resume = self.resume.min(latest.into());
                return;
            }
        }
    }
}

/// Limit in bytes: about 1 ms of the pacing rate, at least `pair` (two segments, or bursts), and without pacing at most [`MOST`].
pub(in crate::tcp) fn limit(rate: Rate, pair: u64, paced: bool) -> u64 {
    let limit = (rate.0 / 8 / PER_SECOND).max(pair);
    if paced { limit } else { limit.min(MOST) }
}

/// Memory of a segment in the interface (`truesize`, by `sk_wmem_alloc`); a burst has it once for all segments.
pub(in crate::tcp) fn memory(c: &TcpConfig, data: u32) -> u64 {
    u64::from(data) + if c.tso.is_some() { u64::from(c.header) } else { c.kernel.sent_head() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The link of the interface failed at 5, which lost the packets that were to leave at 10 and 20, and came back: the next packet leaves before
    /// them.
    #[test]
    fn failed_link_empties_queue() {
        let mut q = TsqBacklog::default();
        for departure in [10, 20] {
            q.push(Time(1), Time(departure), 100, 0);
        }
        q.push(Time(6), Time(8), 100, 0);
        assert_eq!(q.bytes, 100);
        q.settle(Time(7));
        q.wait_for(1);
        assert_eq!((q.resume(), q.waiting.len()), (Time(8).into(), 1));
    }

    /// The interface reports the departure of a burst once, with the number of its first segment.
    #[test]
    fn burst_leaves_with_first_segment() {
        let mut q = TsqBacklog::default();
        q.push(Time(1), UNKNOWN, 100, 7);
        assert!(q.extend(UNKNOWN, 50) && !q.extend(Time(3), 50));
        q.leave(7, Time(5));
        q.settle(Time(5));
        assert!(q.is_empty());
    }

    /// A packet that leaves before an earlier one does not end the wait: packets are removed in their order.
    #[test]
    fn earlier_departure_does_not_end_wait() {
        let mut q = TsqBacklog::default();
        (1..=2).for_each(|seq| q.push(Time(1), UNKNOWN, 100, seq));
        q.leave(1, Time(9));
        q.leave(2, Time(5));
        q.settle(Time(6));
        q.wait_for(100);
        assert_eq!(q.resume(), Time(9).into());
    }

    /// A probe counts what has left, and the connection still waits for the rest.
    #[test]
    fn probe_keeps_wait() {
        let mut q = TsqBacklog::default();
        for departure in [10, 20] {
            q.push(Time(1), Time(departure), 100, 0);
        }
        q.wait_for(1);
        q.remove_departed(Time(15));
        assert_eq!((q.bytes, q.resume()), (100, Time(20).into()));
    }

    /// An ACK does not end the wait for a departure, not even at its instant; the alarm for it does. A later limit replaces an earlier one.
    #[test]
    fn wait_ends_with_departure() {
        let mut q = TsqBacklog::default();
        for departure in [10, 20, 30] {
            q.push(Time(1), Time(departure), 100, 0);
        }
        q.wait_for_first();
        q.settle(Time(5));
        assert_eq!(q.resume(), Time(10).into());
        q.wait_for(101);
        assert_eq!(q.resume(), Time(20).into());
        q.settle(Time(15));
        assert_eq!(q.resume(), Time(20).into());
        q.settle(Time(20));
        assert_eq!(q.resume(), Time(20).into());
        q.end_due_wait(Time(20));
        assert!(q.resume().is_never() && q.holds(Time(20), 0));
    }

    /// Two packets in a fair queue: the time to continue is known when the second leaves it.
    #[test]
    fn fair_queue_tells_departures() {
        let mut q = TsqBacklog::default();
        (1..=2).for_each(|seq| q.push(Time(1), UNKNOWN, 100, seq));
        q.wait_for(1);
        assert!(q.resume().is_never() && q.holds_last(Time(1_000)));
        assert!(q.holds_from(Time(1_000), 2) && !q.holds_from(Time(1_000), 3));
        q.leave(1, Time(5));
        assert!(q.resume().is_never());
        q.leave(2, Time(9));
        assert_eq!(q.resume(), Time(9).into());
        q.settle(Time(9));
        assert!(q.is_empty() && q.bytes == 0);
    }
}
