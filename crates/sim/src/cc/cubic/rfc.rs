//! The rules of RFC 9438.

use super::Config;
use crate::cc::{Ack, Event, Reduction, Window};
use forebay_experiment::cc_state::CcState;
use forebay_types::Time;
use forebay_types::math::cbrt;

/// State of one connection. Windows in segments, times in seconds unless named otherwise.
#[derive(Debug, Clone)]
pub struct Cubic {
    c: Config,
    curve: Curve,
    /// State before the last congestion event, with its window (section 4.9).
    before: Option<(f64, Curve)>,
    /// Time up to which the curve has stopped because the application does not use the window; `None` while it does.
    unused: Option<Time>,
}

/// State that a congestion event changes.
#[derive(Debug, Clone, Copy)]
struct Curve {
    w_max: f64,
    /// Window just before the last reduction: cwnd_prior of section 4.3.
    cwnd_prior: f64,
    k: f64,
    w_est: f64,
    /// Start of the current congestion avoidance, from its first ACK on.
    epoch: Option<Time>,
}

impl Curve {
    /// Excludes a `pause` until `now` from the time of the curve.
    fn exclude_pause(&mut self, now: Time, pause: Time) {
        self.epoch = self.epoch.map(|epoch| (epoch + pause).min(now));
    }
}

impl Cubic {
    pub(super) fn new(c: &Config) -> Cubic {
        Cubic { c: *c, curve: Curve { w_max: 0.0, cwnd_prior: 0.0, k: 0.0, w_est: 0.0, epoch: None }, before: None, unused: None }
    }

    fn start_epoch(&mut self, w: &Window, now: Time) {
        let s = &mut self.curve;
        s.epoch = Some(now);
        s.w_est = w.cwnd;
        if w.cwnd < s.w_max {
            // Section 4.2, equation 2: time to climb back to W_max.
            s.k = cbrt((s.w_max - w.cwnd) / self.c.c);
        } else {
            // Section 4.10: no known W_max above the window, so the plateau is at the window.
            s.w_max = w.cwnd;
            s.k = 0.0;
        }
    }

    fn w_cubic(&self, t: f64) -> f64 {
        let d = t - self.curve.k;
        self.c.c * d * d * d + self.curve.w_max
    }

    //= https://www.rfc-editor.org/rfc/rfc9438#section-4.2
    //# The elapsed time t in Figure 1 MUST NOT include periods during which cwnd has not been updated due to
    //# application-limited behavior (see Section 5.8).
    /// Sections 4.2 and 5.8: where the stack validates windows, an unused window does not grow, and the curve must not run ahead of it.
    pub(super) fn pkts_acked(&mut self, ack: &Ack) {
        if ack.window_limited != Some(false) {
            self.unused = None;
            return;
        }
        if let Some(since) = self.unused.replace(ack.now) {
            self.curve.exclude_pause(ack.now, ack.now - since);
        }
    }

