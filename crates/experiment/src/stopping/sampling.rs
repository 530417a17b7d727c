//! Payload that a run delivers in successive intervals, and queues and bytes of ports: the figures `goodput`, `queue` and `utilization` follow from them.
//!
//! The intervals are an RTT long. Whenever there are `MOST` of them, neighbors are merged, so that memory is bounded for runs of any length.

use crate::Experiment;
use crate::decisions::{Decisions, Delivered, ItemKind, PortSnapshot, RunSnapshot, WorkItem};
use forebay_types::{GroupId, PortId, Time, TimeOrNever, WorkloadId};

/// Maximum number of intervals. Our choice: batches of 50 intervals are enough then for any number of merges.
const MOST: usize = 4096;

/// Totals at the ends of intervals.
#[derive(Debug, Clone)]
pub struct Sampling {
    every: Time,
    ports: Vec<PortId>,
    /// Group of the intervals of ports, which belong to all groups.
    group: GroupId,
    points: Vec<Point>,
}

/// State at the end of an interval.
#[derive(Debug, Clone)]
struct Point {
    at: Time,
    /// Payload until then.
    delivered: Delivered,
    /// State of each port.
    ports: Vec<PortSnapshot>,
}

impl Sampling {
    /// Intervals of at least `every`, which is above 0.
    pub fn new(every: Time) -> Sampling {
        Sampling { every: every.max(Time(1)), ports: Vec::new(), group: GroupId::new(0), points: Vec::new() }
    }

    /// The same with these ports, whose intervals have this group.
    pub fn with_ports(self, mut ports: Vec<PortId>, group: GroupId) -> Sampling {
        ports.sort_unstable();
        ports.dedup();
        Sampling { ports, group, ..self }
    }

    /// End of the current interval.
    pub fn next(&self) -> Time {
        let last = self.points.last().map_or(Time::ZERO, |p| p.at);
        Time((last.0 - last.0 % self.every.0).saturating_add(self.every.0))
    }

    /// Notes the payload that arrived until `now`, if the current interval is over.
    pub fn note(&mut self, now: Time, so_far: &RunSnapshot<'_>) {
        if now < self.next() {
            return;
        }
        let ports = if self.ports.is_empty() { Vec::new() } else { (so_far.ports)(&self.ports) };
        self.points.push(Point { at: now, delivered: (so_far.delivered)(), ports });
        if self.points.len() >= MOST {
            let mut second = true;
            self.points.retain(|_| {
                second = !second;
                second
            });
            self.every = self.every * 2;
        }
    }

    /// An item for each interval, workload and transport, and two for each port.
    pub fn items(&self) -> impl Iterator<Item = WorkItem> {
        (0..self.points.len()).flat_map(move |p| {
            let (before, point) = (p.checked_sub(1).map(|p| &self.points[p]), &self.points[p]);
            let start = before.map_or(Time::ZERO, |b| b.at);
            let item = move |kind, (workload, group), size_bytes| WorkItem {
                kind,
                workload,
                group,
                size_bytes,
                start,
                end: TimeOrNever::at(point.at),
                ideal: Time::ZERO,
                opens: false,
                timeouts: 0,
                lost: false,
            };
            let delivered = point.delivered.iter().map(move |(of, bytes)| {
                let earlier = before.and_then(|b| b.delivered.get(of)).copied().unwrap_or(0);
                item(ItemKind::Interval, *of, bytes - earlier)
            });
            let ports = self.ports.iter().zip(&point.ports).enumerate().flat_map(move |(i, (port, now))| {
                let earlier = before.and_then(|b| b.ports.get(i)).copied().unwrap_or_default();
                let of = (WorkloadId::new(0), self.group);
                // The counters of a port restart at the end of the warm-up. The interval that contains it does not count.
                let queue = u64::try_from(now.queue.saturating_sub(earlier.queue)).unwrap_or(u64::MAX);
                let sent = now.sent_bytes.saturating_sub(earlier.sent_bytes);
                [item(ItemKind::Queue(*port), of, queue), item(ItemKind::Sent(*port), of, sent)]
            });
            delivered.chain(ports)
        })
    }
}

/// Samples a run that ends by its duration.
impl Decisions for Sampling {
    fn next(&self) -> TimeOrNever {
        Sampling::next(self).into()
    }

    fn ends(&mut self, now: Time, so_far: &RunSnapshot<'_>) -> bool {
        self.note(now, so_far);
        false
    }
}

/// Returns true if all traffic of an experiment is endless, so that the first line about it reports the goodput.
pub fn is_endless(experiment: &Experiment) -> bool {
    use crate::traffic::WorkloadKind::{Long, Udp};
    let endless = |w: &crate::traffic::Workload| matches!(w.kind, Long { size: None, .. } | Udp { .. });
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
            s.note(now, &RunSnapshot { work: &Vec::new, delivered: &delivered, ports: &|_| Vec::new() });
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

    /// A queue of 5 packets, and 7 bytes per microsecond.
    #[test]
    fn intervals_hold_queues_of_ports() {
        let (port, group) = (PortId::new(4), GroupId::new(2));
        let mut s = Sampling::new(Time::from_us(10)).with_ports(vec![port, port], group);
        for now in (1..=40).map(Time::from_us) {
            let ports = |asked: &[PortId]| {
                assert_eq!(asked, [port]);
                vec![PortSnapshot { queue: u128::from(now.0) * 5, sent_bytes: now.0 / 1_000_000 * 7 }]
            };
            s.note(now, &RunSnapshot { work: &Vec::new, delivered: &Default::default, ports: &ports });
        }
        let of = |kind| s.items().filter(|i| i.kind == kind && i.group == group).map(|i| i.size_bytes).collect::<Vec<_>>();
        assert_eq!((of(ItemKind::Queue(port)), of(ItemKind::Sent(port))), (vec![50_000_000; 4], vec![70; 4]));
    }
}
