//! The smallest round-trip time, and the probes for it every 5 s (section "ProbeRTT").

use super::cycle::AckPhase;
use super::{Bbr3, MIN_PIPE, Rs, SECOND, State};

/// BBR.MinRTTFilterLen, ps.
const FILTER: u64 = 10 * SECOND;
/// BBR.ProbeRTTInterval, ps.
const INTERVAL: u64 = 5 * SECOND;
/// BBR.ProbeRTTDuration, ps.
const DURATION: u64 = SECOND / 5;

/// State of the estimate. Times in ps.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MinRtt {
    rtt: Option<u64>,
    stamp: u64,
    /// BBR.probe_rtt_min_delay and BBR.probe_rtt_min_stamp: of the last interval between probes.
    probe: Option<u64>,
    probe_stamp: u64,
    expired: bool,
    /// When the probe may end, once it has begun.
    done: Option<u64>,
    round_done: bool,
    begun: bool,
}

impl MinRtt {
    /// BBR.min_rtt.
    pub(super) fn get(&self) -> Option<u64> {
        self.rtt
    }

    /// The RTT of the handshake.
    pub(super) fn set(&mut self, rtt: u64) {
        self.rtt = Some(rtt);
    }

    /// The first segment leaves (OnInit).
    pub(super) fn begin(&mut self, now: u64) {
        if !self.begun {
            (self.begun, self.stamp, self.probe_stamp) = (true, now, now);
        }
    }
}

impl Bbr3 {
    /// UpdateMinRTT.
    pub(super) fn update_min_rtt(&mut self, rs: &Rs) {
        let m = &mut self.min_rtt;
        m.expired = rs.now > m.probe_stamp + INTERVAL;
        if let Some(rtt) = rs.rtt
            && (m.probe.is_none_or(|least| rtt < least) || m.expired)
        {
            (m.probe, m.probe_stamp) = (Some(rtt), rs.now);
        }
        if let Some(probe) = m.probe
            && (m.rtt.is_none_or(|least| probe < least) || rs.now > m.stamp + FILTER)
        {
            (m.rtt, m.stamp) = (Some(probe), m.probe_stamp);
        }
    }

    /// ProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        let (_, gain) = State::ProbeRtt.gains();
        self.bdp_multiple(self.bw(), gain).max(MIN_PIPE * self.mss)
    }

    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, rs: &Rs) {
        if self.state != State::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.save_cwnd(self.cwnd);
            self.state = State::ProbeRtt;
            self.min_rtt.done = None;
            self.cycle.phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(rs);
        }
        if rs.delivered() > 0 {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT.
    fn handle_probe_rtt(&mut self, rs: &Rs) {
        self.rate.limit(rs.in_flight);
        if self.min_rtt.done.is_some() {
            self.min_rtt.round_done |= self.round_start;
            if self.min_rtt.round_done {
                self.check_probe_rtt_done(rs.now);
            }
        } else if rs.in_flight <= self.probe_rtt_cwnd() {
            self.min_rtt.done = Some(rs.now + DURATION);
            self.min_rtt.round_done = false;
            self.start_round();
        }
    }

    /// CheckProbeRTTDone, with ExitProbeRTT.
    pub(super) fn check_probe_rtt_done(&mut self, now: u64) {
        if self.min_rtt.done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.probe_stamp = now;
        self.restore_cwnd();
        self.reset_short_term();
        if self.pipe.reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }
}
