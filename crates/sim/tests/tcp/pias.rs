//! PIAS on the wire: demotion by bytes sent, and urgent control packets.

use crate::scripted::sender::Script;
use crate::scripted::{Capture, addresses, config, receiver, shim};
use forebay_sim::net::packet::flag;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::Sender;
use forebay_types::Time;
use forebay_types::param::Value;

fn pias(window: u32, per: &str) -> TcpConfig {
    let mut c = config("ns2", "dctcp");
    c.init_cwnd = window;
    let demote = Value::Names(vec!["2KB".into(), "4KB".into()]);
    c.shims = shim("pias", &[("demotion-thresholds", demote), ("per", Value::Text(per.into()))]).into();
    c
}

#[test]
fn demoted_as_the_message_is_sent() {
    let mut t = Script::new(pias(20, "message"), 6);
    assert_eq!(t.sent(), "0e^7 1e^7 2e^6 3e^6 4e^5 5e^5");
    // Each message starts again.
    t.write(3);
    assert_eq!(t.sent(), "6e^7 7e^7 8e^6");
    let mut t = Script::new(pias(20, "connection"), 6);
    t.sent();
    t.write(3);
    assert_eq!(t.sent(), "6e^5 7e^5 8e^5");
}

#[test]
fn retransmissions_carry_the_class_of_now() {
    let mut t = Script::new(pias(3, "message"), 6);
    assert_eq!(t.sent(), "0e^7 1e^7 2e^6");
    t.timer();
    assert_eq!(t.sent(), "0rwe^6");
    t.ack(3);
    assert_eq!(t.sent(), "3e^6 4e^5");
}

#[test]
fn control_packets_are_urgent() {
    let class_of_syn = |c: &TcpConfig| {
        let (mut capture, forward) = (Capture::default(), addresses(1).0);
        Sender::new(c, forward, None).open(c, Time::ZERO, &mut capture);
        capture.0[0].0.class()
    };
    let class_of_acks = |c: TcpConfig| {
        let mut r = receiver::Script::closed(c);
        let mut classes = vec![r.syn(flag::ECE | flag::CWR).class()];
        r.data(0).data(2);
        classes.extend(r.packets().iter().map(|p| p.class()));
        classes
    };
    let mut prin = config("ns2", "newreno");
    prin.shims = shim("prin", &[]).into();
    for (c, class) in [(pias(2, "message"), 7), (config("ns2", "pfabric"), 7), (config("ns2", "dctcp"), 0), (prin, 0)] {
        assert_eq!(class_of_syn(&c), class);
        assert_eq!(class_of_acks(c), vec![class; 3]);
    }
}
