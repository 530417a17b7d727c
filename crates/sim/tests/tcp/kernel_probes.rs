//! Tail loss probes of stack linux: what they do to the window.

use crate::scripted::sender::Script;
use crate::scripted::{config, config_with};
use forebay_types::param::Value;

/// tcp_process_tlp_ack reduces by the threshold of the congestion control. DCTCP counts a loss where a recovery begins (dctcp_state): it reduces by
/// alpha.
#[test]
fn repaired_tail_reduces_by_alpha() {
    let mut c = config("linux", "dctcp");
    c.init_cwnd = 10;
    let mut t = Script::new(c, 3);
    // Two windows without marks.
    t.at(200).ack(3);
    t.write(3);
    t.at(300).ack(6);
    t.write(3);
    t.sent();
    t.at(20_000);
    assert_eq!(t.sent(), "8re");
    t.write(1);
    let cwnd = t.cwnd();
    t.ack(10);
    let alpha = t.s.cc().alpha().unwrap();
    assert!(alpha < 0.9, "{alpha}");
    // dctcp_ssthresh: in whole segments, cwnd - ((cwnd * alpha) >> 11) with alpha in 1/1024.
    assert_eq!(t.ssthresh(), cwnd - (cwnd * alpha / 2.0).floor());
}

/// tcp_write_xmit, also when it sends a probe: the window is in use that the probe fills, as long as that is not acknowledged (tcp_cwnd_validate).
#[test]
fn probe_with_new_data_uses_window() {
    // In real numbers each ACK that grows the window shows.
    let mut c = config_with("linux", "newreno", &[], &[("arithmetic", Value::Text("paper".into()))]);
    c.init_cwnd = 10;
    let mut t = Script::new(c, 10);
    t.at(200).sack(0, &[(1, 4)]);
    t.at(300).ack(10);
    let window = t.cwnd() as u64;
    t.write(window + 1);
    let end = 10 + window;
    assert_eq!(t.s.snd_max(), end * 1000);
    t.at(20_000);
    assert_eq!(t.s.snd_max(), (end + 1) * 1000, "the probe");
    t.ack(end).write(1);
    let before = t.cwnd();
    t.settle();
    assert!(t.cwnd() > before, "{before}");
}
