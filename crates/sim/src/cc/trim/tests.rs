//! Tests of TRIM 2.4 to 2.8, rule by rule. RTT of the empty path 200 us, 1 Gbps, packets of 1460 B, buffer of 100.

use super::config::{MinRttSource, ReductionMode, Ssthresh};
use super::probe::State;
use super::threshold::{Policy, threshold};
use super::*;
use crate::cc::Opportunity;
use crate::cc::testing::ACK;
use forebay_types::Rng;

const US: Time = Time::from_us(1);
const C: f64 = 1e9 / 8.0 / 1460.0 * 1e-12;

fn config() -> Config {
    Config {
        alpha: 0.25,
        min_cwnd: 2.0,
        rate: None,
        buffer: None,
        policy: Policy::Lower,
        guard: 3.0,
        cut: ReductionMode::EveryAck,
        gap_in_flight: true,
        ssthresh: Ssthresh::All,
        additive_only: false,
        seed: MinRttSource::IdleData,
        ad: false,
        wait_after: false,
        at_start: true,
        arithmetic: Arithmetic::Paper,
    }
}

/// A congestion control, its window, and the sender's state. Times in us, segments counted from 0.
struct Bench {
    l: Trim,
    w: Window,
    nxt: u64,
    una: u64,
    last_tx: Option<Time>,
    recovering: bool,
}

impl Bench {
    fn new(c: Config) -> Bench {
        let mut l = Trim::new(&c);
        let rate = C * 1e12;
        let path = Path {
            idle_rtt: US * 200,
            handshake_deficit: US * 23,
            packet: 1460.0,
            packets_per_s: rate,
            buffer: 100.0,
            rng: Rng::stream(9, &[1]),
        };
        l.take_path(path);
        let w = Window { cwnd: 2.0, ssthresh: Threshold::UNLIMITED };
        Bench { l, w, nxt: 0, una: 0, last_tx: None, recovering: false }
    }

    /// With a history: smoothed RTT 260 us, window 20, everything acknowledged, last transmission at 0.
    fn idle(c: Config) -> Bench {
        let mut b = Bench::new(c);
        b.offer(0, 1);
        b.ack(260, 1, 260);
        b.w.cwnd = 20.0;
        b.last_tx = Some(Time::ZERO);
        b
    }

    /// Offers `unsent` segments; returns how many leave.
    fn offer(&mut self, now: u64, unsent: u64) -> u64 {
        let at = Opportunity {
            now: US * now,
            last_tx: self.last_tx,
            flight: (self.nxt - self.una) * 1460,
            in_flight: (self.nxt - self.una) * 1460,
            unsent: unsent * 1460,
            recovering: self.recovering,
            mss: 1460,
        };
        let allowed = self.l.gate(&mut self.w, &at);
        let room = (self.w.cwnd as u64).saturating_sub(self.nxt - self.una);
        let sent = allowed.min(room).min(unsent);
        if sent > 0 {
            self.l.note_probes(self.nxt * 1460, (self.nxt + sent) * 1460, &at);
            self.nxt += sent;
            self.last_tx = Some(US * now);
        }
        sent
    }

    /// An ACK for everything before segment `una`, with a sample of `rtt`, and the opportunity that follows with `unsent` segments.
    fn ack_then(&mut self, now: u64, una: u64, rtt: u64, unsent: u64) -> u64 {
        self.una = una;
        let ack = Ack { now: US * now, snd_una: una * 1460, snd_nxt: self.nxt * 1460, rtt: Some(US * rtt), ..ACK };
        self.l.in_ack_event(&mut self.w, &ack);
        self.l.pkts_acked(&mut self.w, &ack);
        self.l.cong_avoid(&mut self.w, &ack);
        self.offer(now, unsent)
    }

    fn ack(&mut self, now: u64, una: u64, rtt: u64) {
        assert_eq!(self.ack_then(now, una, rtt, 0), 0);
    }

    fn state(&self) -> State {
        self.l.episode.state
    }
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} and {b}");
}

