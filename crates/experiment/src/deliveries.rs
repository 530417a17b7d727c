//! Payload delivered over time, per workload, transport and port. What a run of any length keeps of it is bounded: sums at points in time
//! whose distance doubles when there are too many, so that there are never more than [`MOST`], and no more than [`MOST_WAYS`] ways of packets,
//! of which each counts for the port that limits it most.

use crate::rows::DeliveryRow;
use crate::traffic::Workload;
use forebay_units::{GroupId, IndexVec, PortId, Rate, SumId, Time, WorkloadId};
use std::collections::BTreeMap;

/// Most points in time. Our choice: more than a chart is wide would not be seen.
pub const MOST: usize = 256;
/// Most ports of a workload and transport that have rows of their own; with more, all are summed up together. Our choice: the lines of a chart.
pub const MOST_PORTS: usize = 16;
/// Most ways of a workload and transport that are summed up by themselves; with more, its ports have one row together. Our choice: 130 KB.
pub const MOST_WAYS: usize = 64;
/// Intervals of a run whose length is known.
const INTERVALS: u64 = 200;
/// The first interval of a run whose length is not known.
const FIRST: Time = Time(1_000_000);
/// Connections are looked at no more often than once in so many packet transmissions, so that it costs next to nothing,
const TRANSMISSIONS_PER_LOOK: u64 = 32;
/// beside so many looks, some milliseconds of a run, so that in small ones the points do not depend on what else is sent.
const FREE_LOOKS: u64 = 1 << 14;

/// The sums so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deliveries {
    /// For each workload and transport that it can use the ways that its messages have taken, each with its sum.
    sums: BTreeMap<(WorkloadId, GroupId), Sums>,
    /// How many sums there are.
    count: usize,
    /// Distance of the points in time.
    every: Time,
    due: Time,
    /// End of the run, if it is known: then intervals without deliveries have points, too.
    duration: Option<Time>,
    /// Times, and the sums at each. Sums that are missing at the end were zero.
    points: Vec<(Time, IndexVec<SumId, u64>)>,
    /// Connections looked at so far.
    looks: u64,
}

/// The sums of a workload and transport.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sums {
    /// By the ports that all packets of a pair of hosts pass, in their order ([`crate::topology::Fib::certain`]).
    by_way: BTreeMap<Vec<PortId>, SumId>,
    /// That of all further ways.
    others: Option<SumId>,
}

impl Sums {
    /// What rows are made for: ports with the sums that belong to them. Of the ports of a way `limits` names the one that counts.
    fn told_apart(&self, limits: &dyn Fn(&[PortId]) -> Option<PortId>) -> Vec<(Option<PortId>, Vec<SumId>)> {
        let mut by_port: BTreeMap<Option<PortId>, Vec<SumId>> = BTreeMap::new();
        self.by_way.iter().for_each(|(way, sum)| by_port.entry(limits(way)).or_default().push(*sum));
        if self.others.is_some() || by_port.is_empty() || by_port.len() > MOST_PORTS {
            return vec![(None, self.by_way.values().copied().chain(self.others).collect())];
        }
        by_port.into_iter().collect()
    }
}

impl Deliveries {
    /// No deliveries yet, for this many transports in a run that ends at `duration`. If that is unknown, intervals are at least `least`.
    pub fn new(workloads: &IndexVec<WorkloadId, Workload>, groups: usize, duration: Option<Time>, least: Time) -> Deliveries {
        let first = || Time(FIRST.0 * least.0.div_ceil(FIRST.0).max(1).next_power_of_two());
        let every = duration.map_or_else(first, |d| Time(d.0.div_ceil(INTERVALS).max(1)));
        let all = workloads.enumerate().flat_map(|(id, w)| (0..groups).map(move |g| (w, id, GroupId::from_index(g))));
        let sums = all.filter(|(w, _, g)| w.uses(*g)).map(|(_, id, g)| ((id, g), Sums::default())).collect();
        Deliveries { sums, every, due: every, duration, ..Deliveries::default() }
    }

    /// The sum that a workload's messages of a transport belong to whose packets all pass the ports of `way`.
    pub fn sum(&mut self, workload: WorkloadId, group: GroupId, way: &[PortId]) -> SumId {
        let Sums { by_way, others } = self.sums.entry((workload, group)).or_default();
        if let Some(sum) = by_way.get(way) {
            return *sum;
        }
        let next = SumId::from_index(self.count);
        let sum =
            if by_way.len() < MOST_WAYS { *by_way.entry(way.to_vec()).or_insert(next) } else { *others.get_or_insert(next) };
        self.count += usize::from(sum == next);
        sum
    }

