//! What both endpoints of a connection make of its configuration.

use super::config::TcpConfig;
use crate::net::packet::Codepoint;
use forebay_experiment::transport::Ecn;

/// ECN field of packets without data.
pub(super) fn control_ecn(c: &TcpConfig, negotiated: bool) -> Codepoint {
    if negotiated && c.ecn == Ecn::Dctcp { Codepoint::Ect0 } else { Codepoint::NotEct }
}

/// Window-scale shift for a receive window: the smallest with which it fits 16 bits (RFC 7323 section 2.2, at most 14).
pub(super) fn window_shift(window: u64) -> u8 {
    (0..14).find(|s| window >> s <= 65_535).unwrap_or(14)
}
