//! Payload delivered over time, per workload and transport. What a run of any length keeps of it is bounded: sums at points in time whose
//! distance doubles when there are too many, so that there are never more than [`MOST`].

use crate::rows::DeliveryRow;
use crate::traffic::Workload;
use forebay_units::{GroupId, IndexVec, Time, WorkloadId};

/// Most points in time. Our choice: more than a chart is wide would not be seen.
pub const MOST: usize = 256;
/// Intervals of a run whose length is known.
const INTERVALS: u64 = 200;
/// The first interval of a run whose length is not known.
const FIRST: Time = Time(1_000_000);
/// Connections are looked at no more often than once in so many packet transmissions, so that it costs next to nothing,
const TRANSMISSIONS_PER_LOOK: u64 = 32;
/// beside so many looks, which short runs of many connections need.
const FREE_LOOKS: u64 = 4_096;

/// The sums so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deliveries {
    groups: usize,
    /// Which transports each workload can use.
    used: Vec<(WorkloadId, GroupId)>,
    /// Distance of the points in time.
    every: Time,
    due: Time,
    at: Vec<Time>,
    /// At each of those times the sums of all pairs of workload and transport.
    totals: Vec<u64>,
    /// Connections looked at so far.
    looks: u64,
}

impl Deliveries {
    /// None yet, of so many transports in a run that ends at `duration`, where that is known.
    pub fn new(workloads: &IndexVec<WorkloadId, Workload>, groups: usize, duration: Option<Time>) -> Deliveries {
        let every = duration.map_or(FIRST, |d| Time(d.0.div_ceil(INTERVALS).max(1)));
        let all = workloads.enumerate().flat_map(|(id, w)| (0..groups).map(move |g| (w, id, GroupId::from_index(g))));
        let used = all.filter(|(w, _, g)| w.uses(*g)).map(|(_, id, g)| (id, g)).collect();
        Deliveries { groups, used, every, due: every, at: Vec::new(), totals: Vec::new(), looks: 0 }
    }

    /// Place of a workload's messages of a transport among the sums.
    #[inline]
    pub fn place(&self, workload: WorkloadId, group: GroupId) -> usize {
        workload.index() * self.groups + group.index()
    }

    /// When sums are wanted next.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Time comes to `now`, which is not before [`Deliveries::due`]. Whether to sum up now, which takes a look at `connections` connections,
    /// after so many packet transmissions. If not, the intervals are too short for so many connections: they get twice as long.
    pub fn worth(&mut self, now: Time, connections: usize, transmissions: u64) -> bool {
        let looks = self.looks + connections as u64;
        let worth = looks <= FREE_LOOKS + transmissions / TRANSMISSIONS_PER_LOOK;
        if worth {
            self.looks = looks;
        } else {
            self.every = Time(self.every.0.saturating_mul(2));
            self.due = self.behind(now);
        }
        worth
    }

    /// The sums are `totals` from `passed` on, and nothing is delivered before `now`.
    pub fn note(&mut self, passed: Time, now: Time, totals: &[u64]) {
        let at = self.due.max(passed);
        self.push(at, totals);
        self.due = self.behind(at);
        // Where nothing happens for long, that begins and ends at points of its own.
        if now >= self.due {
            let last = Time(now.0 - now.0 % self.every.0);
            self.push(last, totals);
            self.due = self.behind(now);
        }
        if self.at.len() >= MOST {
            self.thin();
        }
    }

    /// The first multiple of the interval behind `time`.
    fn behind(&self, time: Time) -> Time {
        Time((time.0 - time.0 % self.every.0).saturating_add(self.every.0))
    }

    fn push(&mut self, at: Time, totals: &[u64]) {
        self.at.push(at);
        self.totals.extend_from_slice(totals);
    }

    /// Forgets every second point.
    fn thin(&mut self) {
        let width = self.totals.len() / self.at.len().max(1);
        let second = |i: &usize| i % 2 == 1;
        self.totals = (0..self.at.len()).filter(second).flat_map(|i| &self.totals[i * width..(i + 1) * width]).copied().collect();
        self.at = (0..self.at.len()).filter(second).map(|i| self.at[i]).collect();
        self.every = Time(self.every.0.saturating_mul(2));
        self.due = self.behind(self.at.last().copied().unwrap_or(Time::ZERO));
    }

