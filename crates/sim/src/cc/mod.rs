//! Congestion control laws: the window rule alone. Loss detection, recovery and the signals are shared (see `tcp/`).
//!
//! To add a law: one file here, one line in [`REGISTRY`], one variant in [`LawConfig`].

use forebay_param::{Entry, Values};

/// A law and its parameters, as configured.
#[derive(Debug, Clone, PartialEq)]
pub enum LawConfig {
    /// Placeholder until the laws land.
    Newreno,
}

/// A law in the registry.
#[derive(Debug, Clone, Copy)]
pub struct LawEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Whether the law needs packets to be marked; a scenario without a marking queue on its path is refused.
    pub needs_marks: bool,
    /// ECN mode the law runs with unless the scenario says otherwise: "off", "classic" or "dctcp".
    pub ecn: &'static str,
    /// Builds the configuration from checked parameters.
    pub build: fn(&Values) -> LawConfig,
}

/// All laws, in the order `forebay list` shows them.
pub const REGISTRY: &[LawEntry] = &[LawEntry {
    entry: Entry { name: "newreno", summary: "placeholder", params: &[] },
    needs_marks: false,
    ecn: "off",
    build: |_| LawConfig::Newreno,
}];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static LawEntry> {
    REGISTRY.iter().find(|e| e.entry.name == name)
}
