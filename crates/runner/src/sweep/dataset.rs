//! A sweep in a directory: start, continuation, completion, reading.

use super::axes;
use super::error::SweepError;
use super::find::Done;
use super::plan::Plan;
use super::run::{Records, Status, Watcher, run_units};
use forebay_scenario::Scenario;
use forebay_store::sweep::{PointRecord, SweepDir, SweepManifest, SweepRow, SweepScenario, SweepTable};
use forebay_store::unit::UnitRecord;
use forebay_store::{Format, Host, RecordBatch, StoreError, combined_fingerprint, utc};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime};

/// Sweep to run and its target.
#[derive(Debug)]
pub struct Request<'a> {
    /// The scenario, with its sweep.
    pub scenario: &'a Scenario,
    /// Origin of the scenario, for the manifest.
    pub source: SweepScenario,
    /// The directory; `None`: `out/NAME-sweep`. Existing results are reused.
    pub dir: Option<PathBuf>,
    /// Number of parallel runs, at least one.
    pub threads: usize,
    /// Write `summary.csv` beside `summary.parquet`.
    pub csv: bool,
}

/// A finished sweep, or a truncated one, which its manifest records.
#[derive(Debug)]
pub struct Finished {
    /// Scenario of the sweep.
    pub plan: Plan,
    /// Metrics of its units.
    pub records: Records,
    /// Its directory.
    pub dir: SweepDir,
    /// Its manifest.
    pub manifest: SweepManifest,
}

/// Runs a sweep, or its missing units. `None` for a scenario without a sweep. When a limit of the watcher ends it, tables of the finished units are
/// written and marked as partial; the same call continues from there.
///
/// # Errors
/// See [`SweepError`]. Finished units are kept, and the same call continues from there.
pub fn execute(request: Request<'_>, stop: &AtomicBool, watcher: &mut dyn Watcher) -> Result<Option<Finished>, SweepError> {
    let (scenario, threads, csv) = (request.scenario, request.threads.max(1), request.csv);
    let clock = Instant::now();
    let Some(PreparedSweep { plan, dir, mut manifest }) = begin(request, stop, watcher)? else { return Ok(None) };
    watcher.begins(&plan);
    let mut counter = Counter { inner: watcher, found: 0 };
    let records = run_units(scenario, &plan, &plan.distinct(), &dir.units(), threads, stop, &mut counter)?;
    if let Err(stopped) = records.complete() {
        manifest.partial = counter.limit().and_then(|limit| partial(&stopped, &limit)).ok_or(stopped)?;
    }
    manifest.found = counter.found;
    let all = || (0..plan.units.len()).filter_map(|i| records.get(&plan, i));
    if manifest.partial.is_empty() {
        manifest.fingerprint = format!("{:016x}", combined_fingerprint(&all().map(|r| r.fingerprint).collect::<Vec<_>>()));
    }
    manifest.packet_hops = all().map(|r| r.packet_hops).sum();
    let formats: &[Format] = if csv { &[Format::Parquet, Format::Csv] } else { &[Format::Parquet] };
    for format in formats {
        manifest.tables.push(table(&plan, &records, |t, rows| t.write(dir.path(), *format, rows))?);
    }
    manifest.wall_s = clock.elapsed().as_secs_f64();
    manifest.finished = manifest.partial.is_empty().then(|| utc(SystemTime::now()));
    dir.set_manifest(&manifest)?;
    Ok(Some(Finished { plan, records, dir, manifest }))
}

/// Note on results that a limit truncated; `None` without a limit.
fn partial(stopped: &SweepError, limit: &str) -> Option<String> {
    let SweepError::Interrupted { done: done @ 1.., total } = stopped else { return None };
    Some(format!("partial results: {limit}; {done} of {total} runs are done, run the same command to continue"))
}

/// A sweep with checked points, and its directory with a manifest of the expected results.
#[derive(Debug)]
pub struct PreparedSweep {
    /// Units to run.
    pub plan: Plan,
    /// Its directory.
    pub dir: SweepDir,
    /// Request of the sweep.
    pub manifest: SweepManifest,
}

/// Checks the points of a sweep and creates its directory. `None` for a scenario without a sweep.
///
/// # Errors
/// See [`SweepError`].
pub fn begin(request: Request<'_>, stop: &AtomicBool, watcher: &mut dyn Watcher) -> Result<Option<PreparedSweep>, SweepError> {
    begin_if(request, stop, watcher, |_, _| Ok(()))
}

