//! Dimensions of the numbers that results are reduced to.

/// Dimension of a metric, which decides how it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Bits per second.
    BitsPerSecond,
    /// Seconds.
    Seconds,
    /// A number of things.
    Count,
    /// Packets in a queue.
    Packets,
    /// A part of 1, printed in percent.
    Fraction,
    /// A ratio without a unit.
    Ratio,
}

impl Dimension {
    /// The unit as the tables' metadata has it.
    pub fn symbol(self) -> &'static str {
        match self {
            Dimension::BitsPerSecond => "bit/s",
            Dimension::Seconds => "s",
            Dimension::Packets => "packets",
            Dimension::Count | Dimension::Fraction | Dimension::Ratio => "1",
        }
    }
}
