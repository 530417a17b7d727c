//! TCP options and ECN of a configuration.

use super::config::TcpConfig;
use super::initial_window::{buffer_shift, has_buffer};
use crate::net::packet::Codepoint;
use forebay_experiment::transport::Ecn;

/// ECN field of packets without data.
pub(super) fn control_ecn(c: &TcpConfig, negotiated: bool) -> Codepoint {
    if negotiated && c.ecn == Ecn::Dctcp { Codepoint::Ect0 } else { Codepoint::NotEct }
}

/// Window scale that receivers offer: the smallest with which their window fits 16 bits (RFC 7323 section 2.2, at most 14); with autotuning, that of
/// the largest buffer.
pub fn offered_shift(c: &TcpConfig) -> u8 {
    if has_buffer(c) && c.shims.window.is_none() {
        return buffer_shift(c);
    }
    (0..14).find(|s| c.rcv_wnd >> s <= 65_535).unwrap_or(14)
}
