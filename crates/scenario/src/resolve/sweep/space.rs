//! Points of a sweep: all choices of all dimensions, built on demand.

use super::axis::Axis;
use super::point::{Choice, Point, Setting};

/// Maximum number of points of a sweep.
pub const MAX_POINTS: usize = 1_000_000;
/// Maximum number of seeds of a sweep, as of `runs`.
pub(super) const MAX_SEEDS: usize = 10_000;
/// Tables that a sweep can keep for each run.
pub const KEEPABLE: &[&str] = &["flows", "ports", "queue", "tcp", "queries", "timeouts", "goodput", "events"];

/// Checked `[sweep]`: its axes and points. Values are checked when a point is resolved.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// Axes in the order of the file: grid, zip, list.
    axes: Vec<Axis>,
    /// Dimensions with their choices; the first changes slowest.
    dimensions: Vec<Vec<Choice>>,
    seeds: Option<Seeds>,
    keep: Vec<String>,
}

/// `seeds` of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seeds {
    /// This many, from the scenario's `seed` on.
    Count(u32),
    /// These.
    List(Vec<u64>),
}

impl Sweep {
    /// Creates a sweep over `dimensions`, whose settings give the values of `axes`.
    pub(super) fn new(axes: Vec<Axis>, dimensions: Vec<Vec<Choice>>, seeds: Option<Seeds>, keep: Vec<String>) -> Sweep {
        Sweep { axes, dimensions, seeds, keep }
    }

    /// Creates a sweep of one point without changes: the scenario with these seeds, keeping these tables ([`KEEPABLE`]) of each run.
    pub fn once(seeds: Vec<u64>, keep: Vec<String>) -> Sweep {
        Sweep { axes: Vec::new(), dimensions: Vec::new(), seeds: Some(Seeds::List(seeds)), keep }
    }

    /// Axes in the order of the file: grid, zip, list.
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

    /// Seeds of every variant of every point. `first` and `runs` are those of the scenario, for a sweep without `seeds`.
    pub fn seeds(&self, first: u64, runs: u32) -> Vec<u64> {
        let from = |n: u32| (0..n).map(|i| first.wrapping_add(u64::from(i))).collect();
        match &self.seeds {
            None => from(runs),
            Some(Seeds::Count(n)) => from(*n),
            Some(Seeds::List(list)) => list.clone(),
        }
    }

    /// Returns true if the seeds are listed, false if they are counted.
    pub fn lists_seeds(&self) -> bool {
        matches!(self.seeds, Some(Seeds::List(_)))
    }

    /// Tables kept for each run beside its numbers.
    pub fn keep(&self) -> &[String] {
        &self.keep
    }

    /// Point `index`, counted from 0; `None` from [`Sweep::len`] on.
    pub fn point(&self, index: usize) -> Option<Point> {
        (index < self.len()).then(|| self.nth(index))
    }

    /// All points in order.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        (0..self.len()).map(|index| self.nth(index))
    }

    /// Point `index`, which is below the length.
    fn nth(&self, index: usize) -> Point {
        let mut rest = index;
        let mut picks: Vec<usize> = vec![0; self.dimensions.len()];
        for (pick, dimension) in picks.iter_mut().zip(&self.dimensions).rev() {
            (rest, *pick) = (rest / dimension.len(), rest % dimension.len());
        }
        let mut settings: Vec<Setting> =
            picks.iter().zip(&self.dimensions).flat_map(|(&pick, dimension)| dimension[pick].iter().cloned()).collect();
        let mut values = vec![None; self.axes.len()];
        for s in &settings {
            values[s.axis] = Some(s.value);
        }
        settings.sort_by_key(|s| s.key().matches('.').count());
        let set = self.axes.iter().zip(&values).filter_map(|(axis, value)| Some((axis, &axis.values[(*value)?])));
        let label: Vec<String> = set.map(|(axis, value)| format!("{}={}", axis.short, value.text)).collect();
        Point { index, settings, label: label.join(" "), values }
    }
}
