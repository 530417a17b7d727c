//! Linux as a backend.

use crate::guest::{Guest, Options};
use crate::host_queue::HostQueue;
use crate::kernel::Chosen as Kernel;
use crate::plan::Plan;
use crate::protocol::HOPS;
use crate::run::{Failed, run_guest_with_states};
use crate::socket_state::SocketState;
use crate::{kernel, queue, routes, stack};
use forebay_experiment::Experiment;
use forebay_experiment::check::CheckedExperiment;
use forebay_experiment::kernel::Kernel as Release;
use forebay_experiment::report::{EarlyEnd, Progress, Report, RunError};
use forebay_experiment::topology::Fib;
use forebay_experiment::traffic::{Workload, WorkloadKind};
use forebay_experiment::transport::Chosen;
use forebay_experiment::world::{Unsupported, World};
use forebay_kernel::shims::{SHIM, shim};
use forebay_types::Time;
use std::ops::ControlFlow;
use std::time::Duration;

/// Memory of a guest without interfaces; each one makes it more by 1. It takes what it touches, some 40.
const MEMORY_MIB: u64 = 512;
/// Memory for a byte of data that waits in a send buffer, a receive buffer or a queue, and for a connection. Our choice: twice the payload, and the
/// sockets of both ends with room.
const MEMORY_PER_BYTE: f64 = 2.0;
const MEMORY_PER_CONNECTION: f64 = (32 << 10) as f64;
/// Memory that a guest touches, and additional memory for each interface. Measured on Linux 6.18 with 3 to 45 hosts: within a factor of 1.8,
/// because connections and queues also take memory.
const TOUCHED: u64 = 28 << 20;
const TOUCHED_BY_INTERFACE: u64 = 500 << 10;
/// Largest memory for the data of `poisson` workloads, MiB.
const MOST_FOR_ARRIVALS_MIB: u64 = 8 << 10;
/// Message of a kernel that finds no memory (out_of_memory).
const OUT_OF_MEMORY: &str = "deadlocked on memory";
/// Longest silence of a guest. Our choice: a hundred times the longest gap between two frames of the busiest guest.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longest wait for its last records.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Memory for the data of `poisson` workloads, MiB: all of it waits if the network carries none.
fn memory_of_arrivals(experiment: &Experiment) -> u64 {
    let seconds = experiment.duration.map_or(0.0, Time::as_secs_f64);
    let bytes = |w: &Workload| match &w.kind {
        WorkloadKind::Poisson { sizes, flows_per_sec, flows, .. } => {
            let flows = (flows_per_sec * seconds).min(flows.map_or(f64::INFINITY, |most| most as f64));
            flows * (MEMORY_PER_BYTE * sizes.mean() + MEMORY_PER_CONNECTION)
        }
        _ => 0.0,
    };
    (experiment.workloads.iter().map(bytes).sum::<f64>() / f64::from(1 << 20)) as u64
}

/// The TCP of a Linux kernel, over links, queues and switches in its virtual time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linux;

/// Transport settings of an experiment that no kernel supports.
pub fn transports(experiment: &Experiment) -> Vec<Unsupported> {
    let tcp = experiment.groups.iter().filter(|g| g.tcp.cc != Chosen::NONE);
    tcp.flat_map(stack::refused).collect()
}

/// Two hosts that are too far from each other for the conversation with a guest.
pub fn too_long(experiment: &Experiment) -> Option<Unsupported> {
    let fib = Fib::new(&experiment.network).ok()?;
    let (from, to) = routes::too_long(&experiment.network, &fib)?;
    let reason = format!("the way from `{from}` to `{to}` has more ports than a guest can carry; legal: at most {HOPS}");
    Some(Unsupported { key: "topology", reason })
}

/// Connections that change their path in a network whose paths change.
fn rehash_with_failures(experiment: &Experiment) -> Option<Unsupported> {
    let group = experiment.groups.iter().find(|group| group.tcp.txrehash)?;
    let reason = format!(
        "a guest learns all paths of a connection of `{}` when it opens, and those of a network with `[[topology.failure]]` change; legal: false, or `world = \"sim\"`",
        group.name
    );
    (!experiment.network.faults.failures.is_empty()).then_some(Unsupported { key: "transport.txrehash", reason })
}

/// A named release of Linux that is not the one in use. Without a kernel the run itself fails.
fn other_release(experiment: &Experiment, identity: &str) -> Option<Unsupported> {
    let named = |kernel: Release, is_named: bool| is_named || kernel != Release::default();
    let mut wanted = experiment.groups.iter().filter(|g| g.tcp.is_linux() && named(g.tcp.kernel, g.tcp.kernel_is_named));
    let other = wanted.find(|g| !identity.is_empty() && Release::of_version(identity) != Some(g.tcp.kernel));
    other.map(|g| {
        let name = g.tcp.kernel.name();
        let reason = format!("the kernel in use is {identity}; legal: `kernel` left out, or a kernel {name} (`forebay kernel build`, --kernel {name})");
        Unsupported { key: "transport.kernel", reason }
    })
}

/// A shim below TCP with a queue discipline at the interfaces of its hosts.
fn shim_below_queue(experiment: &Experiment) -> Option<Unsupported> {
    let network = &experiment.network;
    let queue = network.ports.iter().any(|p| network.nodes[p.from].host && HostQueue::of(p.queue_config.value()).is_some());
    let shim = experiment.groups.iter().any(|g| shim(&g.tcp).is_ok_and(|numbers| numbers != [0; SHIM]));
    (queue && shim).then(|| Unsupported {
        key: "topology.host-queue",
        reason: "the guest's shims `proboscis` and `misbehaving-receiver` stand below the queue of the interface, which the packets that they hold or \
                 add would not pass; legal: `host-queue = \"drop-tail\"`, or `world = \"sim\"`"
            .into(),
    })
}

