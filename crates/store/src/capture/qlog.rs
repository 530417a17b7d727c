//! qlog of a flow (draft-ietf-quic-qlog-main-schema), from the view of its sender.
//!
//! The main schema has no events for TCP. Their names are in the name space `tcp`, under a URI of this project; fields that QUIC has too have the names
//! of draft-ietf-quic-qlog-quic-events. The dialect of qvis is that of QUIC in qlog 0.3, which qvis reads: segments are packets with numbers.

mod qvis;

use crate::capture::flow::{FlowEvent, FlowEventKind, FlowTrace};
use forebay_experiment::capture::{TcpHeader, tcp_flag};
use forebay_experiment::rows::TcpRow;
use serde_json::{Value, json};
use std::io::{self, Write};

/// URI of the events about TCP.
const TCP_SCHEMA: &str = "https://forebay.github.io/forebay/112026/tcp";
/// URI of the events about simulations (draft-ietf-quic-qlog-main-schema section 9).
const SIMULATION_SCHEMA: &str = "urn:ietf:params:qlog:events:simulation";
/// States of loss recovery by their number in Linux.
const STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];
/// Record separator of a JSON text sequence (RFC 7464).
const RECORD: u8 = 0x1e;

/// Form of a qlog file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// A JSON text sequence of the current main schema, one record an event.
    #[default]
    Sequential,
    /// One JSON document in the form of QUIC in qlog 0.3, for qvis.
    Qvis,
}

impl Dialect {
    /// Extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Dialect::Sequential => "sqlog",
            Dialect::Qvis => "qlog",
        }
    }
}

/// Contents of a qlog.
#[derive(Debug)]
pub struct Log<'a> {
    /// Title.
    pub title: String,
    /// Scenario, variant, seed and fingerprint, as the details of the simulation.
    pub details: Value,
    /// Packets.
    pub flow: &'a FlowTrace,
    /// States of the sender, in order of time.
    pub states: &'a [TcpRow],
    /// Maximum segment size, bytes.
    pub mss: u32,
    /// Names of the interfaces of the capture.
    pub interfaces: &'a [String],
}

impl Log<'_> {
    /// Writes the log in a dialect.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, dialect: Dialect, out: &mut impl Write) -> io::Result<()> {
        match dialect {
            Dialect::Sequential => self.write_sequence(out),
            Dialect::Qvis => qvis::write(self, out),
        }
    }

    fn write_sequence(&self, out: &mut impl Write) -> io::Result<()> {
        let mut record = |value: Value| -> io::Result<()> {
            out.write_all(&[RECORD])?;
            serde_json::to_writer(&mut *out, &value)?;
            out.write_all(b"\n")
        };
        record(json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": self.title,
            "trace": {
                "vantage_point": {"name": "sender", "type": "client"},
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
                },
                "event_schemas": [TCP_SCHEMA, SIMULATION_SCHEMA],
            },
        }))?;
        record(json!({"time": 0.0, "name": "simulation:scenario", "data": {"name": self.title, "details": self.details}}))?;
        self.each(&mut |step| match step {
            Step::Packet(e) => record(event(e.time_ps, self.packet(e))),
            Step::State(row, before) => {
                if before.is_none_or(|b| b.ca_state != row.ca_state) {
                    let mut data = json!({"new": state(row)});
                    if let Some(old) = before {
                        data["old"] = json!(state(old));
                    }
                    record(event(row.time_ps, ("tcp:congestion_state_updated", data)))?;
                }
                record(event(row.time_ps, ("tcp:metrics_updated", metrics(row, self.mss))))
            }
        })
    }

    /// Calls `f` with the packets and the states, merged by time.
    fn each(&self, f: &mut dyn FnMut(Step<'_>) -> io::Result<()>) -> io::Result<()> {
        let mut states = self.states.iter().peekable();
        let mut before: Option<&TcpRow> = None;
        for e in self.flow.events() {
            while let Some(row) = states.next_if(|row| row.time_ps < e.time_ps) {
                f(Step::State(row, before))?;
                before = Some(row);
            }
            f(Step::Packet(e))?;
        }
        for row in states {
            f(Step::State(row, before))?;
            before = Some(row);
        }
        Ok(())
    }

    /// Name and data of an event of a packet.
    fn packet(&self, e: &FlowEvent) -> (&'static str, Value) {
        let place = |interface: &u32| self.interfaces.get(*interface as usize).map_or("?", String::as_str);
        match &e.kind {
            FlowEventKind::Sent { start, end, again, header } => {
                let mut data = json!({"header": fields(header), "offset": start, "raw": {"payload_length": end - start}});
                if *again {
                    data["is_retransmission"] = json!(true);
                }
                ("tcp:packet_sent", data)
            }
            FlowEventKind::Received { acked, edge, sack, duplicate, header } => {
                let data = json!({
                    "header": fields(header), "acknowledged": acked, "window_edge": edge, "sack_blocks": sack, "is_duplicate": duplicate,
                });
                ("tcp:packet_received", data)
            }
            FlowEventKind::Marked { start, interface } => {
                let data =
                    json!({"type": "packet_marked", "message": format!("marked at {}", place(interface)), "offset": start});
                ("simulation:marker", data)
            }
            FlowEventKind::Lost { start, end, interface, event } => {
                let why = event.comment().unwrap_or_default();
                let message = format!("{why}, at {}", place(interface));
                ("simulation:marker", json!({"type": "packet_lost", "message": message, "offset": start, "length": end - start}))
            }
        }
    }
}

