//! Gaps, probes and waits (TRIM 2.5 and 2.6): the state machine of an episode, from the gap to the window for the next data.

use super::Trim;
use super::config::Ssthresh;
use super::fixed_point::{self, FixedPoint};
use crate::cc::{Ack, Opportunity, Window};
use forebay_types::{Time, TimeOrNever};

/// Probes of an episode (TRIM 2.3).
const PROBES: usize = 2;

/// State of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// New data as the window allows.
    #[default]
    Normal,
    /// Random wait before probing; nothing new leaves.
    AdWait,
    /// Up to two new segments leave.
    Probing,
    /// Random wait after probing; nothing new leaves.
    AsWait,
}

/// An episode, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Episode {
    pub(super) state: State,
    /// Window when the gap was found (`s_cwnd`); 0 for the wait before the first segment of a connection, which is not followed by probes.
    saved: f64,
    /// Probes sent: (stream offset that acknowledges it, time sent).
    probes: [(u64, Time); PROBES],
    count: usize,
    acked: usize,
    /// Sum of the RTTs of acknowledged probes.
    rtts: Time,
    /// Expiry of the state's timer.
    pub(super) due: TimeOrNever,
    /// End of the last episode: counts as a transmission (TRIM A8).
    resumed: Time,
    /// True if the wait at the start of the connection is over, or not configured.
    started: bool,
}

impl Default for Episode {
    fn default() -> Episode {
        Episode {
            state: State::Normal,
            saved: 0.0,
            probes: [(0, Time::ZERO); PROBES],
            count: 0,
            acked: 0,
            rtts: Time::ZERO,
            due: TimeOrNever::NEVER,
            resumed: Time::ZERO,
            started: false,
        }
    }
}

impl Trim {
    /// Returns true if an episode is in progress.
    pub(super) fn suspended(&self) -> bool {
        self.episode.state != State::Normal
    }

    /// Ends the episode without setting a window: a timeout or a fast retransmit (TRIM 2.5).
    pub(super) fn discard(&mut self) {
        self.episode = Episode { resumed: self.episode.resumed, started: self.episode.started, ..Episode::default() };
    }

    /// Number of new segments that may leave now. Begins, continues and ends episodes.
    pub(super) fn gate(&mut self, w: &mut Window, at: &Opportunity) -> u64 {
        let at = &self.seen(at);
        // TRIM row 19: no gap test during recovery.
        if at.recovering {
            return u64::MAX;
        }
        loop {
            let e = self.episode;
            match e.state {
                State::Normal if at.unsent == 0 => return u64::MAX,
                State::Normal if !e.started => self.start(at),
                State::Normal if !self.gap(at) => return u64::MAX,
                State::Normal => self.begin(w, at),
                State::AdWait | State::AsWait if !e.due.is_due(at.now) => return 0,
                State::AdWait if e.saved > 0.0 => {
                    // No second gap test (TRIM 2.6).
                    self.episode.state = State::Probing;
                    self.episode.due = TimeOrNever::NEVER;
                }
                State::AdWait | State::AsWait => self.resume(at.now),
                // TRIM A3, row 8: both probes are acknowledged, or the only one of a short train.
                State::Probing if e.count > 0 && e.acked == e.count && (e.count == PROBES || at.unsent == 0) => {
                    self.tune(w, at, false);
                }
                State::Probing if e.due.is_due(at.now) => self.tune(w, at, true),
                State::Probing => return (PROBES - e.count) as u64,
            }
        }
    }

    /// The opportunity, with times in the precision of the arithmetic.
    fn seen(&self, at: &Opportunity) -> Opportunity {
        match self.fixed_point {
            Some(_) => {
                Opportunity { now: fixed_point::microseconds(at.now), last_tx: at.last_tx.map(fixed_point::microseconds), ..*at }
            }
            None => *at,
        }
    }

    /// Handles the first segment of the connection: no history, so no probes (TRIM row 11), but with AD a wait (A20).
    fn start(&mut self, at: &Opportunity) {
        self.episode.started = true;
        if self.c.ad && self.c.at_start && at.last_tx.is_none() {
            self.wait_before(at.now);
        }
    }

    /// Returns true if too much time has passed since the last transmission on this connection (TRIM A5, A27).
    fn gap(&self, at: &Opportunity) -> bool {
        let Some(last_tx) = at.last_tx else { return false };
        let pause = at.now.saturating_sub(last_tx.max(self.episode.resumed));
        let long = match &self.fixed_point {
            Some(fixed_point) => fixed_point.is_shorter_than(pause),
            None => self.smooth.is_some_and(|smooth| pause.0 as f64 > smooth),
        };
        long && (self.c.gap_in_flight || at.flight == 0)
    }

    fn begin(&mut self, w: &mut Window, at: &Opportunity) {
        self.discard();
        self.episode.state = State::Probing;
        self.episode.saved = w.cwnd;
        if let Some(fixed_point) = &mut self.fixed_point {
            fixed_point.forget_fraction();
            self.episode.saved = w.cwnd.floor();
        }
        w.cwnd = self.c.min_cwnd;
        if self.c.ad {
            self.wait_before(at.now);
        }
    }

