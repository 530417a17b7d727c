//! Payload that a run delivers in successive intervals, from which the figure `goodput` follows.
//!
//! The intervals are an RTT long. Whenever there are `MOST` of them, neighbours are merged, so that memory is bounded for runs of any length.

use forebay_experiment::Experiment;
use forebay_experiment::decisions::{Decisions, Delivered, ItemKind, SoFar, WorkItem};
use forebay_types::{Time, TimeOrNever};

/// Maximum number of intervals. Our choice: batches of 50 intervals are enough then for any number of merges.
const MOST: usize = 4096;

/// Totals at the ends of intervals.
#[derive(Debug, Clone)]
pub struct Sampling {
    every: Time,
    /// End of each interval, and the payload until then.
    points: Vec<(Time, Delivered)>,
}

impl Sampling {
    /// Intervals of at least `every`, which is above 0.
    pub fn new(every: Time) -> Sampling {
        Sampling { every: every.max(Time(1)), points: Vec::new() }
    }

    /// End of the current interval.
    pub fn next(&self) -> Time {
        let last = self.points.last().map_or(Time::ZERO, |p| p.0);
        Time((last.0 - last.0 % self.every.0).saturating_add(self.every.0))
    }

    /// Notes the payload that arrived until `now`, if the current interval is over.
    pub fn note(&mut self, now: Time, so_far: &SoFar<'_>) {
        if now < self.next() {
            return;
        }
        self.points.push((now, (so_far.delivered)()));
        if self.points.len() >= MOST {
            let mut second = true;
            self.points.retain(|_| {
                second = !second;
                second
            });
            self.every = self.every * 2;
        }
    }

    /// An item for each interval, workload and transport.
    pub fn items(&self) -> impl Iterator<Item = WorkItem> {
        let ends = |p: usize| self.points.get(p);
        (0..self.points.len()).flat_map(move |p| {
            let (start, before) = p.checked_sub(1).and_then(ends).map_or((Time::ZERO, None), |(at, sums)| (*at, Some(sums)));
            let (end, sums) = &self.points[p];
            sums.iter().map(move |(&(workload, group), &bytes)| WorkItem {
                kind: ItemKind::Interval,
                workload,
                group,
                size_bytes: bytes - before.and_then(|sums| sums.get(&(workload, group))).copied().unwrap_or(0),
                start,
                end: TimeOrNever::at(*end),
                ideal: Time::ZERO,
            })
        })
    }
}

/// Samples a run that ends by its duration.
impl Decisions for Sampling {
    fn next(&self) -> TimeOrNever {
        Sampling::next(self).into()
    }

    fn ends(&mut self, now: Time, so_far: &SoFar<'_>) -> bool {
        self.note(now, so_far);
        false
    }
}

/// Returns true if all traffic of an experiment is endless, so that the first line about it reports the goodput.
pub fn is_endless(experiment: &Experiment) -> bool {
    use forebay_experiment::traffic::WorkloadKind::{Long, Udp};
    let endless = |w: &forebay_experiment::traffic::Workload| matches!(w.kind, Long { size: None, .. } | Udp { .. });
    experiment.workloads.iter().all(endless) && experiment.workloads.iter().any(|w| matches!(w.kind, Long { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::{GroupId, WorkloadId};

    const OF: (WorkloadId, GroupId) = (WorkloadId::new(0), GroupId::new(0));

    /// Notes `rate` bytes per microsecond at each end of an interval, for `us` microseconds.
    fn sampled(rate: u64, us: u64) -> Sampling {
        let mut s = Sampling::new(Time::from_us(10));
        for now in (1..=us).map(Time::from_us) {
            let delivered = || [(OF, rate * now.0 / 1_000_000)].into();
            s.note(now, &SoFar { work: &Vec::new, delivered: &delivered });
        }
        s
    }

    #[test]
    fn intervals_hold_their_payload() {
        let items: Vec<WorkItem> = sampled(3, 100).items().collect();
        assert_eq!(items.len(), 10);
        assert!(items.iter().all(|i| i.size_bytes == 30 && i.end.get() == Some(i.start + Time::from_us(10))), "{items:?}");
    }

    #[test]
    fn neighbours_merge_without_loss() {
        let s = sampled(3, 10 * MOST as u64 * 3);
        let items: Vec<WorkItem> = s.items().collect();
        assert!(items.len() < MOST && items.len() >= MOST / 2, "{}", items.len());
        assert!(items.windows(2).all(|w| w[0].end.get() == Some(w[1].start)));
        assert_eq!(items.iter().map(|i| i.size_bytes).sum::<u64>(), 3 * 10 * MOST as u64 * 3);
        assert!(items.iter().all(|i| i.size_bytes == 3 * 40), "{:?}", items[0]);
    }
}
