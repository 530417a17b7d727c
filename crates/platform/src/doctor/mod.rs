//! What a machine has and lacks, and the command that mends it. A check is a function with a title; each part of the program that needs
//! something of the machine has a list of them, and `forebay doctor` goes through all lists.

mod package;
pub mod required;

pub use package::{Package, install};

/// One thing that is needed.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// What it is, in a few words: `flex`, `space in the cache`.
    pub title: &'static str,
    /// Looks. It changes nothing that stays, and takes less than a second.
    pub look: fn() -> Finding,
}

/// All that a part of the program needs.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// The word that names it on the command line: `linux`.
    pub name: &'static str,
    /// A heading.
    pub title: &'static str,
    /// In the order in which a person would mend them.
    pub checks: &'static [Check],
}

/// What a look has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It works; this is what is there.
    Works(String),
    /// It does not.
    Fails {
        /// What is wrong.
        wrong: String,
        /// What to do about it.
        fix: Fix,
    },
    /// It could not be looked at, for this reason.
    Unknown(String),
}

/// What to do about something that does not work.
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
