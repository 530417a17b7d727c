//! Comparison of two Linux kernels: the same scenarios and packet scripts on both, packet by packet and state by state, with the functions in the
//! kernels' sources that use the state which differs first.

pub mod json;
mod state;
mod suite;
pub mod text;

pub use state::{StateDifference, Variable};
pub use suite::suite;

use crate::{Observation, Outcome, RunOptions, Stack, as_linux, difference, watch_text};
use forebay_experiment::Experiment;
use forebay_experiment::report::{EarlyEnd, Progress, Report, RunError};
use forebay_kernel::c_source::{ItemKind, Parsed, Place, Sources, User};
use forebay_linux::states::{self, SocketState};
use forebay_runner::trace_diff::{Alignment, align, time_of};
use forebay_scenario::{Errors, Resolved, Scenario};
use forebay_store::RunInfo;
use forebay_store::summary::{Dimension, GROUP_METRICS, NETWORK_METRICS, Summary, summarise};
use forebay_types::Time;
use state::{Layouts, first_differences};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::thread;

/// A scenario or a packet script of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A scenario file's text.
    Scenario {
        /// Its name in the output.
        name: String,
        /// The text.
        text: String,
        /// Folder that its paths are relative to.
        folder: PathBuf,
    },
    /// A packet script.
    Script {
        /// Its name in the output.
        name: String,
        /// The text.
        text: String,
    },
}

impl Input {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Input::Scenario { name, .. } | Input::Script { name, .. } => name,
        }
    }
}

/// End of a comparison without a result.
#[derive(Debug)]
pub enum Error {
    /// A scenario is wrong, or cannot run on Linux.
    Scenario(Errors),
    /// A run failed, or was interrupted.
    Run(RunError),
    /// A kernel or a script.
    Other(String),
}

impl From<Errors> for Error {
    fn from(e: Errors) -> Error {
        Error::Scenario(e)
    }
}

impl From<RunError> for Error {
    fn from(e: RunError) -> Error {
        Error::Run(e)
    }
}

/// A kernel of a comparison.
#[derive(Debug)]
pub struct Kernel {
    /// As the user names it.
    name: String,
    /// Version and name in the cache.
    identity: String,
    program: PathBuf,
    sources: Option<Sources>,
}

impl Kernel {
    /// The kernel that `--kernel NAME` selects.
    ///
    /// # Errors
    /// There is none; the message names the fix.
    pub fn named(name: &str) -> Result<Kernel, String> {
        let chosen = forebay_linux::kernel::named(name)?;
        // A program outside the cache has no sources.
        let sources = chosen.program().parent().and_then(|folder| Sources::read(&folder.join("sources")).ok());
        let program = chosen.program().to_owned();
        Ok(Kernel { name: name.to_owned(), identity: chosen.identity().to_owned(), program, sources })
    }
}

/// A figure of a run that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Transport group, or empty for the network.
    pub group: String,
    /// Label of the metric.
    pub label: &'static str,
    /// Its dimension.
    pub unit: Dimension,
    /// Value on each kernel; `None` without one.
    pub values: [Option<f64>; 2],
}

/// A variable that differs first, with the functions that use it.
#[derive(Debug, Clone)]
pub struct Cause {
    /// The variable.
    pub variable: Variable,
    /// Functions that use it, those that write it first.
    pub users: Vec<User>,
    /// Calls that connect a changed function (first) with one that uses the variable (last); empty if there is none, or if the sources are not known.
    pub chain: Vec<String>,
}

/// A scenario on both kernels.
#[derive(Debug)]
pub struct ScenarioResult {
    /// Packets that reached their hosts, on each kernel.
    pub packets: [usize; 2],
    /// All connections.
    pub connections: Vec<Alignment>,
    /// First difference of each connection's state, in the order of time.
    pub states: Vec<StateDifference>,
    /// Variables that differ when the first differing packet of all connections leaves its host; empty without such a packet.
    pub at_packet: Vec<Variable>,
    /// Variables of the first difference of the state, the likely cause first.
    pub causes: Vec<Cause>,
    /// Figures that differ.
    pub effects: Vec<Effect>,
}

