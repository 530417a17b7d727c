//! Parameters with values from the transport above the shim, and their encoding for the set-up of a guest kernel.

use super::config::{Config, EcnMode, Ends, HoldOn, Release};
use forebay_types::Time;

/// An entry without packets for this time is removed (ProBoSCIS 2.2).
pub const FORGET: Time = Time::from_secs(60);

/// Numbers that encode [`Rules`].
pub const WORDS: usize = 27;

/// Properties of the transport above the shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp {
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Bytes of a packet without payload on the wire.
    pub ack_size: u32,
    /// Packets for each ACK.
    pub ack_every: u32,
    /// Least RTO.
    pub rto_min: Time,
}

/// A configuration with values from the transport above it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Parameters.
    pub c: Config,
    /// Payload of a full segment, bytes: the MSS options of SYN and SYN-ACK, which simulated packets do not carry.
    pub mss: u32,
    /// Bytes of a probe on the wire.
    pub probe_size: u16,
    /// Least window, bytes.
    pub least: u64,
    /// Pause of a connection after which its next data is probed.
    pub restart_after: Time,
}

impl Rules {
    /// The rules with these parameters under this transport.
    pub fn new(c: &Config, tcp: Tcp) -> Rules {
        // Where not every packet is acknowledged a single segment waits for the receiver's timer: 40 ms in Linux, measured on a running kernel
        // (`shim-proboscis-floor`, docs/how-to/deploy-on-hosts.md).
        let floor = c.floor.unwrap_or(if tcp.ack_every > 1 { 2 } else { 1 });
        let probe_size = c.probe_size.unwrap_or(tcp.ack_size as u16);
        // The guest's RTO is not visible below it; it is never below the least one.
        let restart_after = c.restart_after.unwrap_or(tcp.rto_min);
        Rules { c: c.clone(), mss: tcp.mss, probe_size, least: u64::from(floor) * u64::from(tcp.mss), restart_after }
    }

    /// Time in which a host earns one repeated probe, if its link needs `probe_time` to send one: with its share of the link (`probe_budget`),
    /// rounded up.
    pub fn cost_of_probe(&self, probe_time: Time) -> Time {
        let cost = probe_time.0 as f64 / self.c.probe_budget;
        // `f64::ceil` is not in `core`.
        let whole = cost as u64;
        Time(whole.saturating_add(u64::from((whole as f64) < cost)))
    }

    /// The rules as numbers, as [`Rules::from_words`] reads them. The share of the link for repeated probes and the cache of trains are not among them.
    pub fn words(&self) -> [u64; WORDS] {
        let c = &self.c;
        [
            u64::from(c.gamma),
            c.k.to_bits(),
            c.kappa1.to_bits(),
            c.kappa2.to_bits(),
            u64::from(c.icwnd),
            c.g.to_bits(),
            c.alpha_init.to_bits(),
            c.tick.0,
            c.beta1.0,
            c.beta2.0,
            c.beta3.0,
            c.max_time.0,
            u64::from(c.probe_retry_cap),
            u64::from(c.probe_burst),
            c.elephant_bytes.unwrap_or(u64::MAX),
            u64::from(self.probe_size),
            u64::from(c.hold_on == HoldOn::Any),
            u64::from(c.release == Release::Original),
            u64::from(c.lost_as_marked),
            u64::from(c.no_shrink),
            u64::from(c.ecn_mode == EcnMode::Guest),
            u64::from(c.peer_has_shim),
            match c.ends {
                Ends::Both => 0,
                Ends::Opener => 1,
                Ends::Acceptor => 2,
            },
            u64::from(self.mss),
            self.least,
            self.restart_after.0,
            u64::from(c.answers),
        ]
    }

    /// Decodes the output of [`Rules::words`].
    pub fn from_words(words: &[u64; WORDS]) -> Rules {
        let [gamma, k, kappa1, kappa2, icwnd, g, alpha_init, tick, beta1, beta2, beta3, max_time, cap, burst, rest @ ..] = *words;
        let [elephant, probe_size, hold, release, lost, no_shrink, ecn, peer, ends, mss, least, restart_after, answers] = rest;
        let [k, kappa1, kappa2, g, alpha_init] = [k, kappa1, kappa2, g, alpha_init].map(f64::from_bits);
        let [tick, beta1, beta2, beta3, max_time, restart_after] = [tick, beta1, beta2, beta3, max_time, restart_after].map(Time);
        let [gamma, icwnd, probe_retry_cap, probe_burst] = [gamma, icwnd, cap, burst].map(|n| n as u32);
        let probe_size = probe_size as u16;
        let c = Config {
            gamma,
            k,
            kappa1,
            kappa2,
            icwnd,
            g,
            alpha_init,
            tick,
            beta1,
            beta2,
            beta3,
            max_time,
            probe_retry_cap,
            probe_budget: 1.0,
            probe_burst,
            elephant_bytes: (elephant != u64::MAX).then_some(elephant),
            probe_size: Some(probe_size),
            hold_on: if hold != 0 { HoldOn::Any } else { HoldOn::Insufficient },
            release: if release != 0 { Release::Original } else { Release::Newest },
            lost_as_marked: lost != 0,
            no_shrink: no_shrink != 0,
            ecn_mode: if ecn != 0 { EcnMode::Guest } else { EcnMode::Shim },
            peer_has_shim: peer != 0,
            ends: match ends {
                0 => Ends::Both,
                1 => Ends::Opener,
                _ => Ends::Acceptor,
            },
            answers: answers != 0,
            floor: None,
            recent: Time::ZERO,
            restart_after: Some(restart_after),
        };
        Rules { c, mss: mss as u32, probe_size, least, restart_after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each number decodes to a value that encodes to the same number.
    #[test]
    fn words_roundtrip() {
        let real = 0.25_f64.to_bits();
        let words =
            [11, real, real, real, 12, real, real, 13, 14, 15, 16, 17, 18, 19, 20, 64, 1, 1, 1, 1, 1, 1, 2, 1460, 2920, 21, 1];
        assert_eq!(Rules::from_words(&words).words(), words);
        let unlimited = [[0; 14].as_slice(), &[u64::MAX], &[0; 12]].concat();
        let unlimited = unlimited.try_into().unwrap();
        assert_eq!(Rules::from_words(&unlimited).c.elephant_bytes, None);
        assert_eq!(Rules::from_words(&unlimited).words(), unlimited);
    }
}
