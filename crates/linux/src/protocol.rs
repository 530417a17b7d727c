//! Protocol between this program and the guest kernel: the structs of `protocol.h` (crate `forebay-kernel`), which explains them, field for field. A
//! test compares sizes and offsets with those of the C compiler.

mod numbers;

pub use numbers::{call, event, flag, number, reason, timer, what};

/// A number, or several, as they stand in a record: little endian, without gaps.
pub trait Field: Copy {
    /// Bytes that it takes.
    const SIZE: usize;
    /// Appends it.
    fn put(self, bytes: &mut Vec<u8>);
    /// Reads it from the first [`Field::SIZE`] bytes.
    fn take(bytes: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl Field for $type {
            const SIZE: usize = size_of::<$type>();
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn take(bytes: &[u8]) -> $type {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(&bytes[..size_of::<$type>()]);
                <$type>::from_le_bytes(own)
            }
        })*
    };
}

numbers!(u8 u16 u32 u64);

impl<F: Field, const N: usize> Field for [F; N] {
    const SIZE: usize = N * F::SIZE;
    fn put(self, bytes: &mut Vec<u8>) {
        self.into_iter().for_each(|item| item.put(bytes));
    }
    fn take(bytes: &[u8]) -> [F; N] {
        std::array::from_fn(|i| F::take(&bytes[i * F::SIZE..]))
    }
}

