//! `forebay run` on several processes that `mpirun` started together. Each run is divided among all of them, one run after the other. The first
//! process does everything else; the others print nothing but their own errors.

use crate::interrupt;
use crate::limits::Limits;
use crate::terminal::failure::Failure;
use forebay_experiment::Experiment;
use forebay_experiment::check::CheckedExperiment;
use forebay_experiment::report::{EarlyEnd, Progress, Report, RunError};
use forebay_experiment::world::{Unsupported, World};
use forebay_runner::Jobs as _;
use forebay_runner::sweep::key;
use forebay_scenario::Resolved;
use forebay_sim::exchange::Exchange;
use forebay_sim::run::{Cores, run_among};
use forebay_store::unit::{KeyHasher, UnitKey};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use std::{fmt, fs, panic};

/// The processes, if `mpirun` started several.
static PROCESSES: OnceLock<Arc<dyn Exchange>> = OnceLock::new();
/// All processes are ready to run, and the others wait for the first one.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Registers this process as one of those: to be called before anything else. A single process needs no registration.
pub(crate) fn join(exchange: Arc<dyn Exchange>) {
    if exchange.ranks() > 1 {
        let _ = PROCESSES.set(exchange);
    }
}

/// The processes, if there are several.
pub(crate) fn processes() -> Option<&'static Arc<dyn Exchange>> {
    PROCESSES.get()
}

/// True for all processes but the first.
pub(crate) fn is_follower() -> bool {
    processes().is_some_and(|p| p.rank() > 0)
}

/// The failure of commands that do not run on several processes.
pub(crate) fn single_process_only() -> Failure {
    Failure::Usage("mpirun divides the runs of `forebay run` among its processes; start other commands without it".into())
}

/// Sends a byte string to all other processes, and returns theirs, by number.
fn exchange_all(exchange: &dyn Exchange, what: &[u8]) -> Vec<Vec<u8>> {
    let mut out = vec![what.to_vec(); exchange.ranks()];
    let mut messages = vec![Vec::new(); exchange.ranks()];
    exchange.swap(&mut out, &mut messages);
    messages[exchange.rank()] = what.to_vec();
    messages
}

/// Before the runs: continues if all processes are ready with the same `digest`. If one is not, it prints the reason, and all end.
pub(crate) fn agree<T>(ready: Result<T, Failure>, digest: impl FnOnce(&T) -> UnitKey) -> Result<T, Failure> {
    let Some(exchange) = processes() else { return ready };
    let own = ready.as_ref().map(digest);
    let own = match own {
        Ok(digest) => digest.to_string().into_bytes(),
        Err(failure) => vec![failure.number()],
    };
    let messages = exchange_all(&**exchange, &own);
    if let Some(failed) = messages.iter().position(|own| own.len() == 1) {
        let code = messages[failed][0];
        return Err(ready.err().filter(|_| failed == exchange.rank()).unwrap_or(Failure::Reported(code)));
    }
    if let Some(other) = messages.iter().position(|own| *own != messages[0]) {
        let text = format!(
            "process {other} differs from process 0 in the scenario, in files that it names, or in the program; all need the same"
        );
        return Err(if is_follower() { Failure::Reported(2) } else { Failure::Usage(text) });
    }
    RUNNING.store(true, Relaxed);
    ready
}

/// Sends a refusal to the other processes, at the point where they would agree to run. Returns the failure to report, if it is this process that
/// reports it.
pub(crate) fn refuse(failure: Failure) -> Failure {
    match agree(Err::<(), _>(failure), |()| KeyHasher::of(&[])) {
        Err(failure) => failure,
        Ok(()) => Failure::Reported(2),
    }
}

/// A hash of all inputs of the runs: the program, the scenario with its defaults, and the files that it names.
pub(crate) fn digest(resolved: &Resolved) -> UnitKey {
    let mut hash = KeyHasher::default();
    hash.part("program", key::VERSION.as_bytes());
    hash.part("runs", format!("{} {}", resolved.seed, resolved.repetitions()).as_bytes());
    for variant in &resolved.variants {
        hash.part("variant", variant.label.as_bytes());
        key::add_variant(&mut hash, resolved.world.name(), &variant.echo);
    }
    for file in &resolved.files {
        // A file that cannot be read was reported when the scenario was resolved.
        key::add_file(&mut hash, &file.name, &KeyHasher::of(&fs::read(&file.path).unwrap_or_default()));
    }
    hash.key()
}

