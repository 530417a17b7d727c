//! The captured packets of a run, and the connections that they belong to.

use crate::net::packet::{CarriedAck, Extra, Packet, flag};
use crate::net::tick::Tick;
use forebay_experiment::capture::{
    AccEcnFields, Capture, CapturedPacket, PacketEvent, SACK_BLOCKS, SynOptions, TcpHeader, tcp_flag,
};
use forebay_experiment::series::Series;
use forebay_experiment::skb::TIMESTAMPS;
use forebay_experiment::streams::RngStream;
use forebay_types::{ConnSlot, NodeId, Time, mix};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Window field of hosts that receive no data. Packets of the data direction have no space for one.
const NO_DATA_WINDOW: u16 = u16::MAX;

/// A connection of the simulator, whose data flows in one direction, as its packets show it.
#[derive(Debug, Clone)]
pub(crate) struct CapturedConnection {
    /// Its number; of the second of two connections that are one in both directions, that of the first. The host of the second one opens both.
    pub number: u64,
    /// Its number in the tables.
    pub own: u64,
    /// Slot and generation of the first one, which gets the initial sequence number of the second.
    pub reverse_of: Option<(ConnSlot, u8)>,
    /// Host of the sender, and of the receiver.
    pub hosts: (NodeId, NodeId),
    /// Initial sequence number of the sender.
    pub isn: u32,
    /// Maximum segment size, bytes.
    pub mss: u16,
    /// Window scale that hosts offer.
    pub window_shift: u8,
    /// True if Accurate ECN is requested.
    pub accurate_ecn: bool,
    /// True if the hosts report losses by SACK blocks.
    pub sack: bool,
    /// Tick of the timestamp clock; `None` without timestamps.
    pub clock: Option<Time>,
}

/// A connection, and numbers of the other direction.
#[derive(Debug)]
struct Known {
    c: CapturedConnection,
    /// Initial sequence number of the receiver's host.
    peer_isn: u32,
    /// The sender of the other direction, if there is one.
    reverse: Option<(ConnSlot, u8)>,
}

/// A captured packet before it is decoded.
pub(super) struct Seen<'a> {
    pub time: Time,
    pub packet: &'a Packet,
    pub extra: Option<&'a Extra>,
    pub event: PacketEvent,
}

/// Captured packets so far.
#[derive(Debug)]
pub(crate) struct CaptureLog {
    capture: Capture,
    seed: u64,
    /// Connections by slot and generation, which are used again after many others only.
    connections: BTreeMap<(ConnSlot, u8), Known>,
    /// Sequence number behind the data that each interface has seen of a sender, for ACKs of the same host in connections with data in both directions.
    next: BTreeMap<(ConnSlot, u8, u32), u32>,
    rows: Series<CapturedPacket>,
}

/// The log of a run. Runs with a capture use one thread.
pub(crate) type SharedLog = Arc<Mutex<CaptureLog>>;

impl CaptureLog {
    /// Creates an empty log.
    pub(crate) fn new(capture: &Capture, seed: u64) -> CaptureLog {
        let (connections, next, rows) = Default::default();
        CaptureLog { capture: capture.clone(), seed, connections, next, rows }
    }

    /// A connection opens in this slot and generation.
    pub(crate) fn open(&mut self, (slot, generation): (ConnSlot, u8), c: CapturedConnection) {
        let drawn = RngStream::CaptureSequenceNumbers.stream(self.seed, &[c.number]).next_u64() as u32;
        let first = c.reverse_of.and_then(|first| self.connections.get_mut(&first));
        let peer_isn = match first {
            Some(first) => {
                (first.peer_isn, first.reverse) = (c.isn, Some((slot, generation)));
                first.c.isn
            }
            None => drawn,
        };
        let earlier = self.next.range((slot, generation, 0)..=(slot, generation, u32::MAX));
        let earlier: Vec<(ConnSlot, u8, u32)> = earlier.map(|(key, _)| *key).collect();
        for key in earlier {
            self.next.remove(&key);
        }
        let reverse = c.reverse_of;
        self.connections.insert((slot, generation), Known { c, peer_isn, reverse });
    }

