//! Constants of `protocol.h`, by enumeration.

/// Constants of `protocol.h`.
pub mod number {
    /// `FB_RECORD_PACKETS`.
    pub const RECORD_PACKETS: u64 = 1;
    /// `FB_RECORD_TCP`.
    pub const RECORD_TCP: u64 = 2;
    /// `FB_RECORD_HEADERS`.
    pub const RECORD_HEADERS: u64 = 8;
    /// `FB_RECORD_STATES`.
    pub const RECORD_STATES: u64 = 16;
    /// `FB_STATE_TIMEOUT`.
    pub const STATE_TIMEOUT: u32 = 1;
    /// `FB_SCRIPT`.
    pub const SCRIPT: u64 = 4;
    /// `FB_GROUP_ECN`.
    pub const GROUP_ECN: u32 = 1;
    /// `FB_GROUP_FIN`.
    pub const GROUP_FIN: u32 = 2;
    /// `FB_QDISC_BQL`.
    pub const QDISC_BQL: u32 = 1;
    /// `FB_LOSS_RANDOM`.
    pub const LOSS_RANDOM: u32 = 1;
    /// `FB_LOSS_GOOD`.
    pub const LOSS_GOOD: u32 = 2;
    /// `FB_LOSS_BAD`.
    pub const LOSS_BAD: u32 = 3;
    /// `FB_LOSS_LISTED`.
    pub const LOSS_LISTED: u32 = 4;
    /// `FB_GROUP_NODELAY`.
    pub const GROUP_NODELAY: u32 = 4;
    /// `FB_RETUNE_RATE`.
    pub const RETUNE_RATE: u32 = 1;
    /// `FB_RETUNE_DELAY`.
    pub const RETUNE_DELAY: u32 = 2;
    /// `FB_RETUNE_LOSS`.
    pub const RETUNE_LOSS: u32 = 4;
    /// `FB_OPEN_DATAGRAMS`.
    pub const OPEN_DATAGRAMS: u32 = 1;
    /// `FB_OPEN_REVERSE`.
    pub const OPEN_REVERSE: u32 = 2;
    /// `FB_WRITE_LAST`.
    pub const WRITE_LAST: u32 = 1;
}

/// `enum fb_what`.
pub mod what {
    /// Joined the queue of a port.
    pub const ARRIVED: u8 = 0;
    /// Joined it with CE set there.
    pub const MARKED: u8 = 1;
    /// Dropped.
    pub const DROPPED: u8 = 2;
    /// Reached its host.
    pub const DELIVERED: u8 = 3;
    /// Got CE while in the queue, or when it left it.
    pub const MARKED_LATER: u8 = 4;
}

/// `enum fb_reason`.
pub mod reason {
    /// The port's buffer was full.
    pub const OVERFLOW: u8 = 0;
    /// The switch's shared memory refused.
    pub const SHARED: u8 = 1;
    /// The discipline dropped it early.
    pub const EARLY: u8 = 2;
    /// The link was down.
    pub const DEAD: u8 = 3;
    /// It waited or was in service when the link went down.
    pub const CUT: u8 = 4;
    /// It was on the wire when the link went down.
    pub const LOST: u8 = 5;
    /// Its link lost or damaged it.
    pub const DAMAGED: u8 = 100;
}

/// `enum fb_timer_kind`.
pub mod timer {
    /// Retransmission timeout.
    pub const RTO: u32 = 0;
    /// Tail loss probe.
    pub const PROBE: u32 = 1;
    /// Of a SYN.
    pub const SYN: u32 = 2;
    /// Probe of a closed window.
    #[cfg(test)]
    pub const PERSIST: u32 = 3;
    /// RACK's reordering timer.
    pub const REORDERING: u32 = 4;
}

/// `enum fb_event_kind`.
pub mod event {
    /// The time of the last `FB_NEXT` has come.
    pub const WAKE: u32 = 0;
    /// The sender can send.
    pub const ESTABLISHED: u32 = 1;
    /// The receiver has read so many bytes.
    pub const DELIVERED: u32 = 2;
    /// So many bytes are acknowledged.
    pub const ACKED: u32 = 3;
    /// The connection broke.
    pub const FAILED: u32 = 4;
    /// A datagram was delivered.
    pub const DATAGRAM_IN: u32 = 5;
    /// Both ends have forgotten the connection.
    pub const CLOSED: u32 = 6;
    /// The sender has received the last FIN.
    pub const SENDER_CLOSED: u32 = 7;
}

/// `enum fb_call_kind`.
pub mod call {
    /// Makes a socket.
    pub const SOCKET: u32 = 0;
    /// Binds and listens.
    pub const LISTEN: u32 = 1;
    /// Connects.
    pub const CONNECT: u32 = 2;
    /// Accepts.
    pub const ACCEPT: u32 = 3;
    /// Sends bytes.
    pub const SEND: u32 = 4;
    /// Receives bytes.
    pub const RECEIVE: u32 = 5;
    /// Shuts directions.
    pub const SHUTDOWN: u32 = 6;
    /// Closes.
    pub const CLOSE: u32 = 7;
    /// Sets an option.
    pub const SET: u32 = 8;
    /// Gets an option.
    pub const GET: u32 = 9;
}

/// Flags of a TCP header, as `fb_packet.tcp_flags` has them.
pub mod flag {
    /// FIN.
    pub const FIN: u8 = 1;
    /// SYN.
    pub const SYN: u8 = 2;
    /// ACK.
    pub const ACK: u8 = 16;
    /// ECE.
    pub const ECE: u8 = 64;
    /// CWR.
    pub const CWR: u8 = 128;
}
