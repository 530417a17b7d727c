//! Open loop: flows arrive as a Poisson process or from a list, each on a connection of its own.

use super::super::core::{Core, First, Job, Notice, OpenSpec};
use crate::config::{Assign, Deadline, ReplayFlow, Workload, WorkloadKind};
use forebay_sampling::{Rng, SizeDist};
use forebay_units::{AppId, IndexVec, NodeId, Time};

/// Where the flows come from.
enum Source {
    Poisson(Poisson),
    List { flows: Vec<ReplayFlow>, next: usize },
}

/// A Poisson process of flows between random hosts.
struct Poisson {
    from: Vec<NodeId>,
    to: Vec<NodeId>,
    sizes: SizeDist,
    mean_gap: f64,
    stop: u64,
    left: u64,
    /// Flows that each source may still start; empty for no limit.
    quota: Vec<u64>,
    racks: Option<IndexVec<NodeId, NodeId>>,
    deadline: Option<Deadline>,
    rng: Rng,
}

impl Poisson {
    /// The flow behind one that arrived at `previous`.
    fn draw(&mut self, previous: u64) -> Option<ReplayFlow> {
        let mut start = previous;
        loop {
            start = start.saturating_add((self.rng.exponential() * self.mean_gap) as u64);
            if self.left == 0 || start >= self.stop {
                return None;
            }
            let (source, src, dst) = self.pair();
            // What a source that has started all of its flows would send is left out: the others keep their rate.
            if let Some(quota) = self.quota.get_mut(source) {
                if *quota == 0 {
                    continue;
                }
                *quota -= 1;
            }
            self.left -= 1;
            let bytes = self.sizes.sample(&mut self.rng);
            let deadline = Time(Deadline::due(self.deadline, start, bytes));
            return Some(ReplayFlow { start: Time(start), src, dst, bytes, deadline });
        }
    }

    /// Index of the source, source and destination: uniform over all legal pairs; the workload made sure that there is one.
    fn pair(&mut self) -> (usize, NodeId, NodeId) {
        loop {
            let source = self.rng.below(self.from.len() as u64) as usize;
            let (src, dst) = (self.from[source], self.to[self.rng.below(self.to.len() as u64) as usize]);
            let near = self.racks.as_ref().is_some_and(|rack| rack[src] == rack[dst]);
            if src != dst && !near {
                return (source, src, dst);
            }
        }
    }
}

/// Runtime of a `poisson` or `replay` workload.
pub(crate) struct Arrivals {
    source: Source,
    next: Option<ReplayFlow>,
    transport: Assign,
    id: AppId,
    total: u64,
}

impl Arrivals {
    pub(super) fn new(w: &Workload, duration: Option<u64>, rng: Rng) -> Arrivals {
        let (source, first, total) = match &w.kind {
            WorkloadKind::Poisson { from, to, sizes, flows_per_sec, start, stop, flows, per_source, racks, deadline } => {
                // A source that has no destination (all are in its own rack) has no flows either.
                let able = |f: NodeId| to.iter().any(|&t| t != f && racks.as_ref().is_none_or(|r| r[f] != r[t]));
                let quota: Vec<u64> =
                    per_source.map_or_else(Vec::new, |n| from.iter().map(|&f| if able(f) { n } else { 0 }).collect());
                let all = per_source.map(|_| quota.iter().fold(0_u64, |sum, &q| sum.saturating_add(q)));
                let limit = flows.unwrap_or(u64::MAX).min(all.unwrap_or(u64::MAX));
                let source = Poisson {
                    from: from.clone(),
                    to: to.clone(),
                    sizes: sizes.clone(),
                    mean_gap: 1e12 / flows_per_sec,
                    stop: stop.map_or(u64::MAX, |t| t.0).min(duration.unwrap_or(u64::MAX)),
                    left: limit,
                    quota,
                    racks: racks.clone(),
                    deadline: *deadline,
                    rng,
                };
                (Source::Poisson(source), start.0, if limit == u64::MAX { 0 } else { limit })
            }
            WorkloadKind::Replay { flows } => (Source::List { flows: flows.clone(), next: 0 }, 0, flows.len() as u64),
            _ => unreachable!("kind checked by the caller"),
        };
        let mut a = Arrivals { source, next: None, transport: w.transport.clone(), id: AppId::new(0), total };
        a.next = a.draw(first);
        a
    }

    /// The flow behind one that arrived at `previous`.
    fn draw(&mut self, previous: u64) -> Option<ReplayFlow> {
        match &mut self.source {
            Source::List { flows, next } => {
                *next += 1;
                flows.get(*next - 1).copied()
            }
            Source::Poisson(p) => p.draw(previous),
        }
    }

    pub(super) fn start(&mut self, _core: &mut Core, id: AppId) {
        self.id = id;
    }

    pub(super) fn next_arrival(&self) -> u64 {
        self.next.map_or(u64::MAX, |f| f.start.0)
    }

    pub(super) fn inject(&mut self, core: &mut Core, until: u64) {
        while let Some(f) = self.next.filter(|f| f.start.0 < until) {
            let first = First::Only(Job { deadline: f.deadline.0, ..Job::of(f.bytes) });
            let group = self.transport.pick(f.src);
            core.connect(f.start.0, OpenSpec { src: f.src, dst: f.dst, group, app: self.id, tag: 0, first });
            // It counts as open work from here on, though its message is written when it opens.
            self.next = self.draw(f.start.0);
        }
    }

    pub(super) fn on_wake(&mut self, _core: &mut Core, _id: AppId, _now: u64, _tag: u64) {}

    pub(super) fn on_notice(&mut self, _core: &mut Core, _id: AppId, _now: u64, _notice: Notice) {}

    pub(super) fn finished(&self) -> bool {
        self.next.is_none()
    }

    pub(super) fn expected(&self) -> u64 {
        self.total
    }
}
