//! Capture of packets from the records of the guest (`Observe::capture`).
//!
//! The guest reports the headers of each packet before its first event. A packet is captured at a port when its next event is known: only then is it clear
//! whether the link behind the port has lost it.

use crate::headers::Headers;
use crate::protocol::{Header, Leave, Packet, reason, what};
use forebay_experiment::Experiment;
use forebay_experiment::capture::{Capture, CapturedPacket, PacketEvent, PortInterfaces};
use forebay_experiment::series::Series;
use forebay_types::NodeId;
use std::collections::BTreeMap;

/// The ECN field of a packet that was marked (RFC 3168 section 5).
const CE: u8 = 3;

/// The connection of a packet, and its direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    /// Number of the connection in the capture.
    pub conn_id: u64,
    /// Number of the direction of data in the tables.
    pub own: u64,
    /// True if the packet travels to the host that has opened the connection.
    pub to_opener: bool,
    /// Host that has sent the packet, and host that it travels to.
    pub hosts: (NodeId, NodeId),
}

/// A packet at the captured port that it has joined last.
#[derive(Debug, Clone, Copy)]
struct Hop {
    port: u32,
    entered: u64,
    left: Option<u64>,
    ends: Ends,
    ecn: u8,
    class: u8,
    marked: bool,
}

/// A packet in the network.
#[derive(Debug)]
struct InFlight {
    headers: Headers,
    hop: Option<Hop>,
}

/// Captured packets of a run.
#[derive(Debug)]
pub(crate) struct Captures {
    capture: Capture,
    ports: BTreeMap<u32, PortInterfaces>,
    /// By the number of the guest.
    packets: BTreeMap<u64, InFlight>,
    rows: Series<CapturedPacket>,
}

impl Captures {
    /// Creates the capture that the experiment requests.
    pub(crate) fn new(experiment: &Experiment) -> Option<Captures> {
        let capture = experiment.observe.capture.clone();
        if capture.is_off() {
            return None;
        }
        let ports = capture.ports(&experiment.network).into_iter().map(|(id, at)| (id.get(), at)).collect();
        Some(Captures { capture, ports, packets: BTreeMap::new(), rows: Series::default() })
    }

    /// A host sends a packet with these headers next. The testbed repeats the headers of a packet that its host drops.
    pub(crate) fn header(&mut self, h: &Header) {
        if let Some(headers) = Headers::decode(&h.bytes) {
            self.packets.entry(h.id).or_insert(InFlight { headers, hop: None });
        }
    }

    /// Event of a packet.
    pub(crate) fn packet(&mut self, p: &Packet, ends: Ends) {
        if !self.capture.includes(ends.conn_id) && !self.capture.includes(ends.own) {
            self.packets.remove(&p.id);
            return;
        }
        let Some(packet) = self.packets.get_mut(&p.id) else { return };
        let hop = Hop {
            port: p.port,
            entered: p.time,
            left: None,
            ends,
            ecn: p.ecn,
            class: p.class_of_service,
            marked: p.what == what::MARKED,
        };
        let headers = packet.headers;
        match p.what {
            what::MARKED_LATER => {
                if let Some(hop) = &mut packet.hop {
                    hop.marked = true;
                }
            }
            what::ARRIVED | what::MARKED => {
                let before = std::mem::replace(&mut packet.hop, self.ports.contains_key(&p.port).then_some(hop));
                self.pass(&headers, before, PacketEvent::Passed);
            }
            what::DELIVERED => {
                let before = self.forget(p.id);
                self.pass(&headers, before, PacketEvent::Passed);
                let interfaces = self.ports.get(&p.port).map_or_else(Vec::new, |at| at.incoming.clone());
                self.add(&interfaces, (p.time, true, PacketEvent::Passed), &headers, &hop);
            }
            what::DROPPED => {
                let before = self.forget(p.id);
                match dropped(p.reason) {
                    PacketEvent::LostOnLink => self.pass(&headers, before, PacketEvent::LostOnLink),
                    event => {
                        self.pass(&headers, before.filter(|b| b.port != p.port), PacketEvent::Passed);
                        let at = self.ports.get(&p.port).cloned().unwrap_or_default();
                        self.add(&[at.outgoing, at.sending].concat(), (p.time, false, event), &headers, &hop);
                    }
                }
            }
            _ => {}
        }
    }

