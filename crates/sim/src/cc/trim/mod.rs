//! TCP-TRIM, from its paper, with ambiguities resolved as the notes A1 to A27 of its specification recommend. After a gap two probes decide how much
//! of the old window is reused (`probe`). During transfer the RTT is kept near a threshold K (`threshold`). Losses are handled as in Reno.

mod config;
mod fixed_point;
mod probe;
#[cfg(test)]
mod tests;
mod threshold;

pub(super) use config::Config;
pub(super) use config::ENTRY;

use super::fixed_point::{Arithmetic, CwndGrowth};
use super::newreno::halve;
use super::{Ack, CongestionControl, Event, Gate, Path, Reduction, Round, Threshold, Trigger, Window};
use config::{MinRttSource, ReductionMode, Ssthresh};
use fixed_point::FixedPoint;
use forebay_experiment::cc_state::CcState;
use forebay_types::{QueueLen, Time, TimeOrNever};
use probe::Episode;
use threshold::threshold;

/// State of one connection. Windows in segments, averages of RTTs in ps.
#[derive(Debug, Clone)]
pub struct Trim {
    c: Config,
    path: Option<Path>,
    /// `smooth_RTT` in real numbers, unset before the first sample.
    smooth: Option<f64>,
    /// State in whole numbers.
    fixed_point: Option<FixedPoint>,
    growth: CwndGrowth,
    /// `min_RTT`: estimate of D.
    min_rtt: TimeOrNever,
    rtt_max: Time,
    k: f64,
    episode: Episode,
    /// In fast recovery.
    recovering: bool,
    /// True if the current ACK may enlarge the window.
    may_grow: bool,
    /// The round trip, and the window when it began.
    round: Round,
    round_cwnd: f64,
}

impl Trim {
    pub(super) fn new(c: &Config) -> Trim {
        let mut c = *c;
        if c.arithmetic == Arithmetic::Linux {
            c.min_cwnd = c.min_cwnd.floor();
        }
        Trim {
            c,
            path: None,
            smooth: None,
            fixed_point: (c.arithmetic == Arithmetic::Linux).then(FixedPoint::default),
            growth: CwndGrowth::new(c.arithmetic),
            min_rtt: TimeOrNever::NEVER,
            rtt_max: Time::ZERO,
            // TRIM 2.2: infinite before the first sample.
            k: f64::INFINITY,
            episode: Episode::default(),
            recovering: false,
            may_grow: false,
            round: Round::default(),
            round_cwnd: 0.0,
        }
    }

    /// Sets the path of the connection; parameters of the scenario have precedence.
    fn take_path(&mut self, mut path: Path) {
        if let Some(rate) = self.c.rate {
            path.packets_per_s = rate.0 as f64 / (8.0 * path.packet);
        }
        path.buffer = match self.c.buffer {
            None => path.buffer,
            Some(QueueLen::Packets(n)) => n as f64,
            Some(QueueLen::Bytes(b)) => (b as f64 / path.packet).floor(),
        };
        let idle = path.idle_rtt;
        if let Some(fixed_point) = &mut self.fixed_point {
            fixed_point.take_path(&path, self.c.guard);
        }
        self.path = Some(path);
        if self.c.seed == MinRttSource::IdleData {
            self.learn_min(idle);
        }
    }

    /// C, packets per ps; `None` if unknown (TRIM A11: an end host cannot learn it).
    fn capacity(&self) -> Option<f64> {
        self.path.as_ref().map(|p| p.packets_per_s * 1e-12)
    }

    /// Lowers the estimate of the RTT without queueing, and K with it (TRIM row 16: it never rises).
    fn learn_min(&mut self, rtt: Time) {
        let rtt = if self.fixed_point.is_some() { fixed_point::microseconds(rtt) } else { rtt };
        if TimeOrNever::at(rtt) < self.min_rtt {
            if let Some(fixed_point) = &self.fixed_point {
                let least = rtt.max(Time::from_us(1));
                self.min_rtt = least.into();
                self.k = fixed_point.threshold(self.c.policy, least);
                return;
            }
            self.min_rtt = rtt.into();
            if let Some(p) = &self.path {
                self.k = threshold(self.c.policy, p.packets_per_s * 1e-12, rtt.0 as f64, p.buffer, self.c.guard);
            }
        }
    }

    /// The RTT sample of an ACK.
    fn sample(&self, ack: &Ack) -> Option<Time> {
        // The kernel passes the RTT of the newest segment (`rtt_us` of struct ack_sample).
        if self.fixed_point.is_some() { ack.newest_rtt.map(fixed_point::sample) } else { ack.rtt }
    }

    /// K now, ps; infinite while unknown.
    pub fn k(&self) -> f64 {
        self.k
    }

    /// C, B, D and K in words, for the described path.
    pub fn summary(&self) -> String {
        let Some(p) = &self.path else { return "path unknown".into() };
        let us = |ps: f64| format!("{:.1} us", ps / 1e6);
        let known = !self.min_rtt.is_never();
        let d = self.min_rtt.get().unwrap_or(p.idle_rtt).0 as f64;
        let (low, high) = threshold::interval(p.packets_per_s * 1e-12, d, p.buffer);
        let k = if known { us(self.k) } else { "unknown before the first sample".into() };
        let rate = p.packets_per_s * p.packet * 8.0 / 1e9;
        format!("C = {rate} Gbps, B = {} packets, D = {}, K = {k} (interval {} to {})", p.buffer, us(d), us(low), us(high))
    }

