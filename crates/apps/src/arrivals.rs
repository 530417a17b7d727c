//! Open-loop flows, from a Poisson process or a list, each on a connection of its own or on persistent connections. With a warm start, those that began
//! before the run come first.

use crate::application::Application;
use crate::inter_arrival::InterArrival;
use crate::pool::Pools;
use crate::warm_start::{AliveFlow, FluidModel, Past};
use crate::{Host, InitialData, Job, Notice, OpenSpec};
use forebay_experiment::Experiment;
use forebay_experiment::assign::Assign;
use forebay_experiment::rack_pairs::RackPairs;
use forebay_experiment::streams::RngStream;
use forebay_experiment::traffic::{Deadline, ReplayFlow, Workload, WorkloadKind, has_destination};
use forebay_types::{AppId, GroupId, IndexVec, NodeId, Rng, SizeDist, Time, WorkloadId};
use std::collections::VecDeque;

/// Source of the flows.
enum Source {
    Poisson(Box<Poisson>),
    List { flows: Vec<ReplayFlow>, next: usize },
}

/// A Poisson process of flows between random hosts.
struct Poisson {
    from: Vec<NodeId>,
    to: Vec<NodeId>,
    sizes: SizeDist,
    gaps: InterArrival,
    stop: Time,
    remaining: u64,
    /// Flows that each source may still start; empty for no limit.
    quota: Vec<u64>,
    racks: Option<IndexVec<NodeId, NodeId>>,
    matrix: Option<RackPairs>,
    deadline: Option<Deadline>,
    rng: Rng,
}

impl Poisson {
    /// The process of a workload of this kind, with random numbers from `rng`; `None` for other kinds.
    fn new(kind: &WorkloadKind, duration: Option<Time>, rng: Rng) -> Option<Poisson> {
        let WorkloadKind::Poisson { from, to, sizes, flows_per_sec, stop, per_source, racks, sigma, matrix, deadline, .. } = kind
        else {
            return None;
        };
        // A source without a destination, because all are in its own rack, has no flows.
        let able = |f: NodeId| has_destination(f, to, racks.as_ref());
        let quota = per_source.map_or_else(Vec::new, |n| from.iter().map(|&f| if able(f) { n } else { 0 }).collect());
        Some(Poisson {
            from: from.clone(),
            to: to.clone(),
            sizes: sizes.clone(),
            gaps: InterArrival::new(1e12 / flows_per_sec, *sigma),
            stop: stop.unwrap_or(Time::NEVER).min(duration.unwrap_or(Time::NEVER)),
            remaining: kind.flow_limit().unwrap_or(u64::MAX),
            quota,
            racks: racks.clone(),
            matrix: matrix.clone(),
            deadline: *deadline,
            rng,
        })
    }

    /// As [`Poisson::new`], without the limits of the workload, for flows before the run.
    fn before_run(kind: &WorkloadKind, rng: Rng) -> Option<Poisson> {
        let process = Poisson::new(kind, None, rng)?;
        Some(Poisson { stop: Time::NEVER, remaining: u64::MAX, quota: Vec::new(), ..process })
    }

    /// The flow after one that arrived at `previous`.
    fn draw(&mut self, previous: Time) -> Option<ReplayFlow> {
        let mut start = previous;
        loop {
            start = start.saturating_add(self.gaps.draw(&mut self.rng));
            if self.remaining == 0 || start >= self.stop {
                return None;
            }
            let (source, src, dst) = self.pair();
            // Flows of a source that has started all of its flows are skipped, so that the other sources keep their rate.
            if let Some(quota) = self.quota.get_mut(source) {
                if *quota == 0 {
                    continue;
                }
                *quota -= 1;
            }
            self.remaining -= 1;
            let bytes = self.sizes.sample(&mut self.rng);
            let deadline = Deadline::due(self.deadline, start, bytes);
            return Some(ReplayFlow { start, src, dst, bytes, deadline });
        }
    }

