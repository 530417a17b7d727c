//! Observation of one port's queue: the exact time-weighted distribution of its length, and an optional time series.
//! It is fed at every change of the queue, so that it needs no events of its own and cannot disturb a trajectory.

use crate::rows::QueueRow;
use crate::series::Series;
use forebay_types::{PortId, Time};
use std::sync::Arc;

/// Lengths from here on share the last bin.
const MAX_BIN: usize = 1 << 16;

/// Recorder of one port.
#[derive(Debug, Clone)]
pub struct Occupancy {
    port: PortId,
    last: Time,
    /// By length: how long it was that, ps.
    time_at: Vec<u64>,
    /// Interval of the series, and the time of its next sample, if there is one.
    series: Option<(Time, Time)>,
    samples: Series<QueueRow>,
}

/// The port's counters that go into a sample.
#[derive(Debug, Clone, Copy)]
pub struct Counters {
    /// Packets waiting and in service.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Drops so far.
    pub drops: u64,
    /// Marks so far.
    pub marks: u64,
}

impl Occupancy {
    /// Records `port`.
    pub fn new(port: PortId) -> Occupancy {
        Occupancy { port, last: Time::ZERO, time_at: Vec::new(), series: None, samples: Series::default() }
    }

    /// The same, with a sample every so often, from 0 on, into `samples`.
    pub fn with_series(port: PortId, every: Time, samples: Series<QueueRow>) -> Occupancy {
        Occupancy { series: Some((every, Time::ZERO)), samples, ..Occupancy::new(port) }
    }

    /// Recorders of the ports of which these series are wanted, each with its interval.
    pub fn of_series(wanted: &[(PortId, Time)]) -> impl Iterator<Item = Occupancy> {
        let file = Arc::default();
        let one = move |&(port, every): &(PortId, Time)| {
            Occupancy::with_series(port, every.max(Time(1)), Series::one_of(wanted.len(), &file))
        };
        wanted.iter().map(one)
    }

    /// Whose queue it is.
    pub fn port(&self) -> PortId {
        self.port
    }

    /// The state was `c` since the last call and changes at `now`. A host's processing jitter can have handed a packet over in the
    /// future of the end of a run; a time before the last call adds nothing.
    pub fn until(&mut self, now: Time, c: Counters) {
        let now = now.max(self.last);
        let bin = (c.packets as usize).min(MAX_BIN);
        if self.time_at.len() <= bin {
            self.time_at.resize(bin + 1, 0);
        }
        self.time_at[bin] += (now - self.last).0;
        self.last = now;
        while let Some((every, next)) = self.series.as_mut().filter(|s| s.1 <= now) {
            let Counters { packets: pkts, bytes, drops, marks } = c;
            self.samples.push(QueueRow { time_ps: next.0, port: self.port, pkts, bytes, drops, marks });
            *next += *every;
        }
    }

    /// Returns true if there is a series of samples, which must be given every change.
    pub fn has_series(&self) -> bool {
        self.series.is_some()
    }

    /// From the last call up to `now`, the queue had each length for the time in `times`.
    pub fn add(&mut self, now: Time, times: &[u64]) {
        Occupancy::add_to(&mut self.time_at, times);
        self.last = self.last.max(now);
    }

    /// By length: how long the queue was that, ps.
    pub fn times(&self) -> &[u64] {
        &self.time_at
    }

    /// Adds the time at each length in `times` to `sums`, as they are kept here.
    ///
    /// # Panics
    /// When a sum exceeds the range of `Time`, which is a defect of the caller.
    pub fn add_to(sums: &mut Vec<u64>, times: &[u64]) {
        let Some(longest) = times.iter().rposition(|&time| time > 0).map(|n| n.min(MAX_BIN)) else { return };
        if sums.len() <= longest {
            sums.resize(longest + 1, 0);
        }
        for (length, time) in times.iter().enumerate().filter(|(_, time)| **time > 0) {
            let sum = &mut sums[length.min(MAX_BIN)];
            *sum = sum
                .checked_add(*time)
                .unwrap_or_else(|| panic!("{sum} ps plus {time} ps at {length} packets exceed the range of time"));
        }
    }

    /// Forgets the distribution up to now (end of the warm-up), keeps the series.
    pub fn restart(&mut self, now: Time) {
        self.time_at.clear();
        self.last = self.last.max(now);
    }

    /// Gives the samples away.
    pub fn take_samples(&mut self) -> Series<QueueRow> {
        std::mem::take(&mut self.samples)
    }

    /// The queue length below or at which the queue was for at least the fraction `p` of the time.
    pub fn percentile(&self, p: f64) -> u32 {
        let total: u128 = self.time_at.iter().map(|&time| u128::from(time)).sum();
        let want = (total as f64 * p) as u128;
        let mut seen = 0;
        for (length, time) in self.time_at.iter().enumerate() {
            seen += u128::from(*time);
            if seen >= want && *time > 0 {
                return length as u32;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(packets: u32) -> Counters {
        Counters { packets, bytes: u64::from(packets) * 1500, drops: 0, marks: 0 }
    }

    #[test]
    fn percentiles_weigh_by_time_and_samples_are_exact() {
        let mut o = Occupancy::with_series(PortId::new(3), Time(100), Series::default());
        o.until(Time(90), counters(0));
        o.until(Time(95), counters(10));
        o.until(Time(250), counters(2));
        assert_eq!(o.percentile(0.5), 2);
        assert_eq!(o.percentile(0.99), 10);
        let series: Vec<_> = o.samples.iter().map(|s| (s.time_ps, s.pkts)).collect();
        assert_eq!(series, [(0, 0), (100, 2), (200, 2)]);
        o.restart(Time(250));
        o.until(Time(300), counters(7));
        assert_eq!(o.percentile(0.01), 7);
    }
}
