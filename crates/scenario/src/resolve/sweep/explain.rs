//! Explanation of a sweep for `forebay check`.

use super::axis::Source;
use super::space::Sweep;
use std::fmt::Write as _;

/// Maximum number of values of an axis that are listed.
const MAX_VALUES: usize = 20;
/// Number of points that are listed.
const MAX_LISTED: usize = 5;

impl Sweep {
    /// Axes and first points, one fact per line. `variants` is the number of transports that each point compares.
    pub fn explain(&self, variants: usize, seeds: usize) -> String {
        let mut out = String::new();
        let points = self.len();
        let runs = points.saturating_mul(variants).saturating_mul(seeds);
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let _ = writeln!(
            out,
            "sweep: {} x {} x {} = {}",
            count(points, "point"),
            count(variants, "transport"),
            count(seeds, "seed"),
            count(runs, "run")
        );
        for axis in self.axes() {
            let shown: Vec<&str> = axis.values.iter().take(MAX_VALUES).map(|v| v.text.as_str()).collect();
            let more = axis.values.len().saturating_sub(MAX_VALUES);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let how = match axis.source {
                Source::Grid => "",
                Source::Zip => " (zip)",
                Source::List => " (list)",
            };
            let _ = writeln!(out, "  {}{how}: {}{more}", axis.key, shown.join(", "));
        }
        for point in self.points().take(MAX_LISTED) {
            let _ = writeln!(out, "  point {}: {}", point.index, point.label);
        }
        if points > MAX_LISTED {
            let _ = writeln!(out, "  ... up to point {}", points - 1);
        }
        out
    }
}
