//! Gaps, probes and waits (TRIM 2.5 and 2.6): the state machine of an episode, from the gap to the window for the next data.

use super::Trim;
use super::entry::Ssthresh;
use crate::cc::{Ack, Opportunity, Window};
use forebay_units::{Time, TimeOrNever};

/// Probes of an episode (TRIM 2.3).
const PROBES: usize = 2;

/// Where the sender stands.
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
    /// Window when the gap was found (`s_cwnd`); 0 for the wait before the first segment of a connection, which no probes follow.
    saved: f64,
    /// Probes sent: (stream offset that acknowledges it, time sent).
    probes: [(u64, Time); PROBES],
    count: usize,
    acked: usize,
    /// Sum of the RTTs of acknowledged probes.
    rtts: Time,
    /// When the timer of the state fires.
    pub(super) due: TimeOrNever,
    /// When the last episode ended: counts as a transmission (TRIM A8).
    resumed: Time,
    /// The wait at the start of the connection is over, or was not wanted.
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
    /// Whether an episode is going on.
    pub(super) fn suspended(&self) -> bool {
        self.episode.state != State::Normal
    }

    /// Ends the episode without a window of its own: a timeout or a fast retransmit (TRIM 2.5).
    pub(super) fn discard(&mut self) {
        self.episode = Episode { resumed: self.episode.resumed, started: self.episode.started, ..Episode::default() };
    }

    /// How many new segments may leave now. Begins, continues and ends episodes.
    pub(super) fn gate(&mut self, w: &mut Window, at: &Opportunity) -> u64 {
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
                State::AdWait | State::AsWait if !e.due.has_come(at.now) => return 0,
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
                State::Probing if e.due.has_come(at.now) => self.tune(w, at, true),
                State::Probing => return (PROBES - e.count) as u64,
            }
        }
    }

    /// The first segment of the connection: no history, so no probes (TRIM row 11), but with AD a wait (A20).
    fn start(&mut self, at: &Opportunity) {
        self.episode.started = true;
        if self.c.ad && self.c.at_start && at.last_tx.is_none() {
            self.wait_before(at.now);
        }
    }

    /// TRIM A5, A27: too long since anything was sent on this connection?
    fn gap(&self, at: &Opportunity) -> bool {
        let (Some(smooth), Some(last_tx)) = (self.smooth, at.last_tx) else { return false };
        let pause = at.now - last_tx.max(self.episode.resumed);
        pause.0 as f64 > smooth && (self.c.gap_in_flight || at.flight == 0)
    }

    fn begin(&mut self, w: &mut Window, at: &Opportunity) {
        self.discard();
        self.episode.saved = w.cwnd;
        self.episode.state = State::Probing;
        w.cwnd = self.c.min_cwnd;
        if self.c.ad {
            self.wait_before(at.now);
        }
    }

    /// TRIM 2.4 (g): uniform in [0, RTT_max].
    fn wait_before(&mut self, now: Time) {
        self.episode.state = State::AdWait;
        self.episode.due = (now + self.random(self.rtt_max.0 as f64)).into();
    }

    /// Uniform in [0, `most` ps].
    fn random(&mut self, most: f64) -> Time {
        self.path.as_mut().map_or(Time::ZERO, |p| Time(p.rng.below(most as u64 + 1)))
    }

    /// Segments that left while probing are probes.
    pub(super) fn note_probes(&mut self, from: u64, to: u64, at: &Opportunity) {
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
        // TRIM A4, A9: a timer from the real time of sending, with smooth_RTT as it is now; the second probe sets it again.
        e.due = (at.now + Time(self.smooth.unwrap_or(0.0) as u64)).into();
    }

    /// An ACK advanced during an episode. What follows from it is decided at the opportunity to send that it makes.
    pub(super) fn take_probes(&mut self, ack: &Ack) {
        let e = &mut self.episode;
        while let Some(&(end, sent)) = e.probes[..e.count].get(e.acked)
            && ack.snd_una >= end
        {
            // Times of handing over (TRIM row 13): the second probe's include its wait in the host's own card.
            e.rtts += ack.now - sent;
            e.acked += 1;
        }
        if e.count > 0 && e.acked == e.count {
            e.due = TimeOrNever::NEVER;
        }
    }

    /// The window after probing; `late`: some probe was not acknowledged in time.
    fn tune(&mut self, w: &mut Window, at: &Opportunity, late: bool) {
        let e = self.episode;
        let floor = self.c.min_cwnd;
        let mean = (e.acked > 0).then(|| e.rtts.0 as f64 / e.acked as f64);
        if let (Some(rtt), false) = (mean, late) {
            // TRIM Eq. 1. The saved window of 1 after a timeout is raised to the floor like any other.
            let least = self.min_rtt.or_never().0 as f64;
            let reuse = 2.0 - rtt.max(least) / least;
            w.cwnd = (e.saved * reuse).max(floor);
            if w.cwnd < e.saved && self.c.ssthresh >= Ssthresh::All {
                w.ssthresh = w.cwnd.max(2.0).into();
            }
        } else {
            w.cwnd = floor;
            if self.c.ssthresh >= Ssthresh::Late {
                w.ssthresh = (e.saved / 2.0).max(2.0).into();
            }
        }
        // The next ACK begins a new round trip.
        self.round.begin(0);
        self.resume(at.now);
        if self.c.wait_after {
            self.wait_after(w, at, mean.or(self.smooth).unwrap_or(0.0));
        }
    }

    /// TRIM 2.4 (h), A10: uniform in [0, (N - 1) W / C], N estimated from the RTT of the probes, `mean` in ps; after late ones too.
    fn wait_after(&mut self, w: &Window, at: &Opportunity, mean: f64) {
        let Some(c) = self.capacity() else { return };
        let n = (mean * c / 2.0).max(1.0);
        let left = at.unsent.div_ceil(u64::from(at.mss)) as f64;
        let most = (n - 1.0) * w.cwnd.min(left) / c;
        self.episode.due = (at.now + self.random(most)).into();
        self.episode.state = State::AsWait;
    }

    /// Back to normal. TRIM row 15: without counting this as a transmission the next segment would find a gap again.
    fn resume(&mut self, now: Time) {
        self.episode = Episode { resumed: now, started: true, ..Episode::default() };
    }
}
