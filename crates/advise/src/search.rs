//! Search: simulates changes in rounds, each with fewer changes and more networks.
//!
//! 1. Every change by itself in the network of the file, with few seeds.
//! 2. The best of each family, and the present network, in the variations that most often reverse an advice.
//! 3. Pairs of them in the same variations, if one holds where the other fails.
//! 4. The best five of those in all variations.
//! 5. The best five in the network of the file with all seeds, and with more seeds where only the interval is in the way.
//!
//! All rounds share one pool and one store: a run that another round had is not repeated, and the order of completion has no effect.

use crate::assumptions::{Variation, Variations};
use crate::decide::{Reason, decide};
use crate::options::{Subject, choices};
use crate::plan::{Plan, complements, leaders};
use crate::rank::{About, Assessment, Entry, compare, sort};
use crate::request::{AdviseError, Request, Watcher};
use crate::robust::{Outcome, Robust, set_regrets};
use crate::trial::{Runs, Trial};
use crate::values::inline;
use forebay_runner::sweep::{Session, Ticket, UnitStore};
use forebay_scenario::{Goal, Objective, Resolved};
use forebay_types::WorkloadId;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Seeds of the first evaluation of every change, and of every variation.
const SCREENING_SEEDS: u32 = 2;
/// Number of changes in the first variations.
const CANDIDATES: usize = 8;
/// Number of pairs of them.
const PAIRS: usize = 4;
/// Number of those variations.
const FIRST_VARIATIONS: usize = 3;
/// Number of changes in all variations.
const FINALISTS: usize = 5;
/// Seeds are multiplied up to this factor where only the interval is in the way.
const MORE_SEEDS: u32 = 3;

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
    /// Index of the recommended change in `entries`: the first, if any.
    pub recommended: Option<usize>,
    /// Reason for the recommendation, or for none.
    pub reason: Reason,
    /// Names of the networks of [`Robust::outcomes`](crate::robust::Robust::outcomes): that of the file, then its variations.
    pub variations: Vec<String>,
    /// Assumptions that were not varied, with the reason.
    pub fixed: Vec<(String, String)>,
    /// Changes that were not simulated, with the reason.
    pub dropped: Vec<(String, String)>,
    /// Stack of the first transport.
    pub stack: String,
    /// Folder of the results.
    pub dir: PathBuf,
    /// Number of the class to improve.
    pub own: usize,
    /// Number of runs, and of stored runs among them.
    pub runs: (usize, usize),
}

