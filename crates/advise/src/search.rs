//! Search: simulates changes in rounds, each with fewer changes and more networks.
//!
//! 1. Every change by itself in the network of the file: one seed, and a second one for those that can be the best of their kind.
//! 2. The best of each kind, and the present network, in the variations of the assumptions, as long as they can win (`field`). Pairs join them if one
//!    holds where the other fails.
//! 3. The best in all networks with more seeds, and in the network of the file with all seeds. More seeds where only the interval is in the way.
//!
//! All rounds share one pool and one store: a run that another round had is not repeated, and the order of completion has no effect.

use crate::assumptions::Variations;
use crate::decide::{Reason, at_once, decide};
use crate::evidence::MATERIAL;
use crate::field::Field;
use crate::measure::ClassNumbers;
use crate::options::{Subject, choices};
use crate::plan::{Plan, complements, contenders, leaders};
use crate::rank::{About, Assessment, Entry, compare, sort};
use crate::reference::{Compared, References};
use crate::request::{AdviseError, Request, Watcher};
use crate::robustness::Robust;
use crate::trial::Trial;
use crate::values::inline;
use forebay_runner::sweep::{Session, UnitStore};
use forebay_scenario::{Goal, Objective, Resolved};
use forebay_types::{Time, WorkloadId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Seeds of the second evaluation of a change, and of the best changes in every network.
const FEW_SEEDS: u32 = 2;
/// Number of changes, each of another kind, in the variations.
const CANDIDATES: usize = 8;
/// Number of pairs of them.
const PAIRS: usize = 3;
/// Number of networks after which pairs are chosen: that of the file, and the variations that most often reverse the advice.
const PAIRED_AFTER: usize = 4;
/// Other ratios that could count as equal: a change of the recommendation is reported.
const SENSITIVITY: [f64; 2] = [1.125, 1.5];
/// Seeds are multiplied up to this factor where only the interval is in the way.
const MORE_SEEDS: u32 = 3;

/// Reason why the runs are too short to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TooShort {
    /// No timeout can end within them.
    Timeout {
        /// Duration of the runs.
        duration: String,
        /// Minimum RTO.
        least: String,
    },
    /// Fewer than half of the messages start so long before the end that they can exceed the limit of the objective.
    Limit {
        /// The limit.
        limit: String,
    },
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
    /// Index of the recommended change in `entries`: the first, if any.
    pub recommended: Option<usize>,
    /// Reason for the recommendation, or for none.
    pub reason: Reason,
    /// Index of a change with less effort that holds in all networks, as a first step.
    pub at_once: Option<usize>,
    /// Ratios that could count as equal instead of 1.25, and the recommendation then, where it is another one.
    pub sensitive: Vec<(f64, Option<String>)>,
    /// Names of the networks of [`Robust::tried`](crate::robustness::Robust::tried): that of the file, then its variations.
    pub variations: Vec<String>,
    /// Assumptions that were not varied, with the reason.
    pub fixed: Vec<(String, String)>,
    /// Changes that were not simulated, with the reason.
    pub dropped: Vec<(String, String)>,
    /// Stack of the first transport.
    pub stack: String,
    /// Reason why the runs are too short to decide, if they are.
    pub too_short: Option<TooShort>,
    /// Folder of the results.
    pub dir: PathBuf,
    /// Number of the class to improve.
    pub own: usize,
    /// Number of runs, and of stored runs among them.
    pub runs: (usize, usize),
    /// Number of runs that ended when the ratio of a change to the present network was known.
    pub ended_early: usize,
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
        references: References::default(),
        durations_ns: BTreeMap::new(),
        ended_early: BTreeSet::new(),
        dropped: Vec::new(),
    };
    let few = FEW_SEEDS.min(request.seeds);
    let scenario = trial.scenario(None, None).map_err(AdviseError::Usage)?;
    let first = trial.submit(&scenario, 1)?;
    trial.present(&first, true, "present network")?;
    let peers = trial.peers(&first)?;
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
    let (goal, now) = (objective.goal, trial.submit(&scenario, few)?);
    let tried = trial.submit_all(&singles, 1, &first)?;
    let mut evaluated = trial.evaluate(tried, &first, "single changes")?;
    let present = trial.present(&now, true, "present network")?;
    let short = too_short(&variant.echo).filter(|_| ClassNumbers::pool(&present, own).is_cut());
    let tried = trial.submit_all(&contenders(&evaluated, goal), few, &now)?;
    let again = trial.evaluate(tried, &now, "the best of each kind")?;
    let mut best = leaders(&again, goal);
    best.truncate(CANDIDATES);
    evaluated.retain(|(_, e)| again.iter().all(|(_, a)| a.name != e.name));
    evaluated.extend(again);

    let mut field = Field::new(&mut trial, own, short.is_some(), variations.list);
    field.add(best);
    field.race(PAIRED_AFTER.min(field.len()))?;
    let pairs: Vec<Plan> = complements(&field.changes, PAIRED_AFTER, goal).into_iter().take(PAIRS).collect();
    let tried = field.trial.submit_all(&pairs, few, &now)?;
    let together = field.trial.evaluate(tried, &now, "pairs of the best changes")?;
    evaluated.extend(together.iter().cloned());
    field.add(together);
    let mut left = field.confirm(few)?;
    field.settle(request.seeds)?;
    let names = field.names();
    let Field { today: now, changes: kept, .. } = field;

    let (today, mut entries) = finals(&mut trial, own, now, kept)?;
    // Neither the present network nor the change that would be recommended may rest on times that the end of the runs cut off. If the present
    // network's times are cut off, a change that is better is better all the more.
    let chosen =
        decide(&objective, (own, MATERIAL, short.is_some()), &today, &entries).0.and_then(|i| entries[i].robust.as_ref());
    let open = today.robust.as_ref().into_iter().chain(chosen).any(Robust::is_open);
    let limit = objective.limit.as_ref().filter(|_| open).map(|(_, limit)| TooShort::Limit { limit: limit.clone() });
    let at_least = chosen.or(today.robust.as_ref()).is_some_and(Robust::is_at_least);
    let timeout = too_short(&variant.echo).filter(|_| at_least);
    let short = short.or(limit).or(timeout);
    let (recommended, reason) = decide(&objective, (own, MATERIAL, short.is_some()), &today, &entries);
    let other = |equal: f64| {
        let (choice, _) = decide(&objective, (own, equal, short.is_some()), &today, &entries);
        (choice != recommended).then(|| (equal, choice.map(|i| entries[i].name.clone())))
    };
    let sensitive: Vec<(f64, Option<String>)> = SENSITIVITY.into_iter().filter_map(other).collect();
    let name = recommended.map(|i| entries[i].name.clone());
    let quick = recommended.and_then(|i| at_once(goal, own, &today, &entries, i)).map(|i| entries[i].name.clone());
    let regret = |e: &Entry| e.robust.as_ref().map_or(f64::INFINITY, |r| r.regret);
    entries.sort_by(|a, b| {
        let key = |e: &Entry| {
            (Some(&e.name) != name.as_ref(), e.assessment, e.robust.as_ref().is_some_and(|r| r.objection().is_some()))
        };
        key(a).cmp(&key(b)).then(regret(a).total_cmp(&regret(b))).then(a.name.cmp(&b.name))
    });
    left.sort_by(|a, b| regret(a).total_cmp(&regret(b)).then(a.name.cmp(&b.name)));
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
        at_once: quick.and_then(|n| entries.iter().position(|e| e.name == n)),
        sensitive,
        variations: names,
        fixed: variations.fixed,
        objective,
        today,
        entries,
        dropped: trial.dropped,
        stack: stack(&variant.echo["transport"]),
        too_short: short,
        dir,
        own,
        runs: (counts.total, counts.found),
        ended_early: trial.ended_early.len(),
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