/// Record type that frames of a kind carry.
pub trait Record: Copy {
    /// `enum fb_kind`.
    const KIND: u32;
    /// Bytes of one.
    const SIZE: usize;
    /// Name in C, and name and offset of each field.
    #[cfg(test)]
    const LAYOUT: (&'static str, &'static [(&'static str, usize)]);
    /// Appends it.
    fn put(self, bytes: &mut Vec<u8>);
    /// Reads it from the first [`Record::SIZE`] bytes.
    fn take(bytes: &[u8]) -> Self;
}

macro_rules! records {
    ($($(#[$doc:meta])* $name:ident = $kind:literal, $c:literal { $($field:ident: $type:ty),* $(,)? })*) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name { $(#[expect(missing_docs, reason = "protocol.h explains them")] pub $field: $type),* }

        impl Record for $name {
            const KIND: u32 = $kind;
            const SIZE: usize = 0 $(+ <$type as Field>::SIZE)*;
            #[cfg(test)]
            const LAYOUT: (&'static str, &'static [(&'static str, usize)]) = {
                const SIZES: &[usize] = &[$(<$type as Field>::SIZE),*];
                const NAMES: &[&str] = &[$(stringify!($field)),*];
                const PLACES: [(&str, usize); SIZES.len()] = tests::places(NAMES, SIZES);
                ($c, &PLACES)
            };
            fn put(self, bytes: &mut Vec<u8>) {
                $(self.$field.put(bytes);)*
            }
            fn take(bytes: &[u8]) -> $name {
                let mut at = 0;
                $(let $field = <$type as Field>::take(&bytes[at..]); at += <$type as Field>::SIZE;)*
                debug_assert_eq!(at, Self::SIZE);
                $name { $($field),* }
            }
        })*

        /// `FB_RECORD_SIZES`: sum of the sizes of a frame's header and of all records, which both sides name when they meet.
        pub const RECORD_SIZES: u32 = 8 $(+ <$name as Record>::SIZE as u32)*;

        #[cfg(test)]
        const LAYOUTS: &[(u32, usize, (&str, &[(&str, usize)]))] =
            &[$((<$name as Record>::KIND, <$name as Record>::SIZE, <$name as Record>::LAYOUT)),*];
    };
}

/// `FB_PROTOCOL`.
pub const PROTOCOL: u32 = 1;
/// `FB_NEVER`.
pub const NEVER: u64 = u64::MAX;
/// `FB_NONE`.
pub const NONE: u32 = u32::MAX;
/// `FB_HOPS`: most ports on a way.
pub const HOPS: usize = 24;
/// `FB_QUEUE`.
pub const QUEUE: usize = forebay_queues::CONFIG_WORDS;
/// `FB_PATHS`: most paths of the data of a connection.
pub const PATHS: usize = forebay_experiment::topology::PathHashes::COUNT;
/// `FB_PARAMS`.
pub const PARAMS: usize = 24;
/// `FB_TAGS`.
pub const TAGS: usize = forebay_kernel::tags::TAGS;
/// `FB_SHIM`.
pub const SHIM: usize = forebay_kernel::shims::SHIM;
/// `FB_STATE_VALUES`.
pub const STATE_VALUES: usize = 79;
/// `FB_STATE_PRIVATE`.
pub const STATE_PRIVATE: usize = 13;
/// `FB_OPTIONS`.
pub const OPTIONS: usize = 12;
/// `FB_HEADER_BYTES`.
pub const HEADER: usize = 80;
/// Most bytes of a packet that a script's conversation carries.
pub const HEAD: usize = 120;
/// `FB_SETUP_END`, which carries no record.
pub const SETUP_END: u32 = 11;
/// `FB_LOG`, whose records are bytes of text.
pub const LOG: u32 = 73;

records! {
    /// `struct fb_world`.
    World = 1, "fb_world" {
        protocol: u32, nodes: u32, ports: u32, interfaces: u32, groups: u32, profiles: u32, ties: u64, ties_shift: u64, records: u64,
        seed: u64, flowlet_gap: u64, flowlet_random: [u64; 4],
    }
    /// `struct fb_port`.
    Port = 2, "fb_port" {
        from: u32, to: u32, rate: u64, delay: u64, limit_bytes: u64, limit_packets: u32, loss: u32, random: [u64; 4],
        queue_random: [u64; 4], queue: [u64; QUEUE], jitter: u64, jitter_state: u64, loss_below: [u64; 4], loss_random: [u64; 4],
        loss_from: u64, loss_until: u64, late_below: u64, late_by: u64, late_random: [u64; 4], batch: u64,
    }
    /// `struct fb_switch`.
    Switch = 3, "fb_switch" { node: u32, pad: u32, param: [u64; 6] }
    /// `struct fb_profile`.
    Profile = 4, "fb_profile" { init_cwnd: u32, init_rwnd: u32, rto_min_ms: u32, quickack: u32, burst: u32, hold_ns: u32 }
    /// `struct fb_sysctl`.
    Sysctl = 5, "fb_sysctl" { profile: u32, key: [u8; 60], value: [u8; 64] }
    /// `struct fb_group`.
    Group = 6, "fb_group" {
        cc: [u8; 16], profile: u32, flags: u32, rcvbuf: u64, sndbuf: u64, max_pacing_rate: u64, header: u32, ack_size: u32, send_jitter: u64,
        param: [u64; PARAMS], tag: [u64; TAGS], shim: [u64; SHIM],
    }
    /// `struct fb_interface`.
    Interface = 7, "fb_interface" { node: u32, profile: u32, address: u32, mtu: u32 }
    /// `struct fb_shim_host`.
    ShimHost = 8, "fb_shim_host" { group: u32, node: u32, phase: u64, cost: u64 }
    /// `struct fb_qdisc`.
    Qdisc = 9, "fb_qdisc" {
        interface: u32, flags: u32, options: u32, pad: u32, name: [u8; 16], option: [u32; OPTIONS], value: [u32; OPTIONS],
    }
    /// `struct fb_listed_loss`.
    ListedLoss = 10, "fb_listed_loss" { port: u32, number: u32, packet: u64 }
    /// `struct fb_open`.
    Open = 32, "fb_open" {
        conn: u32, group: u32, src: u32, dst: u32, forth_len: u32, back_len: u32, forth: [u32; HOPS], back: [u32; HOPS],
         ties_forth: u64, ties_back: u64, class_of_service: u32, flags: u32, rss_forth: u32,
         rss_back: u32, deadline: u64, reverse_of: u32, number: u32,
    }
    /// `struct fb_write`.
    Write = 33, "fb_write" { conn: u32, flags: u32, bytes: u64, part: u64, deadline: u64 }
    /// `struct fb_stop`.
    Stop = 34, "fb_stop" { conn: u32, pad: u32 }
    /// `struct fb_datagram`.
    Datagram = 35, "fb_datagram" { conn: u32, payload: u32, wire: u32, class_of_service: u32 }
    /// `struct fb_next`.
    Next = 36, "fb_next" { wake: u64, quit: u32, pad: u32 }
    /// `struct fb_hello`.
    Hello = 64, "fb_hello" { protocol: u32, record_sizes: u32, version: [u8; 56] }
    /// `struct fb_packet`.
    Packet = 65, "fb_packet" {
        time: u64, id: u64, conn: u32, port: u32, seq: u32, ack: u32, payload: u32, wire: u32, window: u16, tcp_flags: u8, ecn: u8,
        what: u8, reason: u8, class_of_service: u8, back: u8, queue_packets: u32, pad: u32, queue_bytes: u64,
    }
    /// `struct fb_leave`.
    Leave = 66, "fb_leave" { time: u64, id: u64, port: u32, wire: u32 }
    /// `struct fb_tcp`.
    Tcp = 67, "fb_tcp" {
        time: u64, conn: u32, cwnd: u32, ssthresh: u32, srtt_us8: u32, rttvar_us4: u32, rto_us: u32, acked: u64, unacked: u32,
        packets_out: u32, sacked_out: u32, lost_out: u32, retrans_out: u32, total_retrans: u32, rtt_us: u32, snd_wnd: u32, alpha: u32,
        ca_state: u8, ece: u8, backoff: u16, rwnd_limited_us: u64, sndbuf_limited_us: u64, pacing_rate: u64, bbr_bw: u64,
        bbr_min_rtt: u32, bbr_pacing_gain: u16, bbr_cwnd_gain: u16,
    }
    /// `struct fb_timer`.
    Timer = 68, "fb_timer" { time: u64, conn: u32, kind: u32, rto_us: u32, backoff: u32, packets_out: u32, pad: u32 }
    /// `struct fb_event`.
    Event = 69, "fb_event" { time: u64, conn: u32, kind: u32, bytes: u64 }
    /// `struct fb_ask`.
    Ask = 70, "fb_ask" { now: u64 }
    /// `struct fb_final`.
    Final = 71, "fb_final" { conn: u32, pad: u32, delivered: u64, received: u64, acked: u64 }
    /// `struct fb_done`.
    Done = 72, "fb_done" { now: u64, events: u64, late_events: u64, late_max: u64, packets: u64 }
    /// `struct fb_link`.
    LinkChange = 37, "fb_link" { port: u32, up: u32, random: [u64; 4] }
    /// `struct fb_route`.
    Route = 38, "fb_route" { conn: u32, pad: u32, forth_len: u32, back_len: u32, forth: [u32; HOPS], back: [u32; HOPS] }
    /// `struct fb_call`.
    Call = 39, "fb_call" { call: u32, socket: u32, number: [u64; 3], text: [u8; 32] }
    /// `struct fb_inject`.
    Inject = 40, "fb_inject" { length: u32, head: u32, bytes: [u8; HEAD] }
    /// `struct fb_retune`.
    Retune = 41, "fb_retune" { port: u32, flags: u32, rate: u64, delay: u64, loss_below: u64, loss_random: [u64; 4] }
    /// `struct fb_path`.
    Path = 42, "fb_path" { conn: u32, length: u32, back: u32, pad: u32, ports: [u32; HOPS] }
    /// `struct fb_result`.
    Result = 74, "fb_result" { value: u64, bytes: [u8; 256] }
    /// `struct fb_sent`.
    Sent = 75, "fb_sent" { time: u64, length: u32, head: u32, bytes: [u8; HEAD] }
    /// `struct fb_shim_row`.
    ShimRow = 76, "fb_shim_row" {
        time: u64, conn: u32, probes: u32, verdict: u32, pad: u32, window: u64, held: u64, throttled: u64,
    }
    /// `struct fb_host_drops`.
    HostDrops = 77, "fb_host_drops" { time: u64, node: u32, drops: u32 }
    /// `struct fb_header`.
    Header = 78, "fb_header" { id: u64, bytes: [u8; HEADER] }
    /// `struct fb_sock_state`.
    State = 79, "fb_sock_state" {
        time: u64, conn: u32, receiver: u32, cause: u32, snd_una: u32, rcv_nxt: u32, pad: u32, cc: [u8; 16],
        value: [u64; STATE_VALUES], private: [u64; STATE_PRIVATE],
    }
}

/// A text in a field of `N` bytes, which ends with a zero.
///
/// # Panics
/// Panics if it is too long: such texts are constants of this program.
pub fn text<const N: usize>(text: &str) -> [u8; N] {
    assert!(text.len() < N, "`{text}` has more than {} bytes", N - 1);
    let mut bytes = [0; N];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes
}

/// The text in such a field.
pub fn text_in(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests;