/// Result of an input.
#[derive(Debug)]
pub enum InputResult {
    /// Of a scenario.
    Scenario(Box<ScenarioResult>),
    /// Of a script: number of its events, and the first difference.
    Script(usize, Option<Box<ScriptDifference>>),
    /// Not run; the reason.
    Skipped(String),
}

/// First difference of a packet script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptDifference {
    /// The last common event.
    pub before: Option<Observation>,
    /// The events that differ; `None` for a missing one.
    pub events: [Option<Observation>; 2],
}

impl InputResult {
    /// True if the kernels differ.
    pub fn differs(&self) -> bool {
        match self {
            InputResult::Scenario(s) => s.connections.iter().any(|c| c.first.is_some()) || !s.states.is_empty(),
            InputResult::Script(_, difference) => difference.is_some(),
            InputResult::Skipped(_) => false,
        }
    }
}

/// Result of a comparison.
#[derive(Debug)]
pub struct Comparison {
    /// Names and identities of both kernels.
    pub kernels: [(String, String); 2],
    /// True if both programs have the same bytes.
    pub same_program: bool,
    /// Functions and definitions of TCP that differ; `None` if the sources of a kernel are not known.
    pub changes: Option<Vec<(ItemKind, Place)>>,
    /// Results by name, in order.
    pub results: Vec<(String, InputResult)>,
}

/// Options of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Changes of all scenarios, as of `--set`.
    pub sets: Vec<String>,
    /// Seed of all scenarios, instead of their own.
    pub seed: Option<u64>,
    /// Run both kernels at the same time.
    pub parallel: bool,
}

/// Called with the number of finished inputs, their total, and the name of the next one; it can end the comparison.
pub type Watch<'a> = &'a mut dyn FnMut(usize, usize, &str) -> ControlFlow<()>;

/// Runs all `inputs` on both kernels and compares them. `interrupted` is asked during runs.
///
/// # Errors
/// A scenario that is wrong, a run that fails, or an interruption.
pub fn compare(
    kernels: [&Kernel; 2],
    inputs: &[Input],
    options: &Options,
    interrupted: &(dyn Fn() -> bool + Sync),
    watch: Watch<'_>,
) -> Result<Comparison, Error> {
    let read = |k: &Kernel| std::fs::read(&k.program).map_err(|e| Error::Other(format!("{}: {e}", k.program.display())));
    let same_program = read(kernels[0])? == read(kernels[1])?;
    let parsed = kernels.map(|k| k.sources.as_ref().map(Sources::parse));
    let sources = [parsed[0].as_ref(), parsed[1].as_ref()];
    let changes = match sources {
        [Some(a), Some(b)] => Some(a.changes(b)),
        _ => None,
    };
    let changed = changed_functions(sources[1], changes.as_deref());
    let mut judge = Judge { sources, changed, cc_files: cc_files(sources[1]), layouts: Layouts::new(sources) };
    let mut results = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        if watch(i, inputs.len(), input.name()).is_break() {
            return Err(Error::Run(RunError::Interrupted));
        }
        match input {
            Input::Scenario { name, text, folder } => {
                let sets: Vec<String> = options.sets.iter().cloned().chain(["world=linux".to_owned()]).collect();
                let scenario = Scenario::from_text(forebay_backends::all(), text, name, folder, &sets, options.seed)?;
                let resolved = scenario.resolve()?;
                for v in 0..resolved.variants.len() {
                    let label = &resolved.variants[v].label;
                    let name = if resolved.variants.len() > 1 { format!("{name}, {label}") } else { name.clone() };
                    results.push((
                        name,
                        InputResult::Scenario(Box::new(judge.scenario(
                            kernels,
                            (&resolved, v),
                            options.parallel,
                            interrupted,
                        )?)),
                    ));
                }
            }
            Input::Script { name, text } => results.push((name.clone(), script(kernels, name, text)?)),
        }
    }
    let kernels = kernels.map(|k| (k.name.clone(), k.identity.clone()));
    Ok(Comparison { kernels, same_program, changes, results })
}