#[test]
fn smoothing_and_minimum() {
    let mut b = Bench::new(config());
    b.nxt = 100;
    for (rtt, smooth, min) in [(240, 240.0, 200), (280, 250.0, 200), (190, 235.0, 190), (400, 276.25, 190)] {
        b.ack(1, 1, rtt);
        close(b.l.smooth.unwrap(), smooth * 1e6);
        assert_eq!(b.l.min_rtt, (US * min).into());
        close(b.l.k(), threshold(Policy::Lower, C, min as f64 * 1e6, 100.0, 3.0));
    }
    assert_eq!(b.l.rtt_max, US * 400);
}

/// Eq. 1: window 20, RTT of the empty path 200 us. Row 7: a result below 2 is 2; row 6.
#[test]
fn window_after_probes() {
    for (first, second, cwnd) in
        [(200, 200, 20.0), (210, 230, 18.0), (200, 250, 17.5), (300, 300, 10.0), (390, 400, 2.0), (500, 700, 2.0)]
    {
        let mut b = Bench::idle(config());
        b.l.smooth = Some(800e6);
        assert_eq!(b.offer(5000, 90), 2, "two probes");
        assert_eq!(b.w.cwnd, 2.0);
        // A3: nothing happens before both are acknowledged, and the rest stays suspended.
        assert_eq!(b.ack_then(5000 + first, 2, first, 88), 0);
        assert_eq!((b.w.cwnd, b.state()), (2.0, State::Probing));
        let sent = b.ack_then(5000 + second, 3, second, 88);
        close(b.w.cwnd, cwnd);
        assert_eq!((sent, b.state()), (cwnd as u64, State::Normal));
        // A2: only a reduction sets the threshold.
        if cwnd < 20.0 { close(b.w.ssthresh.or_infinite(), cwnd) } else { assert!(b.w.ssthresh.is_unlimited()) }
    }
}

/// Rows 1 to 3: whichever probe is missing after one smoothed RTT, the window is 2; A9: from the time of sending.
#[test]
fn late_probes() {
    for answered in [0, 1] {
        let mut b = Bench::idle(config());
        assert_eq!(b.offer(5000, 9), 2);
        assert_eq!(b.l.episode.due, (US * 5260).into());
        if answered == 1 {
            b.ack_then(5200, 2, 200, 7);
        }
        assert_eq!(b.offer(5259, 7), 0);
        // The window of 2 releases as many as probes were answered.
        assert_eq!(b.offer(5260, 7), answered);
        assert_eq!((b.w.cwnd, b.w.ssthresh.or_infinite(), b.state()), (2.0, 10.0, State::Normal));
        // Row 20: a later ACK of a probe is an ordinary one: it grows the window, as in slow start.
        b.ack_then(5270, 3, 270, 0);
        assert_eq!(b.w.cwnd, 3.0);
    }
}

/// An ACK exactly at the deadline is in time.
#[test]
fn just_in_time() {
    let mut b = Bench::idle(config());
    b.offer(5000, 9);
    b.ack_then(5260, 3, 260, 7);
    close(b.w.cwnd, 20.0 * (2.0 - 1.3));
}

/// Rows 8 and 9.
#[test]
fn short_trains() {
    let mut b = Bench::idle(config());
    assert_eq!(b.offer(5000, 1), 1);
    b.ack(5220, 2, 220);
    close(b.w.cwnd, 18.0);
    // The application writes more before that: the second probe.
    let mut b = Bench::idle(config());
    assert_eq!(b.offer(5000, 1), 1);
    assert_eq!(b.offer(5100, 9), 1);
    assert_eq!(b.l.episode.due, (US * 5360).into(), "set again for the second");
    assert_eq!(b.offer(5150, 8), 0);
    b.ack_then(5220, 2, 220, 8);
    assert_eq!(b.state(), State::Probing);
    b.ack_then(5320, 3, 220, 8);
    close(b.w.cwnd, 18.0);
    let mut b = Bench::idle(config());
    assert_eq!(b.offer(5000, 2), 2);
    b.ack(5210, 2, 210);
    assert_eq!(b.state(), State::Probing);
    b.ack(5222, 3, 222);
    close(b.w.cwnd, 20.0 * (2.0 - 216.0 / 200.0));
}

