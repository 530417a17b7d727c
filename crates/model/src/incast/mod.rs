//! The incast goodput model (INCAST: Zhang, Ren, Tang, Lin, "Modeling and Solving TCP Incast Problem in Data Center Networks"), with
//! the printed equations repaired where they contradict their own derivation.
//!
//! N senders respond to a request with a block each, on persistent connections, and the next request is sent when all blocks have arrived. Windows
//! follow NewReno's sawtooth. A loss among the last three packets of a block (block-tail timeout, [`TailTimeouts`]) causes too few duplicate ACKs for
//! a fast retransmit; a flow that loses its whole first window (block-head timeout, [`HeadTimeouts`]) gets none. Either causes a timeout. From N* on
//! ([`Incast::nstar`]) at least one flow is expected to lose its whole first window.
//!
//! All values up to the timeout probability are exact: integers, and fractions with a denominator of 8 N. Floating point is used from the power in
//! N^O on, whose distance to the boundary is at least 0.0046 (buffers of 32 to 256).
//!
//! Limits: below N* single values are erratic, because the tail probability depends on residues ([`TailMode::Literal`]). From about 1.25 N* on
//! timeouts repeat within a block, which is not modeled, so that goodput is overestimated. Windows below 4 prevent fast retransmit.

mod congestion_avoidance;
mod goodput;
mod head_timeout;
mod nstar;
mod tail_timeout;
mod window_limit;

pub use congestion_avoidance::{CongestionAvoidance, Windows};
pub use goodput::{Branch, Goodput};
pub use head_timeout::{FirstWindow, HeadTimeouts};
pub use nstar::NstarRule;
pub use tail_timeout::{TailMode, TailTimeouts, periods_until};
pub use window_limit::{LimitedGoodput, Regime};

use crate::error::integer;
use crate::{ModelError, Pipe, Ratio};
use forebay_types::{Rate, Time};

/// Largest buffer, packets.
const MAX_BUFFER: u64 = 1_000_000;
/// Largest pipe C D, packets: window polynomials stay below 2^62.
const MAX_PIPE: i128 = 1_000_000_000;
/// Largest block, bytes, and so also in packets.
const MAX_BLOCK: u64 = 1 << 40;

/// Arguments of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// C: rate of the bottleneck, 10 kbit/s to 10 Tbit/s.
    pub rate: Rate,
    /// Bytes of a full packet on the wire, 1 to 65 535.
    pub packet: u64,
    /// Payload bytes of a full packet, 1 to `packet`: the unit of goodput. INCAST has one size, S_p, for both.
    pub payload: u64,
    /// D: base RTT, with the serialization of a data packet and the latency of its ACK; above 0, at most 100 s and 1e9 packets of the rate.
    pub rtt: Time,
    /// B: drop-tail buffer of the bottleneck in packets, 1 to 1 000 000.
    pub buffer: u64,
    /// S_b: payload bytes of each sender's block, 1 to 2^40.
    pub block: u64,
    /// T_0: length of a timeout period, the smallest RTO; above 0.
    pub rto: Time,
}

/// The model for one set of parameters. The number of senders N is from 1 to the buffer in packets, as the derivation assumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incast {
    pipe: Pipe,
    payload: u64,
    buffer: u64,
    block: u64,
    rto: Time,
    /// X = C D + B: bandwidth-delay product and buffer, packets.
    x: Ratio,
}

impl Incast {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the field of [`Params`] that is outside its range.
    pub fn new(p: &Params) -> Result<Incast, ModelError> {
        let pipe = Pipe::new(p.rate, p.packet, p.rtt)?;
        if pipe.bdp_exact().cmp_int(MAX_PIPE).is_gt() {
            let message = format!("is {}, which makes a pipe of {:.3e} packets; legal: at most 1e9", p.rtt, pipe.bdp());
            return Err(ModelError::new("rtt", message));
        }
        integer("payload", p.payload, 1, p.packet)?;
        integer("buffer", p.buffer, 1, MAX_BUFFER)?;
        integer("block", p.block, 1, MAX_BLOCK)?;
        if p.rto == Time::ZERO {
            return Err(ModelError::new("rto", "is 0; legal: above 0"));
        }
        let block = p.block.div_ceil(p.payload);
        let x = pipe.bdp_exact().plus(i128::from(p.buffer));
        Ok(Incast { pipe, payload: p.payload, buffer: p.buffer, block, rto: p.rto, x })
    }