/// Changed functions, and those that use a changed definition.
fn changed_functions(sources: Option<&Parsed<'_>>, changes: Option<&[(ItemKind, Place)]>) -> BTreeSet<String> {
    let names = |kind| {
        let of = changes.unwrap_or_default().iter().filter(move |c| c.0 == kind);
        of.map(|c| c.1.name.clone()).collect::<BTreeSet<String>>()
    };
    let mut all = names(ItemKind::Function);
    let definitions = names(ItemKind::Definition);
    if let Some(sources) = sources.filter(|_| !definitions.is_empty()) {
        all.extend(sources.mentions(&definitions).into_iter().map(|p| p.name));
    }
    all
}

/// Files of congestion controls: they have functions that get the memory of one.
fn cc_files(sources: Option<&Parsed<'_>>) -> BTreeSet<String> {
    let memory = BTreeSet::from(["inet_csk_ca".to_owned()]);
    let all = sources.map(|s| s.mentions(&memory)).unwrap_or_default();
    all.into_iter().map(|p| p.file).filter(|file| file.starts_with("net/ipv4/tcp_")).collect()
}

/// Finds the cause of a difference.
struct Judge<'a> {
    sources: [Option<&'a Parsed<'a>>; 2],
    changed: BTreeSet<String>,
    cc_files: BTreeSet<String>,
    layouts: Layouts<'a>,
}

impl Judge<'_> {
    fn scenario(
        &mut self,
        kernels: [&Kernel; 2],
        (resolved, v): (&Resolved, usize),
        parallel: bool,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<ScenarioResult, Error> {
        let mut config = resolved.variants[v].config.clone();
        config.set_seed(resolved.run_seed(0));
        config.observe.packets = true;
        let run = |i: usize| recorded(kernels[i], &config, interrupted);
        let (a, b) = if parallel {
            thread::scope(|scope| {
                let second = scope.spawn(|| run(1));
                (run(0), second.join().unwrap_or_else(|panic| resume_unwind(panic)))
            })
        } else {
            (run(0), run(1))
        };
        let (a, b) = (a?, b?);
        let connections = align(&a.0, &b.0, Time::ZERO);
        let end = a.0.end.min(b.0.end);
        let times = connections.iter().filter_map(|c| Some((c.conn_id, packet_time(c)?))).collect();
        let states = first_differences([&a.1, &b.1], &times, end, &mut self.layouts);
        let first = connections.iter().filter(|c| c.first.is_some()).min_by_key(|c| packet_time(c));
        let at_packet = first.and_then(|c| Some((c, c.first.as_ref()?))).map_or_else(Vec::new, |(c, packet)| {
            state::at([&a.1, &b.1], (c.conn_id, packet.back), packet_time(c).unwrap_or(Time::ZERO), &mut self.layouts)
        });
        let causes = states.first().map(|s| self.causes(s)).unwrap_or_default();
        Ok(ScenarioResult {
            packets: [a.0.packets.len(), b.0.packets.len()],
            connections,
            states,
            at_packet,
            causes,
            effects: effects(&config, [&a.0, &b.0]),
        })
    }

    /// The variables of a difference with the functions that use them. Order: written by a changed function, read by one, others.
    fn causes(&mut self, found: &StateDifference) -> Vec<Cause> {
        let sources = self.sources[1];
        let own = self.layouts.of(&found.cc).map(|p| p.file.clone());
        // Other congestion controls do not run on this connection.
        let applies = |u: &User| !self.cc_files.contains(&u.place.file) || own.as_ref() == Some(&u.place.file);
        let mut all: Vec<Cause> = found
            .variables
            .iter()
            .map(|variable| {
                let users = match (&variable.structure, sources) {
                    (_, None) => Vec::new(),
                    (None, Some(sources)) => sources.users(&variable.name),
                    (Some(_), Some(sources)) => {
                        let private = self.layouts.of(&found.cc);
                        private.map(|p| sources.private_users(p, &variable.name)).unwrap_or_default()
                    }
                };
                let users = users.into_iter().filter(applies).collect();
                Cause { variable: variable.clone(), users, chain: Vec::new() }
            })
            .collect();
        let rank = |c: &Cause| {
            let by = |write: bool| c.users.iter().any(|u| self.changed.contains(&u.place.name) && (u.writes || !write));
            if by(true) {
                0
            } else if by(false) {
                1
            } else {
                2
            }
        };
        all.sort_by_key(rank);
        if let (Some(first), Some(sources)) = (all.first_mut(), sources) {
            let writers = first.users.iter().filter(|u| u.writes).map(|u| u.place.name.clone()).collect();
            first.chain = sources.chain(&self.changed, &writers).unwrap_or_default();
        }
        all
    }
}

