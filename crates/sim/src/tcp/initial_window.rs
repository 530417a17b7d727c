//! Initial receive window and largest buffer with autotuning (tcp_select_initial_window), which both endpoints derive from the configuration.

use super::config::TcpConfig;

/// Initial buffer (`tcp_rmem[1]`).
const INITIAL_BUFFER: u32 = 131_072;
/// `SOCK_MIN_RCVBUF`.
const SMALLEST_BUFFER: u32 = 2_048 + 256;

/// The largest buffer (`tcp_rmem[2]`): `rcv-buf-max`, or twice `rcv-wnd`, the ratio that a connection assumes at first. Our choice: the window
/// stays below a `rcv-wnd` of the scenario also where payload turns out to occupy more of the buffer.
pub(super) fn max_buffer(c: &TcpConfig) -> u32 {
    c.rmem_max.unwrap_or(2 * c.rcv_wnd).clamp(u64::from(INITIAL_BUFFER), u64::from(u32::MAX / 2)) as u32
}

/// Buffer of a new connection: SO_RCVBUF, which setsockopt doubles (at least SOCK_MIN_RCVBUF), or `tcp_rmem[1]`.
pub(super) fn first_buffer(c: &TcpConfig) -> u32 {
    c.rcv_buf.map_or(INITIAL_BUFFER, |bytes| (2 * bytes).clamp(u64::from(SMALLEST_BUFFER), u64::from(u32::MAX / 2)) as u32)
}

/// Returns true if the window follows from a buffer.
pub(super) fn has_buffer(c: &TcpConfig) -> bool {
    c.rcv_autotune || c.rcv_buf.is_some()
}

/// Initial window: of a buffer its half, in full segments (tcp_select_initial_window). A SYN-ACK shows at most 16 bits of it.
pub(super) fn first_window(c: &TcpConfig) -> u64 {
    let mss = u64::from(c.mss);
    if !has_buffer(c) {
        return c.rcv_wnd;
    }
    let half = u64::from(first_buffer(c) / 2);
    // Up to 6.1 the SYN-ACK's 16 bits limit it, too.
    let most = if c.kernel.measures_window_scale() { c.window_limit() } else { c.window_limit().min(65_535) };
    most.min((half / mss * mss).max(mss.min(half)))
}

/// Window-scale shift of a stack with a buffer: that of the largest one, or of the window of one with a fixed size (tcp_openreq_init_rwin,
/// tcp_select_initial_window).
pub(super) fn buffer_shift(c: &TcpConfig) -> u8 {
    let largest = if c.rcv_buf.is_some() { first_buffer(c) / 2 } else { max_buffer(c) };
    (largest.ilog2() as u8).saturating_sub(15).min(14)
}
