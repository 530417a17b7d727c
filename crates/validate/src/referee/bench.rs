//! Runs the scenarios of rows. A scenario that several rows use runs once.

use crate::referee::network::{Case, alone};
use crate::referee::picture::{Picture, picture, sampled};
use forebay_experiment::report::{EarlyEnd, Report, RunError};
use forebay_experiment::rows::PortRow;
use forebay_experiment::worlds::Worlds;
use forebay_runner::{Job, simulate};
use forebay_scenario::{Errors, Resolved, Scenario};
use forebay_store::summary::{GroupSummary, Summary};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

/// A congestion control to judge, and the backends.
#[derive(Debug, Clone)]
pub struct Request {
    /// Backends, with their congestion controls.
    pub worlds: &'static Worlds,
    /// Name of the congestion control.
    pub cc: String,
    /// Names of the backends, one column each. Empty: `sim`, and `linux` where its kernel exists and has the congestion control.
    pub columns: Vec<String>,
    /// Number of rows that are judged in parallel.
    pub threads: usize,
    /// Also runs the experiments of the Common TCP Evaluation Suite, which take longer than all other rows.
    pub tcpeval: bool,
    /// Keeps the series of all scenarios for the page.
    pub pictures: bool,
}

impl Request {
    /// Checks that the congestion control exists, and returns the backends.
    pub(crate) fn check(&self) -> Result<Vec<String>, RefereeError> {
        let worlds: Vec<&str> = self.worlds.list().iter().map(|w| w.name()).collect();
        if let Some(unknown) = self.columns.iter().find(|c| !worlds.contains(&c.as_str())) {
            return Err(RefereeError::Usage(format!("there is no backend `{unknown}`; legal: {}", worlds.join(", "))));
        }
        let names: Vec<&str> = self.worlds.congestion_controls().iter().map(|e| e.entry.name).collect();
        if !names.contains(&self.cc.as_str()) {
            let legal = names.join(", ");
            return Err(RefereeError::Usage(format!("there is no congestion control `{}`; legal: {legal}", self.cc)));
        }
        if self.columns.is_empty() {
            let built = self.worlds.list().iter().any(|w| w.name() == "linux" && !w.version().is_empty());
            let linux = built && self.resolve(&alone(&self.cc).text("linux")).is_ok();
            return Ok(if linux { vec!["sim".into(), "linux".into()] } else { vec!["sim".into()] });
        }
        for world in &self.columns {
            self.resolve(&alone(&self.cc).text(world)).map_err(|e| RefereeError::Scenario(format!("alone, {world}"), e))?;
        }
        Ok(self.columns.clone())
    }

    pub(crate) fn resolve(&self, text: &str) -> Result<Resolved, Errors> {
        let file = format!("{}.toml", name_of(text));
        Scenario::from_text(self.worlds, text, &file, Path::new("."), &[], None)?.resolve()
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
    /// Name of every port.
    ports: Vec<String>,
    picture: Option<Picture>,
}

impl Outcome {
    /// Results of the first transport group, which is the judged congestion control where it is alone.
    pub(crate) fn first(&self) -> Option<&GroupSummary> {
        self.summary.groups.iter().next()
    }

    /// Counters of the port `name`.
    pub(crate) fn port(&self, name: &str) -> Option<&PortRow> {
        let number = self.ports.iter().position(|n| n == name)?;
        self.report.ports.iter().find(|p| p.port.index() == number)
    }

    /// Goodput of the transport group `group`, bit/s.
    pub(crate) fn goodput_of(&self, group: usize) -> Option<f64> {
        self.summary.groups.iter().nth(group).and_then(|g| g.goodput_bps)
    }

    /// Goodput of the first transport group, bit/s.
    pub(crate) fn goodput(&self) -> Option<f64> {
        self.goodput_of(0)
    }
}

/// Seeds of a mean.
const SEEDS: u32 = 5;

type Slot = Arc<OnceLock<Result<Arc<Outcome>, RefereeError>>>;

/// Results of scenarios, for one request or several: the runs of Reno and CUBIC are the same for all congestion controls.
#[derive(Debug, Default)]
pub struct Runs {
    /// By the text of the scenario, and whether it keeps series.
    slots: Mutex<BTreeMap<(bool, String), Slot>>,
}

impl Runs {
    fn slot(&self, pictures: bool, text: &str) -> Result<Slot, RefereeError> {
        let mut slots = self.slots.lock().map_err(|_| RefereeError::Interrupted)?;
        Ok(slots.entry((pictures, text.to_owned())).or_default().clone())
    }
}

/// State that all rows share.
pub(crate) struct Shared<'a> {
    request: &'a Request,
    stop: &'a AtomicBool,
    runs: &'a Runs,
    /// Results that the rows have used, by the text of the scenario.
    used: Mutex<BTreeMap<String, Slot>>,
}