    /// Adds a packet to the capture of some interfaces.
    pub(super) fn add(&mut self, interfaces: impl Iterator<Item = u32>, inbound: bool, seen: &Seen<'_>) {
        let p = seen.packet;
        let key = (p.conn, p.generation());
        let Some(known) =
            self.connections.get(&key).filter(|k| self.capture.includes(k.c.number) || self.capture.includes(k.c.own))
        else {
            return;
        };
        let back = p.has(flag::ACK);
        // Its data flows to the host that has opened the connection.
        let is_accepting = known.reverse.is_some() && known.c.reverse_of.is_none();
        let (src, dst) = if back { (known.c.hosts.1, known.c.hosts.0) } else { known.c.hosts };
        let ip_id = ip_id(known.c.own, p);
        let payload = if back || p.has(flag::PROBE) || (p.has(flag::SYN) && !p.has(flag::DATAGRAM)) { 0 } else { p.len };
        for interface in interfaces {
            // Sequence numbers of ACKs are those of the data that the same host sends.
            let sent =
                known.reverse.filter(|_| back).and_then(|(slot, generation)| self.next.get(&(slot, generation, interface)));
            let tcp = (!p.has(flag::DATAGRAM)).then(|| header(known, seen, sent.copied()));
            if let Some(t) = tcp.filter(|_| known.reverse.is_some() && !back) {
                let end =
                    t.seq.wrapping_add(u32::from(payload) + u32::from(t.has(tcp_flag::FIN)) + u32::from(t.has(tcp_flag::SYN)));
                let next = self.next.entry((key.0, key.1, interface)).or_insert(end);
                if end.wrapping_sub(*next) as i32 > 0 {
                    *next = end;
                }
            }
            if !self.capture.has(seen.event) {
                continue;
            }
            self.rows.push(CapturedPacket {
                time_ps: seen.time.0,
                interface,
                inbound,
                event: seen.event,
                conn_id: known.c.number,
                back: back != is_accepting,
                src,
                dst,
                payload,
                ip_id,
                ecn: p.ecn() as u8,
                class: p.class(),
                tcp,
            });
        }
    }

    /// Returns the packets, in order.
    pub(crate) fn take(&mut self) -> Series<CapturedPacket> {
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort();
        rows
    }
}

/// Identification of a packet of connection `own`. The simulator has none: it is drawn from the fields of the packet that stay the same on its path, of which
/// the send time differs from that of a retransmission. RFC 6864 section 4.1 leaves the value open. Not zero, which means no identification.
fn ip_id(own: u64, p: &Packet) -> u16 {
    let fields = [own, u64::from(p.seq) << 32 | u64::from(p.ts), u64::from(p.flags & flag::ACK) << 32 | u64::from(p.wire)];
    let hash = fields.iter().fold(0, |hash, field| mix(hash ^ field));
    ((hash >> 48) as u16).max(1)
}

/// The flags that an ACE field is made of (RFC 9768 section 3.2.2).
fn ecn_flags(ace: u8) -> u8 {
    [(1, tcp_flag::ECE), (2, tcp_flag::CWR), (4, tcp_flag::AE)].iter().filter(|f| ace & f.0 != 0).map(|f| f.1).sum()
}

