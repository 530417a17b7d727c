//! Retransmissions that take the segments behind them along (Linux tcp_retrans_try_collapse, `net.ipv4.tcp_retrans_collapse`).

use crate::scripted::config_of_text;
use crate::scripted::sender::Script;

/// Writes messages of these lengths, the last one with the FIN if `closes` is set, and returns the first retransmission of the first one.
fn retransmission(stack: &str, lengths: &[u64], closes: bool) -> String {
    let mut t = Script::new(config_of_text(stack, "newreno", "nagle=false", ""), 0);
    for (i, bytes) in lengths.iter().enumerate() {
        t.write_bytes(*bytes, closes && i + 1 == lengths.len());
    }
    t.sent();
    // A tail loss probe repeats the last segment before the timeout.
    for _ in 0..3 {
        t.timer();
        let sent = t.sent();
        if let Some(first) = sent.split(' ').find(|token| token.starts_with('0') && token.contains('r')) {
            return first.to_owned();
        }
    }
    panic!("no retransmission of {lengths:?}");
}

/// Segments behind the first one are joined with it if all of them fit into one segment of 1000 bytes. The FIN takes no space in it.
#[test]
fn short_segments_leave_in_one() {
    assert_eq!(retransmission("linux", &[300, 400], false), "0(700)r");
    assert_eq!(retransmission("linux", &[300, 400], true), "0(700)Fr");
    assert_eq!(retransmission("linux", &[300, 200, 499], false), "0(999)r");
    assert_eq!(retransmission("linux", &[300, 700], false), "0r");
}

/// Segments that do not fit stay apart, and the first one is full already in the last case.
#[test]
fn long_segments_stay_apart() {
    assert_eq!(retransmission("linux", &[300, 701], false), "0(300)r");
    assert_eq!(retransmission("linux", &[300, 500, 500], false), "0(300)r");
    assert_eq!(retransmission("linux", &[300, 500, 500], true), "0(300)r");
    assert_eq!(retransmission("linux", &[1000, 10], false), "0r");
}

/// RFC 9293 leaves the packets of a retransmission to the sender (section 3.7.4); the profile `rfc` repeats segments as they were.
#[test]
fn rfc_repeats_segments() {
    assert_eq!(retransmission("rfc", &[300, 400], false), "0(300)r");
}
