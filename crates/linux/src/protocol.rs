//! What the program and the guest kernel say to each other: the structs of `protocol.h` (crate `forebay-kernel`), which explains them, field
//! for field. A test asks the C compiler whether sizes and places agree.

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

/// What frames of a kind carry.
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
/// `FB_PARAMS`.
pub const PARAMS: usize = 24;
/// `FB_TAGS`.
pub const TAGS: usize = forebay_kernel::tags::TAGS;
/// Most bytes of a packet that a script's conversation carries.
pub const HEAD: usize = 120;
/// `FB_SETUP_END`, which carries no record.
pub const SETUP_END: u32 = 8;
/// `FB_LOG`, whose records are bytes of text.
pub const LOG: u32 = 73;

records! {
    /// `struct fb_world`.
    World = 1, "fb_world" {
        protocol: u32, nodes: u32, ports: u32, interfaces: u32, groups: u32, profiles: u32, ties: u64, ties_shift: u64, records: u64,
    }
    /// `struct fb_port`.
    Port = 2, "fb_port" {
        from: u32, to: u32, rate: u64, delay: u64, limit_bytes: u64, limit_packets: u32, discipline: u32, random: [u64; 4],
        param: [u64; PARAMS],
    }
    /// `struct fb_switch`.
    Switch = 3, "fb_switch" { node: u32, pad: u32, param: [u64; 6] }
    /// `struct fb_profile`.
    Profile = 4, "fb_profile" { init_cwnd: u32, init_rwnd: u32, rto_min_ms: u32, quickack: u32, burst: u32, hold_ns: u32 }
    /// `struct fb_sysctl`.
    Sysctl = 5, "fb_sysctl" { profile: u32, key: [u8; 60], value: [u8; 64] }
    /// `struct fb_group`.
    Group = 6, "fb_group" {
        law: [u8; 16], profile: u32, flags: u32, rcvbuf: u64, sndbuf: u64, header: u32, ack_size: u32, send_jitter: u64,
        param: [u64; PARAMS], tag: [u64; TAGS],
    }
    /// `struct fb_interface`.
    Interface = 7, "fb_interface" { node: u32, profile: u32, address: u32, mtu: u32 }
    /// `struct fb_open`.
    Open = 32, "fb_open" {
        conn: u32, group: u32, src: u32, dst: u32, forth_len: u32, back_len: u32, forth: [u32; HOPS], back: [u32; HOPS],
        ties_forth: u64, ties_back: u64, class_of_service: u32, flags: u32, deadline: u64,
    }
    /// `struct fb_write`.
    Write = 33, "fb_write" { conn: u32, flags: u32, bytes: u64, deadline: u64 }
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
        ca_state: u8, ece: u8, backoff: u16,
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
    /// `struct fb_result`.
    Result = 74, "fb_result" { value: u64, bytes: [u8; 256] }
    /// `struct fb_sent`.
    Sent = 75, "fb_sent" { time: u64, length: u32, head: u32, bytes: [u8; HEAD] }
}

/// Numbers of `protocol.h` that are no records.
pub mod number {
    /// `FB_RECORD_PACKETS`.
    pub const RECORD_PACKETS: u64 = 1;
    /// `FB_RECORD_TCP`.
    pub const RECORD_TCP: u64 = 2;
    /// `FB_SCRIPT`.
    pub const SCRIPT: u64 = 4;
    /// `FB_GROUP_ECN`.
    pub const GROUP_ECN: u32 = 1;
    /// `FB_GROUP_FIN`.
    pub const GROUP_FIN: u32 = 2;
    /// `FB_OPEN_DATAGRAMS`.
    pub const OPEN_DATAGRAMS: u32 = 1;
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

/// A text in a field of `N` bytes, which ends with a zero.
///
/// # Panics
/// When it is too long: such texts are ours.
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
mod tests {
    use super::*;
    use forebay_kernel::tags;
    use std::fmt::Write as _;
    use std::process::Command;

    /// Names with the sums of the sizes before each.
    pub(super) const fn places<const N: usize>(names: &[&'static str], sizes: &[usize]) -> [(&'static str, usize); N] {
        let mut all = [("", 0); N];
        let (mut i, mut at) = (0, 0);
        while i < N {
            all[i] = (names[i], at);
            at += sizes[i];
            i += 1;
        }
        all
    }