/// TCP header of a packet. `sent` is the sequence number behind the data that the host of an ACK has sent.
fn header(known: &Known, seen: &Seen<'_>, sent: Option<u32>) -> TcpHeader {
    let (c, p) = (&known.c, seen.packet);
    let back = p.has(flag::ACK);
    let has = |ours: u8, theirs: u8| if p.has(ours) { theirs } else { 0 };
    let peer_next = known.peer_isn.wrapping_add(1);
    let mut t = TcpHeader { timestamps: c.clock.map(|clock| timestamps(clock, seen)), ..TcpHeader::default() };
    t.accecn =
        CarriedAck::of(seen.extra).and_then(|ack| ack.accecn).map(|o| AccEcnFields { e0b: o.e0b(), ceb: o.ceb(), e1b: o.e1b() });
    if c.accurate_ecn && (back || p.has(flag::SYN)) {
        t.flags = ecn_flags(p.ace());
    }
    if p.has(flag::SYN) {
        // The option does not count TCP options, which shorten segments (RFC 6691 section 2).
        let mss = c.mss.saturating_add(if t.timestamps.is_some() { TIMESTAMPS } else { 0 });
        t.syn = SynOptions { mss, window_scale: Some(c.window_shift), sack_permitted: c.sack };
    }
    if back {
        t.flags |= tcp_flag::ACK | has(flag::SYN, tcp_flag::SYN) | has(flag::FIN, tcp_flag::FIN) | has(flag::ECE, tcp_flag::ECE);
        (t.ack, t.window) = (p.ack_number(), p.window());
        t.seq = if p.has(flag::SYN) { known.peer_isn } else { sent.unwrap_or(peer_next) };
        if let Some(Extra::Sack(blocks)) = seen.extra {
            for (place, block) in t.sack.iter_mut().zip(blocks.iter().take(SACK_BLOCKS)) {
                *place = block;
            }
        }
        if p.has(flag::SYN) {
            t.syn.window_scale = Some(p.window_shift().min(14));
        }
        return t;
    }
    (t.seq, t.window) = (p.seq, NO_DATA_WINDOW);
    if p.has(flag::SYN) {
        t.flags |= tcp_flag::SYN | has(flag::ECE, tcp_flag::ECE) | has(flag::CWR, tcp_flag::CWR);
        return t;
    }
    if p.has(flag::PROBE) && p.len > 0 {
        // A shim's probe, which goes ahead of the SYN and has its number, has no TCP flags.
        return t;
    }
    let carried = CarriedAck::of(seen.extra);
    let ece = if carried.is_some_and(|ack| ack.ece) { tcp_flag::ECE } else { 0 };
    t.flags =
        tcp_flag::ACK | has(flag::FIN, tcp_flag::FIN) | has(flag::PUSH, tcp_flag::PSH) | has(flag::CWR, tcp_flag::CWR) | ece;
    if p.len == 0 {
        t.flags &= !tcp_flag::PSH;
    }
    // An empty segment behind the data acknowledges the FIN of the receiver's host.
    let answers_fin = p.len == 0 && p.flags & (flag::FIN | flag::PROBE) == 0 && p.seq != c.isn.wrapping_add(1);
    t.ack = carried.map_or(peer_next.wrapping_add(u32::from(answers_fin)), |ack| ack.number);
    t.window = carried.map_or(NO_DATA_WINDOW, |ack| ack.window);
    t
}

/// TSval and TSecr in ticks of `clock`. Packets carry the send time of data in full, and the receiver's clock with its low bits only.
fn timestamps(clock: Time, seen: &Seen<'_>) -> (u32, u32) {
    let p = seen.packet;
    let carried = CarriedAck::of(seen.extra);
    let ticks = |time: Time| (time / clock) as u32;
    // The latest time before the packet was seen whose low bits these are.
    let of_low_bits = |low: u32| {
        let now = seen.time.as_ns();
        Time::from_ns(now.saturating_sub(u64::from((now as u32).wrapping_sub(low))))
    };
    let tick = clock.max(Time::from_ms(1));
    let of_tick = |low: Tick| {
        let now = seen.time / tick;
        let ago = Tick::new(now).since(low);
        low.is_some().then(|| Time(now.saturating_sub(u64::from(ago)).saturating_mul(tick.0)))
    };
    if p.has(flag::ACK) {
        let sent = if p.has(flag::SYN) { None } else { of_tick(p.tsval()) };
        return (ticks(sent.unwrap_or(seen.time)), ticks(of_low_bits(p.echo())));
    }
    let sent = of_low_bits(p.ts);
    if p.has(flag::SYN) {
        return (ticks(sent), 0);
    }
    let echo = match carried {
        Some(ack) => of_low_bits(ack.echo),
        None => of_tick(p.tsecr()).unwrap_or(sent),
    };
    (ticks(sent), ticks(echo))
}