    /// Congestion avoidance on an ACK that the stack lets count for `grow` segments.
    pub(super) fn grow(&mut self, w: &mut Window, ack: &Ack, grow: f64) {
        let epoch = match self.curve.epoch {
            Some(epoch) => epoch,
            None => {
                self.start_epoch(w, ack.now);
                ack.now
            }
        };
        let t = (ack.now - epoch).as_secs_f64();
        let rtt = ack.srtt.get().map_or(0.0, Time::as_secs_f64);
        if self.c.reno_friendly {
            // Section 4.3: grow as Reno would with this beta, and as Reno itself once the old window is regained.
            let beta = self.c.beta;
            let alpha = if self.curve.w_est >= self.curve.cwnd_prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) };
            //= https://www.rfc-editor.org/rfc/rfc9438#section-4.3
            //# Also note that this equation works for connections with enabled or disabled delayed ACKs [RFC5681], as
            //# segments_acked will be different based on the segments actually acknowledged by a new ACK.
            // Independent of the stack's counting rule; the ACK that ends slow start counts for the rest only.
            let segments = if grow < ack.grow { grow } else { ack.delivered as f64 / f64::from(ack.mss) };
            self.curve.w_est += alpha * segments / w.cwnd;
            if self.w_cubic(t) < self.curve.w_est {
                w.cwnd = w.cwnd.max(self.curve.w_est);
                return;
            }
        }
        // Sections 4.4 and 4.5: aim at W_cubic one RTT ahead, between the window and 1.5 times the window.
        let target = self.w_cubic(t + rtt).clamp(w.cwnd, 1.5 * w.cwnd);
        w.cwnd += grow * (target - w.cwnd) / w.cwnd;
    }

    /// Sets the columns of the table `tcp`.
    pub(super) fn columns(&self, state: &mut CcState) {
        let curve = &self.curve;
        if curve.w_max > 0.0 {
            state.real("w_max", curve.w_max);
        }
        if curve.epoch.is_some() {
            state.real("k_s", curve.k);
            state.real("w_est", curve.w_est);
        }
    }

    pub(super) fn ssthresh(&mut self, w: &Window, cut: Reduction) -> f64 {
        let s = &mut self.curve;
        self.before = Some((w.cwnd, *s));
        s.epoch = None;
        s.cwnd_prior = w.cwnd;
        // Section 4.7, fast convergence: a window that shrinks from event to event yields more.
        s.w_max = if self.c.fast_convergence && w.cwnd < s.w_max { w.cwnd * (1.0 + self.c.beta) / 2.0 } else { w.cwnd };
        // Section 4.6: of the data in flight, for losses and for marks.
        (cut.from * self.c.beta).max(2.0)
    }

    //= https://www.rfc-editor.org/rfc/rfc9438#section-4.6
    //# Note that CUBIC MUST continue to reduce cwnd in response to congestion events due to ECN-Echo ACKs until it
    //# reaches a value of 1 MSS.
    /// Window after marks from `from` segments: the threshold, and below its floor of 2 segments less than that.
    pub(super) fn window_after_marks(&self, from: f64) -> f64 {
        (from * self.c.beta).max(1.0)
    }

    pub(super) fn event(&mut self, event: Event) {
        let s = &mut self.curve;
        match event {
            // Section 5.8: the curve must not advance while the application is idle.
            Event::TxStart { now, idle } => {
                let counted = self.unused.as_mut().map_or(Time::ZERO, |unused| std::mem::replace(unused, now));
                s.exclude_pause(now, idle.min(now - counted));
            }
            // Section 4.8: after a timeout the first congestion avoidance has its plateau at the window where it starts.
            Event::Timeout { .. } => {
                s.epoch = None;
                s.w_max = 0.0;
            }
            Event::Restart => s.epoch = None,
            Event::Write { .. }
            | Event::Established { .. }
            | Event::Recovery
            | Event::Counted { .. }
            | Event::AppLimited(_)
            | Event::Complete => {}
        }
    }

    /// Undoes the last congestion event, which was spurious (section 4.9), unless the window has grown beyond its state before.
    pub(super) fn undo(&mut self, w: &Window) {
        if let Some((cwnd, curve)) = self.before.take()
            && w.cwnd < cwnd
        {
            self.curve = curve;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixed_point::Arithmetic;
    use crate::cc::{Threshold, Trigger};

    /// After a loss at 1000 segments the window is back at 1000 after K = cbrt(W_max (1 - beta) / C) seconds (section 4.2).
    #[test]
    fn regains_the_old_window_after_k() {
        let mut cubic = Cubic::new(&Config {
            rules: None,
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            reno_friendly: false,
            arithmetic: Arithmetic::Paper,
            hz: 1000,
        });
        let mut w = Window { cwnd: 1000.0, ssthresh: Threshold::UNLIMITED };
        w.ssthresh = cubic.ssthresh(&w, Reduction { trigger: Trigger::Loss, from: 1000.0, in_flight: 0 }).into();
        w.fall();
        assert_eq!(w.cwnd, 700.0);
        let rtt = Time::from_ms(1);
        let k = (300.0f64 / 0.4).cbrt();
        let mut now = Time::ZERO;
        let mut una = 0;
        while now.as_secs_f64() < k {
            let segments = w.cwnd as u64;
            for _ in 0..segments {
                una += 1460;
                let ack = Ack {
                    now,
                    snd_una: una,
                    snd_nxt: una + 1_460_000,
                    acked: 1460,
                    delivered: 1460,
                    segments: 0,
                    lost: 0,
                    absent: 0,
                    ce: 0,
                    window_limited: None,
                    ece: false,
                    grow: 1.0,
                    rtt: Some(rtt),
                    newest_rtt: Some(rtt),
                    srtt: rtt.into(),
                    min_rtt: rtt.into(),
                    mss: 1460,
                };
                cubic.grow(&mut w, &ack, 1.0);
            }
            now += rtt;
        }
        assert!((w.cwnd - 1000.0).abs() < 1.0, "{}", w.cwnd);
    }
}