    /// A packet has left a port.
    pub(crate) fn leave(&mut self, r: &Leave) {
        let hop = self.packets.get_mut(&r.id).and_then(|p| p.hop.as_mut());
        if let Some(hop) = hop.filter(|hop| hop.port == r.port) {
            hop.left = Some(r.time);
        }
    }

    /// The rows, in order.
    pub(crate) fn rows(mut self) -> Series<CapturedPacket> {
        for packet in std::mem::take(&mut self.packets).into_values() {
            self.pass(&packet.headers, packet.hop, PacketEvent::Passed);
        }
        self.rows.sort();
        self.rows
    }

    fn forget(&mut self, id: u64) -> Option<Hop> {
        self.packets.remove(&id).and_then(|p| p.hop)
    }

    /// Captures a packet that has left a port, and `event` on the link behind it.
    fn pass(&mut self, headers: &Headers, hop: Option<Hop>, event: PacketEvent) {
        let Some((hop, left)) = hop.and_then(|hop| Some((hop, hop.left?))) else { return };
        let event = if hop.marked && event == PacketEvent::Passed { PacketEvent::Marked } else { event };
        let at = self.ports.get(&hop.port).cloned().unwrap_or_default();
        self.add(&at.outgoing, (left, false, event), headers, &hop);
        self.add(&at.sending, (hop.entered, false, event), headers, &hop);
    }

    fn add(&mut self, interfaces: &[u32], (time_ps, inbound, event): (u64, bool, PacketEvent), headers: &Headers, hop: &Hop) {
        let (src, dst) = hop.ends.hosts;
        if !self.capture.has(event) {
            return;
        }
        for &interface in interfaces {
            self.rows.push(CapturedPacket {
                time_ps,
                interface,
                inbound,
                event,
                conn_id: hop.ends.conn_id,
                back: hop.ends.to_opener,
                src,
                dst,
                payload: headers.payload,
                ip_id: headers.ip_id,
                ecn: if hop.marked { CE } else { hop.ecn },
                class: hop.class,
                tcp: headers.tcp,
            });
        }
    }
}

