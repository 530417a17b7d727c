//! Runs the scenarios of rows. A scenario that several rows use runs once.

use crate::network::Case;
use forebay_experiment::report::{Cut, Report, RunError};
use forebay_experiment::worlds::Worlds;
use forebay_runner::{Job, simulate};
use forebay_scenario::{Errors, Scenario};
use forebay_store::summary::{GroupSummary, Summary};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

/// A congestion control to judge, and a backend.
#[derive(Debug, Clone)]
pub struct Request {
    /// Backends, with their congestion controls.
    pub worlds: &'static Worlds,
    /// Name of the congestion control.
    pub cc: String,
    /// Name of the backend.
    pub world: String,
    /// Number of rows that are judged in parallel.
    pub threads: usize,
}

impl Request {
    /// Checks that the congestion control exists.
    pub(crate) fn check(&self) -> Result<(), RefereeError> {
        let worlds: Vec<&str> = self.worlds.list().iter().map(|w| w.name()).collect();
        if !worlds.contains(&self.world.as_str()) {
            return Err(RefereeError::Usage(format!("there is no backend `{}`; legal: {}", self.world, worlds.join(", "))));
        }
        let names: Vec<&str> = self.worlds.congestion_controls().iter().map(|e| e.entry.name).collect();
        if names.contains(&self.cc.as_str()) {
            return Ok(());
        }
        Err(RefereeError::Usage(format!("there is no congestion control `{}`; legal: {}", self.cc, names.join(", "))))
    }
}

/// Reason why nothing was judged.
#[derive(Debug, Clone)]
pub enum RefereeError {
    /// The request is wrong.
    Usage(String),
    /// A backend refuses a scenario, with the scenario's name.
    Scenario(String, Errors),
    /// A run failed, with the scenario's name.
    Run(String, String),
    /// The caller stopped the runs.
    Interrupted,
}

impl fmt::Display for RefereeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefereeError::Usage(text) => f.write_str(text),
            RefereeError::Scenario(name, errors) => write!(f, "scenario {name}: {}", errors.render()),
            RefereeError::Run(name, text) => write!(f, "scenario {name}: {text}"),
            RefereeError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for RefereeError {}

/// Results of a scenario.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) summary: Summary,
    pub(crate) report: Report,
}

impl Outcome {
    /// Results of the first transport group, which is the judged congestion control where it is alone.
    pub(crate) fn first(&self) -> Option<&GroupSummary> {
        self.summary.groups.iter().next()
    }

    /// Goodput of the first transport group, bit/s.
    pub(crate) fn goodput(&self) -> Option<f64> {
        self.first().and_then(|g| g.goodput_bps)
    }
}

type Slot = Arc<OnceLock<Result<Arc<Outcome>, RefereeError>>>;

/// State that all rows share.
pub(crate) struct Shared<'a> {
    request: &'a Request,
    stop: &'a AtomicBool,
    /// Results by the text of the scenario.
    runs: Mutex<BTreeMap<String, Slot>>,
}

impl<'a> Shared<'a> {
    pub(crate) fn new(request: &'a Request, stop: &'a AtomicBool) -> Shared<'a> {
        Shared { request, stop, runs: Mutex::default() }
    }

    /// Texts of all scenarios that ran, by name.
    pub(crate) fn scenarios(&self) -> BTreeMap<String, String> {
        let runs = self.runs.lock().map(|runs| runs.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
        runs.into_iter().map(|text| (name_of(&text).to_owned(), text)).collect()
    }

    fn run(&self, case: &Case) -> Result<Arc<Outcome>, RefereeError> {
        let text = case.text(&self.request.world);
        let slot = match self.runs.lock() {
            Ok(mut runs) => runs.entry(text.clone()).or_default().clone(),
            Err(_) => return Err(RefereeError::Interrupted),
        };
        slot.get_or_init(|| self.simulate(&text)).clone()
    }

    fn simulate(&self, text: &str) -> Result<Arc<Outcome>, RefereeError> {
        let name = name_of(text);
        let refused = |e| RefereeError::Scenario(name.to_owned(), e);
        let file = format!("{name}.toml");
        let scenario = Scenario::from_text(self.request.worlds, text, &file, Path::new("."), &[], None).map_err(refused)?;
        let resolved = scenario.resolve().map_err(refused)?;
        let Some(variant) = resolved.variants.first() else {
            return Err(RefereeError::Run(name.to_owned(), "has no variant".into()));
        };
        let watch = || if self.stop.load(Relaxed) { ControlFlow::Break(Cut::Abandon) } else { ControlFlow::Continue(()) };
        let job = Job::new(0, 0, variant.config.seed);
        match simulate(resolved.world, &variant.label, 0, &variant.config, &job, None, &watch) {
            Ok(run) => Ok(Arc::new(Outcome { summary: run.summary, report: run.report })),
            Err(RunError::Interrupted) => Err(RefereeError::Interrupted),
            Err(e) => Err(RefereeError::Run(name.to_owned(), e.to_string())),
        }
    }
}

/// Name of a scenario, which is its first key.
fn name_of(text: &str) -> &str {
    text.lines().find_map(|l| l.strip_prefix("name = \"")?.strip_suffix('"')).unwrap_or("scenario")
}

/// Runs the scenarios of one row, and notes their names.
pub(crate) struct Bench<'a> {
    shared: &'a Shared<'a>,
    used: RefCell<Vec<String>>,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(shared: &'a Shared<'a>) -> Bench<'a> {
        Bench { shared, used: RefCell::default() }
    }

    /// Runs a scenario.
    pub(crate) fn run(&self, case: &Case) -> Result<Arc<Outcome>, RefereeError> {
        let mut used = self.used.borrow_mut();
        if !used.contains(&case.name) {
            used.push(case.name.clone());
        }
        drop(used);
        self.shared.run(case)
    }

    /// Names of the scenarios that have run.
    pub(crate) fn scenarios(&self) -> Vec<String> {
        self.used.borrow().clone()
    }

    /// True if the congestion control needs marks: it is a scalable one.
    pub(crate) fn needs_marks(&self, cc: &str) -> bool {
        self.shared.request.worlds.cc(cc).is_some_and(|e| e.needs_marks)
    }
}
