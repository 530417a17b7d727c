//! RTT estimator and retransmission timeout (RFC 6298; Linux tcp_rtt_estimator).

use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::RtoRule;
use forebay_types::{Time, TimeOrNever};

/// Smoothed RTT and its variation, and the back-off.
#[derive(Debug, Clone, Copy)]
pub struct Rtt {
    srtt: TimeOrNever,
    /// RTT variation.
    rttvar: Time,
    min: TimeOrNever,
    /// RTO without back-off.
    pub(in crate::tcp) base_rto: Time,
    /// Number of doublings in force.
    backoff: u16,
    /// True if there was a sample since the last tail loss probe. At the start of a connection, the handshake counts as one.
    sampled_since_probe: bool,
    deviation: Deviation,
}

/// Deviations of the RTT that Linux keeps beside their mean, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Deviation {
    /// Largest mean deviation of this round trip, four times that, or the smallest timeout if it is more (`mdev_max_us`).
    largest: u32,
    /// Part of the timeout beside SRTT (`rttvar_us`).
    bound: u32,
    /// Stream offset whose acknowledgment ends the round trip (`rtt_seq`), its low bits as there.
    end: u32,
}

/// Segment whose round trip is timed, in a stack without timestamps: its send time, and the low 32 bits of the stream offset that must be
/// acknowledged.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed(4))]
pub(in crate::tcp) struct TimedSegment {
    sent: TimeOrNever,
    end: u32,
}

impl TimedSegment {
    /// No segment is timed.
    pub(in crate::tcp) const NONE: TimedSegment = TimedSegment { sent: TimeOrNever::NEVER, end: 0 };

    /// Times a segment that ends at stream offset `end`.
    #[inline(always)]
    pub(in crate::tcp) fn segment(end: u64, sent: Time) -> TimedSegment {
        TimedSegment { sent: sent.into(), end: end as u32 }
    }

    /// Returns true if no segment is timed.
    #[inline(always)]
    pub(in crate::tcp) fn is_free(&self) -> bool {
        let sent = self.sent;
        sent.is_never()
    }

    /// Returns the send time if `ack` acknowledges the segment; then it is no longer timed. The flight is less than half of the sequence space.
    #[inline(always)]
    pub(in crate::tcp) fn take(&mut self, ack: u64) -> Option<Time> {
        let sent = self.sent.get()?;
        ((ack as u32).wrapping_sub(self.end) < 1 << 31).then(|| {
            *self = TimedSegment::NONE;
            sent
        })
    }
}

/// Acknowledged and sent data at the time of a sample (`snd_una`, `snd_nxt`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Sent {
    /// Everything up to here is acknowledged.
    pub snd_una: u64,
    /// Segments up to here have been sent.
    pub snd_nxt: u64,
}

impl Rtt {
    /// RTT variation.
    #[inline]
    pub fn rttvar(&self) -> Time {
        self.rttvar
    }

    /// RTO without back-off.
    #[inline]
    pub fn base_rto(&self) -> Time {
        self.base_rto
    }

    /// Sets the RTO without back-off, at most the largest one.
    pub(in crate::tcp) fn set_base_rto(&mut self, c: &TcpConfig, rto: Time) {
        self.base_rto = rto.min(c.rto_max);
    }

    /// Ends the back-off.
    #[inline(always)]
    pub(in crate::tcp) fn reset_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Doubles the timeout.
    pub fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// Number of doublings of the timeout in force.
    #[inline(always)]
    pub fn backoff(&self) -> u32 {
        self.backoff.into()
    }

