//! Payload delivered over time, per workload, transport and port.
//!
//! Memory is bounded for runs of any length. The interval between points doubles whenever there are [`MAX_POINTS`] points. Up to [`MAX_PATHS`] paths
//! have a sum of their own, each attributed to the port that limits it most.

use crate::rows::DeliveryRow;
use crate::traffic::Workload;
use forebay_types::{GroupId, IndexVec, PortId, Rate, SumId, Time, WorkloadId};
use std::collections::BTreeMap;

/// Maximum number of points in time. Our choice: a chart shows no more.
pub const MAX_POINTS: usize = 256;
/// Maximum number of ports of a workload and transport with rows of their own; more are added up. Our choice: the lines of a chart.
pub const MAX_PORTS: usize = 16;
/// Maximum number of paths of a workload and transport with sums of their own; more share one row. Our choice: 130 KB.
pub const MAX_PATHS: usize = 64;
/// Intervals of a run whose length is known.
const INTERVALS: u64 = 200;
/// First interval of a run of unknown length.
const FIRST: Time = Time(1_000_000);
/// Packet transmissions per connection that is read, which bounds the cost.
const TRANSMISSIONS_PER_READ: u64 = 32;
/// Reads that are free of this bound: some milliseconds of a run. In small runs the points then do not depend on other traffic.
const FREE_READS: u64 = 1 << 14;

/// Sums so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deliveries {
    /// For each workload and transport that it can use: the paths of its messages, each with its sum.
    sums: BTreeMap<(WorkloadId, GroupId), Sums>,
    /// Number of sums.
    count: usize,
    /// Interval between points.
    every: Time,
    due: Time,
    /// End of the run if known: then intervals without deliveries have points too.
    duration: Option<Time>,
    /// Times, and the sums at each. Sums that are missing at the end are zero.
    points: Vec<(Time, IndexVec<SumId, u64>)>,
    /// Connections read so far.
    reads: u64,
    /// Packet transmissions before the last time at which points were due.
    transmissions: Option<u64>,
    /// True if the sums were taken at that time.
    recorded: bool,
    /// True if nothing was transmitted since then.
    idle: bool,
}

/// Sums of a workload and transport.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sums {
    /// By the ports that all packets of a pair of hosts pass, in order ([`crate::topology::Fib::common_ports`]).
    by_path: BTreeMap<Vec<PortId>, SumId>,
    /// Sum of all further paths.
    others: Option<SumId>,
}

impl Sums {
    /// Ports with their sums, one row each. `limits` names the port of a path that the path counts for.
    fn by_port(&self, limits: &dyn Fn(&[PortId]) -> Option<PortId>) -> Vec<(Option<PortId>, Vec<SumId>)> {
        let mut by_port: BTreeMap<Option<PortId>, Vec<SumId>> = BTreeMap::new();
        self.by_path.iter().for_each(|(way, sum)| by_port.entry(limits(way)).or_default().push(*sum));
        if self.others.is_some() || by_port.is_empty() || by_port.len() > MAX_PORTS {
            return vec![(None, self.by_path.values().copied().chain(self.others).collect())];
        }
        by_port.into_iter().collect()
    }
}

impl Deliveries {
    /// No deliveries, for this many transports in a run that ends at `duration`. Without a duration intervals are at least `least`.
    pub fn new(workloads: &IndexVec<WorkloadId, Workload>, groups: usize, duration: Option<Time>, least: Time) -> Deliveries {
        let first = || Time(FIRST.0 * least.0.div_ceil(FIRST.0).max(1).next_power_of_two());
        let every = duration.map_or_else(first, |d| Time(d.0.div_ceil(INTERVALS).max(1)));
        let all = workloads.enumerate().flat_map(|(id, w)| (0..groups).map(move |g| (w, id, GroupId::from_index(g))));
        let sums = all.filter(|(w, _, g)| w.uses(*g)).map(|(_, id, g)| ((id, g), Sums::default())).collect();
        Deliveries { sums, every, due: every, duration, ..Deliveries::default() }
    }

    /// Sum for the messages of a workload and transport whose packets all pass the ports of `way`.
    pub fn sum(&mut self, workload: WorkloadId, group: GroupId, way: &[PortId]) -> SumId {
        let Sums { by_path, others } = self.sums.entry((workload, group)).or_default();
        if let Some(sum) = by_path.get(way) {
            return *sum;
        }
        let next = SumId::from_index(self.count);
        let sum =
            if by_path.len() < MAX_PATHS { *by_path.entry(way.to_vec()).or_insert(next) } else { *others.get_or_insert(next) };
        self.count += usize::from(sum == next);
        sum
    }

    /// `totals` of all paths of each workload and transport.
    pub fn by_workload(&self, totals: &IndexVec<SumId, u64>) -> BTreeMap<(WorkloadId, GroupId), u64> {
        let of = |sums: &Sums| sums.by_path.values().chain(&sums.others).map(|s| totals.get(*s).copied().unwrap_or(0)).sum();
        self.sums.iter().map(|(key, sums)| (*key, of(sums))).collect()
    }

