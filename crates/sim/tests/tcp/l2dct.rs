//! L2DCT (Munir et al., INFOCOM 2013; constants of the TRIM specification, 4): how a connection's reaction changes with what it has sent.

use crate::scripted::config_with;
use crate::scripted::sender::Script;
use forebay_sim::tcp::config::TcpConfig;
use forebay_types::param::Value;

const LIGHT: f64 = 2.5;
const HEAVY: f64 = 0.125;

/// A window of ten segments, and an estimate of the marked fraction that begins at a quarter.
fn l2dct() -> TcpConfig {
    let mut c = config_with("ns2", "l2dct", &[], &[("alpha", Value::Float(0.25))]);
    c.init_cwnd = 10;
    c
}

/// A connection in congestion avoidance that has sent at least `bytes`, without a mark or a loss; the next segment to acknowledge.
fn after(bytes: u64) -> (Script, u64) {
    let mut t = Script::new(l2dct(), 5000);
    t.s.window_mut().ssthresh = (10.0).into();
    let mut next = 0;
    while t.s.snd_max() < bytes {
        next += 1;
        t.ack(next);
    }
    t.sent();
    (t, next)
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} is not {b}");
}

/// The cut is alpha^w / 2: with a quarter of the packets marked 1.6 % for a connection that has sent little, and 42 % for one that has
/// sent 1 MB, where DCTCP cuts both by 12.5 %.
#[test]
fn reduction_grows_with_bytes_sent() {
    for (bytes, weight) in [(10_000, LIGHT), (190_000, LIGHT), (1_000_000, HEAVY), (3_000_000, HEAVY)] {
        let (mut t, next) = after(bytes);
        let before = t.cwnd();
        t.ece(next + 1);
        let alpha = t.s.cc().alpha().unwrap();
        close(t.cwnd(), before * (1.0 - alpha.powf(weight) / 2.0));
        close(t.ssthresh(), t.cwnd());
        // One cut a window of data, however many marks follow.
        let cut = t.cwnd();
        t.ece(next + 2).ece(next + 3);
        assert!(t.cwnd() <= cut + 1.0 && t.s.stats().losses.ecn_reductions == 1, "{} after {cut}", t.cwnd());
    }
}

/// Between 200 KB and 1 MB the weight falls evenly: at 600 KB it is 1.3125. Growth follows it: k / cwnd for each ACK, k = w / w_max.
#[test]
fn growth_falls_with_the_bytes_sent() {
    for (bytes, k) in [(10_000, 1.0), (150_000, 1.0), (1_000_000, 0.05), (2_000_000, 0.05)] {
        let (mut t, next) = after(bytes);
        let before = t.cwnd();
        t.ack(next + 1);
        close(t.cwnd(), before + k / before);
    }
    let (mut t, next) = after(600_000);
    let (before, sent) = (t.cwnd(), t.s.snd_max() as f64);
    t.ack(next + 1);
    let weight = LIGHT - (LIGHT - HEAVY) * (sent - 2e5) / 8e5;
    close(t.cwnd(), before + weight / LIGHT / before);
    assert!((1.2..1.32).contains(&weight), "{weight}");
}

/// A loss is answered as by TCP, whatever was sent; and a timeout, which sends old data again, does not make the connection light.
#[test]
fn losses_are_not_weighted() {
    for bytes in [10_000, 1_500_000] {
        let (mut t, next) = after(bytes);
        let before = t.cwnd();
        t.dup(next, 3);
        let half = t.ssthresh() / before;
        assert!((0.45..0.56).contains(&half), "{bytes}: {half}");
    }
    let (mut t, next) = after(1_500_000);
    while t.s.stats().losses.rtos == 0 {
        t.timer();
    }
    t.settle();
    t.s.window_mut().ssthresh = (t.cwnd()).into();
    let (before, next) = (t.cwnd(), next.max(t.s.snd_una() / 1000));
    t.ack(next + 1);
    close(t.cwnd(), before + 0.05 / before);
}
