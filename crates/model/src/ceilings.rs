//! Upper bounds by headers, windows and bandwidth-delay products.

use crate::ModelError;
use crate::error::integer;
use forebay_types::{Rate, Time};

/// Header bytes of every packet.
pub mod header {
    /// IPv4 and TCP without options: the 40-byte header of the papers' simulations.
    pub const IP_TCP: u64 = 40;
    /// IPv4 and TCP with the timestamps option (RFC 7323), padded to 12 bytes.
    pub const IP_TCP_TIMESTAMPS: u64 = 52;
    /// Ethernet: preamble and start delimiter 8, header 14, check sequence 4, gap 12 (IEEE 802.3).
    pub const ETHERNET: u64 = 38;
    /// An 802.1Q tag.
    pub const VLAN: u64 = 4;
}

/// Largest window that a TCP header can advertise without scaling (RFC 7323 section 2.2), bytes.
pub const UNSCALED_WINDOW: u64 = 65_535;

/// Largest share of payload in a link, if each packet has `payload` bytes (1 to 65 535) and `header` bytes (0 to 65 535): payload / (payload +
/// header).
///
/// # Errors
/// Names `payload` or `header`.
pub fn payload_share(payload: u64, header: u64) -> Result<f64, ModelError> {
    integer("payload", payload, 1, 65_535)?;
    integer("header", header, 0, 65_535)?;
    Ok(payload as f64 / (payload + header) as f64)
}

/// Largest goodput of a link of `rate`, payload bits per second.
///
/// # Errors
/// Names `rate` (10 kbit/s to 10 Tbit/s), `payload` or `header` as in [`payload_share`].
pub fn goodput(rate: Rate, payload: u64, header: u64) -> Result<f64, ModelError> {
    integer("rate", rate.0, Rate::MIN.0, Rate::MAX.0)?;
    Ok(rate.0 as f64 * payload_share(payload, header)?)
}

/// Largest goodput of a flow whose window is limited to `window` bytes of payload (at least 1) on a path with the base RTT `rtt` (above 0): window /
/// rtt, limited by the link. Payload bits per second.
///
/// # Errors
/// Names `window` or `rtt`, or an argument as in [`goodput`].
pub fn window_limited(rate: Rate, payload: u64, header: u64, window: u64, rtt: Time) -> Result<f64, ModelError> {
    integer("window", window, 1, u64::MAX)?;
    if rtt == Time::ZERO {
        return Err(ModelError::new("rtt", "is 0; legal: above 0"));
    }
    Ok(goodput(rate, payload, header)?.min(8.0 * window as f64 / rtt.as_secs_f64()))
}

/// Bandwidth-delay product rate * rtt / 8 in bytes, rounded down.
///
/// # Errors
/// Names `rate` (10 kbit/s to 10 Tbit/s) or `rtt` (at most 1e6 s).
pub fn bdp_bytes(rate: Rate, rtt: Time) -> Result<u64, ModelError> {
    integer("rate", rate.0, Rate::MIN.0, Rate::MAX.0)?;
    if rtt.0 > 1_000_000_000_000_000_000 {
        return Err(ModelError::new("rtt", format!("is {rtt}; legal: at most 1e6 s")));
    }
    // At most 1e13 * 1e18 bit-picoseconds; the quotient is at most 1.25e18.
    Ok((u128::from(rate.0) * u128::from(rtt.0) / 8_000_000_000_000) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_headers() {
        for (payload, header, share) in [
            (1460, header::IP_TCP, 0.9733),
            (1448, header::IP_TCP_TIMESTAMPS, 0.9653),
            // The 950 Mbit/s of a Gigabit Ethernet link.
            (1460, header::IP_TCP + header::ETHERNET, 0.9493),
            (1448, header::IP_TCP_TIMESTAMPS + header::ETHERNET, 0.9415),
            (1460, header::IP_TCP + header::ETHERNET + header::VLAN, 0.9468),
            (8960, header::IP_TCP + header::ETHERNET, 0.9914),
            (1460, 0, 1.0),
        ] {
            assert!((payload_share(payload, header).unwrap() - share).abs() < 5e-5, "{payload} {header}");
        }
        let rate: Rate = "1Gbps".parse().unwrap();
        assert!((goodput(rate, 1460, 78).unwrap() / 1e6 - 949.3).abs() < 0.05);
    }

    #[test]
    fn windows_limit() {
        let rate: Rate = "1Gbps".parse().unwrap();
        // 10 packets of 1000 B in 100 us: 0.8 of the link.
        assert!((window_limited(rate, 1000, 0, 10_000, Time::from_us(100)).unwrap() - 8e8).abs() < 1.0);
        assert_eq!(window_limited(rate, 1000, 0, 20_000, Time::from_us(100)).unwrap(), 1e9);
    }

    #[test]
    fn bad_input_is_named() {
        assert_eq!(payload_share(0, 40).unwrap_err().argument, "payload");
        assert_eq!(payload_share(1460, 70_000).unwrap_err().argument, "header");
        assert_eq!(goodput(Rate(0), 1460, 40).unwrap_err().argument, "rate");
        assert_eq!(window_limited(Rate::MAX, 1460, 40, 0, Time::from_us(1)).unwrap_err().argument, "window");
        assert_eq!(window_limited(Rate::MAX, 1460, 40, 1, Time::ZERO).unwrap_err().argument, "rtt");
        assert_eq!(bdp_bytes(Rate(0), Time::from_us(1)).unwrap_err().argument, "rate");
        assert_eq!(bdp_bytes(Rate::MAX, Time::NEVER).unwrap_err().argument, "rtt");
    }
}