    /// Zero for each of the sums.
    pub fn zeros(&self) -> IndexVec<SumId, u64> {
        IndexVec::repeat(0, self.count)
    }

    /// Time of the next point.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Advances to `now`, which is not before [`Deliveries::due`]. Returns true if the sums should be taken now, which reads `connections`
    /// connections, after this many packet transmissions. Returns false if the interval is too short for so many connections: it then doubles.
    ///
    /// The points do not depend on calls between which nothing happens: runs on several threads have windows without events that others have not.
    pub fn should_sample(&mut self, now: Time, connections: usize, transmissions: u64) -> bool {
        self.idle = self.transmissions == Some(transmissions);
        if self.idle {
            // Packets on the wire may have arrived.
            if !self.recorded {
                self.due = self.next_multiple(now);
            }
            return self.recorded;
        }
        if self.points.len() >= MAX_POINTS {
            self.thin();
            if self.due > now {
                return false;
            }
        }
        let reads = self.reads + connections as u64;
        self.transmissions = Some(transmissions);
        self.recorded = reads <= FREE_READS + transmissions / TRANSMISSIONS_PER_READ;
        if self.recorded {
            self.reads = reads;
        } else {
            self.every = Time(self.every.0.saturating_mul(2));
            self.due = self.next_multiple(now);
        }
        self.recorded
    }

    /// Records `totals`, the sums since [`Deliveries::due`]. Nothing is delivered before `now`.
    pub fn record(&mut self, now: Time, totals: &IndexVec<SumId, u64>) {
        if !(self.idle && self.points.last().is_some_and(|(_, before)| before == totals)) {
            self.push(self.due, totals);
            self.due = self.next_multiple(self.due);
        }
        self.fill(now, totals);
    }

    /// Adds the points up to `now`; nothing is delivered before.
    fn fill(&mut self, now: Time, totals: &IndexVec<SumId, u64>) {
        if now < self.due {
            return;
        }
        if self.duration.is_none() {
            self.push(Time(now.0 - now.0 % self.every.0), totals);
            self.due = self.next_multiple(now);
        }
        while self.due <= now {
            self.push(self.due, totals);
            self.due = self.next_multiple(self.due);
        }
    }

    /// First multiple of the interval after `time`.
    fn next_multiple(&self, time: Time) -> Time {
        Time((time.0 - time.0 % self.every.0).saturating_add(self.every.0))
    }

    fn push(&mut self, at: Time, totals: &IndexVec<SumId, u64>) {
        let pauses = self.points.len() > 1 && self.points[self.points.len() - 2..].iter().all(|(_, before)| before == totals);
        match self.points.last_mut().filter(|_| pauses && self.duration.is_none()) {
            // Runs of unknown length store only the first and the last point of a pause.
            Some((last, _)) => *last = at,
            None => self.points.push((at, totals.clone())),
        }
    }

    /// Drops every second point.
    fn thin(&mut self) {
        let mut second = true;
        self.points.retain(|_| {
            second = !second;
            second
        });
        self.every = Time(self.every.0.saturating_mul(2));
        self.due = self.next_multiple(self.points.last().map_or(Time::ZERO, |(at, _)| *at));
    }

