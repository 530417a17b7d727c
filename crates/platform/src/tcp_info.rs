//! State of a TCP socket: `struct tcp_info` (include/uapi/linux/tcp.h), which later kernels extend only at its end. Fields that the kernel lacks
//! are 0.

use nix::libc;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// More bytes than any kernel has.
const LARGEST: usize = 512;

/// A snapshot of a socket.
#[derive(Clone, Copy)]
pub struct TcpInfo {
    bytes: [u8; LARGEST],
    length: usize,
}

impl TcpInfo {
    /// State of `socket` (tcp(7), TCP_INFO).
    ///
    /// # Errors
    /// It is no TCP socket.
    pub fn of(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
        let (mut bytes, mut length) = ([0; LARGEST], LARGEST as libc::socklen_t);
        // SAFETY: the kernel writes at most `length` bytes, and both live until the call returns.
        let done = unsafe {
            let to = bytes.as_mut_ptr().cast();
            libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length)
        };
        if done == 0 { Ok(TcpInfo { bytes, length: length as usize }) } else { Err(io::Error::last_os_error()) }
    }

    /// State as written by the kernel, as in an answer of sock_diag(7).
    pub fn from_bytes(from: &[u8]) -> TcpInfo {
        let length = from.len().min(LARGEST);
        let mut bytes = [0; LARGEST];
        bytes[..length].copy_from_slice(&from[..length]);
        TcpInfo { bytes, length }
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_ne_bytes(std::array::from_fn(|i| self.bytes[at + i]))
    }

    fn u64_at(&self, at: usize) -> u64 {
        u64::from_ne_bytes(std::array::from_fn(|i| self.bytes[at + i]))
    }

    /// The state, as `TCP_ESTABLISHED` and the others of net/tcp_states.h.
    pub fn state(&self) -> u8 {
        self.bytes[0]
    }

    /// State of the congestion avoidance (`enum tcp_ca_state`).
    pub fn ca_state(&self) -> u8 {
        self.bytes[1]
    }

    /// Timeouts in a row.
    pub fn backoff(&self) -> u8 {
        self.bytes[4]
    }

    /// ECN was negotiated (`TCPI_OPT_ECN`).
    pub fn has_ecn(&self) -> bool {
        self.bytes[5] & 8 != 0
    }

    /// Retransmission timeout, us.
    pub fn rto_us(&self) -> u32 {
        self.u32_at(8)
    }

    /// Largest segment, bytes.
    pub fn mss(&self) -> u32 {
        self.u32_at(16)
    }

    /// Segments outstanding.
    pub fn packets_out(&self) -> u32 {
        self.u32_at(24)
    }

    /// Outstanding segments with a SACK.
    pub fn sacked_out(&self) -> u32 {
        self.u32_at(28)
    }

    /// Outstanding segments marked lost.
    pub fn lost_out(&self) -> u32 {
        self.u32_at(32)
    }

    /// Outstanding retransmissions.
    pub fn retrans_out(&self) -> u32 {
        self.u32_at(36)
    }

    /// Smoothed round trip, us.
    pub fn rtt_us(&self) -> u32 {
        self.u32_at(68)
    }

    /// Its mean deviation, us.
    pub fn rttvar_us(&self) -> u32 {
        self.u32_at(72)
    }

    /// Slow-start threshold, segments.
    pub fn ssthresh(&self) -> u32 {
        self.u32_at(76)
    }

    /// Congestion window, segments.
    pub fn cwnd(&self) -> u32 {
        self.u32_at(80)
    }

    /// Retransmissions so far.
    pub fn total_retrans(&self) -> u32 {
        self.u32_at(100)
    }

    /// Bytes acknowledged; SYN and FIN count as one each (RFC 4898, tcpEStatsAppHCThruOctetsAcked).
    pub fn bytes_acked(&self) -> u64 {
        self.u64_at(120)
    }

    /// Bytes of payload received.
    pub fn bytes_received(&self) -> u64 {
        self.u64_at(128)
    }

    /// Segments sent.
    pub fn segments_out(&self) -> u32 {
        self.u32_at(136)
    }

    /// Shortest round trip, us.
    pub fn min_rtt_us(&self) -> u32 {
        self.u32_at(148)
    }

    /// Time in which the receive window limited the sender, us (`tcpi_rwnd_limited`).
    pub fn rwnd_limited_us(&self) -> u64 {
        self.u64_at(176)
    }

    /// Time in which the send buffer limited the sender, us (`tcpi_sndbuf_limited`).
    pub fn sndbuf_limited_us(&self) -> u64 {
        self.u64_at(184)
    }

    /// Segments delivered.
    pub fn delivered(&self) -> u32 {
        self.u32_at(192)
    }

    /// Delivered segments whose ACK reported CE.
    pub fn delivered_ce(&self) -> u32 {
        self.u32_at(196)
    }

    /// Bytes of payload sent, less those retransmitted; `None` if the kernel lacks one of the two counters.
    pub fn bytes_sent_once(&self) -> Option<u64> {
        (self.length >= 216).then(|| self.u64_at(200).saturating_sub(self.u64_at(208)))
    }

    /// Send window, bytes.
    pub fn snd_wnd(&self) -> u32 {
        self.u32_at(228)
    }

    /// Retransmission timeouts so far (since Linux 6.7), those of the SYN among them.
    pub fn timeouts(&self) -> u16 {
        u16::from_ne_bytes([self.bytes[240], self.bytes[241]])
    }
}

#[cfg(test)]
mod tests {
    use super::TcpInfo;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn open_socket_is_established() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = TcpInfo::of(socket.as_fd()).unwrap();
        assert_eq!((info.state(), info.total_retrans()), (1, 0));
        assert!(info.cwnd() >= 1 && info.mss() > 500);
    }

    #[test]
    fn limits_are_behind_delivery_rate() {
        let mut bytes = [0; 200];
        (bytes[176], bytes[184]) = (7, 9);
        let info = TcpInfo::from_bytes(&bytes);
        assert_eq!((info.rwnd_limited_us(), info.sndbuf_limited_us()), (7, 9));
    }

    #[test]
    fn short_struct_has_zeros() {
        let info = TcpInfo::from_bytes(&[1; 84]);
        assert_eq!((info.cwnd(), info.total_retrans(), info.bytes_sent_once()), (0x0101_0101, 0, None));
    }
}
