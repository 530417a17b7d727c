//! Open loop: flows arrive as a Poisson process or from a list, each on a connection of its own.

use super::super::core::{Core, First, Job, Notice, OpenSpec};
use crate::config::{Assign, ReplayFlow, Workload, WorkloadKind};
use forebay_sampling::{Rng, SizeDist};
use forebay_units::Time;

/// Where the flows come from.
enum Source {
    Poisson { from: Vec<u32>, to: Vec<u32>, sizes: SizeDist, mean_gap: f64, stop: u64, left: u64, rng: Rng },
    List { flows: Vec<ReplayFlow>, next: usize },
}

/// Runtime of a `poisson` or `replay` workload.
pub struct Arrivals {
    source: Source,
    next: Option<ReplayFlow>,
    transport: Assign,
    id: u32,
    total: u64,
}

impl Arrivals {
    pub(super) fn new(w: &Workload, duration: Option<u64>, rng: Rng) -> Arrivals {
        let (source, first, total) = match &w.kind {
            WorkloadKind::Poisson { from, to, sizes, flows_per_sec, start, stop, flows } => {
                let stop = stop.map_or(u64::MAX, |t| t.0).min(duration.unwrap_or(u64::MAX));
                let source = Source::Poisson {
                    from: from.clone(),
                    to: to.clone(),
                    sizes: sizes.clone(),
                    mean_gap: 1e12 / flows_per_sec,
                    stop,
                    left: flows.unwrap_or(u64::MAX),
                    rng,
                };
                (source, start.0, flows.unwrap_or(0))
            }
            WorkloadKind::Replay { flows } => (Source::List { flows: flows.clone(), next: 0 }, 0, flows.len() as u64),
            _ => unreachable!("kind checked by the caller"),
        };
        let mut a = Arrivals { source, next: None, transport: w.transport.clone(), id: 0, total };
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
            Source::Poisson { from, to, sizes, mean_gap, stop, left, rng } => {
                let start = previous.saturating_add((rng.exponential() * *mean_gap) as u64);
                if *left == 0 || start >= *stop {
                    return None;
                }
                *left -= 1;
                // Pairs are uniform over all pairs of different hosts; the scenario crate made sure there is one.
                let (src, dst) = loop {
                    let src = from[rng.below(from.len() as u64) as usize];
                    let dst = to[rng.below(to.len() as u64) as usize];
                    if src != dst {
                        break (src, dst);
                    }
                };
                Some(ReplayFlow { start: Time(start), src, dst, bytes: sizes.sample(rng) })
            }
        }
    }

    pub(super) fn start(&mut self, _core: &mut Core, id: u32) {
        self.id = id;
    }

    pub(super) fn next_arrival(&self) -> u64 {
        self.next.map_or(u64::MAX, |f| f.start.0)
    }

    pub(super) fn inject(&mut self, core: &mut Core, until: u64) {
        while let Some(f) = self.next.filter(|f| f.start.0 < until) {
            let first = First::Only(Job::of(f.bytes));
            let group = self.transport.pick(f.src);
            core.connect(f.start.0, OpenSpec { src: f.src, dst: f.dst, group, app: self.id, tag: 0, first });
            // It counts as open work from here on, though its message is written when it opens.
            self.next = self.draw(f.start.0);
        }
    }

    pub(super) fn on_wake(&mut self, _core: &mut Core, _id: u32, _now: u64, _tag: u64) {}

    pub(super) fn on_notice(&mut self, _core: &mut Core, _id: u32, _now: u64, _notice: Notice) {}

    pub(super) fn finished(&self) -> bool {
        self.next.is_none()
    }

    pub(super) fn expected(&self) -> u64 {
        self.total
    }
}
