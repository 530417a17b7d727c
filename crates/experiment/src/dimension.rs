//! Dimensions of numbers in results.

/// Dimension of a number, which decides how it is printed: prefix and decimals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dimension {
    /// Bits per second.
    BitsPerSecond,
    /// Seconds.
    Seconds,
    /// Count.
    Count,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Segments.
    Segments,
    /// Fraction of 1, printed in percent.
    Fraction,
    /// Ratio, or a number without unit.
    #[default]
    Ratio,
}

impl Dimension {
    /// Unit in the metadata of the tables.
    pub fn symbol(self) -> &'static str {
        match self {
            Dimension::BitsPerSecond => "bit/s",
            Dimension::Seconds => "s",
            Dimension::Bytes => "B",
            Dimension::Packets => "packets",
            Dimension::Segments => "segments",
            Dimension::Count | Dimension::Fraction | Dimension::Ratio => "1",
        }
    }

    /// Name for programs, such as the script of a report.
    pub fn name(self) -> &'static str {
        match self {
            Dimension::BitsPerSecond => "bits-per-second",
            Dimension::Seconds => "seconds",
            Dimension::Count => "count",
            Dimension::Bytes => "bytes",
            Dimension::Packets => "packets",
            Dimension::Segments => "segments",
            Dimension::Fraction => "fraction",
            Dimension::Ratio => "ratio",
        }
    }
}