    /// TRIM 2.4 (g): uniform in [0, RTT_max].
    fn wait_before(&mut self, now: Time) {
        self.episode.state = State::AdWait;
        self.episode.due = (now + self.random(self.rtt_max)).into();
    }

    /// Uniform in [0, `most`].
    fn random(&mut self, most: Time) -> Time {
        match &mut self.path {
            Some(p) if self.fixed_point.is_some() => FixedPoint::random(&mut p.rng, most),
            Some(p) => Time(p.rng.below(most.0 + 1)),
            None => Time::ZERO,
        }
    }

    /// Records segments that left while probing as probes.
    pub(super) fn note_probes(&mut self, from: u64, to: u64, at: &Opportunity) {
        let at = &self.seen(at);
        let smooth = self.fixed_point.map_or_else(|| Time(self.smooth.unwrap_or(0.0) as u64), |fixed_point| fixed_point.smooth());
        let e = &mut self.episode;
        if e.state != State::Probing {
            return;
        }
        let mut end = from;
        while end < to && e.count < PROBES {
            end = (end + u64::from(at.mss)).min(to);
            e.probes[e.count] = (end, at.now);
            e.count += 1;
        }
        // TRIM A4, A9: a timer from the real time of sending, with the current smooth_RTT; the second probe restarts it.
        e.due = (at.now + smooth).into();
    }

    /// Handles an ACK that advanced during an episode. The decision is made at the following opportunity to send.
    pub(super) fn take_probes(&mut self, ack: &Ack) {
        let now = if self.fixed_point.is_some() { fixed_point::microseconds(ack.now) } else { ack.now };
        let e = &mut self.episode;
        while let Some(&(end, sent)) = e.probes[..e.count].get(e.acked)
            && ack.snd_una >= end
        {
            // Times of passing segments to the interface (TRIM row 13): the second probe's RTT includes its wait there.
            let rtt = now - sent;
            e.rtts += if self.fixed_point.is_some() { fixed_point::sample(rtt) } else { rtt };
            e.acked += 1;
        }
        if e.count > 0 && e.acked == e.count {
            e.due = TimeOrNever::NEVER;
        }
    }

    /// Sets the window after probing; `late`: a probe was not acknowledged in time.
    fn tune(&mut self, w: &mut Window, at: &Opportunity, late: bool) {
        let e = self.episode;
        let floor = self.c.min_cwnd;
        let mean = (e.acked > 0).then(|| e.rtts.0 as f64 / e.acked as f64);
        if let (Some(rtt), false) = (mean, late) {
            // TRIM Eq. 1. A saved window of 1 after a timeout is raised to the floor.
            let least = self.min_rtt.or_never();
            w.cwnd = if self.fixed_point.is_some() {
                FixedPoint::reuse(e.saved, e.rtts / e.acked as u64, least, floor)
            } else {
                let least = least.0 as f64;
                (e.saved * (2.0 - rtt.max(least) / least)).max(floor)
            };
            if w.cwnd < e.saved && self.c.ssthresh >= Ssthresh::All {
                w.ssthresh = w.cwnd.max(2.0).into();
            }
        } else {
            w.cwnd = floor;
            if self.c.ssthresh >= Ssthresh::Late {
                let half = if self.fixed_point.is_some() { (e.saved / 2.0).floor() } else { e.saved / 2.0 };
                w.ssthresh = half.max(2.0).into();
            }
        }
        // The next ACK begins a new round trip.
        self.round.begin(0);
        self.resume(at.now);
        if let Some(fixed_point) = &mut self.fixed_point {
            fixed_point.forget_fraction();
        }
        if self.c.wait_after {
            let mean = mean.or(self.smooth).unwrap_or(0.0);
            let probes = if e.acked > 0 { Some(e.rtts / e.acked as u64) } else { None };
            match self.fixed_point {
                Some(fixed_point) => {
                    let left = at.unsent.div_ceil(u64::from(at.mss));
                    let most = fixed_point.longest_wait(w, probes.unwrap_or(fixed_point.smooth()), left);
                    self.wait_up_to(at.now, most);
                }
                None => self.wait_after(w, at, mean),
            }
        }
    }

    /// TRIM 2.4 (h), A10: uniform in [0, (N - 1) W / C], N estimated from the RTT of the probes, `mean` in ps; after late ones too.
    fn wait_after(&mut self, w: &Window, at: &Opportunity, mean: f64) {
        let Some(c) = self.capacity() else { return };
        let n = (mean * c / 2.0).max(1.0);
        let left = at.unsent.div_ceil(u64::from(at.mss)) as f64;
        let most = (n - 1.0) * w.cwnd.min(left) / c;
        self.wait_up_to(at.now, Some(Time(most as u64)));
    }

    fn wait_up_to(&mut self, now: Time, most: Option<Time>) {
        let Some(most) = most else { return };
        self.episode.due = (now + self.random(most)).into();
        self.episode.state = State::AsWait;
    }

    /// Returns to normal. TRIM row 15: if this did not count as a transmission, the next segment would find a gap again.
    fn resume(&mut self, now: Time) {
        self.episode = Episode { resumed: now, started: true, ..Episode::default() };
    }
}
