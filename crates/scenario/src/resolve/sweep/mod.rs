//! `[sweep]`: one scenario that stands for many. Each point of a sweep is the scenario with some of its values changed, as by `--set`.
//!
//! The points are the product of dimensions: every axis of the grid is one, all of `[sweep.zip]` together are one, and so are the
//! entries of `[[sweep.list]]`. The first dimension changes slowest. Nothing is built before it is asked for: a million points cost
//! no more memory than their axes.

mod axis;
mod explain;
mod point;
mod read;

pub use axis::{Axis, AxisValue, Source};
pub use point::{Point, Setting};

use crate::text::error::{Errors, Sink};
use crate::text::load::Scenario;
use point::Choice;

/// Most points of a sweep.
pub const MAX_POINTS: usize = 1_000_000;
/// Most seeds of a sweep, as of `runs`.
const MAX_SEEDS: usize = 10_000;
/// The tables of a run that a sweep can keep for each of its runs.
pub const KEEPABLE: &[&str] = &["flows", "ports", "queue", "tcp", "queries", "timeouts"];

/// A checked `[sweep]`: its axes and points. Whether the values are legal is known only when a point is resolved.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// What is varied, in the order of the file: grid, zip, list.
    axes: Vec<Axis>,
    /// The dimensions, each with its choices; the first changes slowest.
    dimensions: Vec<Vec<Choice>>,
    seeds: Option<Seeds>,
    keep: Vec<String>,
}

/// `seeds` of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seeds {
    /// So many, from the scenario's `seed` on.
    Count(u32),
    /// These.
    List(Vec<u64>),
}

impl Scenario {
    /// The scenario's sweep: what `[sweep]` says, with the axes of [`Scenario::add_axis`]. `None` for a scenario without.
    ///
    /// # Errors
    /// Whatever is wrong with `[sweep]` itself: keys that are no paths, empty lists, lists of unequal length, more than
    /// [`MAX_POINTS`] points.
    pub fn sweep(&self) -> Result<Option<Sweep>, Errors> {
        let section = self.root.get("sweep");
        if section.is_none() && self.axes.is_empty() {
            return Ok(None);
        }
        let mut sink = Sink::new(self.sources.clone());
        let sweep = read::sweep(section, &self.axes, &mut sink);
        sink.finish(sweep).map(Some)
    }

    /// One scenario to look at: this one, or the first point of its sweep.
    ///
    /// # Errors
    /// As [`Scenario::sweep`] and [`Scenario::at`].
    pub fn example(&self) -> Result<Scenario, Errors> {
        match self.sweep()?.and_then(|s| s.point(0)) {
            Some(point) => self.at(&point),
            None => Ok(self.clone()),
        }
    }
}

impl Sweep {
    /// Of one point that changes nothing: the scenario as it is with these seeds, keeping these tables ([`KEEPABLE`]) of each run.
    pub fn once(seeds: Vec<u64>, keep: Vec<String>) -> Sweep {
        Sweep { axes: Vec::new(), dimensions: Vec::new(), seeds: Some(Seeds::List(seeds)), keep }
    }

    /// What is varied, in the order of the file: grid, zip, list.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Number of points, at least 1.
    pub fn len(&self) -> usize {
        self.dimensions.iter().map(Vec::len).product()
    }

    /// A sweep has at least one point.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The seeds that every variant of every point runs with. `first` and `runs` are those of the scenario, for a sweep without
    /// `seeds` of its own.
    pub fn seeds(&self, first: u64, runs: u32) -> Vec<u64> {
        let from = |n: u32| (0..n).map(|i| first.wrapping_add(u64::from(i))).collect();
        match &self.seeds {
            None => from(runs),
            Some(Seeds::Count(n)) => from(*n),
            Some(Seeds::List(list)) => list.clone(),
        }
    }

    /// Whether the seeds are listed one by one, rather than counted.
    pub fn lists_seeds(&self) -> bool {
        matches!(self.seeds, Some(Seeds::List(_)))
    }

    /// Tables to keep for each run beside its numbers.
    pub fn keep(&self) -> &[String] {
        &self.keep
    }

    /// Point `index`, counted from 0; `None` from [`Sweep::len`] on.
    pub fn point(&self, index: usize) -> Option<Point> {
        (index < self.len()).then(|| Point::of(self, index))
    }

    /// All points in order.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        (0..self.len()).map(|index| Point::of(self, index))
    }
}
