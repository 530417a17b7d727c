//! Advice: from a scenario with an objective to a ranked list of changes, what each brings, what it costs the others, and what installs it.
//!
//! * `options` says what an operator can change in a scenario, as overrides of its file and as steps in a real network.
//! * `screen` drops what the closed forms rule out, before anything is simulated.
//! * `search` simulates the rest on the pool of sweeps: every change by itself, the best ones together, and the best of all with enough
//!   seeds. All variants meet the same seeds, so that differences are taken pair by pair.
//! * `rank` puts them in order, with intervals and prices; an option that starves a workload comes last, whatever it gains.
//! * `words` and `page` say it to a person, `json` to a program.

mod json;
mod measure;
mod options;
mod page;
mod rank;
mod screen;
mod search;
mod words;

pub use json::json;
pub use measure::ClassNumbers;
pub use options::{Choice, Matter};
pub use page::page;
pub use rank::{Change, Entry, Others, Standing};
pub use search::{Advice, AdviseError, Request, Watcher, advise};
pub use words::{recommendation, table};
