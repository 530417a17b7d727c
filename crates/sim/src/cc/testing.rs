//! Shared by the tests of several congestion controls.

use super::rate_sample::Sent;
use super::{
    Ack, Arrival, CongestionControl, Departure, Event, Loss, Outcome, RecoveryKind, Reduction, Threshold, Trigger, Window,
};
use forebay_types::{Rate, Time, TimeOrNever};
use std::collections::VecDeque;

/// An ordinary ACK for one segment.
pub(super) const ACK: Ack = Ack {
    now: Time::ZERO,
    snd_una: 1460,
    snd_nxt: 14_600,
    acked: 1460,
    delivered: 1460,
    segments: 0,
    lost: 0,
    absent: 0,
    ce: 0,
    window_limited: None,
    ece: false,
    grow: 1.0,
    rtt: None,
    newest_rtt: None,
    srtt: TimeOrNever::NEVER,
    min_rtt: TimeOrNever::NEVER,
    mss: 1460,
};

/// A reduction from a window of 40 segments.
pub(super) const fn cut(trigger: Trigger) -> Reduction {
    Reduction { trigger, from: 40.0, in_flight: 0 }
}

/// Segments of 1000 bytes over a path that lets one through every 80 us (100 Mbps of payload), with an RTT of 40 ms, an unlimited buffer and
/// an ACK for each: 500 fill it.
pub(super) struct Line<L> {
    /// The congestion control.
    pub(crate) cc: L,
    /// Its window.
    pub(crate) w: Window,
    /// The clock.
    pub(crate) now: Time,
    /// Returns true if segment `n` is lost.
    pub(crate) loses: fn(u64) -> bool,
    /// Growth of the path's delay per ps.
    pub(crate) drift: f64,
    /// Recovery in progress.
    pub(crate) repair: RecoveryKind,
    /// Segments delivered.
    pub(crate) delivered: u64,
    next_departure: Time,
    sent: u64,
    /// Time at which the path is free again.
    free: Time,
    min_rtt: TimeOrNever,
    lost: u32,
    /// (time of the ACK, number, departure, record).
    flying: VecDeque<(Time, u64, Time, Sent)>,
}

/// RTT of [`Line`] without queueing, and transmission time of a segment.
pub(super) const LINE_RTT: Time = Time::from_ms(40);
const LINE_SEGMENT: Time = Time::from_us(80);

impl<L: CongestionControl<Sent = Sent>> Line<L> {
    /// An established connection with endless data.
    pub(super) fn new(cc: L) -> Line<L> {
        let mut line = Line {
            cc,
            w: Window { cwnd: 10.0, ssthresh: Threshold::UNLIMITED },
            now: Time::ZERO,
            loses: |_| false,
            drift: 0.0,
            repair: RecoveryKind::None,
            delivered: 0,
            next_departure: Time::ZERO,
            sent: 0,
            free: Time::ZERO,
            min_rtt: TimeOrNever::NEVER,
            lost: 0,
            flying: VecDeque::new(),
        };
        line.cc.cwnd_event(&mut line.w, Event::Established { rtt: Some(LINE_RTT) });
        line
    }

    /// Bytes in the network.
    pub(super) fn in_flight(&self) -> u64 {
        self.flying.len() as u64 * 1000
    }

    /// Sends until the next ACK, and handles it.
    pub(super) fn step(&mut self) {
        let ack = self.flying.front().map_or(Time::NEVER, |f| f.0);
        let at = self.next_departure.max(self.now);
        if (self.flying.len() as f64) < self.w.cwnd.floor() && at < ack {
            self.now = at;
            return self.send();
        }
        self.now = ack;
        let before = self.flying.len() as u32;
        let Some((_, number, left, sent)) = self.flying.pop_front() else { return };
        if (self.loses)(number) {
            self.lost += 1;
            return self.cc.segment_lost(sent, &Loss { now: self.now, start: number * 1000, bytes: 1000 });
        }
        self.delivered += 1;
        let rtt = self.now - left;
        self.min_rtt = self.min_rtt.min(rtt.into());
        let arrival = Arrival { now: self.now, left, end: (number + 1) * 1000, bytes: 1000, again: false };
        self.cc.segment_arrived(sent, &arrival);
        let facts = Ack {
            now: self.now,
            snd_una: (number + 1) * 1000,
            snd_nxt: self.sent * 1000,
            acked: 1000,
            delivered: 1000,
            segments: 0,
            lost: std::mem::take(&mut self.lost),
            absent: 0,
            ce: 0,
            window_limited: Some(self.flying.len() as f64 + 1.0 >= self.w.cwnd.floor()),
            rtt: Some(rtt),
            newest_rtt: Some(rtt),
            srtt: rtt.into(),
            min_rtt: self.min_rtt,
            mss: 1000,
            ..ACK
        };
        let outcome = Outcome {
            segments: 1,
            stamp: facts.now,
            duplicates: 0,
            prior_in_flight: before,
            in_flight: self.flying.len() as u32,
            repair: self.repair,
            next_departure: self.next_departure,
            max_pacing_rate: Rate(u64::MAX),
        };
        (L::CONTROL.unwrap())(&mut self.cc, &mut self.w, &facts, &outcome);
    }

    /// Runs for `long`, and calls `look` after every step.
    pub(super) fn run(&mut self, long: Time, mut look: impl FnMut(&Line<L>)) {
        let end = self.now + long;
        while self.now < end {
            self.step();
            look(self);
        }
    }

    fn send(&mut self) {
        let departure = Departure {
            now: self.now,
            bytes: 1000,
            in_flight: self.in_flight() + 1000,
            alone: self.flying.is_empty(),
            again: false,
        };
        let record = self.cc.segment_sent(&departure);
        // Delay of the path: an RTT, less the transmission time of the segment.
        let delay = LINE_RTT + Time((self.now.0 as f64 * self.drift) as u64);
        self.free = self.free.max(self.now + delay - LINE_SEGMENT) + LINE_SEGMENT;
        self.flying.push_back((self.free, self.sent, self.now, record));
        self.sent += 1;
        let rate = (L::PACING_RATE.unwrap())(&self.cc, 1000);
        self.next_departure = self.now + rate.tx_time(1000);
    }
}

/// Checks that docs/how-to/add-a-congestion-control.md has the code of a file, without its tests.
pub(super) fn page_shows(source: &str) {
    let (shown, _) = source.split_once("\n#[cfg(test)]").unwrap();
    assert!(include_str!("../../../../docs/how-to/add-a-congestion-control.md").contains(shown), "copy the code into the page");
}
