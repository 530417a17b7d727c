//! RFC 9438, point by point, mostly on the congestion control alone: the effect of one window of ACKs.

use crate::scripted::sender::Script;
use crate::scripted::{config, config_with};
use forebay_experiment::transport::Recovery;
use forebay_sim::cc::{Ack, Cc, Event, Reduction, Threshold, Trigger, Window};
use forebay_types::Time;
use forebay_types::param::Value;

const RTT: u64 = 100_000_000;

struct Flow {
    cc: Cc,
    w: Window,
    now: u64,
    rtt: u64,
    /// True if the application uses the window, for stacks that track it.
    used: Option<bool>,
    /// Segments that an ACK covers.
    stretch: u64,
}

impl Flow {
    /// In congestion avoidance with a window of `cwnd`, after RFC 9438.
    fn new(cwnd: f64, rtt: u64, friendly: bool) -> Flow {
        Flow::of("rfc", cwnd, rtt, friendly)
    }

    /// The same with the rules of `stack`.
    fn of(stack: &str, cwnd: f64, rtt: u64, friendly: bool) -> Flow {
        let c = config_with(stack, "cubic", &[], &[("reno-friendly", Value::Bool(friendly))]);
        Flow { cc: c.cc.start(), w: Window { cwnd, ssthresh: Threshold::at(cwnd) }, now: 0, rtt, used: None, stretch: 1 }
    }

    /// One round trip: every segment of the window acknowledged. As in the sender, one that is not used does not grow.
    fn round(&mut self) {
        let segments = self.w.cwnd as u64;
        for i in (0..segments).step_by(self.stretch as usize) {
            let now = self.now + self.rtt * i / segments;
            let bytes = 1000 * self.stretch.min(segments - i);
            let ack = Ack {
                now: Time(now),
                snd_una: 0,
                snd_nxt: 0,
                acked: bytes,
                delivered: bytes,
                segments: 0,
                lost: 0,
                absent: 0,
                ce: 0,
                window_limited: self.used,
                ece: false,
                grow: 1.0,
                rtt: None,
                newest_rtt: None,
                srtt: Time(self.rtt).into(),
                min_rtt: Time(self.rtt).into(),
                mss: 1000,
            };
            self.cc.pkts_acked(&mut self.w, &ack);
            if self.used != Some(false) {
                self.cc.cong_avoid(&mut self.w, &ack);
            }
        }
        self.now += self.rtt;
    }

    fn reduce(&mut self, trigger: Trigger) {
        self.w.ssthresh = self.cc.ssthresh(&self.w, Reduction { trigger, from: self.w.cwnd, in_flight: 0 });
        self.w.cwnd = self.w.ssthresh.or_infinite();
    }

    /// Seconds until the window is `cwnd` again.
    fn time_to(&mut self, cwnd: f64) -> f64 {
        let start = self.now;
        while self.w.cwnd < cwnd {
            self.round();
        }
        (self.now - start) as f64 * 1e-12
    }
}

/// Section 4.6: beta is 0.7, for losses and marks; losses leave 2 segments, marks 1, and the threshold stays at 2.
#[test]
fn multiplicative_decrease() {
    for (trigger, cwnd, after) in [(Trigger::Loss, 100.0, 70.0), (Trigger::Ecn, 100.0, 70.0), (Trigger::Timeout, 2.0, 2.0)] {
        let mut f = Flow::new(cwnd, RTT, true);
        f.reduce(trigger);
        assert_eq!(f.w.ssthresh.or_infinite(), after);
    }
    for (from, after) in [(100.0, 70.0), (2.0, 1.4), (1.0, 1.0)] {
        let f = Flow::new(from, RTT, true);
        assert!((f.cc.window_after_marks(from, Threshold::at(2.0)).or_infinite() - after).abs() < 1e-9, "{from}");
    }
}

/// Section 4.3: with a short RTT the window grows as AIMD(3 (1 - beta) / (1 + beta), beta) would: 9/17 a round trip; once the old
/// window is regained, one segment a round trip like Reno.
#[test]
fn reno_friendly_region() {
    // An ACK for every segment, and one for every second, which counts for one segment where the limit of RFC 5681 holds.
    for stretch in [1, 2] {
        let mut f = Flow { stretch, ..Flow::new(20.0, RTT, true) };
        f.reduce(Trigger::Loss);
        f.round();
        for _ in 0..8 {
            let before = f.w.cwnd;
            f.round();
            assert!((f.w.cwnd - before - 9.0 / 17.0).abs() < 0.05, "{} to {}", before, f.w.cwnd);
        }
        f.time_to(20.5);
        for _ in 0..8 {
            let before = f.w.cwnd;
            f.round();
            assert!((f.w.cwnd - before - 1.0).abs() < 0.06, "{} to {}", before, f.w.cwnd);
        }
    }
}

/// Section 4.2: after K = cbrt((W_max - cwnd) / C) the old window is reached, on a long path without help from the friendly region.
#[test]
fn plateau_at_the_old_window() {
    let mut f = Flow::new(500.0, 1000 * RTT, true);
    f.reduce(Trigger::Loss);
    let k = (150.0f64 / 0.4).cbrt();
    let t = f.time_to(499.99);
    assert!((t - k).abs() < 0.25, "{t} instead of {k}");
}

