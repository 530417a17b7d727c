//! Machine requirements and the commands that fix them. A check is a function with a title. Each part of the program that has requirements has a list
//! of checks, and `forebay doctor` runs all lists.

mod package;
pub mod requirements;

pub use package::{Package, install};

/// A requirement.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Short name: `flex`, `space in the cache`.
    pub title: &'static str,
    /// Runs the check. A check leaves nothing behind and takes less than a second.
    pub look: fn() -> Finding,
}

/// Requirements of a part of the program.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// The word that names it on the command line: `linux`.
    pub name: &'static str,
    /// A heading.
    pub title: &'static str,
    /// In the order in which a user should fix them.
    pub checks: &'static [Check],
}

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It works; the text describes it.
    Works(String),
    /// It does not work.
    Fails {
        /// The problem.
        wrong: String,
        /// The fix.
        fix: Fix,
    },
    /// The check failed, for this reason.
    Unknown(String),
}

/// Fix of a failed check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// Install this package; several are installed with one command.
    Install(Package),
    /// A command, or a sentence.
    Do(String),
}

impl Finding {
    /// It does not work; `fix` is a command or a sentence.
    pub fn fails(wrong: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding::Fails { wrong: wrong.into(), fix: Fix::Do(fix.into()) }
    }

    /// A package is missing.
    pub fn missing(wrong: impl Into<String>, package: Package) -> Finding {
        Finding::Fails { wrong: wrong.into(), fix: Fix::Install(package) }
    }
}

impl Fix {
    /// The command or sentence.
    pub fn text(&self) -> String {
        match self {
            Fix::Install(package) => install(&[*package]),
            Fix::Do(text) => text.clone(),
        }
    }
}
