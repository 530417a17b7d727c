//! Dimensions of the numbers that results consist of and are reduced to.

/// Dimension of a number, which decides how it is printed: prefix and decimals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dimension {
    /// Bits per second.
    BitsPerSecond,
    /// Seconds.
    Seconds,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Segments.
    Segments,
    /// A part of 1, printed in percent.
    Fraction,
    /// A ratio, or no unit at all.
    #[default]
    Ratio,
}

impl Dimension {
    /// The unit as the tables' metadata has it.
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

    /// Its name for programs, such as the script of a page.
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
