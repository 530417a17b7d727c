//! The dialect of qvis: QUIC events of qlog 0.3. Each transmission of a segment is a packet with its own number, and an ACK names the packets whose data
//! it acknowledges for the first time, cumulatively or by SACK blocks. A retransmission declares the transmission before lost.

use super::{Log, Step, metrics, ms};
use crate::capture::flow::{FlowEvent, FlowEventKind};
use forebay_experiment::capture::TcpHeader;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The last transmission of a segment that is not acknowledged.
struct Transmission {
    number: u64,
    end: u64,
}

/// Packet numbers of the segments.
#[derive(Default)]
struct Numbers {
    /// Number of the next packet.
    next: u64,
    /// Unacknowledged segments by their first byte.
    outstanding: BTreeMap<u64, Transmission>,
    /// Packets received so far.
    received: u64,
}

pub(super) fn write(log: &Log<'_>, out: &mut impl Write) -> io::Result<()> {
    let (mut numbers, mut events) = (Numbers::default(), Vec::new());
    log.each(&mut |step| {
        match step {
            Step::Packet(e) => numbers.add(e, &mut events),
            Step::State(row, _) => events.push(event(row.time_ps, "recovery:metrics_updated", metrics(row, log.mss))),
        }
        Ok(())
    })?;
    let document = json!({
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": log.title,
        "description": format!("TCP in the form of QUIC: {}", log.details),
        "traces": [{
            "title": log.title,
            "vantage_point": {"name": "sender", "type": "client"},
            "common_fields": {"time_format": "relative", "reference_time": 0, "ODCID": "00"},
            "events": events,
        }],
    });
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

fn event(time_ps: u64, name: &str, data: Value) -> Value {
    json!({"time": ms(time_ps), "name": name, "data": data})
}

fn header(number: u64) -> Value {
    json!({"packet_type": "1RTT", "packet_number": number})
}

/// Bytes of the TCP header of an ACK. qvis leaves received packets without a length out of its picture of the receiver.
fn ack_length(t: &TcpHeader) -> usize {
    // Options are padded to multiples of 4 bytes by two NOPs each, as in Linux (tcp_options_write).
    let blocks = t.sack_blocks().count();
    20 + if t.timestamps.is_some() { 12 } else { 0 } + if blocks > 0 { 4 + 8 * blocks } else { 0 }
}

impl Numbers {
    fn add(&mut self, e: &FlowEvent, events: &mut Vec<Value>) {
        match &e.kind {
            FlowEventKind::Sent { start, end, .. } if end > start => {
                if let Some(before) = self.outstanding.get(start) {
                    events.push(event(e.time_ps, "recovery:packet_lost", json!({"header": header(before.number)})));
                }
                let number = self.next;
                self.next += 1;
                self.outstanding.insert(*start, Transmission { number, end: *end });
                let frame = json!({"frame_type": "stream", "stream_id": 0, "offset": start, "length": end - start});
                let data = json!({"header": header(number), "raw": {"length": end - start}, "frames": [frame]});
                events.push(event(e.time_ps, "transport:packet_sent", data));
            }
            FlowEventKind::Received { acked, sack, header: tcp, .. } => {
                let acknowledged = self.acknowledged(*acked, sack);
                if acknowledged.is_empty() {
                    return;
                }
                let number = self.received;
                self.received += 1;
                let frame = json!({"frame_type": "ack", "acked_ranges": ranges(&acknowledged)});
                let data = json!({"header": header(number), "raw": {"length": ack_length(tcp)}, "frames": [frame]});
                events.push(event(e.time_ps, "transport:packet_received", data));
            }
            FlowEventKind::Sent { .. } | FlowEventKind::Marked { .. } | FlowEventKind::Lost { .. } => {}
        }
    }

    /// Removes the segments below `acked` and in the blocks, and returns their packets in order.
    fn acknowledged(&mut self, acked: u64, sack: &[(u64, u64)]) -> Vec<u64> {
        let whole =
            |start: u64, t: &Transmission| t.end <= acked || sack.iter().any(|(first, end)| *first <= start && t.end <= *end);
        let found: Vec<u64> = self.outstanding.iter().filter(|(start, t)| whole(**start, t)).map(|(start, _)| *start).collect();
        let mut numbers: Vec<u64> = found.iter().filter_map(|start| self.outstanding.remove(start)).map(|t| t.number).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Runs of consecutive numbers, as first and last.
fn ranges(numbers: &[u64]) -> Vec<[u64; 2]> {
    let mut all: Vec<[u64; 2]> = Vec::new();
    for &number in numbers {
        match all.last_mut() {
            Some(last) if last[1] + 1 == number => last[1] = number,
            _ => all.push([number, number]),
        }
    }
    all
}
