//! Repetition of a run from its results. A run is determined by scenario and seed, and observation does not change it: repeating it with more data
//! observed gives the same trajectory, which its fingerprint proves.

use crate::job::Job;
use crate::simulate::{Simulated, simulate};
use forebay_experiment::Experiment;
use forebay_experiment::report::RunError;
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_scenario::{Errors, Scenario};
use forebay_store::{Manifest, RunDir, RunRecord, StoreError};
use forebay_types::Time;
use std::ops::ControlFlow;
use std::path::Path;

/// Error of an explanation or a trace.
#[derive(Debug)]
pub enum ExplainError {
    /// The results cannot be read.
    Store(StoreError),
    /// The scenario is no longer valid.
    Scenario(Errors),
    /// The scenario no longer runs.
    Run(RunError),
    /// The message does not exist, or the run has changed.
    Other(String),
}

impl From<StoreError> for ExplainError {
    fn from(e: StoreError) -> ExplainError {
        ExplainError::Store(e)
    }
}

/// The recorded run number `run` of `variant`, by default of the first one, and the name of the variant.
///
/// # Errors
/// A variant or a run that the results do not have.
pub fn recorded<'m>(manifest: &'m Manifest, variant: Option<&String>, run: u32) -> Result<(String, &'m RunRecord), ExplainError> {
    let variant = match variant {
        Some(v) => v.clone(),
        None => manifest.runs.first().map(|r| r.variant.clone()).unwrap_or_default(),
    };
    match manifest.runs.iter().find(|r| r.variant == variant && r.run == run) {
        Some(record) => Ok((variant, record)),
        None => {
            let mut names: Vec<&str> = manifest.runs.iter().map(|r| r.variant.as_str()).collect();
            names.dedup();
            let text = format!("there is no run {run} of `{variant}`; variants: {}", names.join(", "));
            Err(ExplainError::Other(text))
        }
    }
}

/// Backend and experiment of a variant, as it was run.
pub(crate) fn configured(
    worlds: &'static Worlds,
    manifest: &Manifest,
    (variant, record): (&str, &RunRecord),
) -> Result<(&'static dyn World, Experiment), ExplainError> {
    let s = &manifest.scenario;
    let file = Path::new(&s.file);
    let base = file.parent().unwrap_or(Path::new(""));
    let name = file.file_name().map_or_else(|| "scenario".to_owned(), |n| n.to_string_lossy().into_owned());
    let scenario = Scenario::from_text(worlds, &s.text, &name, base, &s.overrides, None);
    let resolved = scenario.and_then(|s| s.resolve()).map_err(ExplainError::Scenario)?;
    let Some(v) = resolved.variants.into_iter().find(|v| v.label == variant) else {
        return Err(ExplainError::Other(format!("the scenario has no variant `{variant}`")));
    };
    let mut config = v.config;
    if let Some(ps) = record.stopped_ps {
        config.duration = Some(Time(ps));
    }
    Ok((resolved.world, config))
}

/// Name of the variant and experiment of a recorded run, with its seed: of `variant`, by default the first one, and its run number `run`.
///
/// # Errors
/// A variant or a run that the results do not have, and a scenario that is no longer valid.
pub fn recorded_experiment(
    worlds: &'static Worlds,
    dir: &RunDir,
    variant: Option<&String>,
    run: u32,
) -> Result<(String, Experiment), ExplainError> {
    let (variant, record) = recorded(dir.manifest(), variant, run)?;
    let (_, mut config) = configured(worlds, dir.manifest(), (&variant, record))?;
    config.set_seed(record.seed);
    Ok((variant, config))
}

/// Repeats a recorded run with `config`, which has its seed, and checks its fingerprint.
pub(crate) fn repeat(
    world: &dyn World,
    config: &Experiment,
    manifest: &Manifest,
    (variant, record): (&str, &RunRecord),
) -> Result<Simulated, ExplainError> {
    let job = Job::new(0, record.run, record.seed);
    let again =
        simulate(world, variant, record.run, config, &job, None, &|| ControlFlow::Continue(())).map_err(ExplainError::Run)?;
    let fingerprint = format!("{:016x}", again.report.fingerprint);
    if fingerprint != record.fingerprint {
        let text = format!(
            "the repeated run differs (fingerprint {fingerprint} instead of {}): one of its files has changed, or another version, forebay {}, wrote the results",
            record.fingerprint, manifest.forebay
        );
        return Err(ExplainError::Other(text));
    }
    Ok(again)
}
