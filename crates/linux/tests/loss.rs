//! Loss of links in a guest: the packets that the simulator loses, and no others.

use crate::packets::{both, same_packets};
use forebay_experiment::report::Report;
use forebay_experiment::rows::{EventKind, TcpRow};

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
    for loss in [
        "0.02",
        "\"1%\"",
        "{ p = 0.02, burst = 3.0 }",
        "{ p = 0.2, from = \"20ms\", until = \"30ms\" }",
        "{ drop = [{ connection = 0, packets = [5, 6, 300] }, { connection = 1, packets = [9] }] }",
        "{ drop = { connection = 1, packets = [2, 4] }, from = \"40ms\" }",
    ] {
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

/// Losses in one round trip need two runs: the first one has the times of the round trip, and both are equal up to its first packet.
#[test]
fn losses_in_one_round_trip() {
    let text = |loss: &str| {
        let observe = "[observe]\ntcp = { flows = [0], every = \"ack\" }\n";
        scenario(loss, "cc = \"newreno\"\nhost = \"bare\"") + observe
    };
    let Some(before) = both(&text("{ p = 1.0, from = \"149ms\" }")) else { return };
    let rows: Vec<TcpRow> = before[1].tcp.iter().filter(|r| r.conn_id == 0).collect();
    // A round ends when all data in flight at its start is acknowledged.
    let sent = |r: &TcpRow| r.bytes_acked + r.unacked_bytes;
    let (mut end, mut starts) = (sent(&rows[0]), Vec::new());
    for row in &rows {
        if row.bytes_acked >= end {
            end = sent(row);
            starts.push(row.time_ps);
        }
    }
    let [from, until] = [starts[8], starts[9]];
    // A packet takes 20 us and its own transmission to the queue of the link.
    let at = |time_ps: u64| time_ps / 1_000 + 20_000;
    let Some(after) = both(&text(&format!("{{ p = 1.0, from = \"{}ns\", until = \"{}ns\" }}", at(from), at(until)))) else {
        return;
    };
    for (before, after) in before.iter().zip(&after) {
        let early = |r: &Report| r.tcp.iter().filter(|row| row.time_ps < from).collect::<Vec<_>>();
        assert_eq!(early(before), early(after));
        let lost: Vec<_> = after.events.iter().filter(|e| e.kind == EventKind::LinkLoss).map(|e| e.packets).collect();
        println!("round from {from} to {until} ps: lost {lost:?}");
        assert!(lost.iter().flatten().sum::<u64>() > 0, "{lost:?}");
    }
    same_packets(&after, 0);
}