    /// Before any sample.
    pub fn new(c: &TcpConfig) -> Rtt {
        //= https://www.rfc-editor.org/rfc/rfc6298#section-2
        //# Until a round-trip time (RTT) measurement has been made for a segment sent between the sender and receiver,
        //# the sender SHOULD set RTO <- 1 second
        let initial = if c.rto_rule == RtoRule::Fixed { c.rto_min } else { c.rto_initial.max(c.rto_min) };
        Rtt {
            srtt: TimeOrNever::NEVER,
            rttvar: Time::ZERO,
            min: TimeOrNever::NEVER,
            base_rto: initial.min(c.rto_max),
            backoff: 0,
            sampled_since_probe: true,
            deviation: Deviation::default(),
        }
    }

    /// Smoothed RTT; never before the first sample.
    #[inline(always)]
    pub fn smoothed(&self) -> TimeOrNever {
        self.srtt
    }

    /// Smallest sample.
    #[inline(always)]
    pub fn min(&self) -> TimeOrNever {
        self.min
    }

    /// Takes a sample (RFC 6298 section 2).
    #[inline(always)]
    pub fn sample(&mut self, c: &TcpConfig, rtt: Time, sent: Sent) {
        self.sample_of(c, rtt, rtt, sent);
    }

    /// Notes that a tail loss probe was sent.
    pub(in crate::tcp) fn on_probe(&mut self) {
        self.sampled_since_probe = false;
    }

    /// Returns true if there was a sample since the last probe, or if no probe was sent.
    pub(in crate::tcp) fn is_sampled_since_probe(&self) -> bool {
        self.sampled_since_probe
    }

    /// Takes a sample of several segments: the oldest counts, except that the smallest RTT is that of the newest.
    #[inline(always)]
    pub(in crate::tcp) fn sample_of(&mut self, c: &TcpConfig, rtt: Time, newest: Time, sent: Sent) {
        self.sampled_since_probe = true;
        self.min = self.min.min(newest.into());
        let before = self.srtt.get();
        let srtt = smooth(c, before, rtt);
        self.srtt = srtt.into();
        match c.rto_rule {
            RtoRule::Linux => self.estimate(c, before, srtt, rtt, sent),
            RtoRule::Rfc6298 => {
                self.vary(before, rtt);
                let g = c.rto_granularity;
                let rto = srtt + (self.rttvar * 4).max(g);
                self.base_rto = if rto <= c.rto_min { c.rto_min } else { rto.round_up(g).min(c.rto_max) };
            }
            RtoRule::Fixed => self.vary(before, rtt),
        }
    }

    /// Takes a sample into RTTVAR, when SRTT was `before`.
    #[inline(always)]
    fn vary(&mut self, before: Option<Time>, rtt: Time) {
        self.rttvar = match before {
            //= https://www.rfc-editor.org/rfc/rfc6298#section-2
            //# When the first RTT measurement R is made, the host MUST set SRTT <- R RTTVAR <- R/2 RTO <- SRTT + max (G,
            //# K*RTTVAR)
            None => rtt / 2,
            //= https://www.rfc-editor.org/rfc/rfc6298#section-2
            //# The value of SRTT used in the update to RTTVAR is its value before updating SRTT itself using the second
            //# assignment.
            // beta = 1/4.
            Some(srtt) => self.rttvar - self.rttvar / 4 + srtt.abs_diff(rtt) / 4,
        };
    }