/// Section 4.7: a second loss below the old maximum moves the plateau to (1 + beta) / 2 of the window.
#[test]
fn fast_convergence() {
    let mut f = Flow::new(1000.0, 100 * RTT, false);
    f.reduce(Trigger::Loss);
    assert_eq!(f.w.cwnd, 700.0);
    f.reduce(Trigger::Loss);
    // The window is 490, the plateau 0.85 * 700 = 595: growth is slowest there, after cbrt(105 / 0.4) s.
    let k = (105.0f64 / 0.4).cbrt();
    let t = f.time_to(594.99);
    assert!((t - k).abs() < 0.3, "{t} instead of {k}");
}

/// Section 4.8: after a timeout the first congestion avoidance starts at its own plateau, K = 0.
#[test]
fn after_a_timeout() {
    let mut f = Flow::new(1000.0, 100 * RTT, false);
    f.reduce(Trigger::Timeout);
    f.cc.cwnd_event(&mut f.w, Event::Timeout { snd_max: 0 });
    assert_eq!(f.w.ssthresh.or_infinite(), 700.0);
    f.now = 50_000_000_000_000;
    // W_cubic = 0.4 t^3 + 700: 750 after 5 s.
    let t = f.time_to(750.0);
    assert!((t - 5.0).abs() < 0.05, "{t}");
}

/// Section 4.4: not more than half a window per round trip, however far the curve is ahead.
#[test]
fn growth_is_bounded() {
    let mut f = Flow::new(10.0, RTT, false);
    f.round();
    f.now += 1_000_000_000_000_000;
    for _ in 0..5 {
        let before = f.w.cwnd;
        f.round();
        assert!(f.w.cwnd <= before * 1.65 && f.w.cwnd > before * 1.3, "{} to {}", before, f.w.cwnd);
    }
}

/// Sections 4.2 and 5.8: time in which the application did not use the window is none of the curve's, whether segments went on leaving or
/// not: the window goes on where it stood.
#[test]
fn unused_time_is_not_the_curves() {
    for idle in [false, true] {
        let rtt = 100 * RTT;
        let (mut busy, mut paused) = (Flow::new(500.0, rtt, false), Flow::new(500.0, rtt, false));
        for f in [&mut busy, &mut paused] {
            f.reduce(Trigger::Loss);
            f.used = Some(true);
            f.round();
        }
        paused.used = Some(false);
        for i in 0..2_000 {
            paused.round();
            if idle && i % 10 == 0 {
                // A second without anything to send; what left last did so an RTT before the last ACK.
                paused.now += 1_000_000_000_000;
                let (now, idle) = (Time(paused.now), Time(1_000_000_000_000 + rtt));
                paused.cc.cwnd_event(&mut paused.w, Event::TxStart { now, idle });
            }
        }
        assert_eq!(paused.w, busy.w);
        paused.used = Some(true);
        for _ in 0..200 {
            busy.round();
            paused.round();
        }
        // 2 s after 350 segments the curve with K = 7.2 s is at 444. Up to an RTT is lost or won where use ends and begins.
        assert!((busy.w.cwnd - 444.0).abs() < 2.0, "{}", busy.w.cwnd);
        assert!((paused.w.cwnd - busy.w.cwnd).abs() < 1.0, "{} after a pause, {} without", paused.w.cwnd, busy.w.cwnd);
    }
}

/// Slow start is Reno's.
#[test]
fn slow_start() {
    let mut f = Flow::new(8.0, RTT, true);
    f.w.ssthresh = (f64::INFINITY).into();
    f.round();
    assert_eq!(f.w.cwnd, 16.0);
}

/// Section 4.6: the new threshold is beta times what is in flight, on a mark, too; Linux multiplies the window, in 1/1024.
#[test]
fn base_of_reduction_by_stack() {
    for (stack, after) in [("rfc", 35.0), ("linux", (100.0f64 * 717.0 / 1024.0).floor())] {
        for trigger in [Trigger::Loss, Trigger::Ecn] {
            let mut f = Flow::of(stack, 100.0, RTT, true);
            assert_eq!(f.cc.ssthresh(&f.w, Reduction { trigger, from: 50.0, in_flight: 0 }), after, "{stack}");
        }
    }
}

/// Section 4.9: when the congestion event was none, window and curve are as before it.
#[test]
fn a_spurious_reduction_leaves_no_trace() {
    let mut f = Flow::new(500.0, 1000 * RTT, false);
    f.reduce(Trigger::Loss);
    for _ in 0..20 {
        f.round();
    }
    let mut spurious = Flow { cc: f.cc.clone(), ..f };
    let prior = spurious.w.cwnd;
    spurious.reduce(Trigger::Loss);
    spurious.w.cwnd = spurious.cc.undo_cwnd(&spurious.w, prior);
    assert_eq!(spurious.w.cwnd, prior);
    for _ in 0..20 {
        f.round();
        spurious.round();
        assert!((f.w.cwnd - spurious.w.cwnd).abs() < 1e-9, "{} and {}", f.w.cwnd, spurious.w.cwnd);
    }
}

