//! Loss of links in a guest: the packets that the simulator loses, and no others.

use crate::packets::{both, same_packets};
use forebay_experiment::rows::EventKind;

fn scenario(loss: &str, transport: &str) -> String {
    format!(
        r#"
duration = "150ms"
[topology]
kind = "many-to-one"
senders = 2
access     = {{ rate = "4Gbps", delay = "20us" }}
bottleneck = {{ rate = "1Gbps", delay = "20us", buffer = "100pkt", loss = {loss} }}
[transport]
{transport}
[[workload]]
kind = "on-off"
sizes = "60KB"
gaps = "500us"
gap-from = "completion"
"#
    )
}

#[test]
fn links_lose_packets_of_simulator() {
    for loss in ["0.02", "\"1%\"", "{ p = 0.02, burst = 3.0 }"] {
        for transport in ["cc = \"cubic\"\nhost = \"bare\"", "cc = \"newreno\"\nhost = \"bare\"\nrecovery = \"newreno\""] {
            let Some(runs) = both(&scenario(loss, transport)) else { return };
            let lost = runs.each_ref().map(|r| {
                let of = r.events.iter().filter(|e| e.kind == EventKind::LinkLoss);
                of.map(|e| (e.port, e.packets)).collect::<Vec<_>>()
            });
            println!("{loss}, {transport}: {} packets, lost {lost:?}", runs[0].packets.len());
            assert!(!lost[0].is_empty() && lost[0] == lost[1], "{lost:?}");
            same_packets(&runs, 0);
        }
    }
}
