//! HyStart++ (RFC 9406): an increase of delay first slows slow start down (conservative slow start, CSS), and ends it later, because delay alone may
//! be jitter.

use crate::cc::{Ack, Window};
use forebay_types::{Time, TimeOrNever};

/// Section 4.3: bounds of the increase, and its share of the last round's RTT in between.
const RTT_THRESH: (Time, Time) = (Time::from_ms(4), Time::from_ms(16));
const MIN_RTT_DIVISOR: u64 = 8;
/// Section 4.3: minimum samples of a round.
const N_RTT_SAMPLE: u32 = 8;
/// Section 4.3: growth in CSS.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// Section 4.3: rounds of CSS.
const CSS_ROUNDS: u32 = 5;
/// Section 4.3: maximum growth per ACK of a sender that does not pace, segments (L); one that paces has no maximum.
const L: f64 = 8.0;

/// State of one connection.
#[derive(Debug, Clone)]
pub struct HystartPlusPlus {
    /// Slow start has ended for good (section 4.3: only the initial one is covered).
    over: bool,
    /// The round ends when this stream offset is acknowledged (section 4.2: `windowEnd`).
    window_end: u64,
    /// Smallest RTT of the last round and of this one.
    last: TimeOrNever,
    current: TimeOrNever,
    samples: u32,
    /// In CSS: its rounds so far, the partial one it began in included, and the RTT at its start (`cssBaselineMinRtt`).
    css: Option<(u32, Time)>,
    /// The connection is paced.
    paced: bool,
}

impl HystartPlusPlus {
    /// State of a connection that is `paced` or not.
    pub(super) fn new(paced: bool) -> HystartPlusPlus {
        HystartPlusPlus {
            over: false,
            window_end: 0,
            last: TimeOrNever::NEVER,
            current: TimeOrNever::NEVER,
            samples: 0,
            css: None,
            paced,
        }
    }

    /// Notes that the queue of the host paces the connection.
    pub(super) fn pace(&mut self) {
        self.paced = true;
    }

    pub(super) fn pkts_acked(&mut self, w: &mut Window, ack: &Ack) {
        // Section 4.3: the threshold has been set, by a loss, a mark or this.
        self.over |= !w.ssthresh.is_unlimited();
        if self.over {
            return;
        }
        if let Some(rtt) = ack.newest_rtt {
            self.current = self.current.min(rtt.into());
            self.samples += 1;
        }
        self.check_delay();
        if ack.snd_una >= self.window_end {
            self.end_round(w, ack.snd_nxt);
        }
    }

    /// Checks the delay for an increase.
    fn check_delay(&mut self) {
        let Some(current) = self.current.get().filter(|_| self.samples >= N_RTT_SAMPLE) else { return };
        match (self.css, self.last.get()) {
            // Section 4.2: the increase was spurious.
            (Some((_, baseline)), _) if current < baseline => self.css = None,
            (None, Some(last)) => {
                let thresh = (last / MIN_RTT_DIVISOR).clamp(RTT_THRESH.0, RTT_THRESH.1);
                if current >= last + thresh {
                    self.css = Some((0, current));
                }
            }
            (Some(_), _) | (None, None) => {}
        }
    }

    fn end_round(&mut self, w: &mut Window, snd_nxt: u64) {
        if let Some((rounds, _)) = &mut self.css {
            *rounds += 1;
            if *rounds >= CSS_ROUNDS {
                // Section 4.2: congestion avoidance begins.
                self.over = true;
                w.ssthresh = w.cwnd.into();
            }
        }
        self.window_end = snd_nxt;
        (self.last, self.current, self.samples) = (self.current, TimeOrNever::NEVER, 0);
    }

    /// Section 4.2: min(N, L * SMSS) of N bytes newly acknowledged, and in CSS a quarter of that.
    pub(super) fn grow(&self, ack: &Ack) -> f64 {
        if self.over {
            return ack.grow;
        }
        let grow = (ack.acked as f64 / f64::from(ack.mss)).min(if self.paced { f64::INFINITY } else { L });
        if self.css.is_some() { grow / CSS_GROWTH_DIVISOR } else { grow }
    }
}
