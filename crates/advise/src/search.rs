//! Search: simulates variations of a scenario on the pool and in the store of sweeps. Stored results are reused.

use crate::measure::{self, ClassNumbers, TABLES};
use crate::options::{Category, Choice, choices};
use crate::rank::{Assessment, Entry, compare, sort};
use crate::screen;
use forebay_experiment::worlds::Worlds;
use forebay_runner::sweep::{Counts, Session, SweepError, Ticket, UnitStore};
use forebay_scenario::{Errors, Goal, Objective, Resolved, Scenario};
use forebay_store::StoreError;
use forebay_types::WorkloadId;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Seeds of the first evaluation of every change; the best get all seeds.
const SCREENING_SEEDS: u32 = 3;
/// Number of changes that get all seeds.
const FINALISTS: usize = 6;

/// Request for an advice.
#[derive(Debug, Clone)]
pub struct Request {
    /// Backends.
    pub worlds: &'static Worlds,
    /// Scenario file.
    pub file: PathBuf,
    /// Overrides of the file.
    pub sets: Vec<String>,
    /// Objective, instead of that of the file.
    pub objective: Option<String>,
    /// Number of seeds of the best changes; at least one.
    pub seeds: u32,
    /// Folder of the results; `None`: `out/NAME-advise`.
    pub dir: Option<PathBuf>,
    /// Number of parallel runs; at least one.
    pub threads: usize,
}

/// Result of the search.
#[derive(Debug, Clone)]
pub struct Advice {
    /// Name of the scenario.
    pub name: String,
    /// Objective.
    pub objective: Objective,
    /// Present network: the value of the objective, and completed work.
    pub today: Entry,
    /// Changes, best first.
    pub entries: Vec<Entry>,
    /// Index of the recommended change in `entries`: the one with the fewest parts among those about as good as the best.
    pub recommended: Option<usize>,
    /// Changes that were not simulated, with the reason.
    pub dropped: Vec<(String, String)>,
    /// Stack of the first transport.
    pub stack: String,
    /// Folder of the results.
    pub dir: PathBuf,
    /// Number of runs, and of stored runs among them.
    pub runs: (usize, usize),
}

/// Reason why there is no advice.
#[derive(Debug)]
pub enum AdviseError {
    /// The scenario has errors.
    Scenario(Errors),
    /// The request is inconsistent.
    Usage(String),
    /// A run failed, or results could not be read or written.
    Sweep(Arc<SweepError>),
    /// Results could not be read.
    Store(StoreError),
    /// The search was interrupted.
    Interrupted {
        /// Completed runs.
        done: usize,
        /// Runs requested so far.
        total: usize,
    },
}

impl From<Errors> for AdviseError {
    fn from(e: Errors) -> AdviseError {
        AdviseError::Scenario(e)
    }
}

/// Receives the progress of a search.
pub trait Watcher {
    /// Reports the number of completed runs in phase `what`.
    fn tick(&mut self, what: &str, counts: Counts);
}

/// Plan: one change, or several together.
#[derive(Debug, Clone)]
struct Plan {
    parts: Vec<Choice>,
}

impl Plan {
    fn name(&self) -> String {
        self.parts.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(" + ")
    }

    fn sets(&self) -> Vec<String> {
        self.parts.iter().flat_map(|c| c.sets.iter().cloned()).collect()
    }

    fn install(&self) -> Vec<String> {
        self.parts.iter().flat_map(|c| c.install.iter().cloned()).collect()
    }
}

