//! Advertised windows of a receiver with a controlled window.

use crate::scripted::receiver::Script;
use crate::scripted::sender;
use crate::scripted::{config, shim};
use forebay_sim::shim::window_shims::Window;
use forebay_sim::tcp::config::TcpConfig;
use forebay_types::Time;

fn ictcp() -> TcpConfig {
    let mut c = config("ns2", "newreno");
    c.shims = shim("ictcp", &[]).into();
    c
}

#[test]
fn starts_with_two_segments() {
    let mut r = Script::closed(ictcp());
    let syn_ack = r.syn(0);
    assert_eq!(syn_ack.win, 2_000, "never scaled");
    r.data(0).data(2).data(3);
    let scale = u32::from(syn_ack.len);
    let windows: Vec<u32> = r.packets().iter().map(|p| u32::from(p.win) << scale).collect();
    // The first ACK rounds up to the scale of the window; repeated ones have the same, or they would be no duplicates.
    assert!((2_000..2_000 + (1 << scale)).contains(&windows[0]), "{windows:?}");
    assert_eq!(windows, vec![windows[0]; 3]);
}

fn set_window(r: &mut Script, bytes: u64) {
    let Window::Ictcp(share) = r.r.window_shim().unwrap();
    share.set_window(bytes);
}

/// A window that shrinks takes nothing back: what was allowed is accepted and acknowledged.
#[test]
fn the_right_edge_stays() {
    let mut r = Script::closed(ictcp());
    let scale = u32::from(r.syn(0).len);
    let right_edge = |n: u64, r: &mut Script| n * 1_000 + (u64::from(r.packets()[0].win) << scale);
    set_window(&mut r, 8_000);
    r.data(0);
    assert_eq!(right_edge(1, &mut r) / 1_000, 9);
    set_window(&mut r, 3_000);
    let mut edges = Vec::new();
    for n in 1..9 {
        r.data(n);
        edges.push(right_edge(n + 1, &mut r) / 1_000);
    }
    assert_eq!((edges, r.r.delivered()), (vec![9, 9, 9, 9, 9, 10, 11, 12], 9_000));
}

/// A sender that starts without a handshake knows the first window too.
#[test]
fn without_a_handshake() {
    let mut c = ictcp();
    (c.handshake, c.init_cwnd) = (false, 10);
    let s = forebay_sim::tcp::sender::Sender::new(&c, crate::scripted::addresses(1).0, None);
    let mut capture = crate::scripted::Capture::default();
    let mut s = s;
    s.open(&c, Time::ZERO, &mut capture);
    s.write(&c, Time::ZERO, 10_000, None, false, &mut capture);
    assert_eq!(capture.0.len(), 2);
    // And one whose peer leaves its window alone sends all it may.
    let mut c = config("ns2", "newreno");
    c.init_cwnd = 10;
    assert_eq!(sender::Script::new(c, 20).flight(), 10);
}
