//! Delivery rate samples on every ACK (draft-ietf-ccwg-bbr section "Delivery Rate Samples"; Linux net/ipv4/tcp_rate.c). The congestion control
//! chooses the unit of volumes: segments (tcp_bbr.c) or bytes (the draft).

use super::congestion_control::{Arrival, Departure};
use forebay_types::{Time, TimeOrNever};

/// Record of a segment that has left.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sent {
    /// Volume delivered so far, and the time of its last increase (P.delivered, P.delivered_time).
    delivered: u64,
    delivered_time: Time,
    /// Departure of the most recently delivered segment (P.first_send_time).
    first_sent: Time,
    /// True if the application limited the sender.
    app_limited: bool,
    /// Volume in the network, including this segment (P.tx_in_flight).
    pub(crate) in_flight: u64,
    /// Volume lost so far (P.lost).
    pub(crate) lost: u64,
}

impl Sent {
    /// Returns true if the application limited the sender when the segment left.
    pub fn app_limited(&self) -> bool {
        self.app_limited
    }
}

/// A sample of the delivery rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RateSample {
    /// Volume delivered during the interval.
    pub delivered: u64,
    /// The interval. `None` if it is shorter than the minimum RTT, which is no real delivery.
    pub interval: Option<Time>,
    /// Volume that had been delivered when the newest delivered segment left.
    pub prior_delivered: u64,
    /// True if the application limited the sender then.
    pub app_limited: bool,
    /// Volume that was in the network then.
    pub in_flight: u64,
    /// Volume lost between the departure of that segment and its delivery.
    pub lost: u64,
}

/// The last sent segment of the current ACK.
#[derive(Debug, Clone, Copy)]
struct Newest {
    sent: Sent,
    left: Time,
    /// Stream offset behind it.
    end: u64,
}

/// State of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct DeliveryRate {
    delivered: u64,
    /// Time of the last increase of `delivered`.
    delivered_time: Time,
    first_sent: Time,
    lost: u64,
    /// Delivered volume at which the application-limited phase ends; 0: none.
    app_limited: u64,
    newest: Option<Newest>,
}

impl DeliveryRate {
    /// Counts the SYN, for congestion controls that count segments.
    pub(super) fn count_syn(&mut self) {
        self.delivered += 1;
    }

    /// Volume delivered so far.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Time of the last increase of the delivered volume.
    pub(super) fn delivered_time(&self) -> Time {
        self.delivered_time
    }

    /// Volume marked lost so far.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns true if the application limits the outstanding data.
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// Records a segment that leaves, new or retransmitted; `in_flight` is the volume in the network with it (tcp_rate_skb_sent; OnPacketSent of the
    /// draft).
    pub(super) fn sent(&mut self, at: &Departure, in_flight: u64) -> Sent {
        if at.alone {
            (self.first_sent, self.delivered_time) = (at.now, at.now);
        }
        Sent {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            app_limited: self.is_app_limited(),
            in_flight,
            lost: self.lost,
        }
    }

    /// Counts `volume` delivered by the arrival of a segment (tcp_rate_skb_delivered; UpdateRateSample). Of the segments of one ACK the last sent one
    /// makes the sample.
    pub(super) fn arrived(&mut self, sent: Sent, at: &Arrival, volume: u64) {
        self.delivered += volume;
        // IsNewestPacket of the draft, tcp_skb_sent_after of Linux: by departure, then by sequence number.
        if self.newest.is_none_or(|n| (at.left, at.end) > (n.left, n.end)) {
            self.newest = Some(Newest { sent, left: at.left, end: at.end });
        }
    }

    /// Counts `volume` delivered twice by the time of an ACK that arrives at `now` (tcp_dsack_seen, tcp_count_delivered; tcp_rate_gen).
    pub(super) fn count_duplicates(&mut self, volume: u64, now: Time) {
        if volume > 0 {
            self.delivered += volume;
            self.delivered_time = now;
        }
    }

    /// Counts `volume` marked lost.
    pub(super) fn lose(&mut self, volume: u64) {
        self.lost += volume;
    }