    /// Rows: one for each interval, workload, transport that it can use, and port. `totals` are the sums at `end`. A path counts for its port with
    /// the highest delivered bytes per rate; of equal ports the first, where a queue forms.
    pub fn rows(mut self, end: Time, totals: &IndexVec<SumId, u64>, rate: &dyn Fn(PortId) -> Rate) -> Vec<DeliveryRow> {
        if self.points.len() >= MAX_POINTS {
            self.thin();
        }
        if self.duration.is_some() {
            self.fill(end, totals);
        }
        // A run can end inside the last window, before a point of it.
        while self.points.last().is_some_and(|(last, _)| *last > end) {
            self.points.pop();
        }
        match self.points.last_mut() {
            Some((last, sums)) if *last == end => sums.clone_from(totals),
            _ => self.push(end, totals),
        }
        let mut came: BTreeMap<PortId, u64> = BTreeMap::new();
        for (way, sum) in self.sums.values().flat_map(|s| &s.by_path) {
            let bytes = totals.get(*sum).copied().unwrap_or(0);
            way.iter().for_each(|port| *came.entry(*port).or_default() += bytes);
        }
        let busy = |port: PortId| u128::from(came.get(&port).copied().unwrap_or(0));
        let limits = |way: &[PortId]| {
            way.iter().rev().copied().max_by(|a, b| (busy(*a) * u128::from(rate(*b).0)).cmp(&(busy(*b) * u128::from(rate(*a).0))))
        };
        let sums: Vec<_> = self.sums.iter().map(|(of, sums)| (*of, sums.by_port(&limits))).collect();
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
    use crate::writes::Writes;

    const MS: u64 = 1_000_000_000;
    const WORKLOAD: WorkloadId = WorkloadId::new(0);
    const GROUP: GroupId = GroupId::new(0);
    const RATE: Rate = Rate(1_000_000_000);

    fn workload() -> IndexVec<WorkloadId, Workload> {
        let kind = WorkloadKind::Replay { flows: Vec::new(), after: Vec::new() };
        vec![Workload { class: "w".into(), transport: Assign::One(GroupId::new(0)), writes: Writes::ONE, listen: None, kind }]
            .into()
    }

    /// Rows of a run of `ms` whose sums grow by 1 per millisecond.
    fn fed(duration: Option<Time>, ms: u64) -> Vec<DeliveryRow> {
        let mut d = Deliveries::new(&workload(), 1, duration, FIRST);
        d.sum(WORKLOAD, GROUP, &[PortId::new(7)]);
        for i in 1..ms {
            while Time(i * MS) >= d.due() {
                // False where the points are thinned out.
                if d.should_sample(Time(i * MS), 1, i << 20) {
                    d.record(Time(i * MS), &vec![i].into());
                }
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
    fn number_of_ports_is_bounded() {
        assert_eq!(over(0), [(None, 0)], "nothing was sent: one row");
        assert_eq!(over(2), [(Some(PortId::new(0)), 1), (Some(PortId::new(1)), 2)]);
        assert_eq!(over(MAX_PORTS).len(), MAX_PORTS);
        let many = MAX_PORTS as u64 + 5;
        assert_eq!(over(MAX_PORTS + 5), [(None, many * (many + 1) / 2)], "all together");
    }

    #[test]
    fn path_counts_for_its_limiting_port() {
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
    fn late_port_has_earlier_zeros() {
        let mut d = Deliveries::new(&workload(), 1, Some(Time(1_000 * MS)), FIRST);
        d.sum(WORKLOAD, GROUP, &[PortId::new(0)]);
        d.record(Time(5 * MS), &vec![10].into());
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
            assert!(rows.len() <= MAX_POINTS && (ms < 1_000 || rows.len() > MAX_POINTS / 4), "{} rows of {ms} ms", rows.len());
            assert_eq!(rows.iter().map(|r| r.bytes).sum::<u64>(), ms);
            assert!(rows.windows(2).all(|w| w[0].to == w[1].from && w[0].from < w[0].to), "{rows:?}");
            assert_eq!((rows[0].from, rows[rows.len() - 1].to), (Time::ZERO, Time(ms * MS)));
        }
    }

    #[test]
    fn pauses_have_their_own_points() {
        // 8 bytes by the first point, nothing until 71.5, one more by the end at 100; in ms, or in us where the length is not known.
        let seen = |duration: Option<Time>, unit: u64| {
            let mut d = Deliveries::new(&workload(), 1, duration, FIRST);
            d.sum(WORKLOAD, GROUP, &[PortId::new(7)]);
            let half = unit / 2;
            d.record(Time(71 * unit + half), &vec![8].into());
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
    fn reads_are_bounded_by_transmissions() {
        let mut d = Deliveries::new(&workload(), 1, Some(Time(1_000 * MS)), FIRST);
        assert!(!d.should_sample(Time(5 * MS), 1_000_000, 1_000) && d.due() == Time(10 * MS), "{d:?}");
        assert!(d.should_sample(Time(10 * MS), 1_000_000, 32_000_000));
        d.record(Time(10 * MS), &vec![1].into());
        assert_eq!(d.due(), Time(20 * MS), "intervals of 10 ms now");
    }
    /// Calls in windows in which nothing happens, as of runs on several threads, change nothing.
    #[test]
    fn idle_calls_change_no_points() {
        for (duration, connections) in [(None, 1), (None, 3_000), (Some(Time(40 * MS)), 1), (Some(Time(40 * MS)), 3_000)] {
            let run = |idle_calls: bool| {
                let mut d = Deliveries::new(&workload(), 1, duration, FIRST);
                d.sum(WORKLOAD, GROUP, &[PortId::new(7)]);
                // A packet every 37 to 100 us.
                let mut now = Time::ZERO;
                for i in 1..600 {
                    let next = now + Time::from_us(37 + i * 41 % 64);
                    let idle = [now + Time::from_us(11), now + Time::from_us(30)];
                    for at in idle.into_iter().filter(|_| idle_calls).chain([next]) {
                        if at >= d.due() && d.should_sample(at, connections, i) {
                            d.record(at, &vec![i].into());
                        }
                    }
                    now = next;
                }
                d.rows(Time(41 * MS), &vec![600].into(), &|_| RATE)
            };
            assert_eq!(run(true), run(false), "{duration:?}, {connections} connections");
        }
    }
}
