//! Dimensions of the numbers that are shown.

use forebay_store::summary;
use serde::Serialize;

/// Dimension of numbers, which decides prefix and decimals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bits per second.
    BitsPerSecond,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Segments.
    Segments,
    /// A part of 1, shown in percent.
    Fraction,
    /// A number of things.
    Count,
    /// A ratio, or no unit at all.
    #[default]
    Ratio,
}

/// The dimension of a metric.
pub fn unit(unit: summary::Unit) -> Unit {
    match unit {
        summary::Unit::BitsPerSecond => Unit::BitsPerSecond,
        summary::Unit::Seconds => Unit::Seconds,
        summary::Unit::Count => Unit::Count,
        summary::Unit::Packets => Unit::Packets,
        summary::Unit::Fraction => Unit::Fraction,
        summary::Unit::Ratio => Unit::Ratio,
    }
}
