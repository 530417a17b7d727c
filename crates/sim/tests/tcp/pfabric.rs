//! pFabric's rate control on the wire: ranks, no fast retransmission, the fixed timeout, and probes.

use crate::scripted::sender::Script;
use crate::scripted::{config, receiver};
use forebay_sim::net::packet::flag;
use forebay_sim::tcp::config::TcpConfig;
use forebay_types::Time;

fn pfabric(window: u32) -> TcpConfig {
    let mut c = config("ns2", "pfabric");
    (c.init_cwnd, c.rto_min) = (window, Time::from_us(1_000));
    c
}

#[test]
fn ranks_are_remaining_flow_sizes() {
    let mut t = Script::new(pfabric(4), 6);
    assert_eq!(t.sent(), "0#6 1#6 2#6 3#6");
    t.ack(1);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("4#5 5#5", 5.0));
}

#[test]
fn no_fast_retransmission() {
    let mut t = Script::new(pfabric(8), 20);
    t.sent();
    for n in 2..=8 {
        t.sack(0, &[(1, n)]);
    }
    assert_eq!((t.s.stats().losses.fast_retx, t.cwnd(), t.ssthresh()), (0, 8.0, f64::INFINITY));
    // New segments have replaced the SACKed ones in the pipe.
    assert_eq!(t.sent(), "8#19 9#18 10#17 11#16 12#15 13#14 14#13");
    // The timeout repairs the hole alone, as the rest is SACKed or goes behind it.
    assert_eq!(t.timer(), 1_000);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("0r#13", 1.0));
}

/// After five consecutive timeouts one header-only packet per RTO, until an ACK.
#[test]
fn probes_after_five_timeouts() {
    let mut t = Script::new(pfabric(8), 8);
    t.sent();
    for _ in 0..4 {
        assert_eq!(t.timer(), 1_000, "no back-off");
        assert_eq!((t.sent().as_str(), t.cwnd()), ("0r#8", 1.0));
    }
    for _ in 0..10 {
        assert_eq!(t.timer(), 1_000);
        assert_eq!(t.sent(), "P");
    }
    assert_eq!(t.s.stats().losses.rtos, 5, "probes are no timeouts");
    // The answer acknowledges nothing new.
    t.ack(0);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("0r#8", 1.0));
    t.ack(1);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("1r#7 2r#7", 2.0));
    // The count starts again.
    t.timer();
    assert!(t.sent().starts_with("1r"));
}

/// An ACK that advances ends it as well, without sending anything twice.
#[test]
fn progress_ends_probing() {
    let mut t = Script::new(pfabric(4), 4);
    for _ in 0..6 {
        t.timer();
    }
    t.sent();
    t.ack(2);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("2r#2 3r#2", 2.0));
    t.ack(4);
    assert!(t.s.all_acked() && t.s.timer_due().is_never());
}

/// The same on a stack without SACK, where the number of timeouts is another.
#[test]
fn probing_without_sack() {
    let mut c = config("ns2", "newreno");
    (c.init_cwnd, c.probe_after, c.rto_min) = (4, 2, Time::from_us(1_000));
    let mut t = Script::new(c, 4);
    t.sent();
    assert_eq!(t.timer(), 1_000);
    assert_eq!(t.sent(), "0r");
    assert_eq!(t.timer(), 2_000, "backed off");
    assert_eq!(t.timer(), 4_000);
    assert_eq!(t.sent(), "P P");
    t.ack(0);
    assert_eq!((t.sent().as_str(), t.s.stats().losses.rtos), ("0r", 2));
    t.ack(1);
    assert_eq!(t.sent(), "1r 2r");
}

#[test]
fn receivers_answer_probes() {
    let mut r = receiver::Script::new(config("ns2", "newreno"));
    r.data(0).data(2);
    r.acks();
    r.bytes(1_000, 0, flag::PROBE, false);
    assert_eq!(r.acks(), "1");
    // The ACK of a handshake asks for nothing.
    r.bytes(0, 0, 0, false);
    assert_eq!(r.acks(), "");
}
