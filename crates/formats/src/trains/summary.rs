//! Totals of a capture.

use crate::trains::histogram::Histogram;
use crate::trains::packet::LinkType;
use crate::trains::sink::{ConnectionRow, Incast, Retransmissions, Train};
use crate::trains::sockets::Socket;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Connections with the most bytes that the summary lists.
const LARGEST: usize = 10;

/// Totals of packet trains.
#[derive(Debug, Clone, Default)]
pub struct Trains {
    /// Number.
    pub count: u64,
    /// New payload bytes.
    pub bytes: u64,
    /// Sizes, bytes.
    pub sizes: Histogram,
    /// Sizes, packets.
    pub packets: Histogram,
    /// Pauses before them, ns; the first train of a direction has none.
    pub gaps: Histogram,
}

impl Trains {
    fn add(&mut self, t: &Train) {
        self.count += 1;
        self.bytes += t.bytes;
        self.sizes.add(t.bytes);
        self.packets.add(t.packets);
        if let Some(gap) = t.gap_ns {
            self.gaps.add(gap);
        }
    }

    fn merged(&self, other: &Trains) -> Trains {
        let mut all = self.clone();
        all.count += other.count;
        all.bytes += other.bytes;
        all.sizes.merge(&other.sizes);
        all.packets.merge(&other.packets);
        all.gaps.merge(&other.gaps);
        all
    }
}

/// Frames without a usable TCP segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Other protocols.
    pub not_tcp: u64,
    /// The capture does not reach the TCP header.
    pub cut: u64,
    /// Later fragments of IP packets.
    pub fragments: u64,
    /// Lengths or versions that contradict each other.
    pub malformed: u64,
    /// Frames of link types that are not supported.
    pub links: BTreeMap<u16, u64>,
    /// Second copies of a packet, from another interface.
    pub copies: u64,
}

/// Running totals.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) frames: u64,
    pub(crate) segments: u64,
    pub(crate) skipped: Skipped,
    pub(crate) first_ns: Option<u64>,
    pub(crate) last_ns: u64,
    pub(crate) connections: u64,
    pub(crate) opened: u64,
    pub(crate) bytes: u64,
    pub(crate) data_packets: u64,
    pub(crate) missed_bytes: u64,
    pub(crate) retransmissions: Retransmissions,
    pub(crate) timeouts: u64,
    pub(crate) reordered: u64,
    pub(crate) marked: u64,
    pub(crate) duplicates_reported: u64,
    pub(crate) short: Trains,
    pub(crate) long: Trains,
    pub(crate) messages: u64,
    pub(crate) rtt: Histogram,
    pub(crate) handshakes: Histogram,
    pub(crate) incasts: u64,
    pub(crate) largest_incast: Option<Incast>,
    pub(crate) largest: Vec<ConnectionRow>,
    pub(crate) records: u64,
    pub(crate) sockets: SocketTotals,
}

/// Totals of snapshots of sockets.
#[derive(Debug, Clone, Default)]
pub struct SocketTotals {
    /// Sockets.
    pub count: u64,
    /// Sockets by congestion control.
    pub by_cc: BTreeMap<String, u64>,
    /// Retransmitted segments, and all segments with data.
    pub retransmitted: (u64, u64),
    /// Sockets whose sender was limited by the receive window of the peer, by the send buffer, and by the application.
    pub limited: [u64; 3],
    /// Sockets with ECN.
    pub ecn: u64,
}

impl Totals {
    pub(crate) fn socket(&mut self, s: &Socket) {
        let t = &mut self.sockets;
        t.count += 1;
        if !s.cc.is_empty() {
            *t.by_cc.entry(s.cc.clone()).or_default() += 1;
        }
        t.retransmitted = (t.retransmitted.0 + s.retransmitted, t.retransmitted.1 + s.data_segments);
        let limited = [s.rwnd_limited_ms > 0, s.sndbuf_limited_ms > 0, s.app_limited];
        t.limited.iter_mut().zip(limited).for_each(|(count, is)| *count += u64::from(is));
        t.ecn += u64::from(s.ecn);
        if let Some(rtt) = s.rtt_ns {
            self.rtt.add(rtt);
        }
    }

    pub(crate) fn train(&mut self, t: &Train) {
        if t.long { &mut self.long } else { &mut self.short }.add(t);
    }