/// Fate of a packet that was dropped for this reason.
fn dropped(why: u8) -> PacketEvent {
    match why {
        reason::OVERFLOW => PacketEvent::DroppedFull,
        reason::SHARED => PacketEvent::DroppedShared,
        reason::DEAD | reason::CUT => PacketEvent::DroppedDown,
        reason::LOST | reason::DAMAGED => PacketEvent::LostOnLink,
        _ => PacketEvent::DroppedEarly,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{data, experiment};
    use forebay_experiment::capture::{CapturePlace, CapturePoint, IpVersion, TcpHeader, tcp_flag};
    use forebay_store::capture::Frame;
    use forebay_types::PortId;

    /// A capture at the first sender, at the bottleneck, and at the receiver.
    fn captures() -> Captures {
        let mut e = experiment(1);
        let points = [CapturePlace::Host(NodeId::new(0)), CapturePlace::Port(PortId::new(0)), CapturePlace::Host(NodeId::new(1))];
        e.observe.capture.points = points.map(|at| CapturePoint { name: "here".into(), at }).into();
        Captures::new(&e).expect("a capture")
    }

    fn ends() -> Ends {
        Ends { conn_id: 7, own: 7, to_opener: false, hosts: (NodeId::new(0), NodeId::new(1)) }
    }

    /// Headers of a segment of 1000 bytes with this number.
    fn header(id: u64, seq: u32) -> Header {
        let tcp = TcpHeader { seq, flags: tcp_flag::ACK, timestamps: Some((1, 2)), ..TcpHeader::default() };
        let p = CapturedPacket {
            time_ps: 0,
            interface: 0,
            inbound: false,
            event: PacketEvent::Passed,
            conn_id: 7,
            back: false,
            src: NodeId::new(0),
            dst: NodeId::new(1),
            payload: 1_000,
            ip_id: 9,
            ecn: 2,
            class: 0,
            tcp: Some(tcp),
        };
        let mut frame = Frame::default();
        frame.encode(&p, (IpVersion::V4, 96)).expect("a packet that fits");
        let mut bytes = [0; crate::protocol::HEADER];
        let ip = &frame.bytes()[14..];
        bytes[..ip.len().min(crate::protocol::HEADER)].copy_from_slice(&ip[..ip.len().min(crate::protocol::HEADER)]);
        Header { id, bytes }
    }

    fn at(id: u64, port: u32, time: u64, event: u8) -> Packet {
        Packet { id, port, what: event, ecn: 2, ..data(5, 1_000, time) }
    }

    /// Interface, time, direction and event of each row.
    fn seen(c: Captures) -> Vec<(u32, u64, bool, PacketEvent)> {
        c.rows().iter().map(|p| (p.interface, p.time_ps, p.inbound, p.event)).collect()
    }

    #[test]
    fn packet_passes_all_interfaces() {
        let mut c = captures();
        c.header(&header(3, 5));
        c.packet(&at(3, 2, 10, what::ARRIVED), ends());
        c.leave(&Leave { time: 20, id: 3, port: 2, wire: 1_040 });
        c.packet(&at(3, 0, 30, what::MARKED), ends());
        c.leave(&Leave { time: 40, id: 3, port: 0, wire: 1_040 });
        c.packet(&Packet { ecn: CE, ..at(3, 0, 50, what::DELIVERED) }, ends());
        let rows = c.rows().to_vec();
        let fields: Vec<_> = rows.iter().map(|p| (p.interface, p.time_ps, p.inbound, p.event, p.ecn)).collect();
        let expected = [
            (0, 10, false, PacketEvent::Passed, 2),
            (1, 40, false, PacketEvent::Marked, CE),
            (2, 50, true, PacketEvent::Passed, CE),
        ];
        assert_eq!(fields, expected);
        assert!(rows.iter().all(|p| p.payload == 1_000 && p.ip_id == 9 && p.tcp.is_some_and(|t| t.timestamps == Some((1, 2)))));
    }

    #[test]
    fn lost_packets_have_their_reason() {
        let mut c = captures();
        for id in 1..=3 {
            c.header(&header(id, 5));
            c.packet(&at(id, 2, id, what::ARRIVED), ends());
            c.leave(&Leave { time: 10 + id, id, port: 2, wire: 1_040 });
        }
        c.packet(&Packet { reason: reason::DAMAGED, ..at(1, 2, 20, what::DROPPED) }, ends());
        c.packet(&Packet { reason: reason::OVERFLOW, ..at(2, 0, 21, what::DROPPED) }, ends());
        // The third waits, and is pushed out.
        c.packet(&at(3, 0, 22, what::ARRIVED), ends());
        c.packet(&Packet { reason: reason::EARLY, ..at(3, 0, 23, what::DROPPED) }, ends());
        let expected = [
            (0, 1, false, PacketEvent::LostOnLink),
            (0, 2, false, PacketEvent::Passed),
            (0, 3, false, PacketEvent::Passed),
            (1, 21, false, PacketEvent::DroppedFull),
            (1, 23, false, PacketEvent::DroppedEarly),
        ];
        assert_eq!(seen(c), expected);
    }

    #[test]
    fn other_connections_are_left_out() {
        let mut c = captures();
        c.capture.connections = Some(vec![8]);
        c.header(&header(3, 5));
        c.packet(&at(3, 2, 10, what::ARRIVED), ends());
        assert!(c.packets.is_empty() && seen(c).is_empty());
    }
}
