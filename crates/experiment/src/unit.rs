//! Dimensions of the numbers that results are reduced to.

/// Dimension of a metric, which decides how it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
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

impl Unit {
    /// The unit as the tables' metadata has it.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::BitsPerSecond => "bit/s",
            Unit::Seconds => "s",
            Unit::Packets => "packets",
            Unit::Count | Unit::Fraction | Unit::Ratio => "1",
        }
    }
}
