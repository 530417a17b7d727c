//! Receive offload (GRO) of the kernel: how much it merges, and when it hands a merged packet to TCP.

use crate::guest::{experiment, kernel, run_in};
use forebay_experiment::report::Report;
use forebay_linux::world::Linux;
use forebay_types::Time;

/// A path of 10 Gbps, whose receiver waits for `hold` to merge segments.
fn run(hold: &str, workload: &str) -> Report {
    let text = format!(
        "duration = \"50ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"10Gbps\", delay = \"20us\" }}\n\
         bottleneck = {{ rate = \"10Gbps\", delay = \"20us\", buffer = \"4000pkt\" }}\n[transport]\ncc = \"cubic\"\n\
         gro = \"{hold}\"\n[[workload]]\n{workload}\n"
    );
    let mut e = experiment(&text);
    e.observe.packets = true;
    run_in(&Linux, &e)
}

/// Segments of 1448 B that successive ACKs acknowledge, after the first 20 ms.
fn acknowledged(report: &Report) -> Vec<u32> {
    let from = Time::from_ms(20).0;
    let acks: Vec<u32> = report.packets.iter().filter(|p| p.back && p.time_ps > from).map(|p| p.number).collect();
    acks.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]) / 1_448).filter(|&n| n > 0).collect()
}

/// A merged packet has less than 64 KB with its headers: 45 segments of 1448 B are 65 160 B (skb_gro_receive). TCP acknowledges each at once, as it is
/// more than two segments.
#[test]
fn gro_merges_up_to_64_kb() {
    if !kernel() {
        return;
    }
    let steps = acknowledged(&run("8us", "kind = \"long\""));
    // A segment that stays alone is acknowledged with the next packet.
    assert!(steps.iter().all(|&n| n <= 46), "{steps:?}");
    assert!(steps.iter().filter(|&&n| n == 45).count() > 10, "{steps:?}");
    // Without it an ACK is sent for every second segment.
    assert!(acknowledged(&run("0s", "kind = \"long\"")).iter().all(|&n| n <= 2));
}

/// PSH ends a merged packet: the last segment of a message does not wait (tcp_gro_receive). The message takes 17 us of 10 Gbps and 40 us of delay.
#[test]
fn psh_flushes_merged_packet() {
    if !kernel() {
        return;
    }
    let report = run("500us", "kind = \"on-off\"\nsizes = \"20KB\"\ngaps = \"2ms\"\ngap-from = \"completion\"\nstart = \"1ms\"");
    let times: Vec<Time> = report.flows.iter().skip(2).filter_map(|f| f.end.get().map(|end| end - f.start)).collect();
    assert!(times.len() > 10 && times.iter().all(|&t| t < Time::from_us(150)), "{times:?}");
}