/// Divides the runs of a scenario among the processes, each with this many cores: the first one runs them on the returned backend.
///
/// # Errors
/// The backend is not the simulator.
pub(crate) fn divide(resolved: &mut Resolved, cores: usize) -> Result<(), Failure> {
    let Some(exchange) = processes() else { return Ok(()) };
    if resolved.world.name() != "sim" {
        let text = format!("the backend `{}` runs in one process; start it without mpirun", resolved.world.name());
        return Err(Failure::Usage(text));
    }
    resolved.world = Box::leak(Box::new(Divided { world: resolved.world, exchange: exchange.clone(), cores }));
    Ok(())
}

/// The first process: ends the waiting of the others after the runs.
pub(crate) fn finish() {
    if let Some(exchange) = processes().filter(|_| RUNNING.swap(false, Relaxed)) {
        exchange_all(&**exchange, &[0]);
    }
}

/// Ends all processes after a failure of this one, if others wait for it. A failed run ends in all of them by itself.
pub(crate) fn abort(failure: &Failure) {
    let all_know = matches!(failure, Failure::Interrupted | Failure::Engine(_));
    if all_know {
        finish();
    } else if let Some(exchange) = processes().filter(|_| RUNNING.load(Relaxed)) {
        exchange.end_all(failure.number());
    }
}

/// The other processes: run their part of each run that the first one begins, until it is finished.
pub(crate) fn follow(resolved: &Resolved, limits: &Limits, cores: usize) -> Result<(), Failure> {
    let Some(exchange) = processes() else { return Ok(()) };
    let (rank, end) = (exchange.rank(), exchange.clone());
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        eprintln!("error: a defect in forebay, in process {rank}; please report it with the scenario and the seed");
        end.end_all(1);
    }));
    let limits = Limits { max_memory: limits.max_memory, ..Limits::default() };
    let mut watch = limits.watch(Instant::now());
    let mut jobs = forebay_runner::jobs(resolved).into_iter();
    while exchange_all(&**exchange, &[])[0] != [0] {
        let Some(job) = jobs.next() else { break };
        let config = resolved.prepare(0, &job).config;
        let mut progress = |so_far: Progress| {
            if watch.exceeded(so_far.to_report) {
                eprintln!("error: process {rank} {}; there are no results", watch.why().unwrap_or_default());
                exchange.end_all(1);
            }
            if interrupt::requested() { ControlFlow::Break(EarlyEnd::Discard) } else { ControlFlow::Continue(()) }
        };
        let run =
            run_among(config.check().map_err(RunError::from)?, job.seed(), Cores::up_to(cores), exchange.clone(), &mut progress);
        if let Err(error) = run {
            // The first process prints the error.
            exchange_all(&**exchange, &[]);
            return Err(Failure::Reported(Failure::from(error).number()));
        }
    }
    RUNNING.store(false, Relaxed);
    Ok(())
}

/// The simulator on several processes, in the first of them.
struct Divided {
    world: &'static dyn World,
    exchange: Arc<dyn Exchange>,
    cores: usize,
}

impl fmt::Debug for Divided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {} processes of {} cores", self.world, self.exchange.ranks(), self.cores)
    }
}

impl World for Divided {
    fn name(&self) -> &'static str {
        self.world.name()
    }

    fn summary(&self) -> &'static str {
        self.world.summary()
    }

    fn supports(&self, experiment: &Experiment) -> Vec<Unsupported> {
        self.world.supports(experiment)
    }

    fn explain(&self, experiment: &Experiment) -> Vec<String> {
        self.world.explain(experiment)
    }

    fn run(
        &self,
        experiment: CheckedExperiment<'_>,
        seed: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> Result<Report, RunError> {
        exchange_all(&*self.exchange, &[1]);
        let report = run_among(experiment, seed, Cores::up_to(self.cores), self.exchange.clone(), progress)?;
        report.ok_or_else(|| RunError::World("only process 0 has the report".into()))
    }
}
