//! TCP sockets of this network namespace as the kernel describes them (sock_diag, as `ss` reads it). Needs no privileges.

use crate::Error;
use crate::netlink::Netlink;
use forebay_platform::tcp_info::TcpInfo;
use netlink_packet_core::{NLM_F_DUMP, Nla as _};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use std::io;
use std::net::SocketAddr;

/// INET_DIAG_CGROUP_ID (include/uapi/linux/inet_diag.h).
const CGROUP_ID: u16 = 21;

/// A connection.
#[derive(Debug, Clone)]
pub struct Socket {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The congestion control.
    pub cc: String,
    /// Counters of the kernel.
    pub info: Info,
    /// The number of the cgroup of the process that opened it; 0 where the kernel does not say.
    pub cgroup: u64,
}

/// The part of the kernel's `struct tcp_info` (include/uapi/linux/tcp.h) that is used here; a field that the kernel lacks is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Info {
    /// Smoothed round trip in microseconds.
    pub rtt_us: u32,
    /// Its mean deviation in microseconds.
    pub rttvar_us: u32,
    /// Shortest round trip in microseconds.
    pub min_rtt_us: u32,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments.
    pub ssthresh: u32,
    /// Segments sent again.
    pub retransmissions: u32,
    /// Segments sent.
    pub segments_out: u32,
    /// Segments delivered, and of those the ones that were marked.
    pub delivered: u32,
    /// Delivered segments whose ACK reported a mark.
    pub delivered_ce: u32,
    /// Bytes of payload that the other end acknowledged.
    pub bytes_acked: u64,
    /// Bytes of payload received.
    pub bytes_received: u64,
    /// ECN was negotiated.
    pub ecn: bool,
    /// Largest segment in bytes.
    pub mss: u32,
}

impl Info {
    fn new(info: &TcpInfo) -> Info {
        // An acknowledged SYN or FIN counts as a byte (RFC 4898, tcpi_bytes_acked), and is none that was sent as payload.
        let sent = info.bytes_sent_once().unwrap_or(u64::MAX);
        Info {
            ecn: info.has_ecn(),
            mss: info.mss(),
            rtt_us: info.rtt_us(),
            rttvar_us: info.rttvar_us(),
            ssthresh: info.ssthresh(),
            cwnd: info.cwnd(),
            retransmissions: info.total_retrans(),
            bytes_acked: info.bytes_acked().min(sent),
            bytes_received: info.bytes_received(),
            segments_out: info.segments_out(),
            min_rtt_us: info.min_rtt_us(),
            delivered: info.delivered(),
            delivered_ce: info.delivered_ce(),
        }
    }
}

/// All TCP sockets except those in LISTEN, SYN_RECV, TIME_WAIT and CLOSE.
pub fn sockets() -> Result<Vec<Socket>, Error> {
    let mut found = Vec::new();
    for (family, id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
        let states = StateFlags::ESTABLISHED
            | StateFlags::SYN_SENT
            | StateFlags::FIN_WAIT1
            | StateFlags::FIN_WAIT2
            | StateFlags::CLOSE_WAIT
            | StateFlags::LAST_ACK
            | StateFlags::CLOSING;
        let extensions = ExtensionFlags::INFO | ExtensionFlags::CONG;
        let request = InetRequest { family, protocol: IPPROTO_TCP, extensions, states, socket_id: id };
        let mut netlink = Netlink::open(NETLINK_SOCK_DIAG, "sock_diag")?;
        let answers = netlink.request(SockDiagMessage::InetRequest(request), NLM_F_DUMP)?.map_err(|e| {
            match io::Error::from_raw_os_error(e.errno) {
                // The kernel loads it by itself where it can (sock_diag_lock_handler); small systems have no modprobe.
                e if e.kind() == io::ErrorKind::NotFound => {
                    Error::io("listing sockets", &e).fix("the kernel lacks its listing of TCP sockets: modprobe tcp_diag")
                }
                e => Error::io("listing sockets", &e),
            }
        })?;
        for answer in answers {
            let SockDiagMessage::InetResponse(r) = answer else { continue };
            let id = &r.header.socket_id;
            let mut described = false;
            let mut socket = Socket {
                local: (id.source_address.to_canonical(), id.source_port).into(),
                remote: (id.destination_address.to_canonical(), id.destination_port).into(),
                cc: String::new(),
                info: Info::default(),
                cgroup: 0,
            };
            for nla in &r.nlas {
                match nla {
                    Nla::Congestion(name) => socket.cc.clone_from(name),
                    Nla::TcpInfo(bytes) => {
                        socket.info = Info::new(&TcpInfo::from_bytes(bytes));
                        // So does a FIN that has arrived: CLOSE_WAIT, LAST_ACK, CLOSING (include/net/tcp_states.h).
                        if matches!(r.header.state, 8 | 9 | 11) {
                            socket.info.bytes_received = socket.info.bytes_received.saturating_sub(1);
                        }
                        described = true;
                    }
                    Nla::Other(other) if other.kind() == CGROUP_ID => {
                        let mut bytes = [0; 8];
                        if other.value_len() == bytes.len() {
                            other.emit_value(&mut bytes);
                        }
                        socket.cgroup = u64::from_ne_bytes(bytes);
                    }
                    _ => {}
                }
            }
            // A socket in FIN_WAIT2 whose state was reduced (tcp_time_wait) is listed under that state and has neither a congestion control nor a
            // window.
            if described {
                found.push(socket);
            }
        }
    }
    Ok(found)
}