    pub(crate) fn incast(&mut self, i: &Incast) {
        self.incasts += 1;
        if self.largest_incast.is_none_or(|largest| largest.senders < i.senders) {
            self.largest_incast = Some(*i);
        }
    }

    pub(crate) fn connection(&mut self, row: &ConnectionRow) {
        self.connections += 1;
        self.opened += u64::from(row.opened);
        if let Some(rtt) = row.handshake_rtt_ns {
            self.handshakes.add(rtt);
        }
        for d in [&row.from_client, &row.from_server] {
            self.bytes += d.bytes;
            self.data_packets += d.data_packets;
            self.missed_bytes += d.missed_bytes;
            self.retransmissions.merge(&d.retransmissions);
            self.timeouts += d.timeouts;
            self.reordered += d.reordered;
            self.marked += d.marked;
            self.duplicates_reported += d.duplicates_reported;
        }
        let bytes = |r: &ConnectionRow| r.from_client.bytes + r.from_server.bytes;
        let place = self.largest.partition_point(|other| bytes(other) >= bytes(row));
        if place < LARGEST {
            self.largest.insert(place, *row);
            self.largest.truncate(LARGEST);
        }
    }

    pub(crate) fn link(&mut self, link: LinkType) {
        *self.skipped.links.entry(link.0).or_default() += 1;
    }
}

/// Totals of the captures.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Frames.
    pub frames: u64,
    /// TCP segments among them.
    pub segments: u64,
    /// Other frames.
    pub skipped: Skipped,
    /// Time of the first segment, ns since the epoch of the capture; `None` without segments.
    pub first_ns: Option<u64>,
    /// Time of the last segment, ns.
    pub last_ns: u64,
    /// Addresses with TCP connections, in order of first appearance.
    pub hosts: Vec<IpAddr>,
    /// Connections.
    pub connections: u64,
    /// Connections whose SYN was captured.
    pub opened: u64,
    /// Payload bytes, each counted once.
    pub bytes: u64,
    /// Data packets of at most a full size, retransmissions included.
    pub data_packets: u64,
    /// Acknowledged bytes that the capture does not contain.
    pub missed_bytes: u64,
    /// Retransmitted packets.
    pub retransmissions: Retransmissions,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets out of order.
    pub reordered: u64,
    /// Packets marked with "congestion experienced".
    pub marked: u64,
    /// Duplicate segments that receivers reported (D-SACK).
    pub duplicates_reported: u64,
    /// All trains.
    pub trains: Trains,
    /// Short trains.
    pub short: Trains,
    /// Long trains.
    pub long: Trains,
    /// Messages: trains, joined while data was unacknowledged.
    pub messages: u64,
    /// RTTs from data to its ACK, ns, with the time on the sender's side.
    pub rtt: Histogram,
    /// RTTs of handshakes, ns.
    pub handshakes: Histogram,
    /// Incast events.
    pub incasts: u64,
    /// The one with the most senders.
    pub largest_incast: Option<Incast>,
    /// Connections with the most bytes, largest first.
    pub largest: Vec<ConnectionRow>,
    /// Flow records, those of other protocols included.
    pub records: u64,
    /// Sockets of snapshots.
    pub sockets: SocketTotals,
    /// Remarks about the captures: truncated files, steps of the clock, captures that overlap.
    pub notes: Vec<String>,
}

impl Summary {
    pub(crate) fn new(t: Totals, hosts: Vec<IpAddr>, notes: Vec<String>) -> Summary {
        Summary {
            frames: t.frames,
            segments: t.segments,
            skipped: t.skipped,
            first_ns: t.first_ns,
            last_ns: t.last_ns,
            hosts,
            connections: t.connections,
            opened: t.opened,
            bytes: t.bytes,
            data_packets: t.data_packets,
            missed_bytes: t.missed_bytes,
            retransmissions: t.retransmissions,
            timeouts: t.timeouts,
            reordered: t.reordered,
            marked: t.marked,
            duplicates_reported: t.duplicates_reported,
            trains: t.short.merged(&t.long),
            short: t.short,
            long: t.long,
            messages: t.messages,
            rtt: t.rtt,
            handshakes: t.handshakes,
            incasts: t.incasts,
            largest_incast: t.largest_incast,
            largest: t.largest,
            records: t.records,
            sockets: t.sockets,
            notes,
        }
    }

    /// Time from the first to the last segment, ns.
    pub fn duration_ns(&self) -> u64 {
        self.first_ns.map_or(0, |first| self.last_ns.saturating_sub(first))
    }
}