/// Evaluates the possible changes and recommends one.
///
/// # Errors
/// Errors of the scenario or objective, failed runs, and interruption; finished runs are kept.
pub fn advise(request: &Request, stop: &AtomicBool, watcher: &mut dyn Watcher) -> Result<Advice, AdviseError> {
    let base = forebay_scenario::load(request.worlds, &request.file, &request.sets, None)?;
    let resolved = base.resolve()?;
    let (objective, own) = objective(request, &resolved)?;
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
    let queue = &variant.echo["topology"]["host-queue"];
    let mut trial = Trial {
        request,
        session,
        stop,
        watcher,
        classes: variant.class_names.clone(),
        objective: objective.clone(),
        ground: if queue.is_null() { Vec::new() } else { vec![format!("topology.host-queue={}", inline(queue))] },
        dropped: Vec::new(),
    };
    let few = SCREENING_SEEDS.min(request.seeds);
    let scenario = trial.scenario(None, None).map_err(AdviseError::Usage)?;
    let now = trial.submit(&scenario, few)?;
    let before = trial.wait(&now, "present network")?;
    let peers = trial.peers(&now)?;
    let subject = Subject::new(&base, &resolved, WorkloadId::from_index(own), &peers);
    let (singles, variations) = match &subject {
        Some(s) => (choices(s), Variations::of(s, &base.document())),
        None => (Vec::new(), Variations::default()),
    };
    if subject.as_ref().is_some_and(Subject::is_lossy) {
        let why = "a link loses packets in its queue `lossy`, and no change may repair it by another queue".to_owned();
        trial.dropped.push(("RED, or a queue of its own".to_owned(), why));
    }
    let singles: Vec<Plan> = singles.into_iter().map(|c| Plan { parts: vec![c] }).collect();
    let tried = trial.submit_all(&singles, few)?;
    let mut evaluated = trial.evaluate(tried, &before, "single changes")?;
    let mut best = leaders(&evaluated, objective.goal);
    best.truncate(CANDIDATES);

    let variations_list = variations.list;
    let mut field = Field::new(&mut trial, own, few, best, variations_list.clone())?;
    field.evaluate(0..FIRST_VARIATIONS)?;
    let pairs: Vec<Plan> = complements(&field.kept, objective.goal).into_iter().take(PAIRS).collect();
    let singles = std::mem::take(&mut field.kept);
    let tried = trial.submit_all(&pairs, few)?;
    let together = trial.evaluate(tried, &before, "pairs of the best changes")?;
    evaluated.extend(together.iter().cloned());
    // The present network's runs are in the store already.
    let mut field = Field::new(&mut trial, own, few, together, variations_list)?;
    field.evaluate(0..FIRST_VARIATIONS)?;
    field.kept.extend(singles);
    field.set_regrets();
    field.keep(FINALISTS);
    field.evaluate(FIRST_VARIATIONS..usize::MAX)?;
    let Field { today: now, kept, left, variations: evaluated_in, .. } = field;

    let (today, mut entries) = finals(&mut trial, own, now, kept)?;
    let (recommended, reason) = decide(&objective, own, &today, &entries);
    let name = recommended.map(|i| entries[i].name.clone());
    let goal = objective.goal;
    entries.sort_by(|a, b| {
        let key = |e: &Entry| {
            (Some(&e.name) != name.as_ref(), e.assessment, e.robust.as_ref().is_some_and(|r| r.objection().is_some()))
        };
        let regret = |e: &Entry| e.robust.as_ref().map_or(f64::INFINITY, |r| r.regret);
        key(a).cmp(&key(b)).then(regret(a).total_cmp(&regret(b))).then(a.name.cmp(&b.name))
    });
    entries.extend(left);
    let mut rest: Vec<Entry> =
        evaluated.into_iter().map(|(_, e)| e).filter(|e| entries.iter().all(|f| f.name != e.name)).collect();
    sort(&mut rest, goal);
    entries.extend(rest);
    // Changes that starve a class rank last.
    let (sound, starving): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(|e| e.assessment == Assessment::Sound);
    let entries: Vec<Entry> = sound.into_iter().chain(starving).collect();
    let counts = trial.session.counts();
    Ok(Advice {
        name: resolved.name.clone(),
        recommended: name.and_then(|n| entries.iter().position(|e| e.name == n)),
        reason,
        variations: std::iter::once("as in the file".to_owned()).chain(evaluated_in.into_iter().map(|v| v.name)).collect(),
        fixed: variations.fixed,
        objective,
        today,
        entries,
        dropped: trial.dropped,
        stack: stack(&variant.echo["transport"]),
        dir,
        own,
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
        (None, None) => Objective { goal: Goal::P99, class: variant.class_names[0].clone(), limit: None },
    };
    let class = classes.iter().position(|c| *c == objective.class).unwrap_or(0);
    if objective.goal == Goal::DeadlineMisses && variant.echo["workload"][class]["deadline"].is_null() {
        let text = format!(
            "the objective counts missed deadlines, and `{0}` has none; add one: --set 'workload.{class}.deadline=\"2ms\"'",
            objective.class
        );
        return Err(AdviseError::Usage(text));
    }
    Ok((objective, class))
}

/// Stack of the first transport.
fn stack(transport: &serde_json::Value) -> String {
    let of = |t: &serde_json::Value| t["stack"].as_str().map(str::to_owned);
    of(transport).or_else(|| of(&transport["group"][0])).unwrap_or_default()
}

/// The changes that are compared under the variations, with the present network.
struct Field<'t, 'a> {
    trial: &'t mut Trial<'a>,
    own: usize,
    seeds: u32,
    /// Variations that the present network can have.
    variations: Vec<Variation>,
    today: Robust,
    kept: Vec<(Plan, Entry)>,
    /// Changes that fell behind in the first variations.
    left: Vec<Entry>,
}

impl<'t, 'a> Field<'t, 'a> {
    /// Starts with the results in the network of the file.
    fn new(
        trial: &'t mut Trial<'a>,
        own: usize,
        seeds: u32,
        best: Vec<(Plan, Entry)>,
        variations: Vec<Variation>,
    ) -> Result<Field<'t, 'a>, AdviseError> {
        let mut field =
            Field { trial, own, seeds, variations: Vec::new(), today: Robust::default(), kept: best, left: Vec::new() };
        for (_, entry) in &mut field.kept {
            entry.robust = Some(Robust::default());
        }
        let legal = |v: &Variation| field.trial.scenario(None, Some(v)).is_ok();
        field.variations = variations.into_iter().filter(legal).collect();
        field.round(&[None])?;
        Ok(field)
    }

    /// Evaluates all kept changes in these variations.
    fn evaluate(&mut self, which: std::ops::Range<usize>) -> Result<(), AdviseError> {
        let which = which.start.min(self.variations.len())..which.end.min(self.variations.len());
        let round: Vec<Option<Variation>> = self.variations[which].iter().cloned().map(Some).collect();
        self.round(&round)
    }

    /// Evaluates the present network and all kept changes in each of these networks; `None` is that of the file. All runs are submitted first.
    fn round(&mut self, networks: &[Option<Variation>]) -> Result<(), AdviseError> {
        let mut tickets: Vec<(Ticket, Vec<Option<Ticket>>)> = Vec::new();
        for network in networks {
            let scenario = self.trial.scenario(None, network.as_ref()).map_err(AdviseError::Usage)?;
            let seeds = self.seeds_of(network.as_ref()).end;
            let now = self.trial.submit(&scenario, seeds)?;
            let mut own = Vec::new();
            for (plan, _) in &self.kept {
                // A plan that a variation does not allow has no result there.
                let scenario = self.trial.scenario(Some(plan), network.as_ref()).ok();
                own.push(scenario.map(|s| self.trial.submit(&s, seeds)).transpose()?);
            }
            tickets.push((now, own));
        }
        for ((now, tickets), network) in tickets.into_iter().zip(networks) {
            let what = network.as_ref().map_or("the best changes", |v| v.name.as_str());
            let used = self.seeds_of(network.as_ref());
            let used = used.start as usize..used.end as usize;
            // A backend without seeds has one run.
            let part = |runs: Runs| runs.get(used.clone()).map_or_else(|| runs.clone(), <[_]>::to_vec);
            let before = part(self.trial.wait(&now, what)?);
            let outcome = |t: &Trial, after: &Runs| Outcome::of(t.objective.goal, self.own, &t.classes, &before, after);
            self.today.outcomes.push(outcome(self.trial, &before));
            for ((_, entry), ticket) in self.kept.iter_mut().zip(tickets) {
                let after = ticket.map(|t| self.trial.wait(&t, what)).transpose()?.map(part);
                let outcome = after.and_then(|after| outcome(self.trial, &after));
                entry.robust.get_or_insert_default().outcomes.push(outcome);
            }
        }
        self.set_regrets();
        Ok(())
    }

    /// Seeds of a network, from 0. The seeds of the finals precede the other seeds, so that only a few runs are new.
    fn seeds_of(&self, network: Option<&Variation>) -> std::ops::Range<u32> {
        let finals = self.trial.request.seeds;
        if network.is_some_and(|v| v.other_seeds) { finals..finals + self.seeds } else { 0..self.seeds }
    }

    fn set_regrets(&mut self) {
        let mut all = vec![self.today.clone()];
        all.extend(self.kept.iter().map(|(_, e)| e.robust.clone().unwrap_or_default()));
        set_regrets(&mut all, self.trial.objective.goal);
        let mut all = all.into_iter();
        self.today = all.next().unwrap_or_default();
        for (_, entry) in &mut self.kept {
            entry.robust = all.next();
        }
    }

    /// Keeps the best changes by the worst case so far, and the one with the least effort.
    fn keep(&mut self, most: usize) {
        let limit = self.trial.objective.limit.as_ref().map(|(v, _)| *v);
        let goal = self.trial.objective.goal;
        let key = |e: &Entry| {
            let r = e.robust.as_ref();
            let misses = limit.map_or(0, |l| r.map_or(usize::MAX, |r| r.misses(goal, l).len()));
            (r.is_some_and(|r| r.objection().is_some()), misses, if limit.is_some() { e.effort } else { 0 })
        };
        let regret = |e: &Entry| e.robust.as_ref().map_or(f64::INFINITY, |r| r.regret);
        self.kept.sort_by(|(_, a), (_, b)| key(a).cmp(&key(b)).then(regret(a).total_cmp(&regret(b))).then(a.name.cmp(&b.name)));
        let dropped = self.kept.split_off(most.min(self.kept.len()));
        self.left.extend(dropped.into_iter().map(|(_, e)| e));
    }
}

/// The present network and the best changes in the network of the file with all seeds, and with more where only the interval is in the way.
fn finals(trial: &mut Trial, own: usize, now: Robust, kept: Vec<(Plan, Entry)>) -> Result<(Entry, Vec<Entry>), AdviseError> {
    let goal = trial.objective.goal;
    let mut seeds = trial.request.seeds;
    loop {
        let scenario = trial.scenario(None, None).map_err(AdviseError::Usage)?;
        let ticket = trial.submit(&scenario, seeds)?;
        let plans: Vec<Plan> = kept.iter().map(|(p, _)| p.clone()).collect();
        let tried = trial.submit_all(&plans, seeds)?;
        let before = trial.wait(&ticket, "present network, all seeds")?;
        let best = trial.evaluate(tried, &before, "the best with all seeds")?;
        let about = About { name: "as it is".into(), ..About::default() };
        let mut today = compare(&trial.objective, &trial.classes, &before, &before, about);
        let mut entries: Vec<Entry> = Vec::new();
        for ((_, mut entry), (_, first)) in best.into_iter().zip(&kept) {
            entry.robust.clone_from(&first.robust);
            entries.push(entry);
        }
        today.robust = Some(now.clone());
        // A request for one or two seeds is a request for a quick answer.
        let open = entries.iter().any(|e| e.needs_seeds(goal) && !e.ends_stalls(own));
        let decided = entries.iter().any(|e| e.gain(goal) > 1.0 && e.objective.is_some_and(|c| !c.is_noise()));
        if !open || decided || trial.request.seeds < 3 || seeds >= MORE_SEEDS * trial.request.seeds {
            return Ok((today, entries));
        }
        seeds += trial.request.seeds;
    }
}