/// An item of a log.
enum Step<'a> {
    Packet(&'a FlowEvent),
    /// A state, and the one before.
    State(&'a TcpRow, Option<&'a TcpRow>),
}

/// A time in ms.
fn ms(ps: u64) -> f64 {
    ps as f64 / 1e9
}

fn event(time_ps: u64, (name, data): (&str, Value)) -> Value {
    json!({"time": ms(time_ps), "name": name, "data": data})
}

fn state(row: &TcpRow) -> &'static str {
    STATES.get(usize::from(row.ca_state)).copied().unwrap_or("unknown")
}

/// Fields of `quic:recovery_metrics_updated`.
fn metrics(row: &TcpRow, mss: u32) -> Value {
    let bytes = |segments: f64| (segments * f64::from(mss)).round() as u64;
    let mut data = json!({
        "congestion_window": bytes(row.cwnd), "bytes_in_flight": row.unacked_bytes, "retransmission_timeout": ms(row.rto_ps),
    });
    if let Some(rtt) = row.srtt_ps {
        data["smoothed_rtt"] = json!(ms(rtt));
    }
    if let Some(threshold) = row.ssthresh {
        data["ssthresh"] = json!(bytes(threshold));
    }
    if let Some(alpha) = row.alpha {
        data["alpha"] = json!(alpha);
    }
    data
}

