//! Shared packet memory of a switch: limits on each port's share of a common pool.

/// Division of the pool among the ports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SharedPolicy {
    /// Every port may hold up to a fixed number of bytes while the pool has space.
    Static {
        /// Bytes one port may hold.
        per_port: u64,
    },
    /// Dynamic threshold (Choudhury and Hahne, 1998): a port may hold `alpha` times the free part of the pool.
    Dynamic {
        /// Factor on the free pool.
        alpha: f64,
    },
}

/// Pool size and policy of one switch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedBuffer {
    /// Bytes of the pool.
    pub total: u64,
    /// Division among ports.
    pub policy: SharedPolicy,
}

impl SharedBuffer {
    /// Returns true if a packet of `wire` bytes may join a port that holds `port_bytes`, while all ports together hold `used`.
    #[inline]
    pub fn admits(&self, used: u64, port_bytes: u64, wire: u64) -> bool {
        if used + wire > self.total {
            return false;
        }
        match self.policy {
            SharedPolicy::Static { per_port } => port_bytes + wire <= per_port,
            SharedPolicy::Dynamic { alpha } => ((port_bytes + wire) as f64) <= alpha * (self.total - used) as f64,
        }
    }

    /// Bytes that one port can hold while all others are empty. With a dynamic threshold that is alpha / (1 + alpha) of the pool.
    pub fn max_port_bytes(&self) -> u64 {
        match self.policy {
            SharedPolicy::Static { per_port } => per_port.min(self.total),
            SharedPolicy::Dynamic { alpha } => (self.total as f64 * alpha / (1.0 + alpha)) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_port_settles_at_dynamic_threshold() {
        let pool = SharedBuffer { total: 4_000_000, policy: SharedPolicy::Dynamic { alpha: 0.2 } };
        let mut held = 0;
        while pool.admits(held, held, 1500) {
            held += 1500;
        }
        // alpha / (1 + alpha) of 4 MB: the 700 KB orientation value of the DCTCP publication.
        assert!((held as f64 - 4e6 * 0.2 / 1.2).abs() < 2.0 * 1500.0, "{held}");
        assert_eq!(pool.max_port_bytes(), 666_666);
        let fixed = |per_port| SharedBuffer { total: 10_000, policy: SharedPolicy::Static { per_port } }.max_port_bytes();
        assert_eq!((fixed(4_000), fixed(40_000)), (4_000, 10_000));
    }

    #[test]
    fn static_limit_and_full_pool() {
        let pool = SharedBuffer { total: 10_000, policy: SharedPolicy::Static { per_port: 4_000 } };
        assert!(pool.admits(0, 2_500, 1_500));
        assert!(!pool.admits(0, 2_501, 1_500));
        assert!(!pool.admits(9_000, 0, 1_500));
    }

    /// All arrivals of one to three units at two ports, up to nine packets: the pool is never exceeded, and no port is beyond what it can hold alone.
    #[test]
    fn exhaustive_arrivals_stay_in_the_pool() {
        for policy in
            [SharedPolicy::Static { per_port: 5 }, SharedPolicy::Dynamic { alpha: 0.5 }, SharedPolicy::Dynamic { alpha: 4.0 }]
        {
            let pool = SharedBuffer { total: 9, policy };
            crate::testing::each_sequence(6, 7, |word| {
                let mut held = [0; 2];
                for letter in word {
                    let (port, wire) = (usize::from(letter % 2), u64::from(letter / 2) + 1);
                    let used = held[0] + held[1];
                    let free = pool.total - used;
                    if pool.admits(used, held[port], wire) {
                        held[port] += wire;
                    } else {
                        let limit = match policy {
                            SharedPolicy::Static { per_port } => per_port as f64,
                            SharedPolicy::Dynamic { alpha } => alpha * free as f64,
                        };
                        assert!(wire > free || (held[port] + wire) as f64 > limit, "{word:?}: {held:?} refuses {wire}");
                    }
                    assert!(held[0] + held[1] <= pool.total, "{word:?}");
                    // A packet is compared with the pool before it joins.
                    assert!(held[port] <= pool.max_port_bytes() + 3, "{word:?}: {held:?}");
                }
            });
        }
    }
}
