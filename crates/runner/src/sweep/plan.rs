//! Plan of a sweep: every unit with its key, derived from a scenario alone.

use super::error::SweepError;
use super::key;
use super::points::{Checked, Names, Points, check};
use crate::stopping::Compared;
use forebay_experiment::stopping::reference_run::{OwnFigure, Reference};
use forebay_scenario::{Errors, FileRead, Scenario, Sweep};
use forebay_store::unit::{KeyHasher, UnitKey};
use std::collections::HashMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

/// Points per checked portion. Errors are reported of one portion.
const PORTION: usize = 512;
/// Points whose errors are reported.
const MAX_WRONG: usize = 3;
/// Most units of a sweep. Our choice: their results fit in memory.
const MAX_UNITS: usize = 10_000_000;
/// Maximum number of notes.
const MAX_NOTES: usize = 20;

/// Source of plan ids.
static PLANS: AtomicU64 = AtomicU64::new(0);

/// Every unit of a sweep. All its points have been checked.
#[derive(Debug)]
pub struct Plan {
    /// Name of the scenario; valid as a folder name.
    pub(crate) name: String,
    /// The sweep.
    pub(crate) sweep: Sweep,
    /// The seeds of every variant of every point. A backend without randomness uses the first only.
    pub(crate) seeds: Vec<u64>,
    /// The units in order: by point, then variant, then seed.
    pub(crate) units: Vec<Unit>,
    /// Notes on the reading of the points, each once.
    pub(crate) notes: Vec<String>,
    /// The backends that the points run on, each once.
    pub(crate) worlds: Vec<&'static str>,
    /// The TCP stacks of the transports of all points, each once.
    pub(crate) stacks: Vec<String>,
    /// True if the variants of a seed end together, at some point.
    pub(crate) together: bool,
    /// Rules by repetition, if the units are compared with others of their seed; otherwise empty.
    pub(crate) compared: Vec<Compared>,
    names: Vec<Names>,
    files: HashMap<PathBuf, FileState>,
    /// Unique in the process.
    id: u64,
}

/// One variant of one point with one seed.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// Key of its result.
    pub(crate) key: UnitKey,
    /// Number of the point.
    pub(crate) point: u32,
    /// Number of the variant within the point.
    pub(crate) variant: u32,
    /// Number of the repetition.
    pub(crate) run: u32,
    /// Its seed.
    pub(crate) seed: u64,
    /// An earlier unit with the same key, if any: the same configuration in another notation. It runs once.
    pub(crate) same_as: Option<u32>,
    names: u32,
}

/// A file as it was when its contents were hashed.
#[derive(Debug, Clone, PartialEq)]
struct FileState {
    contents: UnitKey,
    stamp: (u64, Option<SystemTime>),
}

impl Unit {
    /// Key of its result.
    pub fn key(&self) -> &UnitKey {
        &self.key
    }

    /// Number of the point.
    pub fn point(&self) -> u32 {
        self.point
    }

    /// Number of the variant within the point.
    pub fn variant(&self) -> u32 {
        self.variant
    }

    /// Number of the repetition, from 0.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// An earlier unit with the same key, if any.
    pub fn same_as(&self) -> Option<u32> {
        self.same_as
    }
}

impl Plan {
    /// Name of the sweep.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Axes of the sweep.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// The seeds of the runs of a variant.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// Notes on the reading of the file.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The backends that the points run on, each once.
    pub fn worlds(&self) -> &[&'static str] {
        &self.worlds
    }

    /// The TCP stacks of the transports of all points, each once.
    pub fn stacks(&self) -> &[String] {
        &self.stacks
    }

