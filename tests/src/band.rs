//! Bands for measured values. A test checks all values before it fails, so that one run shows all deviations.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// Overrides without processing jitter, and the defaults: every band holds for both.
pub const JITTER: [&[&str]; 2] = [&["transport.send-jitter=0s"], &[]];

/// Values outside their bands so far.
#[derive(Debug, Default)]
pub struct Bands {
    outside: Vec<String>,
}

impl Bands {
    /// Checks a value; `what` names the figure and set-up.
    pub fn hold(&mut self, what: impl Display, value: f64, band: RangeInclusive<f64>) {
        let inside = band.contains(&value);
        let line = format!("{what}: {value:.4}, band {} to {}", band.start(), band.end());
        println!("{line}{}", if inside { "" } else { "  OUTSIDE" });
        if !inside {
            self.outside.push(line);
        }
    }

    /// Ends a test.
    ///
    /// # Panics
    /// If any value was outside its band, with all of them.
    pub fn judge(self) {
        assert!(self.outside.is_empty(), "outside their bands:\n{}", self.outside.join("\n"));
    }
}
