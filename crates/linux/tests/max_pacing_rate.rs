//! SO_MAX_PACING_RATE in a guest, packet by packet against the simulator.

use crate::packets::{both, same_packets};

/// Two flows with a maximum rate on a link of 1 Gbps.
fn scenario(transport: &str, host_queue: &str, rate: &str) -> String {
    format!(
        r#"
duration = "60ms"
[topology]
kind = "many-to-one"
senders = 2
access     = {{ rate = "4Gbps", delay = "20us" }}
bottleneck = {{ rate = "1Gbps", delay = "20us", buffer = "100pkt" }}
host-queue = "{host_queue}"
[transport]
{transport}
max-pacing-rate = "{rate}"
[[workload]]
kind = "long"
stagger = "100us"
"#
    )
}

/// Timers of TCP itself pace a bare host, and a server without `fq`. At 600 Mbps each both flows lose packets; HyStart allows for pacing, and the window
/// of BBR for bursts at the maximum rate.
#[test]
fn tcp_paces_as_kernel() {
    for (cc, host, rate) in [
        ("cubic", "bare", "200Mbps"),
        ("cubic", "bare", "600Mbps"),
        ("newreno", "linux-server", "200Mbps"),
        ("cubic", "linux-server", "2Mbps"),
        ("bbr", "bare", "200Mbps"),
    ] {
        let transport = format!("cc = \"{cc}\"\nhost = \"{host}\"");
        let Some(runs) = both(&scenario(&transport, "drop-tail", rate)) else { return };
        println!("{cc} {host} {rate}: {} packets", runs[0].packets.len());
        same_packets(&runs, 0);
    }
}

/// The queue `fq` holds packets until their departures.
#[test]
fn fq_paces_as_kernel() {
    let Some(runs) = both(&scenario("cc = \"cubic\"\nhost = \"linux-server\"", "fq", "200Mbps")) else { return };
    same_packets(&runs, 0);
}
