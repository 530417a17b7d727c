//! Queue lengths in packets or bytes.

use crate::units::parse::{QuantityError, quantity};
use crate::units::size::Bytes;
use core::fmt;
use core::str::FromStr;

/// A buffer size or threshold: "100pkt" counts packets of any size, "150KB" counts wire bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueLen {
    /// A number of packets.
    Packets(u64),
    /// A number of bytes on the wire.
    Bytes(u64),
}

impl QueueLen {
    /// Number of packets or bytes.
    pub const fn amount(self) -> u64 {
        match self {
            QueueLen::Packets(n) | QueueLen::Bytes(n) => n,
        }
    }
}

impl FromStr for QueueLen {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<QueueLen, QuantityError> {
        if s.contains("pkt") {
            return quantity(s, "queue length", &[("pkt", 1), ("pkts", 1)]).map(QueueLen::Packets);
        }
        match s.parse::<Bytes>() {
            Ok(b) => Ok(QueueLen::Bytes(b.0)),
            Err(_) => Err(QuantityError(format!("`{s}` is not a queue length: write packets (\"100pkt\") or bytes (\"150KB\")"))),
        }
    }
}

impl fmt::Display for QueueLen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLen::Packets(n) => write!(f, "{n}pkt"),
            QueueLen::Bytes(n) => write!(f, "{}", Bytes(*n)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_or_bytes() {
        assert_eq!("100pkt".parse::<QueueLen>().unwrap(), QueueLen::Packets(100));
        assert_eq!("150KB".parse::<QueueLen>().unwrap(), QueueLen::Bytes(150_000));
        assert!("1.5pkt".parse::<QueueLen>().is_err());
        assert!("many".parse::<QueueLen>().is_err());
    }
}
