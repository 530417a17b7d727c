//! Messages of several writes in a guest, packet by packet against the simulator.

use crate::packets::{both, same_packets};

/// Requests and responses on one connection, each in `writes` calls.
fn scenario(transport: &str, workload: &str) -> String {
    format!(
        r#"
duration = "400ms"
[topology]
kind = "many-to-one"
senders = 2
access     = {{ rate = "1Gbps", delay = "20us" }}
bottleneck = {{ rate = "1Gbps", delay = "20us", buffer = "100pkt" }}
[transport]
{transport}
[[workload]]
{workload}
"#
    )
}

/// The second write of a request waits for the ACK of the first (Nagle), and that ACK for the timer of the receiver. Without Nagle's algorithm each
/// write is a segment.
#[test]
fn write_write_read_waits_as_kernel() {
    for (host, nagle, two_way, writes) in [
        ("bare", true, true, 2),
        ("linux-server", true, true, 2),
        ("bare", true, false, 2),
        ("bare", false, true, 4),
        ("linux-server", false, false, 4),
    ] {
        let requests = format!(
            "kind = \"requests\"\nrequest = \"400B\"\nresponse = \"2KB\"\nthink = \"1ms\"\ntwo-way = {two_way}\nwrites = {writes}"
        );
        let transport = format!("cc = \"cubic\"\nhost = \"{host}\"\nnagle = {nagle}");
        let Some(runs) = both(&scenario(&transport, &requests)) else { return };
        println!("{host} nagle = {nagle} two-way = {two_way}: {} packets", runs[0].packets.len());
        same_packets(&runs, 0);
    }
}

/// Long messages: each call ends with PSH, and its last segment may be short.
#[test]
fn blocks_leave_as_in_kernel() {
    let incast = "kind = \"incast\"\nblock = \"100KB\"\nrounds = 4\nwrites = 7";
    for (host, more) in [("bare", ""), ("linux-server", ""), ("bare", "snd-buf = \"20KB\"")] {
        let Some(runs) = both(&scenario(&format!("cc = \"cubic\"\nhost = \"{host}\"\n{more}"), incast)) else { return };
        println!("{host} {more}: {} packets", runs[0].packets.len());
        same_packets(&runs, 0);
    }
}