/// Duration and minimum RTO of a scenario whose runs are not longer than the minimum RTO: a message that waits for it ends with the run.
fn too_short(echo: &serde_json::Value) -> Option<TooShort> {
    let transport = &echo["transport"];
    let least = transport["rto-min"].as_str().or(transport["group"][0]["rto-min"].as_str())?;
    let duration = echo["duration"].as_str()?;
    let time = |text: &str| text.parse::<Time>().ok();
    (time(duration)? <= time(least)?).then(|| TooShort::Timeout { duration: duration.to_owned(), least: least.to_owned() })
}

/// Stack of the first transport.
fn stack(transport: &serde_json::Value) -> String {
    let of = |t: &serde_json::Value| t["stack"].as_str().map(str::to_owned);
    of(transport).or_else(|| of(&transport["group"][0])).unwrap_or_default()
}

/// The present network and the best changes in the network of the file with all seeds, and with more where only the interval is in the way.
fn finals(trial: &mut Trial, own: usize, now: Robust, kept: Vec<(Plan, Entry)>) -> Result<(Entry, Vec<Entry>), AdviseError> {
    let goal = trial.objective.goal;
    let mut seeds = trial.request.seeds;
    loop {
        let scenario = trial.scenario(None, None).map_err(AdviseError::Usage)?;
        let ticket = trial.submit(&scenario, seeds)?;
        let plans: Vec<Plan> = kept.iter().map(|(p, _)| p.clone()).collect();
        let before = trial.present(&ticket, true, "present network, all seeds")?;
        let tried = trial.submit_all(&plans, seeds, &ticket)?;
        let best = trial.evaluate(tried, &ticket, "the best with all seeds")?;
        let about = About { name: "as it is".into(), ..About::default() };
        let mut today = compare(&trial.objective, &trial.classes, &Compared::new(before.clone(), before), about);
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
