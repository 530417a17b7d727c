//! Dimensions of the numbers that are shown.

use forebay_store::summary;
use serde::Serialize;

/// Dimension of numbers, which decides prefix and decimals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dimension {
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
pub fn dimension_of(unit: summary::Dimension) -> Dimension {
    match unit {
        summary::Dimension::BitsPerSecond => Dimension::BitsPerSecond,
        summary::Dimension::Seconds => Dimension::Seconds,
        summary::Dimension::Count => Dimension::Count,
        summary::Dimension::Packets => Dimension::Packets,
        summary::Dimension::Fraction => Dimension::Fraction,
        summary::Dimension::Ratio => Dimension::Ratio,
    }
}