    /// The reaction to a sample above K (TRIM Eq. 2 and 3), ps.
    fn cut(&mut self, w: &mut Window, sample: Time, ack: &Ack) {
        let new_round = self.round.ends(ack);
        if new_round {
            self.round_cwnd = w.cwnd;
        }
        // TRIM A1: the printed algorithm does not limit reductions to one per round trip; parts of the prose do.
        let floor = match self.c.cut {
            ReductionMode::EveryAck => self.c.min_cwnd,
            ReductionMode::EachRtt if !new_round => return,
            ReductionMode::EachRtt => self.c.min_cwnd,
            ReductionMode::Capped => self.c.min_cwnd.max(self.round_cwnd / 2.0),
        };
        // The window of 1 after a timeout stays 1 (TRIM row 6): no reduction enlarges.
        w.cwnd = match &mut self.fixed_point {
            Some(fixed_point) => fixed_point.cut(w.cwnd, sample, self.k, floor),
            None => {
                let sample = sample.0 as f64;
                let ep = (sample - self.k) / sample;
                (w.cwnd * (1.0 - ep / 2.0)).max(floor).min(w.cwnd)
            }
        };
        if self.c.ssthresh >= Ssthresh::Cut {
            w.ssthresh = w.cwnd.max(2.0).into();
        }
    }
}

impl CongestionControl for Trim {
    type Sent = ();
    const GATE: Option<Gate<Trim>> = Some(Gate { may_send: Trim::gate, sent: Trim::note_probes, due: |cc| cc.episode.due });
    const PATH: Option<fn(&mut Trim, Path)> = Some(Trim::take_path);

    fn in_ack_event(&mut self, _w: &mut Window, ack: &Ack) {
        // TRIM row 5 has no sample of retransmitted segments, as Karn; the timestamps of RFC 7323 identify the acknowledged transmission, and stacks
        // without them take no such sample.
        if let Some(rtt) = self.sample(ack) {
            // TRIM 2.4 (a), A6: the first sample starts it; updated first, compared later.
            match &mut self.fixed_point {
                Some(fixed_point) => fixed_point.take_sample(self.c.alpha, rtt),
                None => {
                    self.smooth = Some(match self.smooth {
                        None => rtt.0 as f64,
                        Some(old) => (1.0 - self.c.alpha) * old + self.c.alpha * rtt.0 as f64,
                    });
                }
            }
            self.rtt_max = self.rtt_max.max(rtt);
            self.learn_min(rtt);
        }
        // Here, because the ACK of a probe may carry ECE, and a reduction leaves out `pkts_acked`.
        if ack.acked > 0 && !self.recovering && self.suspended() {
            self.take_probes(ack);
        }
    }

    fn pkts_acked(&mut self, w: &mut Window, ack: &Ack) {
        if ack.acked == 0 {
            return;
        }
        self.may_grow = false;
        // TRIM row 19: no cut during recovery.
        if self.recovering {
            return;
        }
        if self.suspended() {
            // TRIM A14: no growth on ACKs of probes, nor on older ones meanwhile.
            return;
        }
        match self.sample(ack) {
            Some(rtt) if rtt.0 as f64 > self.k => self.cut(w, rtt, ack),
            _ => self.may_grow = true,
        }
    }

    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        if !self.may_grow {
        } else if self.c.additive_only {
            self.growth.additive(w, ack.grow);
        } else {
            // TRIM 2.4 (e): slow start is retained.
            self.growth.reno(w, ack.grow);
        }
    }

    fn ssthresh(&mut self, _w: &Window, cut: Reduction) -> Threshold {
        if cut.trigger != Trigger::Ecn {
            self.discard();
        }
        self.growth.reduced();
        match &mut self.fixed_point {
            Some(fixed_point) => {
                fixed_point.forget_fraction();
                super::fixed_point::halve(cut.from)
            }
            None => halve(cut),
        }
        .into()
    }

    fn reduces_on_loss_after_ecn(&self) -> bool {
        // TRIM does not use marks; if a scenario has them, marks and losses both halve the window, once per window.
        false
    }

    fn cwnd_event(&mut self, _w: &mut Window, event: Event) {
        match event {
            Event::Established { rtt: Some(rtt) } => {
                let rtt = if self.fixed_point.is_some() { fixed_point::sample(rtt) } else { rtt };
                self.rtt_max = self.rtt_max.max(rtt);
                // TRIM A13: SYNs are small; the difference is their serialization against that of data.
                let lacks = self.path.as_ref().map_or(Time::ZERO, |p| p.handshake_deficit);
                match self.c.seed {
                    MinRttSource::Handshake => self.learn_min(rtt + lacks),
                    MinRttSource::HandshakeRaw => self.learn_min(rtt),
                    MinRttSource::IdleData | MinRttSource::FirstSample => {}
                }
            }
            Event::Recovery => {
                self.recovering = true;
                self.discard();
            }
            Event::Timeout { .. } => {
                self.growth.reduced();
                self.recovering = false;
                self.discard();
            }
            Event::Complete => self.recovering = false,
            Event::Established { rtt: None }
            | Event::Write { .. }
            | Event::AppLimited(_)
            | Event::TxStart { .. }
            | Event::Counted { .. }
            | Event::Restart => {}
        }
    }

    fn state(&self, _mss: u32, state: &mut CcState) {
        if let Some(min) = self.min_rtt.get() {
            state.whole("min_rtt_ns", min.0 / 1_000);
        }
        if self.k.is_finite() {
            state.whole("k_ns", (self.k / 1e3) as u64);
        }
    }

    fn undo_cwnd(&mut self, w: &Window, prior: f64) -> f64 {
        self.recovering = false;
        w.cwnd.max(prior)
    }
}
