//! Series of Flent's result files, to be drawn over those of runs.

use crate::terminal::failure::Failure;
use forebay_analysis::Dimension;
use forebay_formats::flent::{self, FlentFile, FlentUnit};
use forebay_platform::files::read_input;
use forebay_report::chapters::Overlay;
use std::path::PathBuf;

/// Reads the series that are called `names` of all files, by default all that are rates or delays.
pub(super) fn read(paths: &[PathBuf], names: &[String]) -> Result<Vec<Overlay>, Failure> {
    let mut all = Vec::new();
    let mut offered: Vec<String> = Vec::new();
    for path in paths {
        let shown = path.display().to_string();
        let bytes = read_input(path, flent::MAX_BYTES).map_err(|e| Failure::Usage(format!("`{shown}` cannot be read: {e}")))?;
        let file = flent::read(&shown, &bytes).map_err(|e| Failure::Usage(e.to_string()))?;
        let found = overlays(&path.file_name().unwrap_or_default().to_string_lossy(), &file);
        if found.is_empty() {
            return Err(Failure::Usage(format!("{shown}: no series is a rate or a delay with values, so nothing can be drawn")));
        }
        offered.extend(found.iter().map(|(name, _)| format!("`{name}`")));
        all.extend(found.into_iter().filter(|(name, _)| names.is_empty() || names.contains(name)).map(|(_, overlay)| overlay));
    }
    match names.iter().find(|name| !offered.contains(&format!("`{name}`"))) {
        Some(name) => Err(Failure::Usage(format!("no overlay has a series `{name}`; legal: {}", offered.join(", ")))),
        None => Ok(all),
    }
}

/// The series of a file that can be drawn, by their names.
fn overlays(file_name: &str, file: &FlentFile) -> Vec<(String, Overlay)> {
    // Times beyond 292 years saturate.
    let times: Vec<i64> = file.times.iter().map(|seconds| (seconds * 1e9).round() as i64).collect();
    let overlay = |series: &flent::FlentSeries| {
        let (unit, factor) = match series.unit? {
            FlentUnit::MegabitsPerSecond => (Dimension::BitsPerSecond, 1e6),
            FlentUnit::Milliseconds => (Dimension::Seconds, 1e-3),
        };
        let values: Vec<Option<f64>> = series.values.iter().map(|v| v.map(|v| v * factor)).collect();
        let label = format!("{file_name}: {}", series.name);
        // Flent lists series that a measurement did not fill.
        let overlay = Overlay { label, unit, times: times.clone(), values };
        overlay.values.iter().any(Option::is_some).then(|| (series.name.clone(), overlay))
    };
    file.series.iter().filter_map(overlay).collect()
}
