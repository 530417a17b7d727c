//! Samples of a sender's state, from `struct tcp_info` ([`forebay_platform::tcp_info`]).

use forebay_linux::protocol::{NEVER, NONE, Tcp};
use forebay_platform::tcp_info::TcpInfo;
use forebay_types::Time;

/// Bytes of payload acknowledged: the kernel counts the SYN as one.
pub fn payload_acked(info: &TcpInfo) -> u64 {
    info.bytes_acked().saturating_sub(1)
}

/// Record of connection `conn` at `time`. The kernel reports neither the RTT sample nor the marks of an ACK.
pub fn record(info: &TcpInfo, time: Time, conn: u32) -> Tcp {
    Tcp {
        time: time.0,
        conn,
        cwnd: info.cwnd(),
        // tcp.h: TCP_INFINITE_SSTHRESH.
        ssthresh: if info.ssthresh() >= 0x7FFF_FFFF { NONE } else { info.ssthresh() },
        srtt_us8: info.rtt_us() * 8,
        rttvar_us4: info.rttvar_us() * 4,
        rto_us: info.rto_us(),
        acked: payload_acked(info),
        unacked: info.packets_out() * info.mss(),
        packets_out: info.packets_out(),
        sacked_out: info.sacked_out(),
        lost_out: info.lost_out(),
        retrans_out: info.retrans_out(),
        total_retrans: info.total_retrans(),
        rtt_us: NONE,
        snd_wnd: info.snd_wnd(),
        alpha: NONE,
        ca_state: info.ca_state(),
        ece: 0,
        backoff: u16::from(info.backoff()),
        rwnd_limited_us: info.rwnd_limited_us(),
        sndbuf_limited_us: info.sndbuf_limited_us(),
        pacing_rate: 0,
        bbr_bw: NEVER,
        bbr_min_rtt: NONE,
        bbr_pacing_gain: 0,
        bbr_cwnd_gain: 0,
    }
}