    /// Computes the timeout of Linux (`tcp_rtt_estimator`) in whole numbers, with the mean deviation in quarters of a microsecond. The largest mean
    /// deviation of a round trip, at least `rto_min`, bounds the timeout: upwards at once, downwards by a quarter a round trip. An RTT that falls
    /// raises the deviation by an eighth only. SRTT was `before` and is `srtt` now.
    fn estimate(&mut self, c: &TcpConfig, before: Option<Time>, srtt: Time, rtt: Time, sent: Sent) {
        let quarter = Time::from_us(1) / 4;
        let (sample, least) = (rtt.as_us() as i64, c.rto_min.as_us().min(u64::from(u32::MAX)) as u32);
        // The kernel's fields have 32 bits.
        let whole = |deviation: i64| deviation.min(i64::from(u32::MAX)) as u32;
        let d = &mut self.deviation;
        match before {
            None => {
                self.rttvar = quarter * (sample * 2) as u64;
                d.bound = least.max(whole(sample * 2));
                (d.largest, d.end) = (d.bound, sent.snd_nxt as u32);
            }
            Some(before) => {
                let error = sample - before.as_us() as i64;
                let mean = (self.rttvar / quarter) as i64;
                let more = error.abs() - (mean >> 2);
                let mean = mean + if error < 0 && more > 0 { more >> 3 } else { more };
                self.rttvar = quarter * mean as u64;
                d.largest = d.largest.max(whole(mean));
                d.bound = d.bound.max(d.largest);
                // after(snd_una, rtt_seq).
                if (sent.snd_una as u32).wrapping_sub(d.end) as i32 > 0 {
                    d.bound -= (d.bound - d.largest) >> 2;
                    (d.largest, d.end) = (least, sent.snd_nxt as u32);
                }
            }
        }
        // __tcp_set_rto: whole ticks, rounded up.
        let rto = Time::from_us(srtt.as_us() + u64::from(self.deviation.bound));
        self.base_rto = rto.round_up(c.rto_granularity).min(c.rto_max);
    }

    //= https://www.rfc-editor.org/rfc/rfc6298#section-5
    //# The host MUST set RTO <- RTO * 2 ("back off the timer").
    /// The timeout in force, back-off included.
    #[inline]
    pub fn rto(&self, c: &TcpConfig) -> Time {
        self.doubled(c, self.backoff())
    }

    /// The timeout, doubled `times`.
    #[inline]
    pub(in crate::tcp) fn doubled(&self, c: &TcpConfig, times: u32) -> Time {
        if times == 0 || c.rto_rule == RtoRule::Fixed {
            return self.base_rto;
        }
        self.base_rto.saturating_mul(1 << times.min(32)).min(c.rto_max)
    }
}

