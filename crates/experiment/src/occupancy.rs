//! Queue occupancy of one port: exact time-weighted distribution of its length, and an optional time series. Updates happen at every change of the
//! queue. Recording needs no events, so that it cannot change a trajectory.

use crate::rows::QueueRow;
use crate::series::Series;
use forebay_types::{PortId, Time};
use std::sync::Arc;

/// Occupancy recorder of one port.
#[derive(Debug, Clone)]
pub struct Occupancy {
    port: PortId,
    last: Time,
    /// Time at each length, ps. It takes less memory than the packets of the longest queue.
    time_at: Vec<u64>,
    /// Interval of the series, and the time of its next sample, if there is one.
    series: Option<(Time, Time)>,
    samples: Series<QueueRow>,
}

/// Counters of a port that are sampled.
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
    /// Recorder for `port`.
    pub fn new(port: PortId) -> Occupancy {
        Occupancy { port, last: Time::ZERO, time_at: Vec::new(), series: None, samples: Series::default() }
    }

    /// Recorder with a sample every `every`, from time 0, into `samples`.
    pub fn with_series(port: PortId, every: Time, samples: Series<QueueRow>) -> Occupancy {
        Occupancy { series: Some((every, Time::ZERO)), samples, ..Occupancy::new(port) }
    }

    /// Recorders for these time series, each with its interval.
    pub fn of_series(wanted: &[(PortId, Time)]) -> impl Iterator<Item = Occupancy> {
        let file = Arc::default();
        let one = move |&(port, every): &(PortId, Time)| {
            Occupancy::with_series(port, every.max(Time(1)), Series::one_of(wanted.len(), &file))
        };
        wanted.iter().map(one)
    }

    /// Observed port.
    pub fn port(&self) -> PortId {
        self.port
    }

    /// Records that the state was `c` since the last call and changes at `now`. A host's processing jitter can hand over a packet after the end of a
    /// run, so times before the last call add nothing.
    pub fn until(&mut self, now: Time, c: Counters) {
        let now = now.max(self.last);
        let length = c.packets as usize;
        if self.time_at.len() <= length {
            self.time_at.resize(length + 1, 0);
        }
        self.time_at[length] += (now - self.last).0;
        self.last = now;
        while let Some((every, next)) = self.series.as_mut().filter(|s| s.1 <= now) {
            let Counters { packets: pkts, bytes, drops, marks } = c;
            self.samples.push(QueueRow { time_ps: next.0, port: self.port, pkts, bytes, drops, marks });
            *next += *every;
        }
    }

    /// Returns true if there is a time series, which must receive every change.
    pub fn has_series(&self) -> bool {
        self.series.is_some()
    }

    /// Adds `times`, the time at each length from the last call up to `now`.
    pub fn add(&mut self, now: Time, times: &[u64]) {
        Occupancy::add_to(&mut self.time_at, times);
        self.last = self.last.max(now);
    }

    /// Time at each length, ps.
    pub fn times(&self) -> &[u64] {
        &self.time_at
    }

    /// Adds the time at each length in `times` to `sums`.
    ///
    /// # Panics
    /// If a sum exceeds the range of `Time`, which is a defect of the caller.
    pub fn add_to(sums: &mut Vec<u64>, times: &[u64]) {
        let Some(longest) = times.iter().rposition(|&time| time > 0) else { return };
        if sums.len() <= longest {
            sums.resize(longest + 1, 0);
        }
        for (length, time) in times.iter().enumerate().filter(|(_, time)| **time > 0) {
            let sum = &mut sums[length];
            *sum = sum
                .checked_add(*time)
                .unwrap_or_else(|| panic!("{sum} ps plus {time} ps at {length} packets exceed the range of time"));
        }
    }

    /// Clears the distribution at the end of the warm-up; keeps the series.
    pub fn restart(&mut self, now: Time) {
        self.time_at.clear();
        self.last = self.last.max(now);
    }

    /// Takes the samples out of the recorder.
    pub fn take_samples(&mut self) -> Series<QueueRow> {
        std::mem::take(&mut self.samples)
    }

    /// Queue length that was not exceeded for at least the fraction `p` of the time.
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
    fn percentiles_are_time_weighted() {
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

    /// An unlimited queue behind a fast sender grows to hundreds of thousands of packets.
    #[test]
    fn long_queues_have_exact_percentiles() {
        let mut o = Occupancy::new(PortId::new(0));
        let mut times = vec![0; 300_001];
        times[70_000] = 60;
        times[300_000] = 40;
        o.add(Time(100), &times);
        o.until(Time(110), counters(400_000));
        assert_eq!([0.5, 0.7, 0.99].map(|p| o.percentile(p)), [70_000, 300_000, 400_000]);
    }
}
