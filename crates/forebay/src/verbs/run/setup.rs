//! Steps before the first run: the scenario, progress, the time limit; warnings about results.

use super::Args;
use crate::interrupt;
use crate::mpi_run;
use crate::report::Written;
use crate::terminal::failure::Failure;
use crate::terminal::output::warn;
use crate::terminal::progress::{ProgressFormat, as_event, event};
use forebay_scenario::Scenario;
use forebay_store::{StoreError, Target};
use serde_json::json;
use std::io::IsTerminal;
use std::process;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The scenario with all that the command line changes in it, and its overrides.
pub(super) fn scenario(args: &Args) -> Result<(Scenario, Vec<String>), Failure> {
    let stop = [("within", &args.within), ("budget", &args.budget)];
    let stop = stop.iter().filter_map(|(key, value)| Some(format!("stop.{key}={}", value.as_ref()?)));
    let more: Vec<String> = stop.chain(capture(&args.capture)).collect();
    let (mut scenario, overrides) = args.input.load(&more)?;
    args.sweep.iter().try_for_each(|text| scenario.add_axis(text))?;
    Ok((scenario, overrides))
}

/// The override for `--capture`.
fn capture(names: &[String]) -> Option<String> {
    match names {
        [] => None,
        [set] if ["all", "hosts", "switches"].contains(&set.as_str()) => Some(format!("observe.capture={}", json!(set))),
        names => Some(format!("observe.capture={}", json!(names))),
    }
}

/// Does `work` with the requested kind of progress, and reports its failure in that form.
pub(super) fn with_progress(args: &Args, work: impl FnOnce(ProgressFormat) -> Result<(), Failure>) -> Result<(), Failure> {
    let kind = args.progress.unwrap_or_else(|| match (args.quiet, std::io::stderr().is_terminal()) {
        (true, _) => ProgressFormat::None,
        (false, true) => ProgressFormat::Bar,
        (false, false) => ProgressFormat::Lines,
    });
    work(kind).map_err(|failure| as_event(kind, failure))
}

/// Until it is dropped, ends the process when --max-time is over before the first run has begun. The steps before the runs do not check the time, and
/// there are no results to keep.
pub(super) struct SetupGuard {
    /// Dropping it ends the waiting thread.
    _begun: Option<mpsc::Sender<()>>,
}

impl SetupGuard {
    /// For a command that began at `began`.
    pub(super) fn new(max_time: Option<Duration>, began: Instant, kind: ProgressFormat) -> SetupGuard {
        let Some(max) = max_time else { return SetupGuard { _begun: None } };
        let (sender, receiver) = mpsc::channel::<()>();
        let wait = move || {
            if receiver.recv_timeout(max.saturating_sub(began.elapsed())) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            interrupt::end();
            let seconds = max.as_secs_f64();
            let text = format!("ended after {seconds:.1} s by --max-time, before the first run had begun; there are no results");
            let failure = as_event(kind, Failure::Machine(text));
            failure.report();
            mpi_run::abort(&failure);
            process::exit(1);
        };
        // If no thread can be created, --max-time ends the first run after it has begun.
        let _ = thread::Builder::new().spawn(wait);
        SetupGuard { _begun: Some(sender) }
    }
}

/// Warns about complete results for `target` under a temporary name, left by a process that was killed before it renamed them.
pub(super) fn warn_of_unnamed(target: &Target, kind: ProgressFormat) {
    for path in target.unnamed_results() {
        let path = path.display();
        let text = format!(
            "`{path}` holds complete results of a run that was killed before it renamed them; rename it to keep them (`mv {path} NAME`), or \
             remove it"
        );
        if kind == ProgressFormat::Json {
            event(&json!({"event": "warning", "text": text}));
        } else {
            warn(&text);
        }
    }
}

/// The report, or a warning with the reason why there is none.
pub(super) fn report_or_warning(report: Result<Written, StoreError>, kind: ProgressFormat) -> Option<Written> {
    match report {
        Ok(written) => Some(written),
        Err(e) => {
            let text = format!("no report was written: {e}");
            if kind == ProgressFormat::Json {
                event(&json!({"event": "warning", "text": text}));
            } else {
                warn(&text);
            }
            None
        }
    }
}