/// Row 10, A27: a gap while data is in flight.
#[test]
fn gap_in_flight() {
    let in_flight = |gap_in_flight| {
        let mut b = Bench::idle(Config { gap_in_flight, ..config() });
        (b.nxt, b.una, b.last_tx) = (7, 4, Some(US * 5000));
        let sent = b.offer(5300, 40);
        (b, sent)
    };
    let (mut b, sent) = in_flight(true);
    assert_eq!((sent, b.state(), b.w.cwnd), (0, State::Probing, 2.0));
    // Older ACKs: no growth, and probes leave as the flight drains.
    assert_eq!(b.ack_then(5310, 5, 250, 40), 0);
    assert_eq!(b.ack_then(5320, 6, 250, 40), 1);
    assert_eq!(b.ack_then(5330, 7, 250, 39), 1);
    assert_eq!(b.w.cwnd, 2.0);
    assert_eq!(b.ack_then(5530, 8, 210, 38), 0);
    b.ack_then(5540, 9, 210, 38);
    close(b.w.cwnd, 19.0);
    let (b, sent) = in_flight(false);
    assert_eq!((sent, b.state(), b.w.cwnd), (17, State::Normal, 20.0));
}

/// Row 11, and the size of a gap: more than one smoothed RTT since the last transmission.
#[test]
fn gaps() {
    let mut b = Bench::new(config());
    assert_eq!(b.offer(9_000_000, 50), 2, "first train of the connection");
    assert_eq!(b.state(), State::Normal);
    for (now, sent) in [(260, 20), (261, 2)] {
        let mut b = Bench::idle(config());
        assert_eq!(b.offer(now, 50), sent, "{now}");
    }
    // Row 19, and rows 3 to 5: not during recovery.
    let mut b = Bench::idle(config());
    b.recovering = true;
    assert_eq!((b.offer(9000, 50), b.state()), (20, State::Normal));
    // No data, no episode.
    let mut b = Bench::idle(config());
    assert_eq!((b.offer(9000, 0), b.state()), (0, State::Normal));
}

/// Row 15: a late episode leaves a pause of a smoothed RTT, which is no gap of its own.
#[test]
fn resumes_without_probing_again() {
    let mut b = Bench::idle(config());
    b.offer(5000, 1);
    b.una = 2;
    b.l.episode.due = (US * 5300).into();
    assert_eq!(b.offer(5300, 8), 2);
    assert_eq!(b.state(), State::Normal);
    // An idle connection probes again at its next train.
    b.una = b.nxt;
    assert_eq!(b.offer(5900, 8), 2);
    assert_eq!(b.state(), State::Probing);
}

/// Eq. 2 and 3; row 14: fractions are kept.
#[test]
fn cuts_above_k() {
    let k = Bench::idle(config()).l.k() / 1e6;
    close(k.round(), 275.0);
    for (cwnd, rtt, after) in [
        (20.0, 300, 20.0 * (1.0 - (300.0 - k) / 600.0)),
        (40.0, 276, 40.0 * (1.0 - (276.0 - k) / 552.0)),
        (2.1, 900, 2.0),
        (1.0, 900, 1.0),
    ] {
        let mut b = Bench::idle(config());
        b.w.cwnd = cwnd;
        b.nxt = 30;
        b.ack_then(1, 2, rtt, 0);
        close(b.w.cwnd, after);
        close(b.w.ssthresh.or_infinite(), after.max(2.0));
    }
    // At K and below it grows: slow start, then a segment a window.
    let mut b = Bench::idle(config());
    b.nxt = 30;
    b.ack_then(1, 2, k as u64, 0);
    assert_eq!(b.w.cwnd, 21.0);
    b.w.ssthresh = Threshold::at(5.0);
    b.ack_then(1, 3, 200, 0);
    close(b.w.cwnd, 21.0 + 1.0 / 21.0);
    let mut b = Bench::idle(Config { additive_only: true, ..config() });
    b.nxt = 30;
    b.ack_then(1, 2, 200, 0);
    close(b.w.cwnd, 20.05);
}

