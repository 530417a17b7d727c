//! What an acknowledgement is worth in Linux: segments, not bytes.

use forebay_checks::one;

/// 200 responses of 6 KB, each acknowledged before the next, under a law that grows though the application limits it: five segments each,
/// four full ones and a short one, so that a window of 10 ends at 1010, as the kernel's does. Counting bytes, it would be 842.
#[test]
fn window_after_small_responses() {
    const RESPONSES: &str = r#"
duration = "1s"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "1Gbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "250pkt" }
[transport]
stack = "linux"
cwnd-validation = false
slow-start-after-idle = "off"
[[workload]]
kind = "on-off"
sizes = "6KB"
gaps = "2ms"
gap-from = "start"
trains = 200
"#;
    for law in ["newreno", "reno"] {
        for recovery in ["rack", "sack", "newreno"] {
            let o = one(RESPONSES, &[&format!("transport.cc={law}"), &format!("transport.recovery={recovery}")]);
            let window = o.report.flows.iter().map(|f| f.cwnd_max).fold(0.0, f64::max);
            println!("{law}, {recovery}: {window}");
            assert_eq!((o.report.flows.len(), o.rtos()), (200, 0));
            assert!((980.0..1040.0).contains(&window), "{law}, {recovery}: {window}");
        }
    }
}
