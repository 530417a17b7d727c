//! The receive window as a kernel's sender sees it (tcp_may_update_window), and what carries CWR.

use crate::scripted::sender::Script;
use crate::scripted::{config, config_with};
use forebay_sim::tcp::config::TcpConfig;
use forebay_types::param::Value;

/// A connection that is open, with a first window of ten segments and a receive window of twenty.
fn open(mut c: TcpConfig) -> Script {
    c.init_cwnd = 10;
    let mut t = Script::closed(c);
    t.window = 20_000;
    t.syn_ack();
    t
}

/// An ACK that acknowledges nothing makes no kernel's window smaller; RFC 9293 (section 3.10.7.4) takes the newest one's.
#[test]
fn windows_do_not_shrink_by_duplicates() {
    for (stack, sent) in [("linux", 10), ("rfc", 5)] {
        let mut t = open(config(stack, "newreno"));
        t.write(4);
        t.at(200).ack(4);
        t.window = 5_000;
        t.ack(4).write(10);
        assert_eq!(t.flight(), sent, "{stack}");
    }
}

/// But an ACK that closes it is a new one, and no duplicate.
#[test]
fn a_window_that_closes_is_new() {
    let mut t = open(config_with("linux", "newreno", &[("recovery", Value::Text("newreno".into()))], &[]));
    t.write(10);
    t.at(200).ack(4);
    t.window = 0;
    t.dup(4, 3);
    assert_eq!(t.s.counts(&t.c).sacked, 0);
}

/// RFC 3168 section 6.1.2: CWR travels on the first new data packet; a FIN alone is none (tcp_ecn_send).
#[test]
fn a_fin_alone_carries_no_cwr() {
    for stack in ["rfc", "linux"] {
        let mut c = config_with(stack, "newreno", &[("ecn", Value::Text("classic".into()))], &[]);
        c.init_cwnd = 10;
        let mut t = Script::new(c, 4);
        t.at(200).ece(4);
        t.sent();
        t.write_bytes(0, true);
        assert_eq!(t.sent(), "F", "{stack}");
        let mut t = Script::new(t.c, 4);
        t.at(200).ece(4);
        t.sent();
        t.write(1);
        assert_eq!(t.sent(), "4we", "{stack}");
    }
}
