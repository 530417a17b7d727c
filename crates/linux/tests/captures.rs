//! Captures of a guest and of the simulator: the same packets at the same interfaces, and what differs in their headers.

use crate::{guest, packets};
use forebay_experiment::capture::{CapturedPacket, PacketEvent, SynOptions, TcpHeader, tcp_flag};
use forebay_linux::world::Linux;
use std::collections::BTreeMap;

/// Two senders whose packets take whole nanoseconds on every link, so that both backends agree to the nanosecond.
fn scenario(cc: &str, queue: &str, more: &str) -> String {
    format!(
        "duration = \"30ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = {{ rate = \"1Gbps\", delay = \"20us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"20us\", {queue} }}\n[transport]\nstack = \"linux\"\nhost = \"bare\"\ncc = \"{cc}\"\n\
         [[workload]]\nkind = \"long\"\nsize = \"300KB\"\n{more}[observe]\ncapture = [\"s0\", \"recv\", \"bottleneck\"]\n"
    )
}

/// Captured packets of both backends; `None` where there is no kernel.
fn both(text: &str) -> Option<[Vec<CapturedPacket>; 2]> {
    Some(packets::reports(&guest::experiment(text))?.map(|report| report.captured.to_vec()))
}

/// Fields of a packet that both backends share: its place, its fate, and its headers with sequence numbers relative to the first of each direction.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    time_ns: u64,
    place: (u32, bool, PacketEvent),
    conn: (u64, bool),
    payload: u16,
    ecn: u8,
    flags: u8,
    seq: u32,
    ack: u32,
    syn: SynOptions,
    has_timestamps: bool,
    sack: Vec<(u32, u32)>,
}

/// The shared fields of packets, in order.
fn shared(packets: &[CapturedPacket]) -> Vec<Seen> {
    let mut first: BTreeMap<(u64, bool), u32> = BTreeMap::new();
    let mut relative = |p: &CapturedPacket, t: &TcpHeader| {
        let own = *first.entry((p.conn_id, p.back)).or_insert(t.seq);
        let other = first.get(&(p.conn_id, !p.back)).copied();
        let ack = if t.has(tcp_flag::ACK) { t.ack.wrapping_sub(other.unwrap_or(t.ack)) } else { 0 };
        let of_other = |n: u32| n.wrapping_sub(other.unwrap_or(n));
        (t.seq.wrapping_sub(own), ack, t.sack_blocks().map(|(a, b)| (of_other(a), of_other(b))).collect())
    };
    let seen = |p: &CapturedPacket| {
        let t = p.tcp.expect("all packets have TCP headers");
        let (seq, ack, sack) = relative(p, &t);
        Seen {
            time_ns: p.time_ps / 1_000,
            place: (p.interface, p.inbound, p.event),
            conn: (p.conn_id, p.back),
            payload: p.payload,
            ecn: p.ecn,
            flags: t.flags,
            seq,
            ack,
            syn: t.syn,
            has_timestamps: t.timestamps.is_some(),
            sack,
        }
    };
    packets.iter().map(seen).collect()
}

/// Compares the packets of both backends one by one, and returns their number.
fn compare(text: &str) -> Option<usize> {
    let [linux, sim] = both(text)?;
    let [ours, theirs] = [shared(&linux), shared(&sim)];
    for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(a, b, "packet {i}: Linux first");
    }
    assert_eq!(ours.len(), theirs.len());
    Some(ours.len())
}

#[test]
fn captures_equal_simulator() {
    let step = "buffer = \"100pkt\", queue = { kind = \"dctcp-step\", k = \"10pkt\" }";
    for (cc, queue) in [("cubic", "buffer = \"200pkt\""), ("dctcp", step), ("cubic", "buffer = \"20pkt\"")] {
        let Some(packets) = compare(&scenario(cc, queue, "")) else { return };
        assert!(packets > 1_000, "{packets}");
    }
}

/// Values that the simulator does not have, or draws otherwise.
#[test]
fn clocks_and_windows_differ() {
    let Some([linux, sim]) = both(&scenario("cubic", "buffer = \"200pkt\"", "")) else { return };
    let header = |p: &CapturedPacket| p.tcp.expect("a TCP header");
    let data = |p: &&CapturedPacket| p.payload > 0;
    let [a, b] = [&linux, &sim].map(|all| header(all.iter().find(data).expect("data")));
    // The kernel begins numbers and the clock of timestamps at random values; hosts that only send have a real window.
    assert_ne!((a.seq, a.timestamps), (b.seq, b.timestamps));
    assert!(a.window < b.window, "{} {}", a.window, b.window);
    // Both count the same milliseconds.
    let elapsed = |all: &[CapturedPacket]| {
        let stamps: Vec<u32> =
            all.iter().filter(data).filter(|p| p.conn_id == 0).filter_map(|p| Some(header(p).timestamps?.0)).collect();
        stamps.last().zip(stamps.first()).map(|(last, first)| last.wrapping_sub(*first))
    };
    assert_eq!(elapsed(&linux), elapsed(&sim));
}

#[test]
fn capture_changes_no_guest() {
    if !guest::kernel() {
        return;
    }
    let e = guest::experiment(&scenario("cubic", "buffer = \"20pkt\"", ""));
    let mut without = e.clone();
    without.observe.capture = Default::default();
    let [with, without] = [&e, &without].map(|e| guest::run_in(&Linux, e));
    assert_eq!((with.fingerprint, &with.flows, &with.ports), (without.fingerprint, &without.flows, &without.ports));
    assert!(!with.captured.is_empty() && without.captured.is_empty());
}