    /// The path.
    pub fn pipe(&self) -> &Pipe {
        &self.pipe
    }

    /// B, packets.
    pub fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Y_B = ceil(S_b / S_p): packets of a block.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// T_0.
    pub fn rto(&self) -> Time {
        self.rto
    }

    /// X = C D + B, packets.
    pub fn pipe_and_buffer(&self) -> Ratio {
        self.x
    }

    /// C times the payload of a packet: the largest goodput of the link, payload bytes per second.
    pub fn ceiling(&self) -> f64 {
        self.pipe.capacity() * self.payload as f64
    }

    fn senders(&self, n: u64) -> Result<u64, ModelError> {
        integer("n", n, 1, self.buffer)
    }
}

/// INCAST's base configuration: 1 Gbit/s, packets of 1000 bytes, D = 100 us, B = 64, blocks of 256 KB, T_0 = 0.2 s.
#[cfg(test)]
pub(crate) fn base() -> Params {
    Params {
        rate: Rate(1_000_000_000),
        packet: 1000,
        payload: 1000,
        rtt: Time::from_us(100),
        buffer: 64,
        block: 256_000,
        rto: Time::from_ms(200),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_checked_by_name() {
        let refused = |change: fn(&mut Params)| {
            let mut p = base();
            change(&mut p);
            Incast::new(&p).unwrap_err().argument
        };
        assert_eq!(refused(|p| p.rate = Rate(0)), "rate");
        assert_eq!(refused(|p| p.packet = 0), "packet");
        assert_eq!(refused(|p| p.payload = 0), "payload");
        assert_eq!(refused(|p| p.payload = 1001), "payload");
        assert_eq!(refused(|p| p.rtt = Time::ZERO), "rtt");
        assert_eq!(refused(|p| (p.rate, p.packet, p.payload, p.rtt) = (Rate::MAX, 1, 1, Time::from_secs(100))), "rtt");
        assert_eq!(refused(|p| p.buffer = 0), "buffer");
        assert_eq!(refused(|p| p.block = 0), "block");
        assert_eq!(refused(|p| p.rto = Time::ZERO), "rto");
        let m = Incast::new(&base()).unwrap();
        for n in [0, 65] {
            assert_eq!(m.windows(n).unwrap_err().argument, "n");
            assert_eq!(m.ca(n).unwrap_err().argument, "n");
            assert_eq!(m.tail(n, TailMode::Literal).unwrap_err().argument, "n");
            assert_eq!(m.head(n, FirstWindow::Inherited).unwrap_err().argument, "n");
            assert_eq!(m.goodput(n, TailMode::Literal, NstarRule::First).unwrap_err().argument, "n");
            assert_eq!(m.limited(n, 10, TailMode::Literal, NstarRule::First).unwrap_err().argument, "n");
        }
        assert_eq!(m.limited(5, 0, TailMode::Literal, NstarRule::First).unwrap_err().argument, "window");
    }

    #[test]
    fn scalars() {
        let m = Incast::new(&base()).unwrap();
        assert_eq!((m.pipe_and_buffer(), m.block(), m.ceiling()), (Ratio::new(153, 2), 256, 125e6));
        let m = Incast::new(&Params { packet: 1500, payload: 1460, ..base() }).unwrap();
        assert_eq!(m.block(), 176);
        assert!((m.ceiling() - 125e6 * 1460.0 / 1500.0).abs() < 1e-6);
    }
}
