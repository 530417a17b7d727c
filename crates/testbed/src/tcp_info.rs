//! State of a TCP socket: `struct tcp_info` (linux/tcp.h), which later kernels extend only at its end.

use forebay_linux::protocol::{NONE, Tcp};
use forebay_types::Time;
use nix::libc;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// More than any kernel gives.
const LARGEST: usize = 512;

/// A snapshot of a socket.
#[derive(Clone, Copy)]
pub struct TcpInfo([u8; LARGEST]);

impl TcpInfo {
    /// Of `socket`.
    ///
    /// # Errors
    /// It is no TCP socket.
    pub fn of(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
        let (mut bytes, mut len) = ([0; LARGEST], LARGEST as libc::socklen_t);
        // SAFETY: the kernel writes at most `len` bytes, and both live until the call returns.
        let done = unsafe {
            let to = bytes.as_mut_ptr().cast();
            libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut len)
        };
        if done == 0 { Ok(TcpInfo(bytes)) } else { Err(io::Error::last_os_error()) }
    }

    fn byte(&self, at: usize) -> u8 {
        self.0[at]
    }

    fn short(&self, at: usize) -> u16 {
        u16::from_ne_bytes([self.0[at], self.0[at + 1]])
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes(std::array::from_fn(|i| self.0[at + i]))
    }

    fn long(&self, at: usize) -> u64 {
        u64::from_ne_bytes(std::array::from_fn(|i| self.0[at + i]))
    }

    /// The state, as `TCP_ESTABLISHED` and the others of net/tcp_states.h.
    pub fn state(&self) -> u8 {
        self.byte(0)
    }

    /// Bytes acknowledged, of which SYN counts as one (RFC 4898, tcpEStatsAppHCThruOctetsAcked).
    pub fn bytes_acked(&self) -> u64 {
        self.long(120).saturating_sub(1)
    }

    /// Retransmission timeouts so far (since Linux 6.7), those of the SYN among them.
    pub fn timeouts(&self) -> u16 {
        self.short(240)
    }

    /// The timeout in force, us.
    pub fn rto_us(&self) -> u32 {
        self.word(8)
    }

    /// Expiries in a row.
    pub fn backoff(&self) -> u8 {
        self.byte(4)
    }

    /// Segments outstanding.
    pub fn packets_out(&self) -> u32 {
        self.word(24)
    }

    /// As a record of connection `conn` at `time`. The kernel tells neither the sample nor the marks of an ACK.
    pub fn record(&self, time: Time, conn: u32) -> Tcp {
        let (mss, packets_out) = (self.word(16), self.word(24));
        let ssthresh = self.word(76);
        Tcp {
            time: time.0,
            conn,
            cwnd: self.word(80),
            // tcp.h: TCP_INFINITE_SSTHRESH.
            ssthresh: if ssthresh >= 0x7FFF_FFFF { NONE } else { ssthresh },
            srtt_us8: self.word(68) * 8,
            rttvar_us4: self.word(72) * 4,
            rto_us: self.rto_us(),
            acked: self.bytes_acked(),
            unacked: packets_out * mss,
            packets_out,
            sacked_out: self.word(28),
            lost_out: self.word(32),
            retrans_out: self.word(36),
            total_retrans: self.word(100),
            rtt_us: NONE,
            snd_wnd: self.word(228),
            alpha: NONE,
            ca_state: self.byte(1),
            ece: 0,
            backoff: u16::from(self.backoff()),
        }
    }
}
