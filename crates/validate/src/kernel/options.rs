//! Numbers of Linux's interface to programs: socket options, errors, `struct tcp_info`.

/// `SOL_SOCKET`.
const SOL_SOCKET: u32 = 1;
/// `SOL_TCP`.
pub(super) const SOL_TCP: u32 = 6;
/// `TCP_CONGESTION`.
pub(super) const TCP_CONGESTION: u32 = 13;
/// `TCP_INFO`.
pub(super) const TCP_INFO: u32 = 11;
/// `TCP_CC_INFO`.
pub(super) const TCP_CC_INFO: u32 = 26;

/// Resource temporarily unavailable.
pub(super) const EAGAIN: i64 = 11;
/// Operation already in progress.
pub(super) const EALREADY: i64 = 114;
/// Operation now in progress.
pub(super) const EINPROGRESS: i64 = 115;

/// Level and number of a socket option.
pub(super) fn number_of(name: &str) -> Option<(u32, u32)> {
    let tcp = |number| Some((SOL_TCP, number));
    match name {
        "SO_REUSEADDR" => Some((SOL_SOCKET, 2)),
        "SO_ERROR" => Some((SOL_SOCKET, 4)),
        "SO_SNDBUF" => Some((SOL_SOCKET, 7)),
        "SO_REUSEPORT" => Some((SOL_SOCKET, 15)),
        "TCP_NODELAY" => tcp(1),
        "TCP_MAXSEG" => tcp(2),
        "TCP_CONGESTION" => tcp(TCP_CONGESTION),
        _ => None,
    }
}

/// The name of an error.
pub(super) fn error(number: i64) -> &'static str {
    match number {
        9 => "EBADF",
        EAGAIN => "EAGAIN",
        22 => "EINVAL",
        32 => "EPIPE",
        104 => "ECONNRESET",
        106 => "EISCONN",
        107 => "ENOTCONN",
        110 => "ETIMEDOUT",
        111 => "ECONNREFUSED",
        EALREADY => "EALREADY",
        EINPROGRESS => "EINPROGRESS",
        _ => "another error",
    }
}

/// Fields of `struct tcp_info` (include/uapi/linux/tcp.h) for assertions, by name, offset and bytes.
const FIELDS: &[(&str, usize, usize)] = &[
    ("tcpi_state", 0, 1),
    ("tcpi_ca_state", 1, 1),
    ("tcpi_backoff", 4, 1),
    ("tcpi_rto", 8, 4),
    ("tcpi_snd_mss", 16, 4),
    ("tcpi_unacked", 24, 4),
    ("tcpi_sacked", 28, 4),
    ("tcpi_lost", 32, 4),
    ("tcpi_retrans", 36, 4),
    ("tcpi_rtt", 68, 4),
    ("tcpi_rttvar", 72, 4),
    ("tcpi_snd_ssthresh", 76, 4),
    ("tcpi_snd_cwnd", 80, 4),
    ("tcpi_advmss", 84, 4),
    ("tcpi_reordering", 88, 4),
    ("tcpi_total_retrans", 100, 4),
    ("tcpi_min_rtt", 148, 4),
];

/// The fields in the bytes of a `struct tcp_info`.
pub(super) fn tcp_info(bytes: &[u8]) -> Vec<(&'static str, f64)> {
    let value = |at: usize, size: usize| bytes[at..at + size].iter().rev().fold(0u32, |v, b| v << 8 | u32::from(*b));
    FIELDS.iter().map(|&(name, at, size)| (name, f64::from(value(at, size)))).collect()
}
