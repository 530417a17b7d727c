//! Links of a guest that change, reorder packets or deliver them in batches: their packets are those of the simulator.

use crate::packets::{both, same_packets};
use forebay_experiment::rows::EventKind;

fn scenario(changes: &[&str]) -> String {
    let changes: String = changes.iter().map(|keys| format!("[[topology.change]]\nport = \"bottleneck\"\n{keys}\n")).collect();
    format!(
        r#"
duration = "150ms"
[topology]
kind = "many-to-one"
senders = 2
access     = {{ rate = "4Gbps", delay = "20us" }}
bottleneck = {{ rate = "1Gbps", delay = "20us", buffer = "100pkt" }}
{changes}
[transport]
cc = "cubic"
host = "bare"
[[workload]]
kind = "on-off"
sizes = "60KB"
gaps = "500us"
gap-from = "completion"
"#
    )
}

#[test]
fn changed_links_carry_packets_of_simulator() {
    let cases: [&[&str]; 4] = [
        &["at = \"50ms\"\nrate = \"200Mbps\"", "at = \"90ms\"\nrate = \"2Gbps\""],
        // Shorter delays must not reorder packets.
        &["at = \"40ms\"\ndelay = \"700us\"", "at = \"41300us\"\ndelay = \"20us\"", "at = \"90ms\"\ndelay = \"5us\""],
        &["at = \"50ms\"\nloss = \"3%\"", "at = \"90ms\"\nloss = \"0%\""],
        &["at = \"30ms\"\nrate = \"300Mbps\"\ndelay = \"90us\"\nloss = 0.01"],
    ];
    for changes in cases {
        let Some(runs) = both(&scenario(changes)) else { return };
        let events = runs.each_ref().map(|r| {
            let of = r.events.iter().filter(|e| matches!(e.kind, EventKind::LinkChange | EventKind::LinkLoss));
            of.map(|e| (e.time_ps, e.kind, e.port, e.packets)).collect::<Vec<_>>()
        });
        println!("{changes:?}: {} packets, {:?}", runs[0].packets.len(), events[0]);
        assert!(events[0].len() >= changes.len() && events[0] == events[1], "{events:?}");
        same_packets(&runs, 0);
    }
}

/// Messages of one packet, each of which is acknowledged before the next one, so that no sender answers late packets. Packets of different
/// connections overtake each other.
fn held(pairs: u32, tables: &str) -> String {
    format!(
        r#"
duration = "300ms"
[topology]
kind = "dumbbell"
left = {pairs}
access     = {{ rate = "4Gbps", delay = "20us" }}
bottleneck = {{ rate = "20Mbps", delay = "500us", buffer = "100pkt" }}
{tables}
[transport]
host = "bare"
cc = "cubic"
[[workload]]
kind = "on-off"
sizes = "1000B"
gaps = "9ms"
gap-from = "start"
"#
    )
}

#[test]
fn held_packets_arrive_as_in_simulator() {
    const LATE: &str = "[[topology.reorder]]\nport = \"bottleneck\"\np = 0.3\nby = \"3ms\"";
    const LOSS: &str = "[[topology.loss]]\nport = \"bottleneck\"\np = 0.01";
    const BATCH: &str = "[[topology.batch]]\nport = \"bottleneck\"\nevery = \"2ms\"";
    // The packets of a batch reach their hosts in the same nanosecond of a guest, so that only those of one host have an order.
    for (pairs, table) in [(8, LATE.to_owned()), (8, format!("{LATE}\n{LOSS}")), (1, BATCH.to_owned())] {
        let Some(runs) = both(&held(pairs, &table)) else { return };
        println!("{table}: {} packets", runs[0].packets.len());
        let free = both(&held(pairs, "")).map(|runs| runs[0].fingerprint);
        assert!(runs[0].packets.len() > 60 * pairs as usize && Some(runs[0].fingerprint) != free);
        same_packets(&runs, 0);
    }
}