/// As [`begin`], if `check` accepts the directory and its manifest before anything is written.
pub(super) fn begin_if(
    request: Request<'_>,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
    check: impl FnOnce(&Path, &SweepManifest) -> Result<(), SweepError>,
) -> Result<Option<PreparedSweep>, SweepError> {
    let Some(sweep) = request.scenario.sweep()? else { return Ok(None) };
    let (threads, points) = (request.threads.max(1), sweep.len());
    let plan = Plan::new(request.scenario, sweep, threads, stop, &mut |n| watcher.checked(n, points))?;
    let path = request.dir.unwrap_or_else(|| default_dir(&plan.name));
    let manifest = manifest(&plan, request.source, threads);
    check(&path, &manifest)?;
    let dir = SweepDir::create(&path)?;
    // Results of an equal sweep stay published until the new ones, which are the same, replace them.
    let before = dir.manifest().ok();
    if !before.is_some_and(|b| b.finished.is_some() && same(&b, &manifest)) {
        dir.set_manifest(&manifest)?;
    }
    Ok(Some(PreparedSweep { plan, dir, manifest }))
}

/// A finished sweep: its manifest with the axes, and its summary, in the order of the points.
///
/// # Errors
/// A path that is not such a directory, an incomplete sweep, damaged files.
pub fn read(dir: &Path) -> Result<(SweepManifest, Vec<RecordBatch>), StoreError> {
    let dir = SweepDir::open(dir)?;
    Ok((dir.manifest()?, dir.table()?))
}

/// The default directory of a sweep. It has no number, so that the same sweep finds its earlier results.
pub fn default_dir(name: &str) -> PathBuf {
    Path::new("out").join(format!("{}-sweep", forebay_store::file_name(name)))
}

fn manifest(plan: &Plan, scenario: SweepScenario, threads: usize) -> SweepManifest {
    let mut points: Vec<PointRecord> = plan.sweep.points().map(|p| PointRecord { label: p.label, units: Vec::new() }).collect();
    for unit in &plan.units {
        points[unit.point as usize].units.push(unit.key.to_string());
    }
    SweepManifest {
        kind: SweepManifest::KIND.into(),
        manifest_version: SweepManifest::VERSION,
        forebay: env!("CARGO_PKG_VERSION").into(),
        name: plan.name.clone(),
        worlds: plan.worlds.iter().map(|&w| w.to_owned()).collect(),
        stacks: plan.stacks.clone(),
        started: utc(SystemTime::now()),
        scenario,
        axes: axes::records(&plan.sweep),
        seeds: plan.seeds.clone(),
        keep: plan.sweep.keep().to_vec(),
        notes: plan.notes.clone(),
        points,
        host: Host::here(),
        threads,
        built: forebay_store::built().into(),
        ..SweepManifest::default()
    }
}

/// True if two sweeps have the same results.
pub(super) fn same(a: &SweepManifest, b: &SweepManifest) -> bool {
    (&a.axes, &a.points, &a.seeds, &a.keep, &a.name) == (&b.axes, &b.points, &b.seeds, &b.keep, &b.name)
}

/// The table of all units in the order of the plan.
fn table<T>(plan: &Plan, records: &Records, write: impl FnOnce(&SweepTable, &mut dyn Iterator<Item = SweepRow<'_>>) -> T) -> T {
    let columns = axes::columns(&plan.sweep);
    let keys: Vec<Vec<Option<usize>>> = plan.sweep.points().map(|p| axes::picks(&columns, &p)).collect();
    let out = SweepTable::new(columns.into_iter().map(|c| c.1).collect());
    let mut rows = plan.units.iter().enumerate().filter_map(|(i, unit)| {
        let names = plan.names(unit);
        Some(SweepRow {
            point: unit.point as usize,
            keys: &keys[unit.point as usize],
            unit: unit.key,
            variant: &names.variant,
            run: unit.run,
            groups: &names.groups,
            record: records.get(plan, i)?,
        })
    });
    write(&out, &mut rows)
}

/// Counts cached units.
struct Counter<'a> {
    inner: &'a mut dyn Watcher,
    found: u64,
}

impl Watcher for Counter<'_> {
    fn checked(&mut self, points: usize, of: usize) {
        self.inner.checked(points, of);
    }

    fn begins(&mut self, plan: &Plan) {
        self.inner.begins(plan);
    }

    fn tick(&mut self, status: &Status) {
        self.inner.tick(status);
    }

    fn done(&mut self, plan: &Plan, unit: usize, record: &UnitRecord, how: Done) {
        self.found += u64::from(how == Done::Found);
        self.inner.done(plan, unit, record, how);
    }

    fn limit(&self) -> Option<String> {
        self.inner.limit()
    }
}
