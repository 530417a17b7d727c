//! Advice: from a scenario with an objective to a ranked list of changes. Each change has its effect on the objective and on other traffic, and
//! installation steps.
//!
//! * `options` lists the changes that an operator can make, as overrides of the scenario and as steps in a real network.
//! * `screen` excludes changes by the closed forms, before simulation.
//! * `search` simulates the others on the pool of sweeps: every change by itself, the best ones together, and the best of all with all seeds. All
//!   variants use the same seeds, so that differences are paired.
//! * `rank` orders them by gain, with confidence intervals and effects on other classes. Changes that starve a traffic class rank last.
//! * `words` and `page` present the result to people, `json` to programs.

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
pub use options::{Category, Choice};
pub use page::page;
pub use rank::{Assessment, Change, ClassEffect, Entry};
pub use search::{Advice, AdviseError, Request, Watcher, advise};
pub use words::{recommendation, table};
