//! D2TCP (Vamanan, Hasan, Vijaykumar, SIGCOMM 2012): DCTCP whose reduction depends on the deadline of the message. Without deadlines it is DCTCP.

use super::fixed_point;
use super::{Ack, CcConfig, CcEntry, CongestionControl, Dctcp, Event, Reduction, Threshold, Window, dctcp};
use forebay_experiment::transport::Ecn;
use forebay_types::param::{Entry, Kind, choices, optional};
use forebay_types::{Time, TimeOrNever};
use std::collections::VecDeque;

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    marks: dctcp::Config,
    min_cwnd: f64,
    d_min: f64,
    d_max: f64,
    missed: f64,
}

/// Messages that the kernel's implementation distinguishes, because it cannot allocate memory. A message that is written while this many are
/// unacknowledged is added to the newest of them.
const MESSAGES: usize = 4;

/// State of one connection.
#[derive(Debug, Clone)]
pub struct D2tcp {
    c: Config,
    /// DCTCP's estimate of the marked fraction, unchanged.
    marks: Dctcp,
    /// Messages not yet acknowledged, oldest first: (stream offset behind the last byte, deadline if it has one).
    messages: VecDeque<(u64, Option<Time>)>,
    /// State as of the last ACK: time, stream offset, smoothed RTT, bytes of a segment.
    now: Time,
    una: u64,
    srtt: TimeOrNever,
    mss: u32,
}

impl D2tcp {
    pub(super) fn new(c: &Config) -> D2tcp {
        D2tcp {
            c: *c,
            marks: Dctcp::new(&c.marks),
            messages: VecDeque::new(),
            now: Time::ZERO,
            una: 0,
            srtt: TimeOrNever::NEVER,
            mss: 1,
        }
    }

    /// The imminence factor d of the message being transferred, for a window of `cwnd` segments (section 3.2).
    fn imminence(&self, cwnd: f64) -> f64 {
        let Some(&(end, Some(deadline))) = self.messages.front() else { return 1.0 };
        // Our choice: outstanding data has not arrived yet, so it counts as left.
        let left = (end - self.una) as f64 / f64::from(self.mss);
        // Section 3.2: a sawtooth between W / 2 and W carries 3/4 W a round trip.
        let needed = left / (0.75 * cwnd) * self.srtt.get().map_or(0.0, |srtt| srtt.0 as f64);
        if deadline <= self.now {
            return self.c.missed;
        }
        (needed / (deadline - self.now).0 as f64).clamp(self.c.d_min, self.c.d_max)
    }
}

impl D2tcp {
    /// The imminence in fixed point, times in whole microseconds.
    fn imminence_fixed_point(&self, cwnd: f64) -> u32 {
        let Some(&(end, Some(deadline))) = self.messages.front() else { return fixed_point::ONE };
        let (now, deadline) = (self.now.as_us(), deadline.as_us());
        if deadline <= now {
            return fixed_point::fixed(self.c.missed);
        }
        let per_trip = 3 * u64::from(fixed_point::segments(cwnd).max(1)) * u64::from(self.mss.max(1));
        let left = u64::from((end - self.una) as u32);
        let trips = ((left << 18) / per_trip).min((1 << 36) - 1);
        let needed = trips * self.srtt.get().map_or(0, Time::as_us).min((1 << 27) - 1);
        let least_and_most = (u64::from(fixed_point::fixed(self.c.d_min)), u64::from(fixed_point::fixed(self.c.d_max)));
        (needed / (deadline - now)).clamp(least_and_most.0, least_and_most.1) as u32
    }

    /// Adds a message that ends at `end`; of two merged messages the earlier deadline counts.
    fn write(&mut self, end: u64, deadline: Option<Time>) {
        if self.marks.is_fixed_point()
            && self.messages.len() >= MESSAGES
            && let Some(newest) = self.messages.back_mut()
        {
            let deadline = match (newest.1, deadline) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            *newest = (end, deadline);
            return;
        }
        self.messages.push_back((end, deadline));
    }
}

impl CongestionControl for D2tcp {
    type Sent = ();
    fn in_ack_event(&mut self, w: &mut Window, ack: &Ack) {
        self.marks.in_ack_event(w, ack);
        (self.now, self.una, self.srtt, self.mss) = (ack.now, ack.snd_una, ack.srtt, ack.mss);
        while self.messages.front().is_some_and(|m| m.0 <= ack.snd_una) {
            self.messages.pop_front();
        }
    }

    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        // Section 3.1: growth is DCTCP's.
        self.marks.cong_avoid(w, ack);
    }

    fn ssthresh(&mut self, w: &Window, cut: Reduction) -> Threshold {
        if self.marks.is_fixed_point() {
            let imminence = self.imminence_fixed_point(w.cwnd);
            return dctcp::weighted_fixed_point(w, cut, &mut self.marks, imminence, self.c.min_cwnd).into();
        }
        // Section 3.1: p = alpha^d, W <- W (1 - p / 2).
        dctcp::weighted(w, cut, &self.marks, || self.imminence(w.cwnd), self.c.min_cwnd).into()
    }

    fn reduces_on_loss_after_ecn(&self) -> bool {
        // As in DCTCP (RFC 8257 section 3.5): alpha^d is at most 1, so marks never reduce by more than a loss does.
        true
    }

    fn cwnd_event(&mut self, w: &mut Window, event: Event) {
        if let Event::Write { begin, end, deadline, .. } = event
            && end > begin
        {
            self.write(end, deadline);
        }
        self.marks.cwnd_event(w, event);
    }

    fn alpha(&self) -> Option<f64> {
        self.marks.alpha()
    }
}