/// Evaluates the possible changes and recommends one.
///
/// # Errors
/// Errors of the scenario or objective, failed runs, and interruption; finished runs are kept.
pub fn advise(request: &Request, stop: &AtomicBool, watcher: &mut dyn Watcher) -> Result<Advice, AdviseError> {
    let base = forebay_scenario::load(request.worlds, &request.file, &request.sets, None)?;
    let resolved = base.resolve()?;
    let (objective, class) = objective(request, &resolved)?;
    if let [first, second, ..] = resolved.variants.as_slice() {
        let text = format!(
            "the file compares `{}` with `{}`; `forebay advise` needs the network as it is today: --set transport.cc=cubic",
            first.label, second.label
        );
        return Err(AdviseError::Usage(text));
    }
    let variant = &resolved.variants[0];
    let dir = request.dir.clone().unwrap_or_else(|| PathBuf::from("out").join(format!("{}-advise", resolved.name)));
    let session = Session::new(UnitStore::open(&dir.join("units")), request.threads);
    let mut trial = Trial {
        request,
        session,
        stop,
        watcher,
        classes: variant.class_names.clone(),
        objective: objective.clone(),
        dropped: Vec::new(),
    };

    let singles: Vec<Plan> =
        choices(&base, &resolved, WorkloadId::from_index(class)).into_iter().map(|c| Plan { parts: vec![c] }).collect();
    let few = SCREENING_SEEDS.min(request.seeds);
    let now = trial.submit(&base, few)?;
    let tried = trial.submit_all(&singles, few)?;
    let before = trial.wait(&now, "present network")?;
    let mut evaluated = trial.evaluate(tried, &before, "single changes")?;
    let together = combinations(&evaluated, objective.goal);
    let tried = trial.submit_all(&together, few)?;
    for (plan, entry) in trial.evaluate(tried, &before, "combinations of the best changes")? {
        // A part without effect beside the others is left out.
        let same = |e: &Entry| e.objective == entry.objective && e.others == entry.others;
        if !evaluated.iter().any(|(p, e)| p.parts.len() < plan.parts.len() && same(e)) {
            evaluated.push((plan, entry));
        }
    }
    evaluated
        .sort_by(|a, b| a.1.assessment.cmp(&b.1.assessment).then(b.1.gain(objective.goal).total_cmp(&a.1.gain(objective.goal))));

    let finalists: Vec<Plan> = evaluated.iter().take(FINALISTS).map(|(p, _)| p.clone()).collect();
    let now = trial.submit(&base, request.seeds)?;
    let tried = trial.submit_all(&finalists, request.seeds)?;
    let before = trial.wait(&now, "present network, all seeds")?;
    let best = trial.evaluate(tried, &before, "the best with all seeds")?;
    let mut entries: Vec<Entry> = best.iter().map(|(_, e)| e.clone()).collect();
    sort(&mut entries, objective.goal);
    let mut rest: Vec<Entry> = evaluated.into_iter().skip(FINALISTS).map(|(_, e)| e).collect();
    sort(&mut rest, objective.goal);
    // Changes that starve a class rank last, whatever their number of seeds.
    let (sound, starving): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().chain(rest).partition(|e| e.assessment == Assessment::Sound);
    let entries: Vec<Entry> = sound.into_iter().chain(starving).collect();
    let today = compare(&objective, &trial.classes, &before, &before, ("as it is", &[], &[]));
    let counts = trial.session.counts();
    Ok(Advice {
        name: resolved.name.clone(),
        recommended: recommended(&entries, &best, objective.goal),
        objective,
        today,
        entries,
        dropped: trial.dropped,
        stack: stack(&variant.echo["transport"]),
        dir,
        runs: (counts.total, counts.found),
    })
}

/// Objective of the command line, of the file, or the completion times of the first class; and the number of its class.
fn objective(request: &Request, resolved: &Resolved) -> Result<(Objective, usize), AdviseError> {
    let Some(variant) = resolved.variants.first() else { return Err(AdviseError::Usage("the scenario has no runs".into())) };
    let classes: Vec<&str> = variant.class_names.iter().map(String::as_str).collect();
    let objective = match (&request.objective, &resolved.objective) {
        (Some(text), _) => {
            Objective::parse(text, &classes).map_err(|(message, help)| AdviseError::Usage(format!("{message}; {help}")))?
        }
        (None, Some(objective)) => objective.clone(),
        (None, None) => Objective { goal: Goal::P99, class: variant.class_names[0].clone() },
    };
    let class = classes.iter().position(|c| *c == objective.class).unwrap_or(0);
    Ok((objective, class))
}

/// Stack of the first transport.
fn stack(transport: &serde_json::Value) -> String {
    let of = |t: &serde_json::Value| t["stack"].as_str().map(str::to_owned);
    of(transport).or_else(|| of(&transport["group"][0])).unwrap_or_default()
}

/// Combinations of the best changes of each category.
fn combinations(evaluated: &[(Plan, Entry)], goal: Goal) -> Vec<Plan> {
    let best = |category: Category, skip: usize| {
        let mut own: Vec<&(Plan, Entry)> = evaluated
            .iter()
            .filter(|(p, e)| p.parts[0].category == category && e.assessment == Assessment::Sound && e.gain(goal) > 1.0)
            .collect();
        own.sort_by(|a, b| b.1.lower_bound(goal).total_cmp(&a.1.lower_bound(goal)));
        own.get(skip).map(|(p, _)| p.parts[0].clone())
    };
    let (timeout, buffer) = (best(Category::Timeout, 0), best(Category::Buffer, 0));
    let mut out = Vec::new();
    for cc in [best(Category::CongestionControl, 0), best(Category::CongestionControl, 1), None] {
        for (t, b) in [(true, false), (false, true), (true, true)] {
            let parts: Vec<Choice> =
                [cc.clone(), timeout.clone().filter(|_| t), buffer.clone().filter(|_| b)].into_iter().flatten().collect();
            let wanted = usize::from(cc.is_some()) + usize::from(t) + usize::from(b);
            if parts.len() == wanted && parts.len() > 1 {
                out.push(Plan { parts });
            }
        }
    }
    out
}

