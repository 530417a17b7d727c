//! Receive offload (GRO) of the kernel: how much it merges, and when it passes segments to TCP.

use crate::guest::{experiment, kernel, run_in};
use forebay_experiment::report::Report;
use forebay_linux::world::Linux;
use forebay_types::Time;

/// A path of 10 Gbps, whose hosts take frames `delay` after the first one.
fn run(delay: &str, workload: &str) -> Report {
    let text = format!(
        "duration = \"50ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"10Gbps\", delay = \"20us\" }}\n\
         bottleneck = {{ rate = \"10Gbps\", delay = \"20us\", buffer = \"4000pkt\" }}\n[transport]\ncc = \"cubic\"\n\
         gro = \"{delay}\"\n[[workload]]\n{workload}\n"
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

/// The frames of an interrupt are acknowledged together: 50 us are 42 frames, fewer than the 45 that a merged packet holds (skb_gro_receive).
#[test]
fn frames_of_interrupt_share_ack() {
    if !kernel() {
        return;
    }
    let steps = acknowledged(&run("50us", "kind = \"long\""));
    assert!(steps.iter().all(|&n| n <= 43), "{steps:?}");
    assert!(steps.iter().filter(|&&n| n >= 41).count() > 10, "{steps:?}");
    // Without it an ACK is sent for every second segment.
    assert!(acknowledged(&run("0s", "kind = \"long\"")).iter().all(|&n| n <= 2));
}

/// Interrupt moderation counts from the first frame that the card holds: frames that arrive later do not postpone it. A message takes 17 us of
/// 10 Gbps, 40 us of delay and the time to the interrupt, once for each window.
#[test]
fn interrupt_follows_first_frame() {
    if !kernel() {
        return;
    }
    let report = run("500us", "kind = \"on-off\"\nsizes = \"20KB\"\ngaps = \"2ms\"\ngap-from = \"completion\"\nstart = \"1ms\"");
    let times: Vec<Time> = report.flows.iter().skip(2).filter_map(|f| f.end.get().map(|end| end - f.start)).collect();
    let (least, most) = (Time::from_us(540), Time::from_us(600));
    assert!(times.len() > 5 && times.iter().all(|&t| t > least && t < most), "{times:?}");
}
