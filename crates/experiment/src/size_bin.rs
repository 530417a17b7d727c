//! Named classes of message sizes.

/// Size class of flows, as in the data-center papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SizeBin {
    /// At most 100 KB.
    Small,
    /// Between the two.
    Medium,
    /// 10 MB and more.
    Large,
}

impl SizeBin {
    /// All bins, smallest first.
    pub const ALL: [SizeBin; 3] = [SizeBin::Small, SizeBin::Medium, SizeBin::Large];

    /// The bin of a flow of `bytes` payload bytes.
    pub fn of(bytes: u64) -> SizeBin {
        match bytes {
            0..=100_000 => SizeBin::Small,
            100_001..=9_999_999 => SizeBin::Medium,
            _ => SizeBin::Large,
        }
    }

    /// Label with its limits.
    pub fn label(self) -> &'static str {
        match self {
            SizeBin::Small => "small <= 100 KB",
            SizeBin::Medium => "medium",
            SizeBin::Large => "large >= 10 MB",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_include_their_limits() {
        assert_eq!(SizeBin::of(100_000), SizeBin::Small);
        assert_eq!(SizeBin::of(100_001), SizeBin::Medium);
        assert_eq!(SizeBin::of(10_000_000), SizeBin::Large);
    }
}
