//! The path of all models: rate, packet size, base RTT.

use crate::error::integer;
use crate::{ModelError, Ratio};
use forebay_types::{Rate, Time};

/// Largest RTT, ps: 100 s.
const MAX_RTT: u64 = 100_000_000_000_000;

/// A bottleneck of rate C on a path with the base RTT D (PRIN specification 1.2; TRIM's D and DCTCP's RTT). D consists of propagation, serialization
/// of a data packet on every hop, and the latency of its ACK, without queueing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipe {
    rate: Rate,
    packet: u64,
    rtt: Time,
    bdp: Ratio,
}

impl Pipe {
    /// A bottleneck of `rate` bit/s (10 kbit/s to 10 Tbit/s), packets of `packet` bytes on the wire (1 to 65 535), and a base RTT of `rtt` (above 0,
    /// at most 100 s).
    ///
    /// # Errors
    /// Names `rate`, `packet` or `rtt` when outside its range.
    pub fn new(rate: Rate, packet: u64, rtt: Time) -> Result<Pipe, ModelError> {
        integer("rate", rate.0, Rate::MIN.0, Rate::MAX.0)?;
        integer("packet", packet, 1, 65_535)?;
        if !(1..=MAX_RTT).contains(&rtt.0) {
            return Err(ModelError::new("rtt", format!("is {rtt}; legal: above 0, at most {}", Time(MAX_RTT))));
        }
        // bits in flight / bits of a packet; time counts picoseconds. At most 1e13 * 1e14 over 8 * 65535 * 1e12.
        let bdp = Ratio::new(i128::from(rate.0) * i128::from(rtt.0), 8 * i128::from(packet) * 1_000_000_000_000);
        Ok(Pipe { rate, packet, rtt, bdp })
    }

    /// C in bit/s.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Bytes of a packet on the wire.
    pub fn packet(&self) -> u64 {
        self.packet
    }

    /// D.
    pub fn rtt(&self) -> Time {
        self.rtt
    }

    /// C in packets per second.
    pub fn capacity(&self) -> f64 {
        self.rate.0 as f64 / (8 * self.packet) as f64
    }

    /// C D: the bandwidth-delay product in packets, exactly.
    pub fn bdp_exact(&self) -> Ratio {
        self.bdp
    }

    /// C D: the bandwidth-delay product in packets.
    pub fn bdp(&self) -> f64 {
        self.bdp.to_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_products() {
        let pipe = Pipe::new(Rate(1_000_000_000), 1000, Time::from_us(100)).unwrap();
        assert_eq!(pipe.bdp_exact(), Ratio::new(25, 2));
        assert_eq!((pipe.capacity(), pipe.bdp()), (125_000.0, 12.5));
        // The extremes do not overflow.
        for (rate, packet) in [(Rate::MAX, 1), (Rate::MIN, 65_535)] {
            for rtt in [Time(1), Time(MAX_RTT)] {
                let bdp = Pipe::new(rate, packet, rtt).unwrap().bdp();
                assert!(bdp > 0.0 && bdp.is_finite());
            }
        }
    }

    #[test]
    fn bad_input_is_named() {
        let refused = |rate, packet, rtt| Pipe::new(Rate(rate), packet, rtt).unwrap_err().argument;
        assert_eq!(refused(0, 1000, Time::from_us(1)), "rate");
        assert_eq!(refused(1_000_000, 0, Time::from_us(1)), "packet");
        assert_eq!(refused(1_000_000, 65_536, Time::from_us(1)), "packet");
        assert_eq!(refused(1_000_000, 1000, Time::ZERO), "rtt");
        assert_eq!(refused(1_000_000, 1000, Time::NEVER), "rtt");
    }
}
