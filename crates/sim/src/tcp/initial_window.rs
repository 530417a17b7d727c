//! Initial receive window and largest buffer with autotuning (tcp_select_initial_window), which both endpoints derive from the configuration.

use super::config::TcpConfig;

/// Initial buffer (`tcp_rmem[1]`).
pub(super) const INITIAL_BUFFER: u32 = 131_072;

/// The largest buffer (`tcp_rmem[2]`): twice `rcv-wnd`, the ratio that a connection assumes at first. Our choice: the window stays below `rcv-wnd`
/// also where payload turns out to occupy more of the buffer.
pub(super) fn max_buffer(c: &TcpConfig) -> u32 {
    (2 * c.rcv_wnd).clamp(u64::from(INITIAL_BUFFER), u64::from(u32::MAX / 2)) as u32
}

/// Initial window: with autotuning half of the initial buffer, limited to 16 bits, in full segments (tcp_select_initial_window).
pub(super) fn first_window(c: &TcpConfig) -> u64 {
    let mss = u64::from(c.mss);
    if c.rcv_autotune { c.rcv_wnd.min((65_535 / mss * mss).max(mss)) } else { c.rcv_wnd }
}

/// Window-scale shift with autotuning: that of the largest buffer (tcp_select_initial_window).
pub(super) fn autotuned_shift(c: &TcpConfig) -> u8 {
    (max_buffer(c).ilog2() as u8).saturating_sub(15).min(14)
}