    /// Index of the source, source and destination: uniform over all legal pairs, of which the workload is checked to have one, or by the matrix.
    fn pair(&mut self) -> (usize, NodeId, NodeId) {
        if let Some(matrix) = &self.matrix {
            let (from, to) = matrix.pick(self.rng.unit());
            loop {
                let (src, dst) = (from[self.rng.below(from.len() as u64) as usize], to[self.rng.below(to.len() as u64) as usize]);
                if src != dst {
                    // Sources have no limits then.
                    return (0, src, dst);
                }
            }
        }
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

impl Past for Poisson {
    fn draw_pair(&mut self) -> (NodeId, NodeId) {
        let (_, src, dst) = self.pair();
        (src, dst)
    }

    fn arrivals(&mut self, during: Time) -> Vec<ReplayFlow> {
        self.stop = during;
        let mut previous = Time::ZERO;
        std::iter::from_fn(|| {
            let flow = self.draw(previous)?;
            previous = flow.start;
            Some(flow)
        })
        .collect()
    }
}

/// The flows of workload `id` that are alive at time zero; none without a warm start.
fn alive(experiment: &Experiment, seed: u64, id: WorkloadId) -> VecDeque<AliveFlow> {
    let w = &experiment.workloads[id];
    let WorkloadKind::Poisson { sizes, warm: Some(stagger), .. } = &w.kind else { return VecDeque::new() };
    let stream = |of: WorkloadId, use_of: u64| RngStream::WarmStart.stream(seed, &[u64::from(of.get()), use_of]);
    let past = |of: WorkloadId| match &experiment.workloads[of].kind {
        kind @ WorkloadKind::Poisson { flows_per_sec, sizes, .. } => {
            Some((Poisson::before_run(kind, stream(of, 0))?, *flows_per_sec, sizes.mean()))
        }
        _ => None,
    };
    let group = experiment.groups.ids().find(|g| w.uses(*g)).unwrap_or(GroupId::new(0));
    let model = FluidModel::new(experiment, group, past, &mut stream(id, 1));
    let of_past = |model: FluidModel<'_>| {
        let mut past = Poisson::before_run(&w.kind, stream(id, 2))?;
        Some(model.alive(&mut past, sizes.largest(), *stagger, &mut stream(id, 3)))
    };
    model.and_then(of_past).unwrap_or_default().into()
}

/// Runtime of a `poisson` or `replay` workload.
pub(crate) struct Arrivals {
    source: Source,
    next: Option<ReplayFlow>,
    /// Flows that began before the run, by their start in the run.
    alive: VecDeque<AliveFlow>,
    transport: Assign,
    /// Persistent connections, if flows share them.
    pools: Option<Pools>,
    total: u64,
}

/// Flows of the `poisson` or `replay` workload `id` of an experiment with `seed`, ordered by start; none for other kinds.
pub fn flows(experiment: &Experiment, seed: u64, id: WorkloadId) -> impl Iterator<Item = ReplayFlow> {
    let w = &experiment.workloads[id];
    let open_loop = matches!(w.kind, WorkloadKind::Poisson { .. } | WorkloadKind::Replay { .. });
    let mut all = open_loop.then(|| Arrivals::new(w, experiment.duration, stream(seed, id)));
    std::iter::from_fn(move || {
        let arrivals = all.as_mut()?;
        let flow = arrivals.next?;
        arrivals.next = arrivals.draw(flow.start);
        Some(flow)
    })
}

/// Random numbers of the workload `id` with `seed`.
pub(crate) fn stream(seed: u64, id: WorkloadId) -> Rng {
    RngStream::Workload.stream(seed, &[u64::from(id.get()), 0])
}

impl Arrivals {
    pub(crate) fn new(w: &Workload, duration: Option<Time>, rng: Rng) -> Arrivals {
        let (source, first, total) = match &w.kind {
            kind @ WorkloadKind::Poisson { start, .. } => {
                let Some(process) = Poisson::new(kind, duration, rng) else { unreachable!("a poisson workload") };
                let total = if process.remaining == u64::MAX { 0 } else { process.remaining };
                (Source::Poisson(Box::new(process)), *start, total)
            }
            WorkloadKind::Replay { flows, .. } => {
                (Source::List { flows: flows.clone(), next: 0 }, Time::ZERO, flows.len() as u64)
            }
            _ => unreachable!("kind checked by the caller"),
        };
        let pools = matches!(w.kind, WorkloadKind::Poisson { persistent: true, .. }).then(Pools::default);
        let mut a = Arrivals { source, next: None, alive: VecDeque::new(), transport: w.transport.clone(), pools, total };
        a.next = a.draw(first);
        a
    }

    /// As [`Arrivals::new`], for the workload `id` of `experiment`, with the flows that began before the run.
    pub(crate) fn of_run(experiment: &Experiment, seed: u64, id: WorkloadId) -> Arrivals {
        let arrivals = Arrivals::new(&experiment.workloads[id], experiment.duration, stream(seed, id));
        Arrivals { alive: alive(experiment, seed, id), ..arrivals }
    }

    /// The flow after one that arrived at `previous`.
    fn draw(&mut self, previous: Time) -> Option<ReplayFlow> {
        match &mut self.source {
            Source::List { flows, next } => {
                *next += 1;
                flows.get(*next - 1).copied()
            }
            Source::Poisson(p) => p.draw(previous),
        }
    }

    /// The next flow before `until`, and the first window of one that began before the run.
    fn take_next(&mut self, until: Time) -> Option<(ReplayFlow, Option<u64>)> {
        let start = self.next_arrival().filter(|start| *start < until)?;
        if self.alive.front().is_some_and(|a| a.flow.start == start) {
            return self.alive.pop_front().map(|a| (a.flow, Some(a.window)));
        }
        let flow = self.next?;
        self.next = self.draw(flow.start);
        Some((flow, None))
    }
}

impl Application for Arrivals {
    fn on_wake(&mut self, host: &mut impl Host, _id: AppId, now: Time, tag: u64) {
        if let Some(pools) = &mut self.pools {
            pools.write(host, now, tag);
        }
    }

    fn on_notice(&mut self, _host: &mut impl Host, _id: AppId, _now: Time, notice: Notice) {
        if let (Some(pools), Notice::Acked { tag, conn }) = (&mut self.pools, notice) {
            pools.release(tag, conn);
        }
    }

    fn next_arrival(&self) -> Option<Time> {
        let alive = self.alive.front().map(|a| a.flow.start);
        alive.into_iter().chain(self.next.map(|f| f.start)).min()
    }

    fn shares_connections(&self) -> bool {
        self.pools.is_some()
    }

    fn inject(&mut self, host: &mut impl Host, id: AppId, until: Time) {
        // A flow counts as open from here on, although its message is written when it opens.
        while let Some((f, window)) = self.take_next(until) {
            let job = Job { deadline: f.deadline, ..Job::of(f.bytes) };
            let group = self.transport.pick(f.src);
            if let Some(pools) = &mut self.pools {
                pools.send(host, id, f.start, (f.src, f.dst, group), (job, window));
            } else {
                let first = InitialData::Only(job);
                host.open(f.start, OpenSpec { src: f.src, dst: f.dst, group, app: id, tag: 0, first, reverse_of: None, window });
            }
        }
    }

    /// Open-loop flows do not count.
    fn remaining(&self) -> u64 {
        0
    }

    fn expected(&self) -> u64 {
        self.total
    }
}