    /// Zero for each of the sums.
    pub fn zeros(&self) -> IndexVec<SumId, u64> {
        IndexVec::repeat(0, self.count)
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

    /// The sums have been `totals` since [`Deliveries::due`], and nothing is delivered before `now`.
    pub fn note(&mut self, now: Time, totals: &IndexVec<SumId, u64>) {
        self.push(self.due, totals);
        self.due = self.behind(self.due);
        self.fill(now, totals);
        if self.points.len() >= MOST {
            self.thin();
        }
    }

    /// Adds the points up to `now`; nothing is delivered before.
    fn fill(&mut self, now: Time, totals: &IndexVec<SumId, u64>) {
        if now < self.due {
            return;
        }
        if self.duration.is_none() {
            self.push(Time(now.0 - now.0 % self.every.0), totals);
            self.due = self.behind(now);
        }
        while self.due <= now {
            self.push(self.due, totals);
            self.due = self.behind(self.due);
        }
    }

    /// The first multiple of the interval behind `time`.
    fn behind(&self, time: Time) -> Time {
        Time((time.0 - time.0 % self.every.0).saturating_add(self.every.0))
    }

    fn push(&mut self, at: Time, totals: &IndexVec<SumId, u64>) {
        let pauses = self.points.len() > 1 && self.points[self.points.len() - 2..].iter().all(|(_, before)| before == totals);
        match self.points.last_mut().filter(|_| pauses && self.duration.is_none()) {
            // The number of points is unknown, so a pause has only its first and its last point.
            Some((last, _)) => *last = at,
            None => self.points.push((at, totals.clone())),
        }
    }

    /// Forgets every second point.
    fn thin(&mut self) {
        let mut second = true;
        self.points.retain(|_| {
            second = !second;
            second
        });
        self.every = Time(self.every.0.saturating_mul(2));
        self.due = self.behind(self.points.last().map_or(Time::ZERO, |(at, _)| *at));
    }

    /// A row for each interval, workload, transport that it can use, and port; at `end` the sums are `totals`. A way counts for the port of it
    /// over which most came for its rate, of everything together; of equal ones the first, where a queue forms.
    pub fn rows(mut self, end: Time, totals: &IndexVec<SumId, u64>, rate: &dyn Fn(PortId) -> Rate) -> Vec<DeliveryRow> {
        if self.duration.is_some() {
            self.fill(end, totals);
        }
        if self.points.last().is_none_or(|(last, _)| *last < end) {
            self.push(end, totals);
        }
        let mut came: BTreeMap<PortId, u64> = BTreeMap::new();
        for (way, sum) in self.sums.values().flat_map(|s| &s.by_way) {
            let bytes = totals.get(*sum).copied().unwrap_or(0);
            way.iter().for_each(|port| *came.entry(*port).or_default() += bytes);
        }
        let busy = |port: PortId| u128::from(came.get(&port).copied().unwrap_or(0));
        let limits = |way: &[PortId]| {
            way.iter().rev().copied().max_by(|a, b| (busy(*a) * u128::from(rate(*b).0)).cmp(&(busy(*b) * u128::from(rate(*a).0))))
        };
        let sums: Vec<_> = self.sums.iter().map(|(of, sums)| (*of, sums.told_apart(&limits))).collect();
        let mut rows = Vec::with_capacity(self.points.len() * sums.iter().map(|(_, ports)| ports.len()).sum::<usize>());
        let (mut from, mut before) = (Time::ZERO, &IndexVec::new());
        for (to, now) in &self.points {
            for ((workload, group), ports) in &sums {
                rows.extend(ports.iter().map(|(port, sums)| {
                    let of =
                        |totals: &IndexVec<SumId, u64>| sums.iter().map(|s| totals.get(*s).copied().unwrap_or(0)).sum::<u64>();
                    let bytes = of(now).saturating_sub(of(before));
                    DeliveryRow { from, to: *to, workload: *workload, group: *group, port: *port, bytes }
                }));
            }
            (from, before) = (*to, now);
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
    const WORKLOAD: WorkloadId = WorkloadId::new(0);
    const GROUP: GroupId = GroupId::new(0);
    const RATE: Rate = Rate(1_000_000_000);

    fn workload() -> IndexVec<WorkloadId, Workload> {
        let kind = WorkloadKind::Replay { flows: Vec::new() };
        vec![Workload { class: "w".into(), transport: Assign::One(GroupId::new(0)), kind }].into()
    }

    /// Feeds sums that grow by 1 a millisecond into a run that ends after `ms`.
    fn fed(duration: Option<Time>, ms: u64) -> Vec<DeliveryRow> {
        let mut d = Deliveries::new(&workload(), 1, duration, FIRST);
        d.sum(WORKLOAD, GROUP, &[PortId::new(7)]);
        for i in 1..ms {
            while Time(i * MS) >= d.due() {
                assert!(d.worth(Time(i * MS), 1, u64::MAX));
                d.note(Time(i * MS), &vec![i].into());
            }
        }
        d.rows(Time(ms * MS), &vec![ms].into(), &|_| RATE)
    }

    /// Ports and bytes of the rows of a run of one interval in which 1 byte came over the first of `ports`, 2 over the second, and so on.
    fn over(ports: usize) -> Vec<(Option<PortId>, u64)> {
        let mut d = Deliveries::new(&workload(), 1, None, FIRST);
        let mut totals = d.zeros();
        for i in 0..ports {
            let sum = d.sum(WORKLOAD, GROUP, &[PortId::from_index(i)]);
            assert_eq!(d.sum(WORKLOAD, GROUP, &[PortId::from_index(i)]), sum, "the same again");
            let mut now = d.zeros();
            totals.enumerate().for_each(|(id, n)| now[id] = *n);
            now[sum] += i as u64 + 1;
            totals = now;
        }
        d.rows(Time(MS), &totals, &|_| RATE).iter().map(|r| (r.port, r.bytes)).collect()
    }

    #[test]
    fn ports_are_told_apart_up_to_a_number() {
        assert_eq!(over(0), [(None, 0)], "nothing was sent: a row all the same");
        assert_eq!(over(2), [(Some(PortId::new(0)), 1), (Some(PortId::new(1)), 2)]);
        assert_eq!(over(MOST_PORTS).len(), MOST_PORTS);
        let many = MOST_PORTS as u64 + 5;
        assert_eq!(over(MOST_PORTS + 5), [(None, many * (many + 1) / 2)], "all together");
    }

    #[test]
    fn a_way_counts_for_the_port_that_limits_it() {
        // Two racks send over ports 0 and 1 into the link 2, and on to the receivers at 3 and 4; the link is twice as fast.
        let port = |n| PortId::new(n);
        let rows = |bytes: [u64; 2], link: u64| {
            let mut d = Deliveries::new(&workload(), 1, None, FIRST);
            d.sum(WORKLOAD, GROUP, &[port(0), port(2), port(3)]);
            d.sum(WORKLOAD, GROUP, &[port(1), port(2), port(4)]);
            let rate = |p: PortId| if p == port(2) { Rate(link) } else { RATE };
            d.rows(Time(MS), &bytes.to_vec().into(), &rate).iter().map(|r| (r.port, r.bytes)).collect::<Vec<_>>()
        };
        assert_eq!(rows([500, 400], RATE.0), [(Some(port(2)), 900)], "where both meet");
        assert_eq!(
            rows([500, 400], 2 * RATE.0),
            [(Some(port(0)), 500), (Some(port(2)), 400)],
            "900 / 2 is less than 500 and more than 400"
        );
    }

    #[test]
    fn a_port_that_is_used_late_had_nothing_before() {
        let mut d = Deliveries::new(&workload(), 1, Some(Time(1_000 * MS)), FIRST);
        d.sum(WORKLOAD, GROUP, &[PortId::new(0)]);
        d.note(Time(5 * MS), &vec![10].into());
        d.sum(WORKLOAD, GROUP, &[PortId::new(1)]);
        let rows = d.rows(Time(1_000 * MS), &vec![11, 4].into(), &|_| RATE);
        let seen: Vec<(u64, Option<PortId>, u64)> =
            rows.iter().filter(|r| r.bytes > 0 || r.to.0 == 5 * MS).map(|r| (r.to.0 / MS, r.port, r.bytes)).collect();
        let [a, b] = [0, 1].map(|p| Some(PortId::new(p)));
        assert_eq!(seen, [(5, a, 10), (5, b, 0), (10, a, 1), (10, b, 4)]);
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
    fn pauses_have_points_of_their_own() {
        // 8 bytes by the first point, nothing until 71.5, one more by the end at 100; in ms, or in us where the length is not known.
        let seen = |duration: Option<Time>, unit: u64| {
            let mut d = Deliveries::new(&workload(), 1, duration, FIRST);
            d.sum(WORKLOAD, GROUP, &[PortId::new(7)]);
            let half = unit / 2;
            d.note(Time(71 * unit + half), &vec![8].into());
            let rows = d.rows(Time(100 * unit), &vec![9].into(), &|_| RATE);
            rows.iter().map(|r| (r.to.0 * 2 / unit, r.bytes)).collect::<Vec<_>>()
        };
        assert_eq!(seen(None, FIRST.0), [(2, 8), (142, 0), (200, 1)], "a pause is one interval");
        let rows = seen(Some(Time(100 * MS)), MS);
        let expected: Vec<(u64, u64)> =
            (1..=200).map(|half| (half, [(1, 8), (144, 1)].iter().find(|e| e.0 == half).map_or(0, |e| e.1))).collect();
        assert_eq!(rows, expected, "every interval of half a ms");
    }

    #[test]
    fn looks_are_bounded_by_transmissions() {
        let mut d = Deliveries::new(&workload(), 1, Some(Time(1_000 * MS)), FIRST);
        assert!(!d.worth(Time(5 * MS), 1_000_000, 1_000) && d.due() == Time(10 * MS), "{d:?}");
        assert!(d.worth(Time(10 * MS), 1_000_000, 32_000_000));
        d.note(Time(10 * MS), &vec![1].into());
        assert_eq!(d.due(), Time(20 * MS), "intervals of 10 ms now");
    }
}