/// Urgency of a message whose deadline has passed.
#[derive(Debug, Clone, Copy)]
enum Missed {
    Near,
    Neutral,
}

const MISSED: &[(&str, Missed)] = &[("near", Missed::Near), ("neutral", Missed::Neutral)];

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "d2tcp",
        summary: "DCTCP with smaller reductions near the message's deadline (Vamanan et al. 2012)",
        params: &[
            dctcp::G,
            dctcp::ALPHA,
            dctcp::MIN_CWND,
            fixed_point::ARITHMETIC,
            optional("d-min", Kind::Float(0.01, 1.0), "0.5", "smallest exponent d of alpha: deadline far away"),
            optional("d-max", Kind::Float(1.0, 100.0), "2.0", "largest exponent d of alpha: deadline near"),
            optional(
                "missed",
                Kind::Choice(&choices::<2, _>(MISSED)),
                "near",
                "exponent d after the deadline, which the publication does not state: near: `d-max`; neutral: 1, as without a deadline",
            ),
        ],
    },
    needs_marks: true,
    needs_sack: false,
    paces: false,
    plb: false,
    ecn: Ecn::Dctcp,
    recovery: None,
    adjust: Some(fixed_point::by_stack),
    build: |v| {
        let d_max = v.float("d-max");
        CcConfig::D2tcp(Config {
            marks: dctcp::Config::of(v),
            min_cwnd: v.float("min-cwnd"),
            d_min: v.float("d-min"),
            d_max,
            missed: match v.choice("missed", MISSED) {
                Missed::Near => d_max,
                Missed::Neutral => 1.0,
            },
        })
    },
};

#[cfg(test)]
mod tests {
    use super::super::testing::ACK;
    use super::*;
    use crate::cc::Trigger;
    use crate::cc::fixed_point::Arithmetic;
    use crate::cc::testing::cut as reduction;

    const W: Window = Window { cwnd: 40.0, ssthresh: Threshold::at(30.0) };
    const US: Time = Time::from_us(1);

    fn cc(missed: f64) -> D2tcp {
        D2tcp::new(&Config {
            marks: dctcp::Config::estimate(1.0 / 16.0, 0.25, Arithmetic::Paper),
            min_cwnd: 2.0,
            d_min: 0.5,
            d_max: 2.0,
            missed,
        })
    }

    /// 300 segments left and a window of 40 need 10 round trips of 100 us.
    #[test]
    fn cuts_by_imminence() {
        for (deadline, d) in [
            (None, 1.0),
            (Some(1000), 1.0),
            (Some(800), 1.25),
            (Some(2500), 0.5),
            (Some(1600), 0.625),
            (Some(10), 2.0),
            (Some(0), 2.0),
        ] {
            let mut l = cc(2.0);
            let mut w = W;
            l.cwnd_event(&mut w, Event::Write { begin: 0, end: 300 * 1460, deadline: deadline.map(Time::from_us) });
            l.in_ack_event(&mut w, &Ack { snd_una: 0, acked: 0, srtt: (US * 100).into(), ..ACK });
            assert!((l.imminence(40.0) - d).abs() < 1e-12, "{deadline:?}: {}", l.imminence(40.0));
            let cut = 1.0 - l.ssthresh(&W, reduction(Trigger::Ecn)).or_infinite() / 40.0;
            assert!((cut - 0.25f64.powf(d) / 2.0).abs() < 1e-12, "{deadline:?}: {cut}");
            assert_eq!(l.ssthresh(&W, reduction(Trigger::Loss)), 20.0);
        }
    }

    #[test]
    fn the_oldest_message_counts() {
        let mut l = cc(1.0);
        let mut w = W;
        l.cwnd_event(&mut w, Event::Write { begin: 0, end: 30 * 1460, deadline: Some(US * 100) });
        l.cwnd_event(&mut w, Event::Write { begin: 30 * 1460, end: 330 * 1460, deadline: Some(US * 1600) });
        l.cwnd_event(&mut w, Event::Write { begin: 330 * 1460, end: 330 * 1460, deadline: None });
        let mut at = |segments: u64, now: Time| {
            l.in_ack_event(&mut w, &Ack { now, snd_una: segments * 1460, acked: 0, srtt: (US * 100).into(), ..ACK });
            l.imminence(40.0)
        };
        assert!((at(0, Time::ZERO) - 1.0).abs() < 1e-12);
        assert!((at(15, US * 90) - 2.0).abs() < 1e-12);
        // The deadline has passed.
        assert!((at(29, US * 100) - 1.0).abs() < 1e-12);
        assert!((at(30, US * 100) - 10.0 / 15.0).abs() < 1e-12);
        assert!((at(330, US * 200) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn grows_and_counts_as_dctcp() {
        let (mut l, mut d) = (cc(2.0), Dctcp::new(&dctcp::Config::estimate(1.0 / 16.0, 0.25, Arithmetic::Paper)));
        let (mut a, mut b) = (W, W);
        for i in 1..500 {
            let ack = Ack { snd_una: i * 1460, snd_nxt: (i + 20) * 1460, ece: i % 3 == 0, ..ACK };
            l.in_ack_event(&mut a, &ack);
            d.in_ack_event(&mut b, &ack);
            l.cong_avoid(&mut a, &ack);
            d.cong_avoid(&mut b, &ack);
        }
        assert_eq!((a, l.alpha()), (b, d.alpha()));
        assert!(
            (l.ssthresh(&a, reduction(Trigger::Ecn)).or_infinite() / d.ssthresh(&b, reduction(Trigger::Ecn)).or_infinite() - 1.0)
                .abs()
                < 1e-12
        );
    }
}
