//! Measured values and the bands that they must lie in. All are looked at before a test fails, so that one run shows the whole row.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// Without processing jitter, and with what is there by default: every band holds for both.
pub const JITTER: [&[&str]; 2] = [&["transport.send-jitter=0s"], &[]];

/// What lay outside so far.
#[derive(Debug, Default)]
pub struct Bands {
    outside: Vec<String>,
}

impl Bands {
    /// Looks at a value; `what` says of which figure and set-up.
    pub fn hold(&mut self, what: impl Display, value: f64, band: RangeInclusive<f64>) {
        let inside = band.contains(&value);
        let line = format!("{what}: {value:.4}, band {} to {}", band.start(), band.end());
        println!("{line}{}", if inside { "" } else { "  OUTSIDE" });
        if !inside {
            self.outside.push(line);
        }
    }

    /// The end of a test.
    ///
    /// # Panics
    /// With everything that lay outside.
    pub fn judge(self) {
        assert!(self.outside.is_empty(), "outside their bands:\n{}", self.outside.join("\n"));
    }
}
