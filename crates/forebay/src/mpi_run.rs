//! `forebay run` on several processes that `mpirun` has started together: each run is divided among all of them, one run after the other. The first
//! process does all that the command does; the others follow it, and say nothing unless they are the ones that cannot go on.

use crate::failure::Failure;
use crate::interrupt;
use crate::limits::Limits;
use forebay_experiment::Experiment;
use forebay_experiment::checked::Checked;
use forebay_experiment::report::{Cut, Progress, Report, RunError};
use forebay_experiment::world::{Unsupported, World};
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

/// The processes, in those that `mpirun` has started.
static PROCESSES: OnceLock<Arc<dyn Exchange>> = OnceLock::new();
/// All have agreed to run, and the others wait for the first one.
static UNDER_WAY: AtomicBool = AtomicBool::new(false);

/// This process is one of those: to be called before anything else. One alone is no different from a process that nobody has started so.
pub(crate) fn join(exchange: Arc<dyn Exchange>) {
    if exchange.ranks() > 1 {
        let _ = PROCESSES.set(exchange);
    }
}

/// The processes, if there are several.
pub(crate) fn processes() -> Option<&'static Arc<dyn Exchange>> {
    PROCESSES.get()
}

/// Whether this process follows the first one.
pub(crate) fn follows() -> bool {
    processes().is_some_and(|p| p.rank() > 0)
}

/// The failure of a verb that is nobody's business but one process's.
pub(crate) fn only_run() -> Failure {
    Failure::Usage("mpirun divides the runs of `forebay run` among its processes; start everything else without it".into())
}

/// What each process tells the others, one byte string for all of them: theirs, by number.
fn tell_all(exchange: &dyn Exchange, what: &[u8]) -> Vec<Vec<u8>> {
    let mut out = vec![what.to_vec(); exchange.ranks()];
    let mut come = vec![Vec::new(); exchange.ranks()];
    exchange.swap(&mut out, &mut come);
    come[exchange.rank()] = what.to_vec();
    come
}

/// Before the runs: goes on where all processes are ready and mean the same by it, as `digest` says. If one is not, it says why, and all end.
pub(crate) fn agree<T>(ready: Result<T, Failure>, digest: impl FnOnce(&T) -> UnitKey) -> Result<T, Failure> {
    let Some(exchange) = processes() else { return ready };
    let own = ready.as_ref().map(digest);
    let told = match own {
        Ok(digest) => digest.to_string().into_bytes(),
        Err(failure) => vec![failure.number()],
    };
    let come = tell_all(&**exchange, &told);
    if let Some(failed) = come.iter().position(|told| told.len() == 1) {
        let code = come[failed][0];
        return Err(ready.err().filter(|_| failed == exchange.rank()).unwrap_or(Failure::Reported(code)));
    }
    if let Some(other) = come.iter().position(|told| *told != come[0]) {
        let text = format!(
            "process {other} has another scenario, other files that it names, or another program than process 0; all need the same"
        );
        return Err(if follows() { Failure::Reported(2) } else { Failure::Usage(text) });
    }
    UNDER_WAY.store(true, Relaxed);
    ready
}

/// Nothing runs for this reason, of which the others learn at the place where they would agree to run: the failure to report, if it is this process
/// that reports it.
pub(crate) fn refused(failure: Failure) -> Failure {
    match agree(Err::<(), _>(failure), |()| KeyHasher::of(&[])) {
        Err(failure) => failure,
        Ok(()) => Failure::Reported(2),
    }
}

/// A hash of all that the runs depend on: the program, the scenario with its defaults, and the files that it names.
pub(crate) fn digest(resolved: &Resolved) -> UnitKey {
    let mut hash = KeyHasher::default();
    hash.part("program", key::VERSION.as_bytes());
    hash.part("runs", format!("{} {}", resolved.seed, resolved.repetitions()).as_bytes());
    for variant in &resolved.variants {
        hash.part("variant", variant.label.as_bytes());
        key::add_variant(&mut hash, resolved.world.name(), &variant.echo);
    }
    for file in &resolved.files {
        // One that cannot be read has been reported by whoever resolved the scenario.
        key::add_file(&mut hash, &file.name, &KeyHasher::of(&fs::read(&file.path).unwrap_or_default()));
    }
    hash.key()
}

/// Divides the runs of a scenario among the processes, each on so many cores: the first one runs them in the world that this returns.
///
/// # Errors
/// When it is not the simulator that runs them.
pub(crate) fn divide(resolved: &mut Resolved, cores: usize) -> Result<(), Failure> {
    let Some(exchange) = processes() else { return Ok(()) };
    if resolved.world.name() != "sim" {
        let text = format!("the world `{}` runs in one process; start it without mpirun", resolved.world.name());
        return Err(Failure::Usage(text));
    }
    resolved.world = Box::leak(Box::new(Divided { world: resolved.world, exchange: exchange.clone(), cores }));
    Ok(())
}

/// The first process: the runs are over, and the others need not wait for another one.
pub(crate) fn over() {
    if let Some(exchange) = processes().filter(|_| UNDER_WAY.swap(false, Relaxed)) {
        tell_all(&**exchange, &[0]);
    }
}

/// A verb has failed. Where others wait for this process, which cannot go on, that ends all of them; a run that ended as it did was ended by all.
pub(crate) fn failed(failure: &Failure) {
    let all_know = matches!(failure, Failure::Interrupted | Failure::Engine(_));
    if all_know {
        over();
    } else if let Some(exchange) = processes().filter(|_| UNDER_WAY.load(Relaxed)) {
        exchange.end_all(failure.number());
    }
}

/// The processes but the first: runs their part of each run that it begins, until it says that it is over.
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
    while tell_all(&**exchange, &[])[0] != [0] {
        let Some(job) = jobs.next() else { break };
        let config = &resolved.variants[job.variant()].config;
        let mut progress = |so_far: Progress| {
            if watch.over(so_far.to_report) {
                eprintln!("error: process {rank} {}; there are no results", watch.why().unwrap_or_default());
                exchange.end_all(1);
            }
            if interrupt::asked() { ControlFlow::Break(Cut::Abandon) } else { ControlFlow::Continue(()) }
        };
        let run =
            run_among(config.check().map_err(RunError::from)?, job.seed(), Cores::up_to(cores), exchange.clone(), &mut progress);
        if let Err(error) = run {
            // The first process says it.
            tell_all(&**exchange, &[]);
            return Err(Failure::Reported(Failure::from(error).number()));
        }
    }
    UNDER_WAY.store(false, Relaxed);
    Ok(())
}

/// The simulator, on several processes, as the first of them has it.
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
        experiment: Checked<'_>,
        seed: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Cut>,
    ) -> Result<Report, RunError> {
        tell_all(&*self.exchange, &[1]);
        let report = run_among(experiment, seed, Cores::up_to(self.cores), self.exchange.clone(), progress)?;
        report.ok_or_else(|| RunError::World("process 0 has the report, and this is another one".into()))
    }
}