/// SRTT after a sample, with alpha = 1/8 (RFC 6298 section 2). Linux counts eighths of a microsecond (`srtt_us`).
#[inline(always)]
fn smooth(c: &TcpConfig, before: Option<Time>, rtt: Time) -> Time {
    if c.is_linux() {
        let eighth = Time::from_us(1) / 8;
        let sample = rtt.as_us() as i64;
        let srtt = before.map_or(sample * 8, |srtt| {
            let srtt = (srtt / eighth) as i64;
            srtt + sample - (srtt >> 3)
        });
        return eighth * srtt.max(1) as u64;
    }
    before.map_or(rtt.max(Time(1)), |srtt| srtt - srtt / 8 + rtt / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequences::each_sequence;
    use crate::tcp::profile::tests::config;

    #[test]
    fn follows_rfc_6298() {
        let mut c = config("ns2", "newreno");
        c.rto_min = Time::from_us(1);
        c.rto_granularity = Time(1);
        let mut r = Rtt::new(&c);
        assert_eq!(r.rto(&c), Time::from_secs(1));
        assert_eq!((r.smoothed(), r.min()), (TimeOrNever::NEVER, TimeOrNever::NEVER));
        r.sample(&c, Time(800), Sent::default());
        assert_eq!((r.smoothed(), r.rttvar), (Time(800).into(), Time(400)));
        r.sample(&c, Time(1600), Sent::default());
        assert_eq!((r.smoothed(), r.rttvar, r.min()), (Time(900).into(), Time(500), Time(800).into()));
        assert_eq!(r.base_rto, c.rto_min);
        c.rto_min = Time(1);
        r.sample(&c, Time(900), Sent::default());
        assert_eq!(r.base_rto, r.smoothed().or_never() + r.rttvar * 4);
        r.backoff = 3;
        assert_eq!(r.rto(&c), r.base_rto * 8);
        r.backoff = 60;
        assert_eq!(r.rto(&c), c.rto_max.min(r.base_rto * (1 << 32)));
    }

    #[test]
    fn fixed_rto_never_changes() {
        let mut c = config("ns2", "newreno");
        (c.rto_rule, c.rto_min) = (RtoRule::Fixed, Time::from_us(45));
        let mut r = Rtt::new(&c);
        assert_eq!(r.rto(&c), c.rto_min);
        r.sample(&c, Time::from_ms(3), Sent::default());
        r.backoff = 7;
        assert_eq!((r.rto(&c), r.smoothed()), (c.rto_min, Time::from_ms(3).into()));
    }

    #[test]
    fn linux_rto_adds_minimum_to_srtt() {
        let c = config("linux", "newreno");
        let mut r = Rtt::new(&c);
        r.sample(&c, Time::from_us(100), Sent::default());
        // 100 us + 200 ms, rounded up to a millisecond.
        assert_eq!(r.base_rto, Time::from_ms(201));
    }
    /// tcp_rtt_estimator: the deviation that bounds the timeout is the largest of a round trip; it falls by a quarter of the difference each round
    /// trip.
    #[test]
    fn linux_deviation_falls_each_round_trip() {
        let mut c = config("linux", "newreno");
        c.rto_min = Time::from_ms(5);
        let mut r = Rtt::new(&c);
        let rtt = Time::from_ms(100);
        r.sample(&c, rtt, Sent::default());
        assert_eq!((r.base_rto, r.rttvar), (Time::from_ms(300), Time::from_ms(50)));
        // Then an ACK for each segment of a window of four; RTT in ms, the timeout in ms, the mean deviation in us.
        let expected = [
            (100, 300, 37_500),
            (100, 300, 28_125),
            (100, 300, 21_093),
            (120, 303, 20_820),
            (90, 301, 18_740),
            (60, 274, 19_434),
            (200, 287, 40_620),
            (100, 286, 32_676),
            (50, 279, 33_459),
            (50, 273, 33_992),
            (50, 263, 34_311),
            (50, 259, 34_447),
            (50, 254, 34_297),
            (50, 251, 33_126),
            (50, 247, 31_322),
        ];
        for (n, (ms, rto, mean)) in (1..).zip(expected) {
            r.sample(&c, Time::from_ms(ms), Sent { snd_una: n * 1000, snd_nxt: n * 1000 + 4000 });
            assert_eq!((r.base_rto, r.rttvar.as_us()), (Time::from_ms(rto), mean), "ACK {n}");
        }
    }

    /// All sequences of six samples of 10 us to 100 ms, on each stack: SRTT lies between the smallest and the largest sample, and the timeout between
    /// its limits after any number of doublings.
    #[test]
    fn exhaustive_samples_keep_their_limits() {
        for stack in ["ns2", "linux", "rfc"] {
            let c = config(stack, "newreno");
            each_sequence(4, 6, |word| {
                let mut r = Rtt::new(&c);
                let samples = word.iter().map(|l| [10, 400, 5_000, 100_000][usize::from(*l)]).map(Time::from_us);
                let (mut least, mut most) = (Time::NEVER, Time::ZERO);
                for sample in samples {
                    r.sample(&c, sample, Sent::default());
                    (least, most) = (least.min(sample), most.max(sample));
                    let srtt = r.smoothed().or_never();
                    // Linux counts eighths of a microsecond.
                    let rounding = Time::from_us(1);
                    assert!(srtt + rounding >= least && srtt <= most + rounding, "{stack}: {word:?}: {srtt}");
                    assert_eq!(r.min(), least.into(), "{stack}: {word:?}");
                    for times in 0..40 {
                        let rto = r.doubled(&c, times);
                        assert!(rto >= c.rto_min.min(c.rto_max) && rto <= c.rto_max, "{stack}: {word:?}: {rto}");
                        assert!(rto >= r.base_rto(), "{stack}: {word:?}");
                    }
                }
            });
        }
    }
}
