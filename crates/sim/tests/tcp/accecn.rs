//! Accurate ECN (RFC 9768), packet by packet: negotiation, fallback, the ACE field and the AccECN option.

use crate::scripted::sender::Script;
use crate::scripted::{config, receiver};
use forebay_experiment::transport::Ecn;
use forebay_sim::net::packet::{Codepoint, flag};
use forebay_sim::tcp::config::TcpConfig;

fn accurate(stack: &str, cc: &str, ecn: Ecn, window: u32) -> TcpConfig {
    let mut c = config(stack, cc);
    (c.ecn, c.init_cwnd) = (ecn, window);
    c
}

/// Section 3.1.1: the SYN has AE, CWR and ECE. Section 3.1.4.1: the first retransmission too, the next one none of them.
#[test]
fn syn_requests_accurate_ecn() {
    for stack in ["ns2", "rfc", "linux"] {
        let c = accurate(stack, "newreno", Ecn::Accurate, 4);
        assert_eq!(Script::syn_ace(&c), 0b111, "{stack}");
        let mut t = Script::closed(c);
        let mut requests = Vec::new();
        for _ in 0..2 {
            t.timer();
            requests.push(t.repeated_syn & (flag::ECE | flag::CWR) != 0);
        }
        assert_eq!(requests, [true, false], "{stack}");
    }
}

/// Table 2: the SYN-ACK decides. Data has ECT only with ECN, and ECT(1) only with accurate feedback (RFC 9331 section 4.2).
#[test]
fn syn_ack_decides_the_codepoint() {
    for (flags, ace, accurate_ecn, l4s) in [
        (0, 0b010, "0e 1e", "0l 1l"),
        (0, 0b011, "0e 1e", "0l 1l"),
        (0, 0b100, "0e 1e", "0l 1l"),
        (0, 0b110, "0e 1e", "0l 1l"),
        // Reserved: as Accurate ECN (section 3.1.3).
        (0, 0b101, "0e 1e", "0l 1l"),
        // A peer with classic ECN, one without ECN, and one that reflects the flags.
        (flag::ECE, 0, "0e 1e", "0e 1e"),
        (0, 0, "0 1", "0 1"),
        (0, 0b111, "0 1", "0 1"),
    ] {
        for (ecn, expected) in [(Ecn::Accurate, accurate_ecn), (Ecn::L4s, l4s)] {
            let mut t = Script::closed(accurate("rfc", "newreno", ecn, 2));
            t.syn_ack_with_ace(flags, ace);
            t.write(100);
            assert_eq!(t.sent(), expected, "{ecn:?}, {ace:03b}");
        }
    }
}

/// Section 3.1.5: reductions are not reported by CWR. Each ACK reports new marks once, and the window falls once per window of data.
#[test]
fn marks_reduce_without_cwr() {
    let mut t = Script::closed(accurate("ns2", "newreno", Ecn::Accurate, 8));
    t.syn_ack_with_ace(0, 0b010);
    t.write(100);
    t.sent();
    t.counted(1, 6, None);
    assert_eq!((t.cwnd(), t.ssthresh()), (4.0, 4.0));
    // The same count: no further mark. A higher one in the same window does not reduce again.
    t.counted(2, 6, None).counted(3, 7, None).counted(4, 7, None).counted(5, 7, None);
    assert_eq!(t.sent(), "8e");
    assert_eq!(t.s.stats().losses.ecn_reductions, 1);
    t.counted(9, 7, None);
    assert_eq!((t.s.stats().losses.ecn_reductions, t.ssthresh()), (1, 4.0));
    // The counter wraps.
    t.counted(10, 0, None);
    assert_eq!(t.s.stats().losses.ecn_reductions, 2);
}

/// A peer with classic ECN: ECE until CWR, as RFC 3168 demands after the fallback (section 3.1.2).
#[test]
fn classic_peer_gets_cwr() {
    let mut t = Script::closed(accurate("ns2", "newreno", Ecn::L4s, 8));
    t.syn_ack_with(flag::ECE);
    t.write(100);
    assert_eq!(t.sent(), "0e 1e 2e 3e 4e 5e 6e 7e");
    t.ece(1);
    assert_eq!(t.cwnd(), 4.0);
    for n in 2..=5 {
        t.ece(n);
    }
    assert_eq!(t.sent(), "8we");
}