/// A1: ten ACKs of one round trip with 550 us, twice K.
#[test]
fn cut_modes() {
    for (cut, after) in [(ReductionMode::EveryAck, 2.0), (ReductionMode::EachRtt, 15.0), (ReductionMode::Capped, 10.0)] {
        let mut b = Bench::idle(Config { cut, ..config() });
        (b.l.k, b.l.min_rtt) = (275e6, Time(1).into());
        b.nxt = 21;
        for una in 2..12 {
            b.ack_then(1, una, 550, 0);
        }
        close(b.w.cwnd, after);
        // The next round trip cuts again.
        b.nxt = 40;
        b.ack_then(1, 22, 550, 0);
        close(b.w.cwnd, (after * 0.75).max(2.0));
    }
}

/// A2.
#[test]
fn threshold_modes() {
    for (mode, cut, late, tuned) in [
        (Ssthresh::All, true, true, true),
        (Ssthresh::Late, true, true, false),
        (Ssthresh::Cut, true, false, false),
        (Ssthresh::None, false, false, false),
    ] {
        let c = Config { ssthresh: mode, ..config() };
        let mut b = Bench::idle(c);
        b.nxt = 30;
        b.ack_then(1, 2, 400, 0);
        assert_eq!(!b.w.ssthresh.is_unlimited(), cut);
        let mut b = Bench::idle(c);
        b.offer(5000, 9);
        b.offer(5260, 7);
        assert_eq!((b.w.cwnd, !b.w.ssthresh.is_unlimited()), (2.0, late));
        let mut b = Bench::idle(c);
        b.offer(5000, 9);
        b.ack_then(5250, 3, 250, 7);
        assert_eq!((b.w.cwnd < 20.0, !b.w.ssthresh.is_unlimited()), (true, tuned));
    }
}

/// A13: an exchange of small packets took 180 us, the first data 240 us.
#[test]
fn seeds_of_the_minimum() {
    for (seed, min) in [
        (MinRttSource::IdleData, 200),
        (MinRttSource::Handshake, 203),
        (MinRttSource::HandshakeRaw, 180),
        (MinRttSource::FirstSample, 240),
    ] {
        let mut b = Bench::new(Config { seed, ..config() });
        let mut w = b.w;
        b.l.cwnd_event(&mut w, Event::Established { rtt: Some(US * 180) });
        assert_eq!(b.l.smooth, None, "A6: samples of data only");
        b.nxt = 1;
        b.ack(1, 1, 240);
        assert_eq!(b.l.min_rtt, (US * min).into());
    }
}

/// A11: C and B can be given.
#[test]
fn rate_and_buffer() {
    let c = Config {
        rate: Some("10Gbps".parse().unwrap()),
        buffer: Some("350KB".parse().unwrap()),
        policy: Policy::Upper,
        ..config()
    };
    close(Bench::new(c).l.k(), threshold(Policy::Upper, 10.0 * C, 200e6, 239.0, 3.0));
    // Unknown: no reductions, and probes still work.
    let mut l = Trim::new(&config());
    let mut w = Window { cwnd: 9.0, ssthresh: Threshold::at(9.0) };
    let ack = Ack { rtt: Some(US * 900), ..ACK };
    l.in_ack_event(&mut w, &ack);
    l.pkts_acked(&mut w, &ack);
    assert!(l.k().is_infinite() && w.cwnd == 9.0);
}

/// 2.4 (g) and (h), A8 to A10: waits before and after, nothing new meanwhile.
#[test]
fn asynchronous_timer() {
    let mut seen = [Time::NEVER, Time::ZERO, Time::NEVER, Time::ZERO];
    let mut b = Bench::idle(Config { ad: true, wait_after: true, ..config() });
    let mut now = 10_000;
    for _ in 0..200 {
        b.w.cwnd = 20.0;
        assert_eq!(b.offer(now, 90), 0);
        assert_eq!((b.state(), b.w.cwnd), (State::AdWait, 2.0));
        let wait = b.l.episode.due.or_never() - US * now;
        (seen[0], seen[1]) = (seen[0].min(wait), seen[1].max(wait));
        now += wait.round_up(US) / US;
        assert_eq!(b.offer(now, 90), 2, "the probes");
        now += 220;
        let una = b.nxt;
        assert_eq!(b.ack_then(now, una, 220, 88), 0);
        close(b.w.cwnd, 18.0);
        assert_eq!(b.state(), State::AsWait);
        let wait = b.l.episode.due.or_never() - US * now;
        (seen[2], seen[3]) = (seen[2].min(wait), seen[3].max(wait));
        now += wait.round_up(US) / US;
        assert_eq!(b.offer(now, 88), 18, "no gap test after the wait");
        b.una = b.nxt;
        now += 10_000;
    }
    // Uniform in [0, RTT_max] and in [0, (N - 1) W / C] with N = 220 us C / 2.
    let most = Time(((220e6 * C / 2.0 - 1.0) * 18.0 / C) as u64);
    assert!(seen[0] < US * 10 && (US * 250..=US * 260).contains(&seen[1]), "{seen:?}");
    assert!(seen[2] < most / 20 && (most / 20 * 19..=most).contains(&seen[3]), "{seen:?} {most}");
}

