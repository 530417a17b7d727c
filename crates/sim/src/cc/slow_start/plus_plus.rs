//! HyStart++ (RFC 9406): an increase of delay slows slow start down (conservative slow start, CSS) before it ends it, because delay
//! alone may be jitter.

use crate::cc::{Ack, Window};

/// Section 4.3: bounds of the increase, ps, and the part of the last round's RTT it is in between.
const RTT_THRESH: (u64, u64) = (4_000_000_000, 16_000_000_000);
const MIN_RTT_DIVISOR: u64 = 8;
/// Section 4.3: a round with fewer samples tells nothing.
const N_RTT_SAMPLE: u32 = 8;
/// Section 4.3: growth in CSS.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// Section 4.3: rounds of CSS.
const CSS_ROUNDS: u32 = 5;
/// Section 4.3: most segments that one ACK lets an unpaced sender grow by (L).
const L: f64 = 8.0;
const NONE: u64 = u64::MAX;

/// State of one connection. RTTs in ps.
#[derive(Debug, Clone)]
pub struct HystartPlusPlus {
    /// Slow start has ended, for good (section 4.3: only the initial one is looked after).
    over: bool,
    /// The round ends when this stream offset is acknowledged (section 4.2: `windowEnd`).
    window_end: u64,
    /// Smallest RTT of the last round and of this one, [`NONE`] without a sample.
    last: u64,
    current: u64,
    samples: u32,
    /// In CSS: its rounds so far, the partial one it began in included, and the RTT at its start (`cssBaselineMinRtt`).
    css: Option<(u32, u64)>,
}

impl Default for HystartPlusPlus {
    fn default() -> HystartPlusPlus {
        HystartPlusPlus { over: false, window_end: 0, last: NONE, current: NONE, samples: 0, css: None }
    }
}

impl HystartPlusPlus {
    pub(super) fn pkts_acked(&mut self, w: &mut Window, ack: &Ack) {
        // Section 4.3: the threshold has been set, by a loss, a mark or this.
        self.over |= w.ssthresh.is_finite();
        if self.over {
            return;
        }
        if let Some(rtt) = ack.newest_rtt {
            self.current = self.current.min(rtt);
            self.samples += 1;
        }
        self.look();
        if ack.snd_una >= self.window_end {
            self.end_round(w, ack.snd_nxt);
        }
    }

    /// Whether the delay says something new.
    fn look(&mut self) {
        if self.samples < N_RTT_SAMPLE || self.current == NONE {
            return;
        }
        match self.css {
            // Section 4.2: the increase was none.
            Some((_, baseline)) if self.current < baseline => self.css = None,
            None if self.last != NONE => {
                let thresh = (self.last / MIN_RTT_DIVISOR).clamp(RTT_THRESH.0, RTT_THRESH.1);
                if self.current >= self.last + thresh {
                    self.css = Some((0, self.current));
                }
            }
            Some(_) | None => {}
        }
    }

    fn end_round(&mut self, w: &mut Window, snd_nxt: u64) {
        if let Some((rounds, _)) = &mut self.css {
            *rounds += 1;
            if *rounds >= CSS_ROUNDS {
                // Section 4.2: congestion avoidance begins.
                self.over = true;
                w.ssthresh = w.cwnd;
            }
        }
        self.window_end = snd_nxt;
        (self.last, self.current, self.samples) = (self.current, NONE, 0);
    }

    /// Section 4.2: min(N, L * SMSS) of N bytes newly acknowledged, and in CSS a quarter of that.
    pub(super) fn grow(&self, ack: &Ack) -> f64 {
        if self.over {
            return ack.grow;
        }
        let grow = (ack.acked as f64 / f64::from(ack.mss)).min(L);
        if self.css.is_some() { grow / CSS_GROWTH_DIVISOR } else { grow }
    }
}
