//! ICTCP (Wu, Feng, Guo and Zhang, CoNEXT 2010): the receiving host limits receive windows so that its connections together do not overload its link.
//! Senders need no change.
//!
//! A host's slot has two halves, each a mean RTT of its connections. In the first half the host measures the incoming traffic. In the second half
//! the unused capacity of the link is a quota by which windows may grow. Each connection is adjusted every two of its RTTs.

use super::window::WindowShim;
use forebay_experiment::registry::{Place, ShimEntry};
use forebay_types::param::{Entry, Kind, Param};
use forebay_types::{Rate, Time};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Share of the link that is allocated.
    pub alpha: f64,
    /// Largest share of unused window with which a window grows.
    pub gamma1: f64,
    /// Smallest share of unused window with which a window shrinks.
    pub gamma2: f64,
    /// Weight of the past in the measured throughput.
    pub beta: f64,
    /// Free share of the link below which large windows shrink in favor of small ones.
    pub scarce: f64,
    /// Smallest window, segments.
    pub min_window: u32,
}

/// State of a host's link.
#[derive(Debug, Clone)]
pub struct Link {
    c: Config,
    /// Capacity of the link.
    bytes_per_s: f64,
    /// Length of half a slot.
    half: Time,
    start: Time,
    second: bool,
    bytes: u64,
    /// Unused bytes per second in the last first half, within `alpha` of the link.
    free: f64,
    /// Rest of `free` for windows to grow by.
    quota: f64,
    /// Sums over the data that arrived in this slot: bytes times RTT, bytes.
    weighted: u128,
    weight: u64,
    /// Sum and number of the windows of its connections.
    windows: u64,
    count: u64,
}

impl Link {
    /// An idle link of `rate`; `rtt` is the length of the first slot.
    fn new(c: &Config, rate: Rate, rtt: Time) -> Link {
        Link {
            c: *c,
            bytes_per_s: rate.0 as f64 / 8.0,
            half: rtt.max(Time(1)),
            start: Time::ZERO,
            second: false,
            bytes: 0,
            free: 0.0,
            quota: 0.0,
            weighted: 0,
            weight: 0,
            windows: 0,
            count: 0,
        }
    }

    /// Counts a packet of `wire` bytes of any connection.
    fn arrive(&mut self, now: Time, wire: u64) {
        if now - self.start >= self.half {
            self.turn(now);
        }
        self.bytes += wire;
    }

    /// Starts the next half. Our choice: halves end with the first packet after their time. Without packets there are no ACKs that could carry a
    /// window.
    fn turn(&mut self, now: Time) {
        if self.second {
            // Mean RTT, weighted with traffic.
            if let Some(mean) = self.weighted.checked_div(u128::from(self.weight)) {
                self.half = Time((mean as u64).max(1));
            }
            (self.weighted, self.weight) = (0, 0);
        } else {
            let used = self.bytes as f64 / (now - self.start).as_secs_f64();
            self.free = (self.c.alpha * self.bytes_per_s - used).max(0.0);
            self.quota = self.free;
        }
        self.second = !self.second;
        self.start = now;
        self.bytes = 0;
    }

    fn scarce(&self) -> bool {
        self.free < self.c.scarce * self.bytes_per_s
    }
}

/// One connection's share of the link.
#[derive(Debug, Clone)]
pub struct Share {
    c: Config,
    mss: u64,
    most: u64,
    /// Latency of an ACK on the empty path.
    back: Time,
    /// Smoothed RTT, from the first data on.
    srtt: Option<Time>,
    /// Receive window, bytes.
    pub(crate) window: u64,
    /// Right edge of the advertised window.
    edge: u64,
    slow_start: bool,
    /// Measured throughput, bytes per second.
    throughput: f64,
    /// Bytes since the last adjustment, and its time; `None` before the first data.
    bytes: u64,
    since: Option<Time>,
    last: Time,
    /// Consecutive adjustments at which the window was mostly unused.
    unused: u32,
}

/// Adjustments with a mostly unused window before it shrinks.
const ROUNDS: u32 = 3;
/// A connection that was idle for this many RTTs starts slowly again. Our choice: the publication only says "long".
const LONG_IDLE: u64 = 100;

impl WindowShim for Share {
    type Config = Config;
    type Host = Link;

    /// The minimum window.
    fn first_window(c: &Config, mss: u32, most: u64) -> u64 {
        (u64::from(c.min_window) * u64::from(mss)).min(most)
    }

    fn new(c: &Config, mss: u32, most: u64) -> Share {
        let first = Self::first_window(c, mss, most);
        Share {
            c: *c,
            mss: u64::from(mss),
            most,
            back: Time::ZERO,
            srtt: None,
            window: first,
            edge: first,
            slow_start: true,
            throughput: 0.0,
            bytes: 0,
            since: None,
            last: Time::ZERO,
            unused: 0,
        }
    }

    fn host(&self, rate: Rate, rtt: Time) -> Link {
        Link::new(&self.c, rate, rtt)
    }

    fn join(&mut self, link: &mut Link, back: Time) {
        self.back = back;
        link.windows += self.window;
        link.count += 1;
    }

    fn leave(&self, link: &mut Link) {
        link.windows -= self.window;
        link.count -= 1;
    }

    fn packet_arrived(link: &mut Link, now: Time, wire: u64) {
        link.arrive(now, wire);
    }