/// A TCP header.
fn fields(t: &TcpHeader) -> Value {
    let names = [
        (tcp_flag::SYN, "SYN"),
        (tcp_flag::FIN, "FIN"),
        (tcp_flag::PSH, "PSH"),
        (tcp_flag::ACK, "ACK"),
        (tcp_flag::ECE, "ECE"),
        (tcp_flag::AE, "AE"),
        (tcp_flag::CWR, "CWR"),
    ];
    let flags: Vec<&str> = names.iter().filter(|(flag, _)| t.has(*flag)).map(|(_, name)| *name).collect();
    json!({"sequence_number": t.seq, "acknowledgement_number": t.ack, "flags": flags, "window": t.window})
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_experiment::capture::{CapturedPacket, PacketEvent};
    use forebay_types::NodeId;

    /// Three segments; the second is lost, and sent again after a SACK of the third.
    fn flow() -> FlowTrace {
        let mut flow = FlowTrace::new(NodeId::new(0), 0);
        let packet = |time_ps, own: bool, payload, tcp| CapturedPacket {
            time_ps,
            interface: 0,
            inbound: !own,
            event: PacketEvent::Passed,
            conn_id: 0,
            back: !own,
            src: NodeId::new(u32::from(!own)),
            dst: NodeId::new(u32::from(own)),
            payload,
            ip_id: 1,
            ecn: 0,
            class: 0,
            tcp: Some(tcp),
        };
        let data = |seq| TcpHeader { seq, flags: tcp_flag::ACK, ..TcpHeader::default() };
        let ack = |ack, sack| TcpHeader {
            ack,
            sack: [sack, (0, 0), (0, 0), (0, 0)],
            flags: tcp_flag::ACK,
            window: 9,
            ..TcpHeader::default()
        };
        flow.add(&packet(1_000_000_000, true, 10, data(100)));
        flow.add(&packet(1_100_000_000, true, 10, data(110)));
        flow.add(&CapturedPacket { interface: 1, event: PacketEvent::DroppedFull, ..packet(1_150_000_000, true, 10, data(110)) });
        flow.add(&packet(1_200_000_000, true, 10, data(120)));
        flow.add(&packet(2_000_000_000, false, 0, ack(110, (0, 0))));
        flow.add(&packet(2_100_000_000, false, 0, ack(110, (120, 130))));
        flow.add(&packet(2_200_000_000, true, 10, data(110)));
        flow.add(&packet(3_000_000_000, false, 0, ack(130, (0, 0))));
        flow
    }

    fn written(dialect: Dialect) -> Vec<u8> {
        let flow = flow();
        let states = [
            TcpRow { time_ps: 2_050_000_000, cwnd: 2.0, ..row() },
            TcpRow { time_ps: 2_150_000_000, cwnd: 1.0, ca_state: 3, srtt_ps: Some(1_000_000_000), ..row() },
        ];
        let names = ["s0".to_owned(), "sw->recv".to_owned()];
        let log = Log {
            title: "flow 0".into(),
            details: json!({"seed": 1}),
            flow: &flow,
            states: &states,
            mss: 10,
            interfaces: &names,
        };
        let mut out = Vec::new();
        log.write(dialect, &mut out).expect("memory");
        out
    }

    fn row() -> TcpRow {
        TcpRow {
            time_ps: 0,
            conn_id: 0,
            cwnd: 0.0,
            ssthresh: None,
            unacked_bytes: 20,
            srtt_ps: None,
            rto_ps: 200_000_000_000,
            alpha: None,
            bytes_acked: 0,
            retrans: 0,
            ca_state: 0,
            cc: Default::default(),
        }
    }

    #[test]
    fn sequence_has_one_record_per_event() {
        let bytes = written(Dialect::Sequential);
        let records: Vec<Value> = bytes
            .split(|b| *b == RECORD)
            .skip(1)
            .map(|r| {
                assert_eq!(r.last(), Some(&b'\n'));
                serde_json::from_slice(r).expect("JSON")
            })
            .collect();
        assert_eq!(records[0]["file_schema"], "urn:ietf:params:qlog:file:sequential");
        let named = |name: &str| records.iter().filter(|r| r["name"] == name).collect::<Vec<_>>();
        assert_eq!(named("tcp:packet_sent").len(), 4);
        assert_eq!(named("tcp:packet_received").len(), 3);
        assert_eq!(named("tcp:packet_sent")[3]["data"]["is_retransmission"], true);
        assert_eq!(named("tcp:packet_received")[1]["data"]["sack_blocks"], json!([[20, 30]]));
        assert_eq!(named("simulation:marker")[0]["data"]["message"], "dropped: buffer full, at sw->recv");
        let states: Vec<_> = named("tcp:congestion_state_updated").iter().map(|r| r["data"]["new"].clone()).collect();
        assert_eq!(states, ["open", "recovery"]);
        assert_eq!(named("tcp:metrics_updated")[1]["data"]["smoothed_rtt"], 1.0);
        let times: Vec<f64> = records[1..].iter().map(|r| r["time"].as_f64().expect("a time")).collect();
        assert!(times.is_sorted(), "{times:?}");
    }

    #[test]
    fn qvis_numbers_each_transmission() {
        let log: Value = serde_json::from_slice(&written(Dialect::Qvis)).expect("JSON");
        assert_eq!(log["qlog_version"], "0.3");
        let events = log["traces"][0]["events"].as_array().expect("events");
        let named = |name: &str| events.iter().filter(|e| e["name"] == name).collect::<Vec<_>>();
        let numbers: Vec<_> =
            named("transport:packet_sent").iter().map(|e| e["data"]["header"]["packet_number"].clone()).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        let acked: Vec<_> =
            named("transport:packet_received").iter().map(|e| e["data"]["frames"][0]["acked_ranges"].clone()).collect();
        // The lost second transmission is never acknowledged, its retransmission is.
        assert_eq!(acked, [json!([[0, 0]]), json!([[2, 2]]), json!([[3, 3]])]);
        let lengths: Vec<_> = named("transport:packet_received").iter().map(|e| e["data"]["raw"]["length"].clone()).collect();
        assert_eq!(lengths, [20, 32, 20]);
        assert_eq!(named("recovery:packet_lost")[0]["data"]["header"]["packet_number"], 1);
        assert_eq!(named("recovery:metrics_updated").len(), 2);
    }
}
