//! Options and outcomes of scripts.

use crate::script::Problem;

/// Owner of the endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stack {
    /// The simulator.
    #[default]
    Simulator,
    /// A Linux kernel, in virtual time (backend `linux`).
    Linux,
}

/// Options of a run, for what scripts leave open.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Owner of the endpoint.
    pub of: Stack,
    /// The profile of the endpoint; `linux` by default.
    pub stack: Option<String>,
    /// Tolerance for the times of packets, us.
    pub tolerance: Option<u32>,
    /// Every packet that is sent must be in the script.
    pub strict: bool,
}

/// Outcome of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Everything happened as the script expects.
    Passed,
    /// Something else happened at `line`.
    Failed {
        /// In the file, from 1.
        line: usize,
        /// Expectation of the script.
        expected: String,
        /// Actual event.
        got: String,
    },
    /// It uses features that the endpoint lacks.
    NotApplicable(Vec<String>),
    /// The file is no script.
    Invalid(Problem),
}
