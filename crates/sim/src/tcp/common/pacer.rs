//! Departure times of segments, for congestion controls that pace, connections with a maximum rate, and connections of a host whose queue is fq (Linux tcp_pacing_check,
//! tcp_update_skb_after_send).

use super::held_packets::HeldPackets;
use forebay_types::{Rate, Time, TimeOrNever};

/// Number of segments with which pacing begins ("sch_fq does not pace first 10 MSS"; the tenth delays the next).
const UNPACED: u64 = 10;

/// Pacing state of one connection.
#[derive(Debug, Clone, Default)]
pub(in crate::tcp) struct Pacer {
    /// Earliest departure of the next segment (`tcp_wstamp_ns`).
    next: Time,
    /// Number of data segments that have left.
    sent: u64,
    /// True if a segment waits for that departure.
    waits: bool,
    /// Packets that wait in the queue of the host, if it holds them until their departures (`SK_PACING_FQ`); else TCP waits (`SK_PACING_NEEDED`).
    held: Option<Box<HeldPackets>>,
}

impl Pacer {
    /// Earliest departure of the next segment; may be in the past.
    pub(in crate::tcp) fn next(&self) -> Time {
        self.next
    }

    /// Departure of a segment that is sent now: later only if the queue of the host holds it.
    #[inline]
    pub(in crate::tcp) fn departure(&self, now: Time) -> Time {
        if self.held.is_some() { self.next.max(now) } else { now }
    }

    /// Packets that wait in the queue of the host, if it holds them.
    #[inline]
    pub(in crate::tcp) fn held_mut(&mut self) -> Option<&mut HeldPackets> {
        self.held.as_deref_mut()
    }

    /// Returns true if packets wait in the queue of the host.
    pub(in crate::tcp) fn holds_packets(&self) -> bool {
        self.held.as_ref().is_some_and(|h| !h.is_empty())
    }

    /// Returns true if a burst that begins with sequence number `seq` waits in the queue of the host.
    pub(in crate::tcp) fn holds(&self, seq: u32) -> bool {
        self.held.as_ref().is_some_and(|held| held.holds(seq))
    }

    /// Notes that the queue of the host holds packets until their departures.
    pub(in crate::tcp) fn use_host_queue(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Delay of a timer that is set at `now`, in whole ticks of its clock (Linux `tcp_pacing_delay`): the segment may have to wait for its departure.
    pub(in crate::tcp) fn delay(&self, now: Time, tick: Time) -> Time {
        let wait = self.next.saturating_sub(now);
        wait - wait % tick.max(Time(1))
    }

    /// Time at which the sender continues, or a held packet leaves; never while no segment waits.
    pub(in crate::tcp) fn due(&self) -> TimeOrNever {
        match &self.held {
            Some(held) => held.due(),
            None if self.waits => self.next.into(),
            None => TimeOrNever::NEVER,
        }
    }

    /// Starts a new opportunity to send: no segment waits yet.
    pub(in crate::tcp) fn settle(&mut self) {
        self.waits = false;
    }

    /// Returns true if the next segment must wait for its departure.
    pub(in crate::tcp) fn holds_back(&mut self, now: Time) -> bool {
        self.waits = self.held.is_none() && self.next > now;
        self.waits
    }

    /// Notes that `segments` with `bytes` of payload left at `now`. The next segment leaves when these have passed at `rate` (payload).
    pub(in crate::tcp) fn sent(&mut self, now: Time, bytes: u64, segments: u64, rate: Rate) {
        // A FIN alone is no data (`data_segs_out` in __tcp_transmit_skb).
        self.sent += if bytes > 0 { segments } else { 0 };
        let late = now.saturating_sub(self.next);
        self.next = self.next.max(now);
        if self.sent >= UNPACED && rate.0 > 0 {
            // A segment that left late shortens the next pause, by half of it at most. All in whole nanoseconds.
            let whole = |time: Time| time - time % Time::from_ns(1);
            let time = whole(rate.tx_time(bytes));
            self.next += time - late.min(whole(time / 2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequences::each_sequence;

    const US: Time = Time::from_us(1);

    /// 1250 bytes at 1 Gbps take 10 us.
    #[test]
    fn spaces_segments_after_the_first_ten() {
        let mut p = Pacer::default();
        let rate = Rate(1_000_000_000);
        for _ in 0..UNPACED {
            assert!(!p.holds_back(US));
            p.sent(US, 1250, 1, rate);
        }
        assert!(p.holds_back(US * 10));
        assert_eq!(p.due(), (US * 11).into());
        assert!(!p.holds_back(US * 11));
        assert_eq!(p.due(), TimeOrNever::NEVER);
        // 4 us late: the next pause is shorter by 4 us. After a long silence it is half as long.
        p.sent(US * 15, 1250, 1, rate);
        // A timer that is set now allows for it, in whole ticks.
        assert_eq!([Time(1), US * 4].map(|tick| p.delay(US * 15, tick)), [US * 6, US * 4]);
        assert_eq!(p.delay(US * 30, US), Time::ZERO);
        assert_eq!(p.next(), US * 21);
        p.sent(US * 100, 1250, 1, rate);
        assert_eq!(p.next(), US * 105);
    }

    /// tcp_update_skb_after_send: a burst of eight segments delays the next one by the time of all its bytes.
    #[test]
    fn burst_is_paced_as_one_packet() {
        let mut p = Pacer::default();
        let rate = Rate(1_000_000_000);
        p.sent(US, 6 * 1250, 6, rate);
        (0..4).for_each(|_| p.sent(US, 0, 1, rate));
        assert!(!p.holds_back(US), "not yet ten segments with data");
        p.sent(US, 8 * 1250, 8, rate);
        assert_eq!(p.next(), US * 81);
    }

    /// All patterns of six departures of one or two segments, as early as permitted or up to 30 us later. From the tenth segment on, packets leave at
    /// most at twice the rate, by the credit of late ones.
    #[test]
    fn exhaustive_departures_keep_the_rate() {
        let rate = Rate(1_000_000_000);
        each_sequence(8, 6, |word| {
            let (mut p, mut now) = (Pacer::default(), US);
            p.sent(now, 1250 * UNPACED, UNPACED, rate);
            let mut left = Vec::new();
            for letter in word {
                let segments = u64::from(letter % 2) + 1;
                now = now.max(p.next()) + US * (10 * u64::from(letter / 2));
                assert!(!p.holds_back(now), "{word:?}");
                p.sent(now, 1250 * segments, segments, rate);
                left.push((now, segments));
            }
            for (i, first) in left.iter().enumerate() {
                let mut time = Time::ZERO;
                for next in &left[i..] {
                    // Each pause is at least half of its packets' time.
                    assert!(next.0 - first.0 >= time / 2, "{word:?}: {left:?}");
                    time += rate.tx_time(1250 * next.1);
                }
            }
        });
    }
}
