//! Results that leave the analysis while the capture is read.

use crate::trains::packet::Endpoint;

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Address and port.
    pub end: Endpoint,
    /// Number of the address, in order of first appearance.
    pub number: u32,
}

/// A packet train: packets of a connection in one direction, with pauses no longer than the gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Train {
    /// Number of the connection, in order of first appearance.
    pub connection: u64,
    /// Sender.
    pub src: Host,
    /// Receiver.
    pub dst: Host,
    /// Time of the first packet, ns.
    pub start_ns: u64,
    /// Time of the last packet, ns.
    pub end_ns: u64,
    /// New payload bytes.
    pub bytes: u64,
    /// New data packets of at most a full size.
    pub packets: u64,
    /// Retransmitted packets.
    pub retransmitted: u64,
    /// Pause since the last packet before, ns; `None` for the first train.
    pub gap_ns: Option<u64>,
    /// The gap that the pause exceeded, ns.
    pub threshold_ns: u64,
    /// At least as many packets as [`crate::trains::Options::long_train`].
    pub long: bool,
}

/// Data that an application sent at once: trains are joined while data is unacknowledged, since the sender then still had data to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Number of the connection.
    pub connection: u64,
    /// Sender.
    pub src: Host,
    /// Receiver.
    pub dst: Host,
    /// Time of the SYN, ns, for the first message of the host that opened the connection.
    pub opened_ns: Option<u64>,
    /// Time of the first packet, ns.
    pub start_ns: u64,
    /// Time of the last packet, ns.
    pub end_ns: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Pause since the last packet of the message before, ns; `None` for the first message.
    pub gap_ns: Option<u64>,
}

/// Causes of retransmissions, as far as the packets show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetransmissionKind {
    /// Fast retransmission: duplicate ACKs or SACK blocks reported a loss (RFC 5681, RFC 6675).
    Fast,
    /// After a retransmission timeout (RFC 6298).
    Timeout,
    /// Tail loss probe (RFC 8985): the last segment, before the timeout.
    Probe,
    /// SYN or SYN-ACK.
    Handshake,
    /// All of it had been acknowledged already.
    Unneeded,
}

/// Numbers of retransmitted packets, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retransmissions {
    /// Fast retransmissions.
    pub fast: u64,
    /// After a timeout.
    pub timeout: u64,
    /// Tail loss probes.
    pub probe: u64,
    /// SYNs and SYN-ACKs.
    pub handshake: u64,
    /// Acknowledged already.
    pub unneeded: u64,
}

impl Retransmissions {
    pub(crate) fn add(&mut self, kind: RetransmissionKind, packets: u64) {
        match kind {
            RetransmissionKind::Fast => self.fast += packets,
            RetransmissionKind::Timeout => self.timeout += packets,
            RetransmissionKind::Probe => self.probe += packets,
            RetransmissionKind::Handshake => self.handshake += packets,
            RetransmissionKind::Unneeded => self.unneeded += packets,
        }
    }

    pub(crate) fn merge(&mut self, other: &Retransmissions) {
        self.fast += other.fast;
        self.timeout += other.timeout;
        self.probe += other.probe;
        self.handshake += other.handshake;
        self.unneeded += other.unneeded;
    }

    /// Kinds by name, in the order of tables.
    pub fn by_kind(&self) -> [(&'static str, u64); 5] {
        [
            ("fast", self.fast),
            ("timeout", self.timeout),
            ("probe", self.probe),
            ("handshake", self.handshake),
            ("unneeded", self.unneeded),
        ]
    }

    /// All kinds.
    pub fn total(&self) -> u64 {
        self.by_kind().iter().map(|(_, count)| count).sum()
    }
}

/// One direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectionRow {
    /// Captured packets, with and without data.
    pub packets: u64,
    /// Payload bytes, each counted once.
    pub bytes: u64,
    /// Data packets of at most a full size, retransmissions included.
    pub data_packets: u64,
    /// Packet trains.
    pub trains: u64,
    /// Retransmitted packets.
    pub retransmissions: Retransmissions,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets that arrived out of order without a retransmission.
    pub reordered: u64,
    /// Packets with the mark "congestion experienced".
    pub marked: u64,
    /// Duplicate segments that the receiver reported (D-SACK, RFC 2883).
    pub duplicates_reported: u64,
    /// Acknowledged bytes that the capture does not contain.
    pub missed_bytes: u64,
}

