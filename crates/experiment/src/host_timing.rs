//! Timing of hosts: clocks that are not aligned, and interfaces whose latency varies. Without it, hosts with equal links act at the same instant, and
//! ties decide about drops (phase effects, Floyd and Jacobson 1992).

use crate::streams::RngStream;
use crate::transport::Group;
use forebay_types::{GroupId, IndexVec, NodeId, Time, mix};

/// Bounds of the random times of hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostTiming {
    /// Each host sends all packets later by a fixed time below this.
    pub phase: Time,
    /// Each packet leaves later by a time below this.
    pub jitter: Time,
}

impl HostTiming {
    /// Timing of the hosts of an experiment. All transports of a host share its interface: the longest times of any transport count.
    pub fn of(groups: &IndexVec<GroupId, Group>) -> HostTiming {
        let longest = |of: fn(&Group) -> Time| groups.iter().map(of).max().unwrap_or_default();
        HostTiming { phase: longest(|g| g.tcp.host_phase), jitter: longest(|g| g.tcp.host_jitter) }
    }

    /// Phase of `host`, uniform.
    pub fn phase(&self, seed: u64, host: NodeId) -> Time {
        Time(RngStream::HostPhase.stream(seed, &[u64::from(host.get())]).below(self.phase.0.max(1)))
    }

    /// Random times of the packets of `host`.
    pub fn jitter(&self, seed: u64, host: NodeId) -> Jitter {
        Jitter { bound: self.jitter.0, state: RngStream::HostJitter.stream(seed, &[u64::from(host.get())]).next_u64() }
    }
}

/// Random times of an interface's packets, uniform and independent: SplitMix64 (Steele, Lea and Flood 2014), in 16 bytes that fit beside the queue.
/// `jitter` in the guest's `links.c` draws the same numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Jitter {
    bound: u64,
    state: u64,
}

impl Jitter {
    /// Returns true if times are not all zero.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.bound > 0
    }

    /// Time by which the next packet is late.
    #[inline(always)]
    pub fn draw(&mut self) -> Time {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        Time(((u128::from(mix(self.state)) * u128::from(self.bound)) >> 64) as u64)
    }

    /// Bound in ps, and state of the generator.
    pub fn parts(&self) -> (u64, u64) {
        (self.bound, self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: HostTiming = HostTiming { phase: Time(6_400), jitter: Time(25_600) };

    /// Largest distance between the distribution of `values`, scaled to 0..1, and the uniform one, times the root of their number
    /// (Kolmogorov and Smirnov): above 1.95 for one of 1 000 samples.
    fn distance(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let far = |(i, v): (usize, &f64)| (v - i as f64 / n).abs().max((v - (i as f64 + 1.0) / n).abs());
        values.iter().enumerate().map(far).fold(0.0, f64::max) * n.sqrt()
    }

    #[test]
    fn phases_are_uniform() {
        let scaled = |t: Time| t.0 as f64 / 6_400.0;
        let hosts = (0..5_000).map(|h| scaled(TIMING.phase(1, NodeId::new(h)))).collect();
        let seeds = (0..5_000).map(|s| scaled(TIMING.phase(s, NodeId::new(3)))).collect();
        assert!(distance(hosts) < 1.95 && distance(seeds) < 1.95);
    }

    #[test]
    fn jitter_is_uniform_and_independent() {
        let mut first = TIMING.jitter(1, NodeId::new(0));
        let mut second = TIMING.jitter(1, NodeId::new(1));
        let draws: Vec<(f64, f64)> =
            (0..5_000).map(|_| (first.draw().0 as f64 / 25_600.0, second.draw().0 as f64 / 25_600.0)).collect();
        assert!(distance(draws.iter().map(|d| d.0).collect()) < 1.95);
        let starts = (0..5_000).map(|s| TIMING.jitter(s, NodeId::new(0)).draw().0 as f64 / 25_600.0).collect();
        assert!(distance(starts) < 1.95);
        // Correlations of successive draws and of two hosts: normal with deviation 1 / sqrt(n); 3.3 deviations for one of 1 000.
        let correlation = |pairs: &[(f64, f64)]| {
            let mean = pairs.iter().map(|(a, b)| (a - 0.5) * (b - 0.5)).sum::<f64>() / pairs.len() as f64;
            mean * 12.0 * (pairs.len() as f64).sqrt()
        };
        let successive: Vec<(f64, f64)> = draws.windows(2).map(|w| (w[0].0, w[1].0)).collect();
        assert!(correlation(&draws).abs() < 3.3 && correlation(&successive).abs() < 3.3);
    }

    #[test]
    fn zero_bounds_keep_ties() {
        let off = HostTiming::default();
        assert_eq!(off.phase(7, NodeId::new(2)), Time::ZERO);
        let mut jitter = off.jitter(7, NodeId::new(2));
        assert!(!jitter.is_on() && jitter.draw() == Time::ZERO);
    }
}