/// A10: the AS wait after late probes has W = 2. Nothing left to send: no wait.
#[test]
fn wait_after_late_probes() {
    let mut b = Bench::idle(Config { wait_after: true, ..config() });
    b.offer(5000, 9);
    assert_eq!((b.offer(5260, 7), b.state()), (0, State::AsWait));
    assert!(b.l.episode.due.is_due(US * 5260 + Time(((260e6 * C / 2.0 - 1.0) * 2.0 / C) as u64)));
    let mut b = Bench::idle(Config { wait_after: true, ..config() });
    b.offer(5000, 2);
    b.ack(5220, 3, 220);
    assert_eq!((b.state(), b.l.episode.due), (State::Normal, TimeOrNever::NEVER));
}

/// A20: with AD the first segment of a connection waits, for at most the handshake's RTT; it is no probe.
#[test]
fn wait_at_the_start() {
    for at_start in [true, false] {
        let mut b = Bench::new(Config { ad: true, at_start, ..config() });
        let mut w = b.w;
        b.l.cwnd_event(&mut w, Event::Established { rtt: Some(US * 180) });
        assert_eq!(b.offer(1000, 9), if at_start { 0 } else { 2 });
        if at_start {
            assert!(b.l.episode.due.is_due(US * 1180));
            assert_eq!(b.offer(1180, 9), 2);
        }
        assert_eq!((b.state(), b.w.cwnd), (State::Normal, 2.0));
    }
}

/// 2.5: a timeout and a fast retransmit discard the episode in any state; the saved window is not restored (row 3).
#[test]
fn losses_discard_episodes() {
    let waits = Config { ad: true, wait_after: true, ..config() };
    for (c, growth) in [(waits, 1), (config(), 1), (waits, 3)] {
        for event in [Event::Timeout { snd_max: 9 * 1460 }, Event::Recovery] {
            let mut b = Bench::idle(c);
            b.offer(5000, 9);
            if growth == 3 {
                b.offer(5260, 9);
                let una = b.nxt;
                b.ack_then(5480, una, 220, 7);
            }
            assert_ne!(b.state(), State::Normal);
            let mut w = b.w;
            assert_eq!(b.l.ssthresh(&w, Reduction { trigger: Trigger::Timeout, from: 12.0, in_flight: 0 }), 6.0);
            b.l.cwnd_event(&mut w, event);
            assert_eq!((b.state(), b.l.episode.due), (State::Normal, TimeOrNever::NEVER));
        }
    }
}

/// Row 19: no TRIM cut during fast recovery; after it, again.
#[test]
fn no_cut_in_recovery() {
    let mut b = Bench::idle(config());
    b.nxt = 30;
    let mut w = b.w;
    b.l.cwnd_event(&mut w, Event::Recovery);
    b.ack_then(1, 2, 900, 0);
    assert_eq!(b.w.cwnd, 20.0);
    b.l.cwnd_event(&mut w, Event::Complete);
    b.ack_then(1, 3, 900, 0);
    assert!(b.w.cwnd < 15.0);
    // A recovery that was undone has ended too.
    b.l.cwnd_event(&mut w, Event::Recovery);
    assert_eq!(b.l.undo_cwnd(&w, 30.0), 30.0);
    let before = b.w.cwnd;
    b.ack_then(1, 4, 900, 0);
    assert!(b.w.cwnd < before);
}