/// A run with its packets, and the states of its sockets.
fn recorded(
    kernel: &Kernel,
    config: &Experiment,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<(Report, Vec<SocketState>), RunError> {
    let checked = config.check().map_err(|e| RunError::World(e.to_string()))?;
    let watch = &mut |_: Progress| if interrupted() { ControlFlow::Break(EarlyEnd::Discard) } else { ControlFlow::Continue(()) };
    states::run(&kernel.name, &checked, config.seed, watch)
}

/// Figures of two runs that differ.
fn effects(config: &Experiment, reports: [&Report; 2]) -> Vec<Effect> {
    let [a, b] = reports.map(|r| summarise(&RunInfo::new("linux", "", 0, config), config, r));
    let mut all = Vec::new();
    let mut add = |group: &str, label: &'static str, unit, values: [Option<f64>; 2]| {
        if !label.is_empty() && values[0] != values[1] {
            all.push(Effect { group: group.to_owned(), label, unit, values });
        }
    };
    for (x, y) in a.groups.iter().zip(&b.groups) {
        GROUP_METRICS.iter().for_each(|m| add(&x.name, m.label, m.unit, [(m.get)(x), (m.get)(y)]));
    }
    let network = |s: &Summary, get: fn(&forebay_store::summary::NetworkSummary) -> Option<f64>| get(&s.network);
    NETWORK_METRICS.iter().for_each(|m| add("", m.label, m.unit, [network(&a, m.get), network(&b, m.get)]));
    all
}

/// A script on both kernels.
fn script(kernels: [&Kernel; 2], name: &str, text: &str) -> Result<InputResult, Error> {
    let text = as_linux(text);
    let mut seen = Vec::new();
    for kernel in kernels {
        forebay_backends::choose_kernel(Some(kernel.name.clone()));
        let found = watch_text(&text, &RunOptions { of: Stack::Linux, ..RunOptions::default() });
        forebay_backends::choose_kernel(None);
        match found {
            Ok(found) => seen.push(found),
            Err(Outcome::NotApplicable(features)) => return Ok(InputResult::Skipped(format!("uses {}", features.join("; ")))),
            Err(outcome) => return Err(Error::Other(format!("{name}: {outcome:?}"))),
        }
    }
    let found = difference(&seen[0], &seen[1]).map(|(a, b)| {
        let common = seen[0].iter().zip(&seen[1]).take_while(|(a, b)| a == b).count();
        let before = common.checked_sub(1).map(|i| seen[0][i].clone());
        Box::new(ScriptDifference { before, events: [a.cloned(), b.cloned()] })
    });
    Ok(InputResult::Script(seen[0].len(), found))
}

/// Time at which a connection's packets differ first.
pub fn packet_time(a: &Alignment) -> Option<Time> {
    a.first.as_ref().map(|d| Time::from_ns(time_of(d)))
}
