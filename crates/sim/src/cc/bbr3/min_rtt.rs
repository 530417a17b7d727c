//! The smallest round-trip time, and the probes for it every 5 s (section "ProbeRTT").

use super::cycle::AckPhase;
use super::{Bbr3, MIN_PIPE, Rs, State};
use forebay_types::Time;

/// BBR.MinRTTFilterLen.
const FILTER: Time = Time::from_secs(10);
/// BBR.ProbeRTTInterval.
const INTERVAL: Time = Time::from_secs(5);
/// BBR.ProbeRTTDuration.
const DURATION: Time = Time::from_ms(200);

/// State of the estimate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MinRtt {
    rtt: Option<Time>,
    stamp: Time,
    /// BBR.probe_rtt_min_delay and BBR.probe_rtt_min_stamp: of the last interval between probes.
    probe: Option<Time>,
    probe_stamp: Time,
    expired: bool,
    /// Earliest end of the probe, once it has begun.
    done: Option<Time>,
    round_done: bool,
    begun: bool,
}

impl MinRtt {
    /// BBR.min_rtt.
    pub(super) fn get(&self) -> Option<Time> {
        self.rtt
    }

    /// Takes the RTT of the handshake.
    pub(super) fn set(&mut self, rtt: Time) {
        self.rtt = Some(rtt);
    }

    /// Handles the departure of the first segment (OnInit).
    pub(super) fn begin(&mut self, now: Time) {
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
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
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
