//! A receiver that divides its ACKs, before a kernel: its window grows by whole segments (tcp_clean_rtx_queue), so that the division gains nothing.

use crate::packets::{both, same_packets};
use forebay_experiment::report::Report;

fn scenario(shim: &str) -> String {
    format!(
        r#"
duration = "1s"
[topology]
kind = "many-to-one"
senders = 1
access     = {{ rate = "10Gbps", delay = "5ms" }}
bottleneck = {{ rate = "10Gbps", delay = "5ms", buffer = "1000pkt" }}
[transport]
stack = "linux"
host = "bare"
cc = "reno"
{shim}
[[workload]]
kind = "long"
size = "300KB"
"#
    )
}

#[test]
fn ack_division_gains_nothing() {
    let Some(plain) = both(&scenario("")) else { return };
    let Some(divided) = both(&scenario("shim = { kind = \"misbehaving-receiver\", ack-division = 8 }")) else { return };
    let acks = |r: &Report| r.packets.iter().filter(|p| p.back).count();
    let end = |r: &Report| r.flows[0].end;
    println!("{} and {} ACKs, ends {:?} and {:?}", acks(&plain[0]), acks(&divided[0]), end(&plain[0]), end(&divided[0]));
    assert!(acks(&divided[0]) > 6 * acks(&plain[0]));
    assert!(plain.iter().zip(&divided).all(|(a, b)| end(b) >= end(a)));
    same_packets(&divided, 1_000);
}