/// A connection, when it is closed or its state is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionRow {
    /// Its number, in order of first appearance.
    pub connection: u64,
    /// The end that sent the SYN; without one, the source of the first packet.
    pub client: Host,
    /// The other end.
    pub server: Host,
    /// The capture has a SYN.
    pub opened: bool,
    /// The capture has a FIN or RST.
    pub closed: bool,
    /// Time of the first packet, ns.
    pub start_ns: u64,
    /// Time of the last packet, ns.
    pub end_ns: u64,
    /// RTT of the handshake, ns.
    pub handshake_rtt_ns: Option<u64>,
    /// Smallest RTT, ns.
    pub min_rtt_ns: Option<u64>,
    /// Data from the client.
    pub from_client: DirectionRow,
    /// Data from the server.
    pub from_server: DirectionRow,
}

/// An incast event: trains of many senders to one receiver begin within an RTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incast {
    /// Receiver; its port is that of the train that completed the event.
    pub receiver: Host,
    /// Start of the first train, ns.
    pub start_ns: u64,
    /// Start of the last train, ns.
    pub end_ns: u64,
    /// Most senders within an RTT.
    pub senders: usize,
    /// Trains.
    pub trains: u64,
    /// RTT of the connection that completed the event, ns: the length of the interval.
    pub rtt_ns: u64,
}

/// Receives results while the capture is read. All methods have an empty default.
pub trait Sink {
    /// The time of the first segment, ns since the epoch of the capture.
    fn begin(&mut self, _first_ns: u64) {}
    /// A train has ended.
    fn train(&mut self, _train: &Train) {}
    /// A message has ended.
    fn message(&mut self, _message: &Message) {}
    /// A connection has ended, or was idle for too long.
    fn connection(&mut self, _connection: &ConnectionRow) {}
    /// An incast event has ended.
    fn incast(&mut self, _incast: &Incast) {}
}

/// Drops all results; the summary remains.
impl Sink for () {}

impl<S: Sink> Sink for &mut S {
    fn begin(&mut self, first_ns: u64) {
        (**self).begin(first_ns);
    }

    fn train(&mut self, train: &Train) {
        (**self).train(train);
    }

    fn message(&mut self, message: &Message) {
        (**self).message(message);
    }

    fn connection(&mut self, connection: &ConnectionRow) {
        (**self).connection(connection);
    }

    fn incast(&mut self, incast: &Incast) {
        (**self).incast(incast);
    }
}

/// Without a sink, results are dropped.
impl<S: Sink> Sink for Option<S> {
    fn begin(&mut self, first_ns: u64) {
        self.iter_mut().for_each(|s| s.begin(first_ns));
    }

    fn train(&mut self, train: &Train) {
        self.iter_mut().for_each(|s| s.train(train));
    }

    fn message(&mut self, message: &Message) {
        self.iter_mut().for_each(|s| s.message(message));
    }

    fn connection(&mut self, connection: &ConnectionRow) {
        self.iter_mut().for_each(|s| s.connection(connection));
    }

    fn incast(&mut self, incast: &Incast) {
        self.iter_mut().for_each(|s| s.incast(incast));
    }
}

impl<A: Sink, B: Sink> Sink for (A, B) {
    fn begin(&mut self, first_ns: u64) {
        self.0.begin(first_ns);
        self.1.begin(first_ns);
    }

    fn train(&mut self, train: &Train) {
        self.0.train(train);
        self.1.train(train);
    }

    fn message(&mut self, message: &Message) {
        self.0.message(message);
        self.1.message(message);
    }

    fn connection(&mut self, connection: &ConnectionRow) {
        self.0.connection(connection);
        self.1.connection(connection);
    }

    fn incast(&mut self, incast: &Incast) {
        self.0.incast(incast);
        self.1.incast(incast);
    }
}