    /// Compiles a program that prints what C makes of the header, and compares line for line.
    #[test]
    fn the_c_compiler_puts_everything_at_the_same_place() {
        let mut program = String::from("#include <stdio.h>\n#include <stddef.h>\n#include \"protocol.h\"\nint main(void) {\n");
        let mut expected = String::new();
        for (kind, size, (name, fields)) in LAYOUTS {
            let _ = writeln!(program, "printf(\"{name} %zu\\n\", sizeof(struct {name}));");
            let _ = writeln!(program, "printf(\"{name} %d\\n\", FB_{});", name[3..].to_uppercase());
            let _ = writeln!(expected, "{name} {size}\n{name} {kind}");
            for (field, place) in *fields {
                let _ = writeln!(program, "printf(\"{name}.{field} %zu\\n\", offsetof(struct {name}, {field}));");
                let _ = writeln!(expected, "{name}.{field} {place}");
            }
        }
        let numbers: &[(&str, u64)] = &[
            ("FB_PROTOCOL", PROTOCOL.into()),
            ("FB_NEVER", NEVER),
            ("FB_NONE", NONE.into()),
            ("FB_HOPS", HOPS as u64),
            ("FB_PARAMS", PARAMS as u64),
            ("FB_TAGS", TAGS as u64),
            ("FB_TAG_SERVICE", tags::SERVICE),
            ("FB_TAG_PIAS", tags::PIAS),
            ("FB_TAG_PRIN", tags::PRIN),
            ("FB_SETUP_END", SETUP_END.into()),
            ("FB_RECORD_SIZES", RECORD_SIZES.into()),
            ("FB_LOG", LOG.into()),
            ("FB_RECORD_PACKETS", number::RECORD_PACKETS),
            ("FB_RECORD_TCP", number::RECORD_TCP),
            ("FB_SCRIPT", number::SCRIPT),
            ("FB_CALL_SOCKET", call::SOCKET.into()),
            ("FB_CALL_LISTEN", call::LISTEN.into()),
            ("FB_CALL_CONNECT", call::CONNECT.into()),
            ("FB_CALL_ACCEPT", call::ACCEPT.into()),
            ("FB_CALL_SEND", call::SEND.into()),
            ("FB_CALL_RECEIVE", call::RECEIVE.into()),
            ("FB_CALL_SHUTDOWN", call::SHUTDOWN.into()),
            ("FB_CALL_CLOSE", call::CLOSE.into()),
            ("FB_CALL_SET", call::SET.into()),
            ("FB_CALL_GET", call::GET.into()),
            ("FB_GROUP_ECN", number::GROUP_ECN.into()),
            ("FB_GROUP_FIN", number::GROUP_FIN.into()),
            ("FB_OPEN_DATAGRAMS", number::OPEN_DATAGRAMS.into()),
            ("FB_WRITE_LAST", number::WRITE_LAST.into()),
            ("FB_ARRIVED", what::ARRIVED.into()),
            ("FB_MARKED", what::MARKED.into()),
            ("FB_DROPPED", what::DROPPED.into()),
            ("FB_DELIVERED_PACKET", what::DELIVERED.into()),
            ("FB_MARKED_LATER", what::MARKED_LATER.into()),
            ("FB_OVERFLOW", reason::OVERFLOW.into()),
            ("FB_SHARED", reason::SHARED.into()),
            ("FB_EARLY", reason::EARLY.into()),
            ("FB_DEAD", reason::DEAD.into()),
            ("FB_CUT", reason::CUT.into()),
            ("FB_LOST", reason::LOST.into()),
            ("FB_TIMER_RTO", timer::RTO.into()),
            ("FB_TIMER_PROBE", timer::PROBE.into()),
            ("FB_TIMER_SYN", timer::SYN.into()),
            ("FB_TIMER_PERSIST", timer::PERSIST.into()),
            ("FB_WAKE", event::WAKE.into()),
            ("FB_ESTABLISHED", event::ESTABLISHED.into()),
            ("FB_DELIVERED", event::DELIVERED.into()),
            ("FB_ACKED", event::ACKED.into()),
            ("FB_FAILED", event::FAILED.into()),
            ("FB_DATAGRAM_IN", event::DATAGRAM_IN.into()),
            ("FB_CLOSED", event::CLOSED.into()),
        ];
        for (name, value) in numbers {
            let _ = writeln!(program, "printf(\"{name} %llu\\n\", (unsigned long long){name});");
            let _ = writeln!(expected, "{name} {value}");
        }
        program.push_str("return 0;\n}\n");

        let folder = std::env::temp_dir().join(format!("forebay-protocol-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (source, binary) = (folder.join("layout.c"), folder.join("layout"));
        std::fs::write(&source, program).unwrap();
        let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../kernel/driver");
        let built = Command::new("cc").args(["-std=gnu11", "-I", header, "-o"]).arg(&binary).arg(&source).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let printed = Command::new(&binary).output().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(String::from_utf8(printed.stdout).unwrap(), expected);
    }

    #[test]
    fn records_come_back_as_they_were_put() {
        let open = Open {
            conn: 7,
            group: 1,
            src: 2,
            dst: 3,
            forth_len: 2,
            back_len: 1,
            forth: std::array::from_fn(|i| i as u32),
            back: [9; HOPS],
            ties_forth: 1 << 40,
            ties_back: 5,
            class_of_service: 6,
            flags: number::OPEN_DATAGRAMS,
            deadline: NEVER,
        };
        let mut bytes = Vec::new();
        open.put(&mut bytes);
        assert_eq!(bytes.len(), Open::SIZE);
        assert_eq!(Open::take(&bytes), open);
        assert_eq!(text_in(&text::<16>("reno")), "reno");
    }
}