/// Section 3.2.2.5.2: an ACK of ten packets after lost ACKs may hide a cycle of the counter. Without the option the ten count as marked, with it the
/// two that the counter shows.
#[test]
fn dctcp_counts_the_safest_case() {
    for (option, marked) in [(None, 10.0), (Some(2000), 2.0)] {
        let mut c = config_with_gain("ns2", 0.5);
        (c.ecn, c.init_cwnd) = (Ecn::Accurate, 12);
        let mut t = Script::closed(c);
        t.syn_ack_with_ace(0, 0b010);
        t.write(100);
        // The ACK of the first packet ends the first observation window without a mark.
        t.counted(1, 5, Some(0));
        assert_eq!(t.s.cc().alpha(), Some(0.5));
        t.counted(11, 7, option);
        t.counted(14, 7, option);
        let alpha = t.s.cc().alpha().unwrap();
        assert!((alpha - (0.25 + 0.5 * marked / 13.0)).abs() < 1e-9, "{option:?}: {alpha}");
    }
}

fn config_with_gain(stack: &str, g: f64) -> TcpConfig {
    use forebay_types::param::Value;
    crate::scripted::config_with(stack, "dctcp", &[], &[("g", Value::Float(g))])
}

fn receiver_of(stack: &str, ecn: Ecn) -> receiver::Script {
    receiver::Script::closed(accurate(stack, "newreno", ecn, 4))
}

/// Table 2, first block: the SYN-ACK has the ECN field of the SYN. Third block: a SYN with ECE and CWR alone gets classic ECN, one without flags none.
/// Section 3.1.3: other combinations are requests too.
#[test]
fn syn_ack_reflects_the_syn() {
    let both = flag::ECE | flag::CWR;
    for (ecn, ace) in [(Codepoint::NotEct, 0b010), (Codepoint::Ect1, 0b011), (Codepoint::Ect0, 0b100), (Codepoint::Ce, 0b110)] {
        let p = receiver_of("rfc", Ecn::Accurate).syn_with(both, 0b111, ecn);
        assert_eq!((p.ace(), p.has(flag::ECE)), (ace, false), "{ecn:?}");
    }
    assert_eq!(receiver_of("rfc", Ecn::Accurate).syn_with(0, 0b100, Codepoint::NotEct).ace(), 0b010);
    for (flags, ece) in [(both, true), (0, false)] {
        let p = receiver_of("rfc", Ecn::Accurate).syn_with(flags, 0, Codepoint::NotEct);
        assert_eq!((p.ace(), p.has(flag::ECE)), (0, ece));
    }
    // A server with classic ECN takes the SYN for a request of it.
    let p = receiver_of("rfc", Ecn::Classic).syn_with(both, 0b111, Codepoint::NotEct);
    assert_eq!((p.ace(), p.has(flag::ECE)), (0, true));
}

/// Section 3.1.5: the mode of the first SYN stays.
#[test]
fn repeated_syn_keeps_the_mode() {
    let mut t = receiver_of("linux", Ecn::Accurate);
    t.syn_with(flag::ECE | flag::CWR, 0b111, Codepoint::NotEct);
    assert_eq!(t.syn_with(0, 0, Codepoint::NotEct).ace(), 0b010);
}

/// Section 3.2.1: the counter begins at 5, the byte counter at 0. Section 3.2.2.5.1: the first mark after other packets is acknowledged at once, then
/// every second one.
#[test]
fn receiver_counts_marks() {
    let mut t = receiver_of("rfc", Ecn::Accurate);
    t.c.ack_every = 100;
    t.syn_with(flag::ECE | flag::CWR, 0b111, Codepoint::NotEct);
    t.data(0).data(1);
    assert_eq!(t.acks(), "");
    t.ce(2);
    assert_eq!(t.acks(), "3a6+1000");
    t.ce(3);
    assert_eq!(t.acks(), "");
    t.ce(4);
    assert_eq!(t.acks(), "5+3000", "the counter has wrapped to 0");
    t.data(5);
    assert_eq!(t.acks(), "");
    t.ce(6);
    assert_eq!(t.acks(), "7a1+4000");
}

/// SACK blocks leave no space for the option. The counter is there.
#[test]
fn option_yields_to_sack_blocks() {
    let mut t = receiver_of("rfc", Ecn::Accurate);
    t.syn_with(flag::ECE | flag::CWR, 0b111, Codepoint::NotEct);
    t.ce(1);
    assert_eq!(t.acks(), "0[1-2]a6");
}

/// Section 3.2.2.5.1: what the host has merged is one event. All packets of it count.
#[test]
fn merged_segments_count_each() {
    let mut c = accurate("linux", "newreno", Ecn::Accurate, 10);
    c.gro = config("linux", "newreno").gro;
    let mut t = receiver::Script::closed(c);
    t.syn_with(flag::ECE | flag::CWR, 0b111, Codepoint::NotEct);
    t.merge();
    for n in 0..4 {
        t.ce(n);
    }
    t.flush();
    assert_eq!(t.acks(), "4a1+4000");
}
