//! The route metric `rto_min` of a scenario takes effect in the kernel.

use crate::guest::{experiment, kernel, run_in};
use forebay_linux::world::Linux;
use forebay_types::Time;

/// A metric of a route that is not locked means nothing to the kernel (tcp_rto_min): here what it does with it is looked at.
#[test]
fn smallest_timeout_is_the_scenarios() {
    if !kernel() {
        return;
    }
    for ms in [1, 10, 200] {
        let text = format!(
            "duration = \"30ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"4Gbps\", delay = \"20us\" }}\n\
             bottleneck = {{ rate = \"1Gbps\", delay = \"20us\", buffer = \"64pkt\" }}\n[transport]\nrto-min = \"{ms}ms\"\n\
             [[workload]]\nkind = \"long\"\n"
        );
        let mut e = experiment(&text);
        e.observe.tcp_series = [(0, Time::ZERO)].into();
        let timeouts: Vec<u64> = run_in(&Linux, &e).tcp.iter().map(|t| t.rto_ps / 1_000_000_000).collect();
        // The smoothed RTT, below 2 ms on this path, comes on top.
        let (least, most) = (ms, ms + 3);
        assert!(timeouts.len() > 100 && timeouts.iter().all(|t| (least..=most).contains(t)), "{ms} ms: {:?}", timeouts.last());
    }
}