    /// A row for each interval, workload and transport that it can use; at `end` the sums are `totals`.
    pub fn rows(mut self, end: Time, totals: &[u64]) -> Vec<DeliveryRow> {
        if self.at.last().is_none_or(|last| *last < end) {
            self.push(end, totals);
        }
        let width = totals.len();
        let mut rows = Vec::with_capacity(self.at.len() * self.used.len());
        let mut from = Time::ZERO;
        for (i, to) in self.at.iter().enumerate() {
            let now = &self.totals[i * width..(i + 1) * width];
            let before = i.checked_sub(1).map(|b| &self.totals[b * width..i * width]);
            rows.extend(self.used.iter().map(|&(workload, group)| {
                let place = self.place(workload, group);
                let bytes = now[place].saturating_sub(before.map_or(0, |b| b[place]));
                DeliveryRow { from, to: *to, workload, group, bytes }
            }));
            from = *to;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::Assign;
    use crate::traffic::WorkloadKind;

    const MS: u64 = 1_000_000_000;

    fn workload() -> IndexVec<WorkloadId, Workload> {
        let kind = WorkloadKind::Replay { flows: Vec::new() };
        vec![Workload { class: "w".into(), transport: Assign::One(GroupId::new(0)), kind }].into()
    }

    /// Feeds sums that grow by 1 a millisecond into a run that ends after `ms`.
    fn fed(duration: Option<Time>, ms: u64) -> Vec<DeliveryRow> {
        let mut d = Deliveries::new(&workload(), 1, duration);
        for i in 1..ms {
            while Time(i * MS) >= d.due() {
                assert!(d.worth(Time(i * MS), 1, u64::MAX));
                d.note(Time(i * MS), Time(i * MS), &[i]);
            }
        }
        d.rows(Time(ms * MS), &[ms])
    }

    #[test]
    fn rows_are_bounded_and_add_up() {
        for (duration, ms) in [(Some(Time(1_000 * MS)), 1_000), (None, 1_000), (None, 37_000), (None, 3)] {
            let rows = fed(duration, ms);
            assert!(rows.len() <= MOST && (ms < 1_000 || rows.len() > MOST / 4), "{} rows of {ms} ms", rows.len());
            assert_eq!(rows.iter().map(|r| r.bytes).sum::<u64>(), ms);
            assert!(rows.windows(2).all(|w| w[0].to == w[1].from && w[0].from < w[0].to), "{rows:?}");
            assert_eq!((rows[0].from, rows[rows.len() - 1].to), (Time::ZERO, Time(ms * MS)));
        }
    }

    #[test]
    fn silence_begins_and_ends_at_points_of_its_own() {
        // Intervals of 5 ms: 8 bytes by 3 ms, nothing until 71 ms.
        let mut d = Deliveries::new(&workload(), 1, Some(Time(1_000 * MS)));
        d.note(Time(3 * MS), Time(71 * MS), &[8]);
        let rows = d.rows(Time(1_000 * MS), &[9]);
        let seen: Vec<(u64, u64)> = rows.iter().map(|r| (r.to.0 / MS, r.bytes)).collect();
        assert_eq!(seen, [(5, 8), (70, 0), (1_000, 1)]);
    }

    #[test]
    fn looks_are_bounded_by_transmissions() {
        let mut d = Deliveries::new(&workload(), 1, Some(Time(1_000 * MS)));
        assert!(!d.worth(Time(5 * MS), 1_000_000, 1_000) && d.due() == Time(10 * MS), "{d:?}");
        assert!(d.worth(Time(10 * MS), 1_000_000, 32_000_000));
        d.note(Time(10 * MS), Time(10 * MS), &[1]);
        assert_eq!(d.due(), Time(20 * MS), "intervals of 10 ms now");
    }
}
