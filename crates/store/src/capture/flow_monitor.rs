//! Statistics of flows as the XML file of ns-3's FlowMonitor. As there, a flow is one direction of a connection: data and ACKs of a connection are two flows.

use crate::capture::addresses::{Endpoints, host};
use crate::capture::frame::Frame;
use forebay_experiment::capture::{CapturePlace, CapturedPacket, IpVersion, PacketEvent};
use forebay_types::NodeId;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Write};

/// Bytes of an Ethernet header, which FlowMonitor does not count.
const ETHERNET: u32 = 14;

/// Reasons of drops that FlowMonitor numbers from 0 (`Ipv4FlowProbe::DropReason`), up to the last one that occurs here.
const REASONS: usize = 6;

/// Number of the reason for which a packet was dropped: a bad checksum, a full queue, a queue discipline, or an interface that is down.
fn reason(event: PacketEvent) -> Option<usize> {
    match event {
        PacketEvent::Passed | PacketEvent::Marked => None,
        PacketEvent::LostOnLink => Some(2),
        PacketEvent::DroppedFull | PacketEvent::DroppedShared => Some(3),
        PacketEvent::DroppedEarly => Some(4),
        PacketEvent::DroppedDown => Some(5),
    }
}

/// Packets and their bytes, IP headers included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// First and last of some times, ps.
#[derive(Debug, Clone, Copy)]
struct Range {
    first: u64,
    last: u64,
}

impl Range {
    fn extend(range: &mut Option<Range>, time: u64) {
        range.get_or_insert(Range { first: time, last: time }).last = time;
    }
}

/// Delays of the received packets of a flow, ps.
#[derive(Debug, Clone, Copy)]
struct Delays {
    sum: u128,
    /// Sum of the differences between consecutive packets.
    jitter_sum: u128,
    last: u64,
    max: u64,
    min: u64,
}

impl Delays {
    fn add(delays: &mut Option<Delays>, delay: u64) {
        let d = delays.get_or_insert(Delays { sum: 0, jitter_sum: 0, last: delay, max: delay, min: delay });
        d.sum += u128::from(delay);
        d.jitter_sum += u128::from(delay.abs_diff(d.last));
        (d.last, d.max, d.min) = (delay, d.max.max(delay), d.min.min(delay));
    }
}

/// One direction of a connection.
#[derive(Debug)]
struct Flow {
    conn_id: u64,
    back: bool,
    hosts: (NodeId, NodeId),
    datagrams: bool,
    sent: Count,
    received: Count,
    tx: Option<Range>,
    rx: Option<Range>,
    delays: Option<Delays>,
    /// Packets that switches have forwarded, one for each switch.
    forwarded: u64,
    dropped: [Count; REASONS],
    /// Packets of each class of service.
    classes: BTreeMap<u8, u64>,
}

impl Flow {
    fn new(p: &CapturedPacket) -> Flow {
        Flow {
            conn_id: p.conn_id,
            back: p.back,
            hosts: (p.src, p.dst),
            datagrams: p.tcp.is_none(),
            sent: Count::default(),
            received: Count::default(),
            tx: None,
            rx: None,
            delays: None,
            forwarded: 0,
            dropped: [Count::default(); REASONS],
            classes: BTreeMap::new(),
        }
    }
}

/// Fields of a packet that stay the same on its path: flow, IP identification, sequence and acknowledgment number.
type Key = (usize, u16, u32, u32);

/// A packet that has left its host.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    sent_ps: u64,
    bytes: u32,
}

/// Statistics of all flows of a run. They need the packets of all hosts, and those of the ports of switches.
#[derive(Debug)]
pub struct FlowMonitor {
    version: IpVersion,
    places: Vec<CapturePlace>,
    /// In the order of their first packets.
    flows: Vec<Flow>,
    numbers: HashMap<(u64, bool), usize>,
    in_flight: HashMap<Key, VecDeque<InFlight>>,
    frame: Frame,
}

