//! Timing of hosts: clocks that are not aligned, interfaces whose latency varies, and interrupts. Without it, hosts with equal links act at the same instant, and
//! ties decide about drops (phase effects, Floyd and Jacobson 1992).
//!
//! Times are whole nanoseconds, as on the clock of a guest of the backend `linux`: runs stay comparable to the nanosecond.

use crate::streams::RngStream;
use crate::transport::Group;
use forebay_types::{GroupId, IndexVec, NodeId, Rate, Time, mix};

/// A nanosecond, ps.
const NANOSECOND: u64 = 1_000;

/// Bounds of the random times of hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostTiming {
    /// Each host sends all packets later by a fixed time of at most this.
    pub phase: Time,
    /// Each packet leaves later by a time of at most this.
    pub jitter: Time,
    /// Time from the first frame that a host's card holds to its interrupt, at which the host processes all frames that have arrived
    /// (rx_coalesce_usecs, `time_since_first_completion` in include/uapi/linux/ethtool.h). `None`: hosts process each frame when it arrives.
    pub interrupt_delay: Option<Time>,
    /// The clock of each host deviates by at most this, in millionths.
    pub clock: u32,
    /// Hosts act at whole nanoseconds (`ktime_t`): those with interrupts, and those of Linux.
    pub whole_ns: bool,
}

impl HostTiming {
    /// Timing of the hosts of an experiment. All transports of a host share its interface: the longest times of any transport count.
    pub fn of(groups: &IndexVec<GroupId, Group>) -> HostTiming {
        let longest = |of: fn(&Group) -> Time| groups.iter().map(of).max().unwrap_or_default();
        HostTiming {
            phase: longest(|g| g.tcp.host_phase),
            jitter: longest(|g| g.tcp.host_jitter),
            interrupt_delay: groups.iter().filter_map(|g| g.tcp.gro).max(),
            clock: groups.iter().map(|g| g.tcp.host_clock).max().unwrap_or_default(),
            whole_ns: groups.iter().any(|g| g.tcp.gro.is_some() || g.tcp.is_linux()),
        }
    }

    /// Step of the clocks of hosts: a nanosecond, or a picosecond, which rounds nothing.
    pub fn clock_step(&self) -> Time {
        if self.whole_ns { Time(NANOSECOND) } else { Time(1) }
    }

    /// Phase of `host`, uniform in whole nanoseconds.
    pub fn phase(&self, seed: u64, host: NodeId) -> Time {
        Time(RngStream::HostPhase.stream(seed, &[u64::from(host.get())]).below(self.phase.as_ns() + 1) * NANOSECOND)
    }

    /// Rate at which `host` sends on a link of `nominal` rate: its clock deviates by a uniform share, in whole 10^-9.
    pub fn rate(&self, seed: u64, host: NodeId, nominal: Rate) -> Rate {
        if self.clock == 0 {
            return nominal;
        }
        let most = u64::from(self.clock) * 1_000;
        let share = RngStream::HostClock.stream(seed, &[u64::from(host.get())]).below(2 * most + 1);
        scaled(nominal, 1_000_000_000 - most + share)
    }

    /// The highest rate at which any host sends on a link of `nominal` rate.
    pub fn fastest(&self, nominal: Rate) -> Rate {
        scaled(nominal, 1_000_000_000 + u64::from(self.clock) * 1_000)
    }

    /// Random times of the packets of `host`.
    pub fn jitter(&self, seed: u64, host: NodeId) -> Jitter {
        let values = if self.jitter > Time::ZERO { self.jitter.as_ns() + 1 } else { 0 };
        Jitter { values, state: RngStream::HostJitter.stream(seed, &[u64::from(host.get())]).next_u64() }
    }
}

/// `nominal` times `parts`, in 10^-9.
fn scaled(nominal: Rate, parts: u64) -> Rate {
    Rate((u128::from(nominal.0) * u128::from(parts) / 1_000_000_000) as u64)
}

/// Random times of an interface's packets, uniform in whole nanoseconds and independent: SplitMix64 (Steele, Lea and Flood 2014), in 16 bytes that fit beside the queue.
/// `jitter` in the guest's `links.c` draws the same numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Jitter {
    /// Number of different times; 0: no jitter.
    values: u64,
    state: u64,
}

