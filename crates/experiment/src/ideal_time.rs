//! Transfer time of a message in an empty network.

use crate::network::PortConfig;
use forebay_types::Time;

/// Transfer time of a message as back-to-back segments over an empty path: store and forward at every hop, no handshake, no window. D(n, h), the time
/// when segment n leaves hop h, is max(D(n-1, h), D(n, h-1)) + tx. All segments but the last are equal.
#[derive(Debug, Clone)]
pub struct IdealTime {
    /// Full segments before the last one, and the wire bytes of one.
    full: u64,
    segment: u64,
    /// Wire bytes of the last segment.
    last: u64,
    /// Time when the first segment has left the hops so far, and the longest transmission time of a segment at one of them.
    first: Time,
    slowest: Time,
    last_out: Time,
    delay: Time,
}

impl IdealTime {
    /// State before the first hop, for `size` bytes, at least 1, in segments of `mss` bytes with `header` bytes more on the wire.
    pub fn new(size: u64, mss: u32, header: u32) -> IdealTime {
        let (mss, header) = (u64::from(mss), u64::from(header));
        let full = (size - 1) / mss;
        let last = size - full * mss + header;
        IdealTime {
            full,
            segment: mss + header,
            last,
            first: Time::ZERO,
            slowest: Time::ZERO,
            last_out: Time::ZERO,
            delay: Time::ZERO,
        }
    }

    /// Adds `port` and its link to the path.
    pub fn pass(&mut self, port: &PortConfig) {
        if self.full > 0 {
            let tx = port.rate.tx_time(self.segment);
            self.first += tx;
            self.slowest = self.slowest.max(tx);
            // The transmission of a petabyte on a slow link exceeds the range of `Time`.
            let full = self.slowest.saturating_mul(self.full - 1);
            self.last_out = self.first.saturating_add(full).max(self.last_out);
        }
        self.last_out = self.last_out.saturating_add(port.rate.tx_time(self.last));
        self.delay += port.delay;
    }

    /// Time from the first byte's start to the last byte's arrival; [`Time::NEVER`] if it exceeds the range of `Time`.
    pub fn time(&self) -> Time {
        self.last_out.saturating_add(self.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::{NodeId, Rate};

    fn time(size: u64, rates: [Rate; 2]) -> Time {
        let mut ideal = IdealTime::new(size, 1_000, 0);
        for rate in rates {
            let (from, to) = (NodeId::new(0), NodeId::new(1));
            ideal.pass(&PortConfig {
                from,
                to,
                rate,
                delay: Time::from_us(1),
                buffer: None,
                queue: forebay_queues::build(None, None).unwrap(),
                queue_config: Default::default(),
            });
        }
        ideal.time()
    }

    #[test]
    fn largest_message_at_both_rates() {
        // Two links of 1 us, and the last segment on the second of them: 800 ps.
        assert_eq!(time(1_000_000_000_000_000, [Rate::MAX; 2]), Time::from_secs(800) + Time(2_000_800));
        assert_eq!(time(1_000_000_000_000_000, [Rate::MIN; 2]), Time::NEVER);
        assert_eq!(time(1_000_000_000_000_000, [Rate::MIN, Rate::MAX]), Time::NEVER);
    }
}