impl FlowMonitor {
    /// Creates the statistics of a capture with interfaces at these places, with addresses of this version of IP.
    pub fn new(places: Vec<CapturePlace>, version: IpVersion) -> FlowMonitor {
        let (flows, numbers, in_flight) = Default::default();
        FlowMonitor { version, places, flows, numbers, in_flight, frame: Frame::default() }
    }

    /// Adds a packet. Packets come in order of time.
    ///
    /// # Errors
    /// A packet that is too long for IP.
    pub fn add(&mut self, p: &CapturedPacket) -> io::Result<()> {
        let number = *self.numbers.entry((p.conn_id, p.back)).or_insert_with(|| {
            self.flows.push(Flow::new(p));
            self.flows.len() - 1
        });
        let (seq, ack) = p.tcp.map_or((0, 0), |t| (t.seq, t.ack));
        let key: Key = (number, p.ip_id, seq, ack);
        match self.places.get(p.interface as usize) {
            Some(CapturePlace::Host(node)) if p.inbound && *node == p.dst => self.received(key, p),
            Some(CapturePlace::Host(node)) if !p.inbound && *node == p.src => {
                self.frame.encode(p, (self.version, 0))?;
                let bytes = self.frame.length().saturating_sub(ETHERNET);
                let flow = &mut self.flows[number];
                flow.sent.add(bytes);
                Range::extend(&mut flow.tx, p.time_ps);
                *flow.classes.entry(p.class).or_default() += 1;
                self.in_flight.entry(key).or_default().push_back(InFlight { sent_ps: p.time_ps, bytes });
                self.dropped(key, p.event);
            }
            Some(CapturePlace::Port(_)) => {
                self.flows[number].forwarded += 1;
                self.dropped(key, p.event);
            }
            _ => {}
        }
        Ok(())
    }

    /// Removes the packet that has waited longest among those with this key: packets with equal keys keep their order.
    fn take(&mut self, key: Key) -> Option<InFlight> {
        let waiting = self.in_flight.get_mut(&key)?;
        let first = waiting.pop_front();
        if waiting.is_empty() {
            self.in_flight.remove(&key);
        }
        first
    }

    fn received(&mut self, key: Key, p: &CapturedPacket) {
        let Some(sent) = self.take(key) else { return };
        let flow = &mut self.flows[key.0];
        flow.received.add(sent.bytes);
        Range::extend(&mut flow.rx, p.time_ps);
        Delays::add(&mut flow.delays, p.time_ps.saturating_sub(sent.sent_ps));
    }

    fn dropped(&mut self, key: Key, event: PacketEvent) {
        let Some(reason) = reason(event) else { return };
        if let Some(sent) = self.take(key) {
            self.flows[key.0].dropped[reason].add(sent.bytes);
        }
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Number of packets that were neither received nor dropped.
    pub fn in_flight(&self) -> usize {
        self.in_flight.values().map(VecDeque::len).sum()
    }

    /// Writes the XML document.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "<?xml version=\"1.0\" ?>\n<FlowMonitor>\n  <FlowStats>")?;
        for (flow, id) in self.flows.iter().zip(1_u32..) {
            statistics(out, flow, id)?;
        }
        writeln!(out, "  </FlowStats>")?;
        for (name, version) in [("Ipv4FlowClassifier", IpVersion::V4), ("Ipv6FlowClassifier", IpVersion::V6)] {
            writeln!(out, "  <{name}>")?;
            let flows = self.flows.iter().zip(1_u32..).filter(|_| version == self.version);
            for (flow, id) in flows {
                self.classification(out, flow, id)?;
            }
            writeln!(out, "  </{name}>")?;
        }
        writeln!(out, "</FlowMonitor>")
    }