impl Jitter {
    /// Returns true if times are not all zero.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.values > 0
    }

    /// Time by which the next packet is late.
    #[inline(always)]
    pub fn draw(&mut self) -> Time {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        Time(((u128::from(mix(self.state)) * u128::from(self.values)) >> 64) as u64 * NANOSECOND)
    }

    /// Number of different times, and state of the generator.
    pub fn parts(&self) -> (u64, u64) {
        (self.values, self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: HostTiming =
        HostTiming { phase: Time(6_400), jitter: Time(25_600), interrupt_delay: None, clock: 100, whole_ns: false };

    /// Chi-square statistic of whole nanoseconds, of which `values` are equally likely.
    fn unevenness(times: impl Iterator<Item = Time>, values: usize) -> f64 {
        let mut counts = vec![0.0; values];
        times.for_each(|t| counts[(t.0 / 1_000) as usize] += 1.0);
        let expected = counts.iter().sum::<f64>() / values as f64;
        counts.iter().map(|n| (n - expected).powi(2) / expected).sum()
    }

    /// 0 to 6 ns: 6 degrees of freedom, above 22.5 for one of 1 000 samples.
    #[test]
    fn phases_are_uniform() {
        let hosts = unevenness((0..7_000).map(|h| TIMING.phase(1, NodeId::new(h))), 7);
        let seeds = unevenness((0..7_000).map(|s| TIMING.phase(s, NodeId::new(3))), 7);
        assert!(hosts < 22.5 && seeds < 22.5, "{hosts} {seeds}");
    }

    /// 0 to 25 ns: 25 degrees of freedom, above 52.6 for one of 1 000 samples.
    #[test]
    fn jitter_is_uniform_and_independent() {
        let mut first = TIMING.jitter(1, NodeId::new(0));
        let mut second = TIMING.jitter(1, NodeId::new(1));
        let times: Vec<(Time, Time)> = (0..26_000).map(|_| (first.draw(), second.draw())).collect();
        let packets = unevenness(times.iter().map(|t| t.0), 26);
        let starts = unevenness((0..26_000).map(|s| TIMING.jitter(s, NodeId::new(0)).draw()), 26);
        assert!(packets < 52.6 && starts < 52.6, "{packets} {starts}");
        let draws: Vec<(f64, f64)> = times.iter().map(|(a, b)| ((a.0 + 500) as f64 / 26e3, (b.0 + 500) as f64 / 26e3)).collect();
        // Correlations of successive draws and of two hosts: normal with deviation 1 / sqrt(n); 3.3 deviations for one of 1 000.
        let correlation = |pairs: &[(f64, f64)]| {
            let mean = pairs.iter().map(|(a, b)| (a - 0.5) * (b - 0.5)).sum::<f64>() / pairs.len() as f64;
            mean * 12.0 * (pairs.len() as f64).sqrt()
        };
        let successive: Vec<(f64, f64)> = draws.windows(2).map(|w| (w[0].0, w[1].0)).collect();
        assert!(correlation(&draws).abs() < 3.3 && correlation(&successive).abs() < 3.3);
    }

    /// Within 100 millionths, different for each host and seed, and about even.
    #[test]
    fn clocks_deviate_by_their_bound() {
        let nominal = Rate(1_000_000_000);
        let rates: Vec<u64> = (0..1_000).map(|h| TIMING.rate(h / 40, NodeId::new(h as u32 % 40), nominal).0).collect();
        assert!(rates.iter().all(|r| (999_900_000..=1_000_100_000).contains(r)));
        assert_eq!(TIMING.fastest(nominal), Rate(1_000_100_000));
        let above = rates.iter().filter(|r| **r > nominal.0).count();
        assert!((450..550).contains(&above), "{above}");
        assert_eq!(HostTiming::default().rate(1, NodeId::new(3), nominal), nominal);
    }

    #[test]
    fn zero_bounds_keep_ties() {
        let off = HostTiming::default();
        assert_eq!(off.phase(7, NodeId::new(2)), Time::ZERO);
        let mut jitter = off.jitter(7, NodeId::new(2));
        assert!(!jitter.is_on() && jitter.draw() == Time::ZERO);
    }
}
