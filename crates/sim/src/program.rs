//! One simulation whose messages a program sends while it runs: the part that the interfaces for C and Python share.
//!
//! The network and the transports are those of a scenario. Its workloads, if it has some, run beside the messages of the program.

pub use crate::engine::simulation::driven_run::Step;

use crate::engine::simulation::driven_run::DrivenRun;
use forebay_experiment::Experiment;
use forebay_experiment::report::RunError;
use forebay_experiment::topology;
use forebay_types::{NodeId, Time};
use std::collections::BTreeMap;
use std::fmt;

/// Largest message, bytes: our choice, a thousandth of what a stream can count.
pub const MAX_BYTES: u64 = 1 << 50;

/// A simulation whose messages a program sends.
pub struct Engine {
    run: DrivenRun,
    /// Node of each host.
    hosts: Vec<NodeId>,
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

/// Reason why an engine cannot be created, or a message cannot be sent.
#[derive(Debug)]
pub enum EngineError {
    /// The simulator refuses the experiment.
    Run(RunError),
    /// An argument is outside its legal range.
    Argument(String),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Run(error) => error.fmt(f),
            EngineError::Argument(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for EngineError {}

impl Engine {
    /// Creates the network of an experiment, whose last workload is that of the program.
    ///
    /// # Errors
    /// A network that cannot be simulated.
    pub fn new(experiment: &Experiment) -> Result<Engine, EngineError> {
        let mut config = experiment.clone();
        // Nothing is written at the end of the run.
        config.observe = Default::default();
        let invalid = |e| EngineError::Run(RunError::Invalid(e));
        let program =
            config.workloads.ids().last().ok_or_else(|| EngineError::Argument("the experiment has no workload".into()))?;
        let run = DrivenRun::new(config.check().map_err(invalid)?, config.seed, program).map_err(EngineError::Run)?;
        let hosts = topology::hosts(&config.network);
        let names: Vec<String> = hosts.iter().map(|&h| config.network.nodes[h].name.clone()).collect();
        let numbers = names.iter().cloned().zip(0..).collect();
        Ok(Engine { run, hosts, names, numbers })
    }

    /// Number of hosts. They are numbered from 0, in the order of the topology.
    pub fn hosts(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// Number of the host called `name`.
    pub fn host(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Name of host `number`.
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(String::as_str)
    }

    /// Simulated time: that of the last event.
    pub fn now(&self) -> Time {
        self.run.now()
    }

    /// Messages that have not been delivered.
    pub fn open(&self) -> u64 {
        self.run.open()
    }

    /// Packet transmissions so far.
    pub fn packet_hops(&self) -> u64 {
        self.run.packet_hops()
    }

    /// Sends a message from host `src` to host `dst` on a connection of its own, and returns its number, counted from 0, with the time at which it
    /// begins. At a timer, and before the first event, that is now; a Linux server (`host = "linux-server"`) begins at the next whole nanosecond. After a
    /// delivery it is the start of the next window: at most the shortest delay of a link later.
    ///
    /// # Errors
    /// A host that does not exist or has no transport, a message to its own host, a size outside 1 to [`MAX_BYTES`].
    pub fn send(&mut self, src: u32, dst: u32, bytes: u64) -> Result<(u64, Time), EngineError> {
        let argument = |text| Err(EngineError::Argument(text));
        let (Some(&from), Some(&to)) = (self.hosts.get(src as usize), self.hosts.get(dst as usize)) else {
            let wrong = if (src as usize) < self.hosts.len() { dst } else { src };
            return argument(format!("there is no host {wrong}; legal: 0 to {}", self.hosts.len().saturating_sub(1)));
        };
        if src == dst {
            return argument(format!("host {src} sends to itself; legal: two different hosts"));
        }
        if !(1..=MAX_BYTES).contains(&bytes) {
            return argument(format!("a message has {bytes} bytes; legal: 1 to {MAX_BYTES}"));
        }
        self.run.send(from, to, bytes).ok_or_else(|| {
            let name = &self.names[src as usize];
            EngineError::Argument(format!("no [[transport.group]] has the host `{name}`; add it to the `hosts` of a group"))
        })
    }

    /// Sets a timer for `time`, or for now if that is earlier. Returns its number, counted from 0. Timers of one time are due in the order in which they
    /// were set.
    pub fn schedule(&mut self, time: Time) -> u64 {
        self.run.schedule(time)
    }

    /// Runs to the next event, or for this many windows. Events come in order of time.
    pub fn step(&mut self, windows: u32) -> Step {
        self.run.step(windows)
    }
}