    /// All units, point by point.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Checks every point on `threads` threads. `progress` receives the number of checked points.
    ///
    /// # Errors
    /// The errors of the first invalid points, each once; files that cannot be read; a stop request.
    pub fn new(
        scenario: &Scenario,
        sweep: Sweep,
        threads: usize,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Plan, SweepError> {
        let all = Points::All(sweep.len());
        Plan::of(scenario, sweep, all, threads, stop, progress)
    }

    /// Plan of some points only, by their numbers, for a process that runs units for another. The first point is always included, because it
    /// determines the seeds.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn of_points(scenario: &Scenario, sweep: Sweep, points: &[u32], stop: &AtomicBool) -> Result<Plan, SweepError> {
        let mut these: Vec<u32> = points.iter().copied().filter(|p| *p > 0).collect();
        these.sort_unstable();
        these.dedup();
        these.insert(0, 0);
        Plan::of(scenario, sweep, Points::These(&these), 1, stop, &mut |_| {})
    }

    /// Plan of a scenario without a sweep, with these seeds, keeping these tables of each run.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn once(
        scenario: &Scenario,
        seeds: RangeInclusive<u64>,
        keep: Vec<String>,
        stop: &AtomicBool,
    ) -> Result<Plan, SweepError> {
        Plan::new(scenario, Sweep::once(seeds.collect(), keep), 1, stop, &mut |_| {})
    }

    /// The same plan, whose units end when their ratios to finished runs are known: one for each seed, with its key.
    pub(super) fn against(mut self, references: Vec<(UnitKey, Arc<Reference>)>) -> Plan {
        for unit in &mut self.units {
            if let Some((key, reference)) = references.get(unit.run as usize) {
                unit.key = key::against(&unit.key, key, &reference.rule());
            }
        }
        self.compared = references.into_iter().map(|r| Compared::Against(r.1)).collect();
        self
    }

    /// The same plan, whose units end when their own figure is known.
    pub(super) fn until_known(mut self, figure: &Arc<OwnFigure>) -> Plan {
        for unit in &mut self.units {
            unit.key = key::until_known(&unit.key, &figure.rule());
        }
        let runs = self.units.iter().map(|u| u.run as usize + 1).max().unwrap_or(0);
        self.compared = vec![Compared::Own(figure.clone()); runs];
        self
    }

    fn of(
        scenario: &Scenario,
        sweep: Sweep,
        points: Points<'_>,
        threads: usize,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Plan, SweepError> {
        let mut plan = Plan {
            name: String::new(),
            sweep,
            seeds: Vec::new(),
            units: Vec::new(),
            notes: Vec::new(),
            worlds: Vec::new(),
            stacks: Vec::new(),
            together: false,
            compared: Vec::new(),
            names: Vec::new(),
            files: HashMap::new(),
            id: PLANS.fetch_add(1, Relaxed),
        };
        // Used for lookups only, never iterated.
        let (mut names, mut first) = (HashMap::new(), HashMap::new());
        for start in (0..points.len()).step_by(PORTION) {
            let portion = start..(start + PORTION).min(points.len());
            let checked = check(scenario, &plan.sweep, &points, portion.clone(), threads, stop);
            if stop.load(Relaxed) {
                return Err(SweepError::Interrupted { done: 0, total: 0 });
            }
            let mut good = Vec::with_capacity(checked.len());
            let mut wrong: Vec<Errors> = Vec::new();
            for c in checked {
                match c {
                    Ok(c) => good.push(c),
                    Err(e) => wrong.push(e),
                }
            }
            if !wrong.is_empty() {
                return Err(Errors::merged(wrong.into_iter().take(MAX_WRONG)).into());
            }
            for (i, c) in portion.clone().zip(good) {
                plan.add(points.get(i), c, &mut names, &mut first)?;
            }
            progress(portion.end);
        }
        Ok(plan)
    }

    fn add(
        &mut self,
        point: usize,
        c: Checked,
        names: &mut HashMap<Names, u32>,
        first: &mut HashMap<UnitKey, u32>,
    ) -> Result<(), SweepError> {
        if point == 0 {
            self.name = c.name;
            self.seeds = self.sweep.seeds(c.seed, c.runs);
        }
        if !self.worlds.contains(&c.world) {
            self.worlds.push(c.world);
        }
        self.together |= c.together;
        for stack in c.stacks {
            if !self.stacks.contains(&stack) {
                self.stacks.push(stack);
            }
        }
        for note in c.notes {
            if self.notes.len() < MAX_NOTES && !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        for (variant, (name, mut h)) in (0..).zip(c.variants) {
            for file in &c.files {
                key::add_file(&mut h, &file.name, &self.contents(&file.path)?);
            }
            let known = self.names.len() as u32;
            let name = *names.entry(name.clone()).or_insert_with(|| {
                self.names.push(name);
                known
            });
            let seeds = if c.uses_seeds { &self.seeds[..] } else { &self.seeds[..1] };
            for (run, &seed) in (0..).zip(seeds) {
                let (key, index) = (key::with_seed(&h, seed), self.units.len() as u32);
                let before = *first.entry(key).or_insert(index);
                let same_as = (before < index).then_some(before);
                self.units.push(Unit { key, point: point as u32, variant, run, seed, same_as, names: name });
            }
        }
        if self.units.len() > MAX_UNITS {
            let text = format!("more than {MAX_UNITS} runs (points x transports x seeds): divide the sweep");
            return Err(SweepError::File(PathBuf::from(&self.name), text));
        }
        Ok(())
    }

    /// Hash of a file, which is read once.
    fn contents(&mut self, path: &Path) -> Result<UnitKey, SweepError> {
        if let Some(known) = self.files.get(path) {
            return Ok(known.contents);
        }
        let fail = |e: std::io::Error| SweepError::File(path.to_owned(), e.to_string());
        let stamp = stamp(path).map_err(fail)?;
        let contents = KeyHasher::of(&fs::read(path).map_err(fail)?);
        self.files.insert(path.to_owned(), FileState { contents, stamp });
        Ok(contents)
    }

    /// Verifies that the files of a point are unchanged since their contents were hashed.
    ///
    /// # Errors
    /// The first changed file.
    pub(super) fn unchanged(&self, files: &[FileRead]) -> Result<(), SweepError> {
        for file in files {
            let known = self.files.get(&file.path).map(|f| &f.stamp);
            if known.is_none() || known != stamp(&file.path).ok().as_ref() {
                let text = "the file changed while the sweep ran; run the sweep again".to_owned();
                return Err(SweepError::File(file.path.clone(), text));
            }
        }
        Ok(())
    }

    /// The units of a unit's point and repetition, by variant. They end together if the scenario has several variants and `[stop]`.
    pub(super) fn siblings(&self, unit: &Unit) -> Vec<&Unit> {
        let first = self.units.partition_point(|u| u.point < unit.point);
        let of_point = self.units[first..].iter().take_while(|u| u.point == unit.point);
        of_point.filter(|u| u.run == unit.run).collect()
    }

    /// Unique id of the plan in the process.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Names of a unit's variant and groups.
    pub fn names(&self, unit: &Unit) -> &Names {
        &self.names[unit.names as usize]
    }

    /// Label of a unit: its point, variant and seed.
    pub fn label(&self, unit: &Unit) -> String {
        let point = self.sweep.point(unit.point as usize).map_or(String::new(), |p| p.label);
        format!("point {} ({point}), {}, seed {}", unit.point, self.names(unit).variant, unit.seed)
    }

    /// Indices of the units that do not repeat an earlier one.
    pub fn distinct(&self) -> Vec<u32> {
        (0..).zip(&self.units).filter(|(_, u)| u.same_as.is_none()).map(|(i, _)| i).collect()
    }
}

/// Modification time and length of a file.
fn stamp(path: &Path) -> std::io::Result<(u64, Option<SystemTime>)> {
    let meta = fs::metadata(path)?;
    Ok((meta.len(), meta.modified().ok()))
}
