//! How many cores a run may use: what callers say, and the engine asks.

/// How many cores a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores {
    most: usize,
    at_once: bool,
}

impl Cores {
    /// One.
    pub const ONE: Cores = Cores::up_to(1);

    /// So many, where it is busy enough to be faster with them: it sees that for itself as it goes.
    pub const fn up_to(most: usize) -> Cores {
        Cores { most, at_once: false }
    }

    /// So many from the start, whether that is faster or not.
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