/// Linux: while the capacity is unknown, after HyStart or a timeout, 5 % a round trip at least; RFC 9438 has the plateau there.
#[test]
fn linux_looks_for_an_unknown_capacity() {
    for (stack, grows) in [("linux", 1.05), ("rfc", 1.0)] {
        for timeout in [false, true] {
            let mut f = Flow::of(stack, 100.0, 20 * RTT, false);
            if timeout {
                f.reduce(Trigger::Timeout);
                f.cc.cwnd_event(&mut f.w, Event::Timeout { snd_max: 0 });
                f.w.cwnd = 100.0;
                f.w.ssthresh = (100.0).into();
            }
            for _ in 0..10 {
                let before = f.w.cwnd;
                f.round();
                // The kernel's windows are whole segments.
                let whole = if stack == "linux" { 1.0 } else { 0.2 };
                assert!((f.w.cwnd - before * grows).abs() < whole, "{stack}: {before} to {}", f.w.cwnd);
            }
        }
    }
}

/// The friendly window of Linux grows by 8 / 15 a round trip also above the old one, where RFC 9438 continues with 1 (section 4.3). Growth is
/// computed again when the window has changed or 31 ms have passed.
#[test]
fn linux_friendly_region() {
    let mut f = Flow::of("linux", 20.0, 10 * RTT, true);
    f.reduce(Trigger::Loss);
    assert_eq!(f.w.cwnd, 14.0);
    f.round();
    let (start, from) = (f.now, f.w.cwnd);
    // In steps of 31 rounds, as the growth is looked at.
    while f.w.cwnd < 150.0 {
        f.round();
    }
    let rounds = (f.now - start) as f64 / (10.0 * RTT as f64);
    let slope = (f.w.cwnd - from) / rounds;
    assert!((slope - 8.0 / 15.0).abs() < 0.05, "{slope} segments a round trip");
}

/// Linux: the plateau is reached after K = cbrt((W_max - cwnd) / 0.4004), and lies at (1024 + 717) / 2048 of a window that shrinks.
#[test]
fn linux_plateau() {
    let mut f = Flow::of("linux", 1000.0, 100 * RTT, false);
    f.reduce(Trigger::Loss);
    assert_eq!(f.w.cwnd, 700.0);
    let k = (300.0f64 * 1024.0 / 410.0).cbrt();
    let t = f.time_to(998.0);
    // The curve is looked at one smallest RTT ahead, and flat at its plateau.
    assert!(t < k && t > k - 2.0, "{t} for {k}");
    let mut f = Flow::of("linux", 1000.0, 100 * RTT, false);
    f.reduce(Trigger::Loss);
    f.reduce(Trigger::Loss);
    let (plateau, window) = ((700.0f64 * 1741.0 / 2048.0).floor(), (700.0f64 * 717.0 / 1024.0).floor());
    assert_eq!(f.w.cwnd, window);
    let k = ((plateau - window) * 1024.0 / 410.0).cbrt();
    let t = f.time_to(plateau - 2.0);
    assert!(t < k && t > k - 2.0, "{t} for {k}");
}

/// Section 5.8 on a connection: messages that use less than the window leave it as it is, in slow start and beyond, on stack rfc; NewReno's grows
/// (RFC 5681 asks nothing). The first window that is used in full grows again.
#[test]
fn unused_window_does_not_grow() {
    for (cc, grows) in [("cubic", false), ("newreno", true)] {
        for threshold in [1_000.0, 10.0] {
            let mut t = Script::new(config("rfc", cc), 8);
            t.s.window_mut().ssthresh = threshold.into();
            for round in 1..30 {
                let now = t.now + 100;
                t.at(now).ack(8 * round);
                assert_eq!(t.s.flight(), 0);
                assert_eq!(t.cwnd() > 10.0, grows, "{cc}, {threshold}: {}", t.cwnd());
                t.write(8);
            }
            if !grows {
                t.write(92);
                let now = t.now + 100;
                t.at(now).ack(8 * 29 + 10);
                assert!(t.cwnd() > 10.0 && t.cwnd() <= 11.0, "{threshold}: {}", t.cwnd());
            }
        }
    }
}

/// While a timeout is repaired, what is lost uses the window.
#[test]
fn repair_after_timeout_uses_window() {
    for recovery in [Recovery::Sack, Recovery::NewReno, Recovery::Rack] {
        let mut c = config("rfc", "cubic");
        c.recovery = recovery;
        let mut t = Script::new(c, 10);
        while t.s.stats().losses.rtos == 0 {
            t.timer();
        }
        t.sent();
        let mut windows = vec![];
        for n in 1..=4 {
            let now = t.now + 100;
            windows.push((t.cwnd(), t.at(now).ack(n).sent()));
        }
        let sent = windows.iter().map(|w| w.1.as_str()).collect::<Vec<_>>();
        assert_eq!(windows.iter().map(|w| w.0).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0], "{recovery:?}");
        assert_eq!(sent, ["1r 2r", "3r 4r", "5r 6r", "7r 8r"], "{recovery:?}");
    }
}