/// Index of the recommended change: sound, significant, nearly as good as the best, with the fewest parts.
fn recommended(entries: &[Entry], finalists: &[(Plan, Entry)], goal: Goal) -> Option<usize> {
    let parts = |e: &Entry| finalists.iter().find(|(p, _)| p.name() == e.name).map(|(p, _)| p.parts.len());
    let good = |e: &Entry| {
        e.assessment == Assessment::Sound
            && e.gain(goal) > 1.0
            && e.objective.is_some_and(|c| !c.is_noise())
            && parts(e).is_some()
    };
    let best = entries.iter().filter(|e| good(e)).map(|e| e.lower_bound(goal)).fold(0.0, f64::max);
    // Nearly as good: three quarters of the best (our choice).
    let near = entries.iter().enumerate().filter(|(_, e)| good(e) && e.lower_bound(goal) >= 0.75 * best);
    near.min_by(|a, b| parts(a.1).cmp(&parts(b.1)).then(b.1.lower_bound(goal).total_cmp(&a.1.lower_bound(goal)))).map(|(i, _)| i)
}

/// State of a search.
struct Trial<'a> {
    request: &'a Request,
    session: Session,
    stop: &'a AtomicBool,
    watcher: &'a mut dyn Watcher,
    classes: Vec<String>,
    objective: Objective,
    dropped: Vec<(String, String)>,
}

impl Trial<'_> {
    fn submit(&self, scenario: &Scenario, seeds: u32) -> Result<Ticket, AdviseError> {
        self.session.submit(scenario, seeds, TABLES.map(str::to_owned).to_vec()).map_err(|e| AdviseError::Sweep(Arc::new(e)))
    }

    /// Submits the scenario with each of these plans. Excluded plans are recorded with the reason.
    fn submit_all(&mut self, plans: &[Plan], seeds: u32) -> Result<Vec<(Plan, Ticket)>, AdviseError> {
        let mut out = Vec::new();
        for plan in plans {
            match self.scenario(plan) {
                Ok(scenario) => out.push((plan.clone(), self.submit(&scenario, seeds)?)),
                Err(why) => self.dropped.push((plan.name(), why)),
            }
        }
        Ok(out)
    }

    fn scenario(&self, plan: &Plan) -> Result<Scenario, String> {
        let sets = [self.request.sets.clone(), plan.sets()].concat();
        let first = |e: Errors| e.list().first().map_or_else(String::new, ToString::to_string);
        let scenario = forebay_scenario::load(self.request.worlds, &self.request.file, &sets, None).map_err(first)?;
        let resolved = scenario.resolve().map_err(first)?;
        match plan.parts.iter().find_map(|choice| screen::exclusion_reason(choice, &resolved)) {
            Some(why) => Err(why),
            None => Ok(scenario),
        }
    }

    fn evaluate(
        &mut self,
        tried: Vec<(Plan, Ticket)>,
        before: &[Vec<ClassNumbers>],
        what: &str,
    ) -> Result<Vec<(Plan, Entry)>, AdviseError> {
        let mut out = Vec::new();
        for (plan, ticket) in tried {
            let after = self.wait(&ticket, what)?;
            let (name, sets, install) = (plan.name(), plan.sets(), plan.install());
            let entry = compare(&self.objective, &self.classes, before, &after, (&name, &sets, &install));
            out.push((plan, entry));
        }
        Ok(out)
    }

    /// Measurements of all classes in each run of a ticket, by seed.
    fn wait(&mut self, ticket: &Ticket, what: &str) -> Result<Vec<Vec<ClassNumbers>>, AdviseError> {
        let records = loop {
            if self.stop.load(Relaxed) {
                let Counts { done, total, .. } = self.session.kept();
                return Err(AdviseError::Interrupted { done, total });
            }
            self.watcher.tick(what, self.session.counts());
            if let Some(result) = self.session.wait(ticket, Duration::from_millis(100)) {
                break result.map_err(AdviseError::Sweep)?;
            }
        };
        let table = |key, name| self.session.store().table(key, name, None).map_err(AdviseError::Store);
        let mut out = Vec::with_capacity(records.len());
        for (unit, record) in ticket.plan().units().iter().zip(&records) {
            let [flows, queries] = [table(unit.key(), TABLES[0])?, table(unit.key(), TABLES[1])?];
            out.push(measure::classes(&self.classes, record, &flows, &queries));
        }
        Ok(out)
    }
}
