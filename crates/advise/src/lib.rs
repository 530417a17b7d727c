//! Advice: from a scenario with an objective to a ranked list of changes. Each change has its effect on the objective and on other traffic, and
//! installation steps.
//!
//! * `options` lists the changes that an operator can make, as overrides of the scenario; `install` has their commands, with reversal and
//!   persistence; `peers` finds the setting of hosts that reaches the right connections only.
//! * `assumptions` varies the assumptions of the scenario that its author cannot know exactly. A change is a remedy and is not an assumption.
//! * `screen` excludes changes by the closed forms, before simulation.
//! * `search` simulates the others on the pool of sweeps: every change by itself, and the best, with pairs of them, in all networks. `field` drops changes
//!   that cannot win any more. All variants use the same seeds, so that differences are paired. `trial` runs them, `plan` combines them.
//! * `reference` ends the runs of changes when their ratios to the present network are known.
//! * `rank` compares a change with the present network; `robustness` compares changes under the variations; `decide` recommends the one with the best
//!   worst case. Changes that starve a traffic class rank last.
//! * `sentences`, `table` and `page` present the result to users, `json` to programs.

mod assumptions;
mod columns;
mod decide;
mod evidence;
mod field;
mod format;
mod install;
mod json;
mod measure;
mod options;
mod page;
mod peers;
mod plan;
mod rank;
mod reference;
mod request;
mod robustness;
mod screen;
mod search;
mod sentences;
mod table;
mod trial;
mod values;

pub use assumptions::Variation;
pub use decide::Reason;
pub use install::Step;
pub use json::json;
pub use measure::ClassNumbers;
pub use options::{Caveat, Choice, Family};
pub use page::page;
pub use rank::{Assessment, BeforeAfter, Change, ClassEffect, Entry};
pub use request::{AdviseError, Request, Watcher};
pub use robustness::{ChangeResult, Outcome, Robust};
pub use search::{Advice, TooShort, advise};
pub use sentences::{installation, recommendation};
pub use table::{networks, table};