    fn data_arrived(&mut self, link: &mut Link, now: Time, len: u64, forward: Time) {
        // The simulator's clocks agree, so that the timestamp gives the one-way delay; a real receiver has its own echoed timestamp.
        let rtt = forward + self.back;
        let srtt = self.srtt.map_or(rtt.max(Time(1)), |srtt| srtt - srtt / 8 + rtt / 8);
        self.srtt = Some(srtt);
        link.weighted += u128::from(len) * u128::from(srtt.0);
        link.weight += len;
        let idle = now - self.last > srtt * LONG_IDLE;
        self.last = now;
        let Some(since) = self.since.filter(|_| !idle) else {
            // A pause is no measurement of throughput.
            (self.since, self.bytes, self.unused) = (Some(now), 0, 0);
            self.slow_start = true;
            return;
        };
        self.bytes += len;
        if now - since >= srtt * 2 {
            self.adjust(link, now, since, srtt);
        }
    }

    /// The right edge never moves back, and not at all on a repeated ACK, which would not count as a duplicate with another window (RFC 5681
    /// section 2).
    fn advertise(&mut self, next: u64, repeated: bool) -> u64 {
        if !repeated {
            self.edge = self.edge.max(next + self.window);
        }
        self.edge.saturating_sub(next)
    }
}

impl Share {
    /// Sets the window of the connection, bytes.
    pub fn set_window(&mut self, bytes: u64) {
        self.window = bytes;
    }

    /// Adjusts the window; the previous adjustment was at `since`.
    fn adjust(&mut self, link: &mut Link, now: Time, since: Time, srtt: Time) {
        let sample = self.bytes as f64 / (now - since).as_secs_f64();
        let measured = sample.max(self.c.beta * self.throughput + (1.0 - self.c.beta) * sample);
        let per_second = 1e12 / srtt.0 as f64;
        let expected = measured.max(self.window as f64 * per_second);
        let unused = (expected - measured) / expected;
        let grow = unused <= self.c.gamma1 || unused <= self.mss as f64 / self.window as f64;
        let before = self.window;
        if link.scarce() && self.window * link.count > link.windows {
            // Fairness: windows above the average shrink.
            self.shrink();
        } else if grow {
            if !link.second {
                // Windows grow in second halves only; adjust again then.
                return;
            }
            self.unused = 0;
            self.grow(link, per_second);
        } else {
            self.slow_start = false;
            self.unused = if unused >= self.c.gamma2 { self.unused + 1 } else { 0 };
            if self.unused >= ROUNDS {
                self.unused = 0;
                self.shrink();
            }
        }
        self.throughput = measured;
        (self.since, self.bytes) = (Some(now), 0);
        link.windows = link.windows + self.window - before;
    }

    /// Doubles in slow start, else by a segment, if the quota allows.
    fn grow(&mut self, link: &mut Link, per_second: f64) {
        for step in [self.window, self.mss] {
            if step == self.window && !self.slow_start {
                continue;
            }
            let step = step.min(self.most - self.window);
            let cost = step as f64 * per_second;
            if cost <= link.quota {
                link.quota -= cost;
                self.window += step;
                return;
            }
            // Not enough quota for doubling: from here on by a segment.
            self.slow_start = false;
        }
    }

    fn shrink(&mut self) {
        self.slow_start = false;
        let floor = u64::from(self.c.min_window) * self.mss;
        self.window = self.window.saturating_sub(self.mss).max(floor.min(self.window));
    }
}

pub(super) const ENTRY: ShimEntry<Config> = ShimEntry {
    entry: Entry {
        name: "ictcp",
        summary: "the receiving host divides its link among its connections by their receive windows (ICTCP)",
        params: &[
            Param {
                key: "alpha",
                kind: Kind::Float(0.01, 1.0),
                default: Some("0.9"),
                doc: "share of the link that is allocated",
            },
            Param {
                key: "gamma1",
                kind: Kind::Float(0.0, 1.0),
                default: Some("0.1"),
                doc: "a window grows if at most this share of it is unused: (expected - measured) / expected throughput",
            },
            Param {
                key: "gamma2",
                kind: Kind::Float(0.0, 1.0),
                default: Some("0.5"),
                doc: "a window shrinks by a segment if at least this share of it is unused three times in a row",
            },
            Param {
                key: "beta",
                kind: Kind::Float(0.0, 1.0),
                default: Some("0.75"),
                doc: "weight of the past in measured throughput",
            },
            Param {
                key: "scarce",
                kind: Kind::Float(0.0, 1.0),
                default: Some("0.2"),
                doc: "with less than this share of the link free, windows above the average shrink by a segment",
            },
            Param {
                key: "min-window",
                kind: Kind::Int(1, 1_000),
                default: Some("2"),
                doc: "smallest and first window, segments",
            },
        ],
    },
    place: Place::Window,
    needs_handshake: false,
    wants_marks: false,
    duplicates_only: &[],
    build: |v| {
        Ok(Config {
            alpha: v.float("alpha"),
            gamma1: v.float("gamma1"),
            gamma2: v.float("gamma2"),
            beta: v.float("beta"),
            scarce: v.float("scarce"),
            min_window: v.int("min-window") as u32,
        })
    },
};

#[cfg(test)]
#[path = "ictcp_tests.rs"]
mod tests;