    fn classification(&self, out: &mut dyn Write, flow: &Flow, id: u32) -> io::Result<()> {
        let ports = Endpoints::of(flow.conn_id);
        let (source, destination) = if flow.back { (ports.peer, ports.opener) } else { (ports.opener, ports.peer) };
        writeln!(
            out,
            "    <Flow flowId=\"{id}\" sourceAddress=\"{}\" destinationAddress=\"{}\" protocol=\"{}\" sourcePort=\"{source}\" destinationPort=\"{destination}\">",
            host(flow.hosts.0).ip(self.version),
            host(flow.hosts.1).ip(self.version),
            if flow.datagrams { 17 } else { 6 },
        )?;
        for (class, packets) in &flow.classes {
            writeln!(out, "      <Dscp value=\"{:#x}\" packets=\"{packets}\" />", class << 3)?;
        }
        writeln!(out, "    </Flow>")
    }
}

/// A time in the form of ns-3, with all digits: whole nanoseconds with a sign and a decimal point, which all of its scripts read.
fn time(ps: u128) -> String {
    format!("+{}.0ns", ps / 1_000)
}

fn statistics(out: &mut dyn Write, flow: &Flow, id: u32) -> io::Result<()> {
    let of_range = |range: Option<Range>, get: fn(Range) -> u64| time(range.map_or(0, get).into());
    let of_delays = |get: fn(Delays) -> u128| time(flow.delays.map_or(0, get));
    let times = [
        ("timeFirstTxPacket", of_range(flow.tx, |r| r.first)),
        ("timeFirstRxPacket", of_range(flow.rx, |r| r.first)),
        ("timeLastTxPacket", of_range(flow.tx, |r| r.last)),
        ("timeLastRxPacket", of_range(flow.rx, |r| r.last)),
        ("delaySum", of_delays(|d| d.sum)),
        ("jitterSum", of_delays(|d| d.jitter_sum)),
        ("lastDelay", of_delays(|d| d.last.into())),
        ("maxDelay", of_delays(|d| d.max.into())),
        ("minDelay", of_delays(|d| d.min.into())),
    ];
    let counts = [
        ("txBytes", flow.sent.bytes),
        ("rxBytes", flow.received.bytes),
        ("txPackets", flow.sent.packets),
        ("rxPackets", flow.received.packets),
        ("lostPackets", flow.dropped.iter().map(|d| d.packets).sum()),
        ("timesForwarded", flow.forwarded),
    ];
    write!(out, "    <Flow flowId=\"{id}\"")?;
    times.iter().try_for_each(|(name, value)| write!(out, " {name}=\"{value}\""))?;
    counts.iter().try_for_each(|(name, value)| write!(out, " {name}=\"{value}\""))?;
    writeln!(out, ">")?;
    // As in ns-3, all reasons up to the last one that occurred.
    let reasons = flow.dropped.iter().rposition(|d| d.packets > 0).map_or(0, |last| last + 1);
    for (code, dropped) in flow.dropped[..reasons].iter().enumerate() {
        writeln!(out, "      <packetsDropped reasonCode=\"{code}\" number=\"{}\" />", dropped.packets)?;
    }
    for (code, dropped) in flow.dropped[..reasons].iter().enumerate() {
        writeln!(out, "      <bytesDropped reasonCode=\"{code}\" bytes=\"{}\" />", dropped.bytes)?;
    }
    writeln!(out, "    </Flow>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_experiment::capture::{TcpHeader, tcp_flag};
    use forebay_types::PortId;

    const PLACES: [CapturePlace; 3] =
        [CapturePlace::Host(NodeId::new(0)), CapturePlace::Host(NodeId::new(1)), CapturePlace::Port(PortId::new(7))];

    fn packet(time_ns: u64, interface: u32, seq: u32) -> CapturedPacket {
        CapturedPacket {
            time_ps: time_ns * 1_000,
            interface,
            inbound: interface == 1,
            event: PacketEvent::Passed,
            conn_id: 3,
            back: false,
            src: NodeId::new(0),
            dst: NodeId::new(1),
            payload: 1_000,
            ip_id: 7,
            ecn: 2,
            class: 1,
            tcp: Some(TcpHeader { seq, flags: tcp_flag::ACK, ..TcpHeader::default() }),
        }
    }

    fn document(packets: &[CapturedPacket]) -> String {
        let mut monitor = FlowMonitor::new(PLACES.to_vec(), IpVersion::V4);
        packets.iter().for_each(|p| monitor.add(p).expect("short"));
        let mut out = Vec::new();
        monitor.write(&mut out).expect("memory");
        String::from_utf8(out).expect("text")
    }

    fn value(document: &str, attribute: &str) -> String {
        let rest = document.split_once(&format!(" {attribute}=\"")).expect("the attribute").1;
        rest.split('"').next().unwrap_or_default().to_owned()
    }

    /// Delays of 100 and 130 ns; the third packet is dropped, and the fourth is in flight.
    #[test]
    fn delays_and_drops_of_a_flow() {
        let lost = CapturedPacket { event: PacketEvent::DroppedFull, ..packet(60, 2, 2_000) };
        let text = document(&[
            packet(0, 0, 0),
            packet(10, 0, 1_000),
            packet(50, 2, 0),
            packet(55, 2, 1_000),
            packet(20, 0, 2_000),
            lost,
            packet(100, 1, 0),
            packet(140, 1, 1_000),
            packet(200, 0, 3_000),
        ]);
        let expected = [
            ("timeFirstTxPacket", "+0.0ns"),
            ("timeFirstRxPacket", "+100.0ns"),
            ("timeLastTxPacket", "+200.0ns"),
            ("timeLastRxPacket", "+140.0ns"),
            ("delaySum", "+230.0ns"),
            ("jitterSum", "+30.0ns"),
            ("lastDelay", "+130.0ns"),
            ("maxDelay", "+130.0ns"),
            ("minDelay", "+100.0ns"),
            ("txBytes", "4160"),
            ("rxBytes", "2080"),
            ("txPackets", "4"),
            ("rxPackets", "2"),
            ("lostPackets", "1"),
            ("timesForwarded", "3"),
            ("sourceAddress", "10.0.0.1"),
            ("protocol", "6"),
            ("sourcePort", "49155"),
            ("destinationPort", "40000"),
        ];
        for (attribute, wanted) in expected {
            assert_eq!(value(&text, attribute), wanted, "{attribute}");
        }
        assert!(text.contains("<packetsDropped reasonCode=\"3\" number=\"1\" />"), "{text}");
        assert!(
            text.contains("<bytesDropped reasonCode=\"3\" bytes=\"1040\" />") && !text.contains("reasonCode=\"4\""),
            "{text}"
        );
        assert!(text.contains("<Dscp value=\"0x8\" packets=\"4\" />"), "{text}");
    }

    #[test]
    fn directions_are_flows_of_their_own() {
        let ack = CapturedPacket {
            back: true,
            payload: 0,
            src: NodeId::new(1),
            dst: NodeId::new(0),
            inbound: false,
            ..packet(150, 1, 9)
        };
        let text = document(&[packet(0, 0, 0), packet(100, 1, 0), ack]);
        assert_eq!(text.matches("<Flow flowId=\"1\"").count(), 2);
        assert!(text.contains("<Flow flowId=\"2\" sourceAddress=\"10.0.0.2\" destinationAddress=\"10.0.0.1\""), "{text}");
        assert!(text.contains("sourcePort=\"40000\" destinationPort=\"49155\""), "{text}");
    }

    /// A flow whose packets all get lost has no delays, and the document has the same attributes.
    #[test]
    fn lost_flow_has_zero_times() {
        let lost = CapturedPacket { event: PacketEvent::LostOnLink, ..packet(5, 0, 0) };
        let text = document(&[lost]);
        assert_eq!([value(&text, "delaySum"), value(&text, "minDelay"), value(&text, "lostPackets")], ["+0.0ns", "+0.0ns", "1"]);
    }
}