    /// Notes that the sender has run out of data while `in_flight` is in the network (tcp_rate_check_app_limited; MarkConnectionAppLimited).
    pub(super) fn limit(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// The sample of an ACK that arrived at `now` (tcp_rate_gen; GenerateRateSample); `None` if it delivered nothing.
    pub(super) fn sample(&mut self, now: Time, min_rtt: TimeOrNever) -> Option<RateSample> {
        // The application-limited data has been acknowledged.
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let Newest { sent, left, .. } = self.newest.take()?;
        self.delivered_time = now;
        self.first_sent = left;
        // The longer of the two phases: ACKs may arrive compressed, and segments may leave slowly.
        let interval = between(sent.first_sent, left).max(between(sent.delivered_time, now));
        Some(RateSample {
            delivered: self.delivered - sent.delivered,
            interval: (TimeOrNever::at(interval) >= min_rtt && interval > Time::ZERO).then_some(interval),
            prior_delivered: sent.delivered,
            app_limited: sent.app_limited,
            in_flight: sent.in_flight,
            lost: self.lost - sent.lost,
        })
    }
}

/// Interval from `start` to `end` in nanoseconds, as in the timestamps of RTT samples. With another clock, an interval of one RTT might be shorter
/// than the minimum RTT.
fn between(start: Time, end: Time) -> Time {
    Time::from_ns(end.as_ns().saturating_sub(start.as_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = Time::from_ms(1);

    fn departure(now: Time, alone: bool) -> Departure {
        Departure { now, bytes: 1000, in_flight: 0, alone, again: false }
    }

    fn arrival(now: Time, left: Time, number: u64) -> Arrival {
        Arrival { now, left, end: (number + 1) * 1000, bytes: 1000, again: false }
    }

    /// A path of 10 ms that passes a segment every millisecond: ten segments leave at once, and the rate is one per millisecond.
    #[test]
    fn the_longer_phase_is_the_interval() {
        let mut rate = DeliveryRate::default();
        let sent: Vec<Sent> = (0..10).map(|i| rate.sent(&departure(Time::ZERO, i == 0), i + 1)).collect();
        for (i, &s) in sent.iter().enumerate() {
            let now = MS * (10 + i as u64);
            rate.arrived(s, &arrival(now, Time::ZERO, i as u64), 1);
            let sample = rate.sample(now, (MS * 10).into()).unwrap();
            assert_eq!((sample.delivered, sample.interval), (i as u64 + 1, Some(now)), "{i}");
            assert_eq!((sample.prior_delivered, sample.in_flight), (0, i as u64 + 1));
        }
    }

    /// The previous ACK came 5 ms late, so that the next ACKs are too close to it: the segments had left 16 ms apart.
    #[test]
    fn compressed_acks_do_not_count() {
        let mut rate = DeliveryRate::default();
        let first = rate.sent(&departure(Time::ZERO, true), 1);
        let second = rate.sent(&departure(MS, false), 2);
        rate.arrived(first, &arrival(MS * 10, Time::ZERO, 0), 1);
        rate.sample(MS * 10, (MS * 10).into());
        rate.arrived(second, &arrival(MS * 16, MS, 1), 1);
        rate.sample(MS * 16, (MS * 10).into());
        let third = rate.sent(&departure(MS * 17, false), 1);
        rate.arrived(third, &arrival(MS * 27, MS * 17, 2), 1);
        assert_eq!(rate.sample(MS * 27, (MS * 10).into()).unwrap().interval, Some(MS * 16));
    }

    #[test]
    fn interval_below_min_rtt_is_ignored() {
        let mut rate = DeliveryRate::default();
        let s = rate.sent(&departure(Time::ZERO, true), 1);
        rate.arrived(s, &arrival(MS * 5, Time::ZERO, 0), 1);
        assert_eq!(rate.sample(MS * 5, (MS * 10).into()).unwrap().interval, None);
        assert_eq!(rate.sample(MS * 6, (MS * 10).into()), None, "nothing delivered");
    }

    #[test]
    fn app_limited_until_acknowledged() {
        let mut rate = DeliveryRate::default();
        let first = rate.sent(&departure(Time::ZERO, true), 1);
        rate.limit(1);
        let second = rate.sent(&departure(MS, false), 2);
        assert!(!first.app_limited() && second.app_limited());
        rate.arrived(first, &arrival(MS * 10, Time::ZERO, 0), 1);
        assert!(!rate.sample(MS * 10, MS.into()).unwrap().app_limited);
        assert!(rate.is_app_limited(), "the limit lies behind the first segment");
        rate.arrived(second, &arrival(MS * 11, MS, 1), 1);
        assert!(rate.sample(MS * 11, MS.into()).unwrap().app_limited);
        assert!(!rate.is_app_limited());
    }

    #[test]
    fn losses_since_the_departure_are_counted() {
        let mut rate = DeliveryRate::default();
        rate.lose(3);
        let s = rate.sent(&departure(Time::ZERO, true), 5);
        rate.lose(2);
        rate.arrived(s, &arrival(MS * 10, Time::ZERO, 0), 1);
        let sample = rate.sample(MS * 10, MS.into()).unwrap();
        assert_eq!((sample.lost, sample.in_flight, rate.lost()), (2, 5, 5));
    }
}