impl<'a> Shared<'a> {
    pub(crate) fn new(request: &'a Request, runs: &'a Runs, stop: &'a AtomicBool) -> Shared<'a> {
        Shared { request, stop, runs, used: Mutex::default() }
    }

    /// Texts of all scenarios that the rows have used, by name.
    pub(crate) fn scenarios(&self) -> BTreeMap<String, String> {
        let used = self.used.lock().map(|used| used.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
        used.into_iter().map(|text| (name_of(&text).to_owned(), text)).collect()
    }

    /// Series of these scenarios, by name.
    pub(crate) fn pictures(&self) -> BTreeMap<String, Picture> {
        let Ok(used) = self.used.lock() else { return BTreeMap::new() };
        let picture = |(text, slot): (&String, &Slot)| {
            let outcome = slot.get()?.as_ref().ok()?;
            Some((name_of(text).to_owned(), outcome.picture.clone()?))
        };
        used.iter().filter_map(picture).collect()
    }

    fn run(&self, case: &Case, world: &str) -> Result<Arc<Outcome>, RefereeError> {
        let text = case.text(world);
        let slot = self.runs.slot(self.request.pictures, &text)?;
        if let Ok(mut used) = self.used.lock() {
            used.insert(text.clone(), slot.clone());
        }
        slot.get_or_init(|| self.simulate(&text)).clone()
    }

    fn simulate(&self, text: &str) -> Result<Arc<Outcome>, RefereeError> {
        let name = name_of(text);
        let refused = |e| RefereeError::Scenario(name.to_owned(), e);
        let resolved = self.request.resolve(text).map_err(refused)?;
        let Some(variant) = resolved.variants.first() else {
            return Err(RefereeError::Run(name.to_owned(), "has no variant".into()));
        };
        let watch = || if self.stop.load(Relaxed) { ControlFlow::Break(EarlyEnd::Discard) } else { ControlFlow::Continue(()) };
        let job = Job::new(0, 0, variant.config.seed);
        let pictures = self.request.pictures;
        let config = if pictures { sampled(variant) } else { variant.config.clone() };
        match simulate(resolved.world, &variant.label, 0, &config, &job, None, &watch) {
            Ok(run) => {
                let picture = pictures.then(|| picture(variant, &run.report));
                Ok(Arc::new(Outcome { summary: run.summary, report: run.report, ports: variant.port_names.clone(), picture }))
            }
            Err(RunError::Interrupted) => Err(RefereeError::Interrupted),
            Err(e) => Err(RefereeError::Run(name.to_owned(), e.to_string())),
        }
    }
}

/// Name of a scenario, which is its first key.
pub(crate) fn name_of(text: &str) -> &str {
    text.lines().find_map(|l| l.strip_prefix("name = \"")?.strip_suffix('"')).unwrap_or("scenario")
}

/// Runs the scenarios of one row in one backend, and notes their names.
pub(crate) struct Bench<'a> {
    shared: &'a Shared<'a>,
    world: &'a str,
    used: RefCell<Vec<String>>,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(shared: &'a Shared<'a>, world: &'a str) -> Bench<'a> {
        Bench { shared, world, used: RefCell::default() }
    }

    /// Runs a scenario.
    pub(crate) fn run(&self, case: &Case) -> Result<Arc<Outcome>, RefereeError> {
        let mut used = self.used.borrow_mut();
        let name = case.name_in(self.world);
        if !used.contains(&name) {
            used.push(name);
        }
        drop(used);
        self.shared.run(case, self.world)
    }

    /// Mean of a value over runs with [`SEEDS`] seeds; `None` if one of them has no value. The goodput of flows that compete for a minute depends on
    /// their start times: two pairs of CUBIC flows have 13 % more or less than their share (standard deviation over eight seeds).
    pub(crate) fn mean(&self, case: &Case, value: impl Fn(&Outcome) -> Option<f64>) -> Result<Option<f64>, RefereeError> {
        let mut sum = 0.0;
        for seed in 1..=SEEDS {
            let Some(value) = value(&*self.run(&case.with_seed(seed))?) else { return Ok(None) };
            sum += value;
        }
        Ok(Some(sum / f64::from(SEEDS)))
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
