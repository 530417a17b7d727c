//! Check of the points of a sweep: each is resolved once, in parallel portions, and dropped again.

use super::key;
use forebay_scenario::{Errors, FileRead, Resolved, Scenario, Sweep};
use forebay_store::unit::KeyHasher;
use forebay_types::{GroupId, IndexVec};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Names of a variant and its transport groups in this sweep.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Names {
    /// Name of the variant.
    pub variant: String,
    /// Names of its transport groups.
    pub groups: IndexVec<GroupId, String>,
}

/// Result of checking a point.
pub(super) struct Checked {
    pub(super) name: String,
    pub(super) world: &'static str,
    pub(super) stacks: Vec<String>,
    /// True if units with different seeds differ.
    pub(super) uses_seeds: bool,
    /// True if the variants of a seed end together.
    pub(super) together: bool,
    pub(super) seed: u64,
    pub(super) runs: u32,
    pub(super) variants: Vec<(Names, KeyHasher)>,
    pub(super) files: Vec<FileRead>,
    pub(super) notes: Vec<String>,
}

/// Numbers of points.
#[derive(Clone, Copy)]
pub(super) enum Points<'a> {
    All(usize),
    /// Ascending.
    These(&'a [u32]),
}

impl Points<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Points::All(n) => *n,
            Points::These(list) => list.len(),
        }
    }

    /// Number of the `i`th point.
    pub(super) fn get(&self, i: usize) -> usize {
        match self {
            Points::All(_) => i,
            Points::These(list) => list[i] as usize,
        }
    }
}

/// Resolves a portion of the points, in their order.
pub(super) fn check(
    scenario: &Scenario,
    sweep: &Sweep,
    points: &Points<'_>,
    portion: Range<usize>,
    threads: usize,
    stop: &AtomicBool,
) -> Vec<Result<Checked, Errors>> {
    let next = AtomicUsize::new(portion.start);
    let results = Mutex::new(Vec::with_capacity(portion.len()));
    let program = key::program(sweep.keep());
    let work = || {
        let mut own = Vec::new();
        while !stop.load(Relaxed) {
            let index = next.fetch_add(1, Relaxed);
            if index >= portion.end {
                break;
            }
            let Some(point) = sweep.point(points.get(index)) else { break };
            let resolved = scenario.at(&point).and_then(|s| s.resolve());
            own.push((index, resolved.map(|r| checked(r, &program))));
        }
        results.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(portion.len()) {
            // If the system refuses a thread, those that run check its points.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|r| r.0);
    results.into_iter().map(|r| r.1).collect()
}

/// Data of a point for the plan, with the part of its variants' keys that depends on neither files nor seeds.
fn checked(r: Resolved, program: &KeyHasher) -> Checked {
    let version = r.world.version();
    let together = r.stop.as_ref().is_some_and(|stop| stop.ratio);
    let variant = |v: &forebay_scenario::Variant| {
        let mut h = program.clone();
        key::add_variant(&mut h, r.world.name(), &v.echo);
        key::add_version(&mut h, &version);
        if together {
            key::add_compared(&mut h, r.variants.iter().map(|v| &v.echo));
        }
        (Names { variant: v.label.clone(), groups: v.transports.clone().into() }, h)
    };
    let variants = r.variants.iter().map(variant).collect();
    Checked {
        stacks: crate::record::stacks(&r),
        name: r.name,
        world: r.world.name(),
        uses_seeds: r.world.uses_seeds(),
        together,
        seed: r.seed,
        runs: r.runs,
        variants,
        files: r.files,
        notes: r.notes,
    }
}
