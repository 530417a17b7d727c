//! Number of cores that a run may use.

/// Number of cores that a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores {
    most: usize,
    at_once: bool,
}

impl Cores {
    /// One core.
    pub const ONE: Cores = Cores::up_to(1);

    /// Up to `most` cores. The run measures its load and uses them only while they are faster.
    pub const fn up_to(most: usize) -> Cores {
        Cores { most, at_once: false }
    }

    /// Exactly `most` cores from the start.
    pub const fn exactly(most: usize) -> Cores {
        Cores { most, at_once: true }
    }

    pub(crate) fn most(self) -> usize {
        self.most
    }

    pub(crate) fn at_once(self) -> bool {
        self.at_once
    }
}
