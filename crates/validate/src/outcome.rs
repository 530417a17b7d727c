//! How scripts are run, and what comes of them.

use crate::script::Problem;

/// Whose endpoint it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stack {
    /// The simulator's.
    #[default]
    Simulator,
    /// That of a Linux kernel, in virtual time (world `linux`).
    Linux,
}

/// How scripts are run, where they do not say it themselves.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whose endpoint it is.
    pub of: Stack,
    /// The profile of the endpoint; `linux` by default.
    pub stack: Option<String>,
    /// By how much packets may miss their times, us.
    pub tolerance: Option<u32>,
    /// Every packet that is sent must be in the script.
    pub strict: bool,
}

/// What came of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All as the script says.
    Passed,
    /// At `line` something else happened.
    Failed {
        /// In the file, from 1.
        line: usize,
        /// What the script says.
        expected: String,
        /// What happened.
        got: String,
    },
    /// It uses what the simulator does not have.
    NotApplicable(Vec<String>),
    /// It is not a script.
    Invalid(Problem),
}
