//! `[sweep]`: one scenario that describes many. Each point is the scenario with some values changed, as by `--set`.
//!
//! The points are the product of dimensions: every axis of the grid is one, all of `[sweep.zip]` together are one, and so are the entries of
//! `[[sweep.list]]`. The first dimension changes slowest. Points are built on demand: a million points use no more memory than their axes.

mod axis;
mod explain;
mod point;
mod read;
mod space;

pub use axis::{Axis, AxisValue, Source};
pub use point::{Point, Setting};
pub use space::{KEEPABLE, MAX_POINTS, Sweep};

use crate::text::error::{Errors, Sink};
use crate::text::load::Scenario;

impl Scenario {
    /// Sweep of the scenario: `[sweep]` with the axes of [`Scenario::add_axis`]. `None` without either.
    ///
    /// # Errors
    /// Errors of `[sweep]` itself: keys that are no paths, empty lists, lists of unequal length, more than [`MAX_POINTS`] points.
    pub fn sweep(&self) -> Result<Option<Sweep>, Errors> {
        let section = self.root.get("sweep");
        if section.is_none() && self.axes.is_empty() {
            return Ok(None);
        }
        let mut sink = Sink::new(self.sources.clone());
        let sweep = read::sweep(section, &self.axes, &mut sink);
        sink.finish(sweep).map(Some)
    }

    /// Example scenario: this one, or the first point of its sweep.
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