impl World for Linux {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn summary(&self) -> &'static str {
        "the TCP of a real Linux kernel in virtual time, deterministic; a kernel is built by `forebay kernel build`"
    }

    fn has_host_queues(&self) -> bool {
        true
    }

    /// The kernel; empty where there is none yet.
    fn version(&self) -> String {
        kernel::find().map_or_else(|_| String::new(), |k| k.identity)
    }

    fn outside_memory(&self, experiment: &Experiment) -> u64 {
        TOUCHED + Plan::new(experiment).interfaces() as u64 * TOUCHED_BY_INTERFACE
    }

    fn supports(&self, experiment: &Experiment) -> Vec<Unsupported> {
        let mut cannot = transports(experiment);
        cannot.extend(queue::refused(&experiment.network));
        cannot.extend(too_long(experiment));
        cannot.extend(Unsupported::warm_start(experiment));
        cannot.extend(shim_below_queue(experiment));
        cannot.extend(rehash_with_failures(experiment));
        cannot.extend(other_release(experiment, &self.version()));
        let conflicts = experiment.two_way_conflicts();
        cannot.extend(conflicts.map(|(_, reason)| Unsupported { key: "workload.two-way", reason }));
        cannot.extend(experiment.workloads.iter().find(|w| w.listen.is_some()).map(|w| {
            let reason = format!(
                "the hosts of this backend accept every connection of `{}` at once; legal: `listen-backlog` left out, or `world = \"sim\"`",
                w.class
            );
            Unsupported { key: "workload.listen-backlog", reason }
        }));
        cannot
    }

    fn explain(&self, experiment: &Experiment) -> Vec<String> {
        let tcp = experiment.groups.iter().filter(|g| g.tcp.cc != Chosen::NONE);
        tcp.flat_map(stack::differences).collect()
    }

    fn run(
        &self,
        experiment: CheckedExperiment<'_>,
        seed: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> Result<Report, RunError> {
        self.refuse(&experiment)?;
        let kernel = kernel::find().map_err(RunError::World)?;
        run_on(&kernel, &experiment, seed, false, progress).map(|(report, _)| report)
    }
}

/// Runs `experiment` on `kernel`; with `states`, the states of sockets are recorded.
pub(crate) fn run_on(
    kernel: &Kernel,
    experiment: &Experiment,
    seed: u64,
    states: bool,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
) -> Result<(Report, Vec<SocketState>), RunError> {
    let fib = Fib::with_seed(&experiment.network, seed).map_err(|e| RunError::Unroutable(e.to_string()))?;
    let plan = if states { Plan::new(experiment).with_states() } else { Plan::new(experiment) };
    let memory_mib = MEMORY_MIB + plan.interfaces() as u64 + memory_of_arrivals(experiment).min(MOST_FOR_ARRIVALS_MIB);
    let start = Guest::start(&kernel.program, Options { memory_mib, seed });
    let mut guest = start.map_err(|e| RunError::World(format!("`{}` does not start: {e}", kernel.program.display())))?;
    let link = &mut guest.link;
    run_guest_with_states(experiment, seed, &fib, &plan, link, PATIENCE, progress).map_err(|failed| match failed {
        Failed::Interrupted => RunError::Interrupted,
        Failed::Guest(why) => {
            let status = guest.wait(LAST_WORDS);
            let why = guest.lacks_space().map_or(why.clone(), |lack| format!("{why}: {lack}"));
            let why = Guest::exceeds_file_size(status).map_or(why.clone(), |limit| format!("{why}: {limit}"));
            let console = guest.console();
            let why = if console.contains(OUT_OF_MEMORY) {
                format!(
                    "the guest needs more than its memory of {memory_mib} MiB: the workloads write more than the network carries. Choose a lower \
                     `load`, fewer flows or a shorter `duration`; {why}"
                )
            } else {
                why
            };
            RunError::World(if console.is_empty() { why } else { format!("{why}; its last words:\n{console}") })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{experiment, group};
    use forebay_experiment::transport::Profile;

    /// The backend refuses a release that the scenario names if the kernel is of another one. Without a name every kernel is legal.
    #[test]
    fn named_release_must_be_in_use() {
        let refused = |named: Option<Release>, identity: &str| {
            let mut e = experiment(1);
            let mut g = group(Profile::Linux, "cubic");
            (g.tcp.kernel, g.tcp.kernel_is_named) = (named.unwrap_or_default(), named.is_some());
            e.groups.push(g);
            other_release(&e, identity).map(|u| u.reason)
        };
        let (old, new) = ("Linux 6.1.192 (c32f9fd2e265)", "Linux 6.12.117 (b21f7fad8ca0)");
        assert_eq!([None, Some(Release::V6_1)].map(|named| refused(named, old)), [None, None]);
        assert_eq!([None, Some(Release::V6_12)].map(|named| refused(named, new)), [None, None]);
        let reason = refused(Some(Release::V6_12), old).unwrap();
        assert!(reason.contains(old) && reason.contains("a kernel 6.12"), "{reason}");
        assert!(refused(Some(Release::V6_1), new).unwrap().contains("a kernel 6.1 "));
        assert_eq!(refused(Some(Release::V6_12), ""), None);
    }
}
