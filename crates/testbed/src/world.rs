//! The running kernel as a backend.

use crate::clock::RealTimeScope;
use crate::guest::{self, Timing};
use crate::namespace::Namespace;
use crate::shim::{config, unavailable};
use forebay_experiment::Experiment;
use forebay_experiment::balance::Balance;
use forebay_experiment::check::CheckedExperiment;
use forebay_experiment::report::{EarlyEnd, Progress, Report, RunError};
use forebay_experiment::topology::{Fib, hosts, port_label};
use forebay_experiment::traffic::WorkloadKind;
use forebay_experiment::world::{Unsupported, World};
use forebay_experiment::writes::Writes;
use forebay_kernel::congestion_controls::{GuestCc, guest_cc};
use forebay_kernel::shims::{SHIM, rules, shim};
use forebay_linux::link::Link;
use forebay_linux::plan::{Plan, route};
use forebay_linux::run::{Failed, run_guest};
use forebay_linux::world::{Linux, too_long, transports};
use forebay_queues::{BufferedDiscipline, Queue};
use forebay_types::{LossModel, Rate, Time};
use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

/// Largest rate whose packets one thread can carry in time.
const FASTEST: Rate = Rate(1_000_000_000);
/// Hosts, each with a namespace and a device.
const MOST_HOSTS: usize = 64;
/// Longest wait for a message of the switch.
const PATIENCE: Duration = Duration::from_secs(60);
/// Tolerated deadline miss of one packet in a hundred, as a fraction 1/N of the round trip on the empty path. Our choice: the delay that a queue of a
/// few packets would add.
const TOLERANCE: u64 = 4;
/// Smallest tolerance: a machine without a real-time kernel cannot guarantee less.
const LEAST_TOLERANCE: Time = Time::from_us(250);

/// The TCP of the kernel that is running, in real time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Testbed;

/// Deadline miss beyond which a run is invalid.
fn tolerance(experiment: &Experiment, fib: &Fib) -> Time {
    let network = &experiment.network;
    let all = hosts(network);
    let (Some(&from), Some(&to)) = (all.first(), all.last()) else { return LEAST_TOLERANCE };
    let bytes = experiment.groups.first().map_or(1_500, |g| u64::from(g.tcp.mss + g.tcp.header));
    let there = fib.path_time(network, (from, to), 0, bytes);
    let back = fib.path_time(network, (to, from), 0, bytes);
    Time((there + back) / TOLERANCE).max(LEAST_TOLERANCE)
}

/// Parameters that the program TRIM needs of the path, for a command; nothing for other congestion controls. Their places are those of `trim_read`
/// (trim_core.h), behind two numbers that every congestion control has.
fn trim_params(cc: &GuestCc) -> String {
    const EXPLICIT_K: u64 = 3;
    let number = |at: usize| cc.param[2 + at];
    if cc.name != "forebay_trim" {
        return String::new();
    }
    let (k, endless) = (if number(4) == EXPLICIT_K { number(5) } else { 0 }, u64::from(u32::MAX));
    let all =
        [("packet_ps", number(0)), ("k", k), ("buffer", number(3) % endless), ("guard", number(6)), ("min_cwnd", number(2))];
    all.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!(" --param {name}={n}")).collect()
}

/// Why a run is invalid, if it is.
fn judge(how: &Timing, tolerance: Time) -> Result<(), String> {
    let late = how.misses.quantile(0.99);
    if late <= tolerance {
        return Ok(());
    }
    let right =
        if how.real_time { "" } else { "; without the right to real-time priority (CAP_SYS_NICE) this is to be expected" };
    Err(format!(
        "this run is invalid: one packet in a hundred was handed over more than {late} late, and this network tolerates {tolerance} ({}){right}. \
         Run it on an idle machine, at a lower rate or with longer delays",
        how.misses
    ))
}

/// Transports that have a shim and connections with data in both directions and in one.
fn shared_by_both_kinds(experiment: &Experiment) -> impl Iterator<Item = &str> {
    let groups = experiment.groups.enumerate().filter(|(_, g)| {
        let shim = shim(&g.tcp).ok().and_then(|numbers| rules(&numbers));
        shim.is_some_and(|rules| rules.c.answers)
    });
    let used = |id, two_way| {
        let mut all = experiment.workloads.iter().filter(|w| !matches!(w.kind, WorkloadKind::Udp { .. }));
        all.any(|w| w.kind.two_way() == two_way && w.uses(id))
    };
    groups.filter(move |(id, _)| used(*id, true) && used(*id, false)).map(|(_, g)| g.name.as_str())
}

impl World for Testbed {
    fn name(&self) -> &'static str {
        "testbed"
    }

    fn summary(&self) -> &'static str {
        "the TCP of the running kernel in real time, up to 1 Gbps; needs root or a user namespace, and runs are not reproducible"
    }

    fn real_time(&self) -> bool {
        true
    }

    fn supports(&self, experiment: &Experiment) -> Vec<Unsupported> {
        let mut cannot = transports(experiment);
        cannot.extend(too_long(experiment));
        cannot.extend(Unsupported::warm_start(experiment));
        let network = &experiment.network;
        let mut refuse = |key, reason| cannot.push(Unsupported { key, reason });
        if let Some(port) = network.ports.iter().find(|p| p.rate > FASTEST) {
            refuse("topology", format!("a link has {}; legal in real time: at most {FASTEST}", port.rate));
        }
        // The switch has every discipline, and ranks come of a shim that is refused.
        if let Some((id, _)) =
            network.ports.enumerate().find(|(_, p)| matches!(p.queue, Queue::Buffered(BufferedDiscipline::Pfabric(_))))
        {
            let port = port_label(network, id);
            refuse(
                "topology",
                format!("the queue of port `{port}` serves by ranks, which no packet of a kernel has; legal: any but `pfabric`"),
            );
        }
        if let Some((id, _)) = network.ports.enumerate().find(|(_, p)| p.delay == Time::ZERO) {
            refuse("topology", format!("the link of port `{}` has no delay; legal: above zero", port_label(network, id)));
        }
        if let Some(l) = network.faults.loss.iter().find(|l| matches!(l.loss.model, LossModel::Listed(_))) {
            let port = port_label(network, l.port);
            refuse(
                "topology.loss",
                format!(
                    "`drop` of port `{port}`: the testbed numbers no packets of a connection; legal: `p`, or `world = \"sim\"`"
                ),
            );
        }
        if let Some(l) = network.faults.loss.iter().find(|l| network.faults.corruption.iter().any(|c| c.port == l.port)) {
            let port = port_label(network, l.port);
            refuse(
                "topology.loss",
                format!("port `{port}` damages packets too, and the testbed counts them together; legal: either"),
            );
        }
        if !network.faults.changes.is_empty() {
            let reason =
                "the testbed keeps the rate, delay and loss of its links; legal: topology.change left out, or `world = \"sim\"`";
            refuse("topology.change", reason.into());
        }
        let holding =
            [("topology.reorder", network.faults.reordering.is_empty()), ("topology.batch", network.faults.batching.is_empty())];
        for (key, _) in holding.into_iter().filter(|(_, unused)| !unused) {
            refuse(
                key,
                format!("the testbed delivers packets in order and at once; legal: {key} left out, or `world = \"sim\"`"),
            );
        }
        if matches!(network.faults.balance, Balance::Flowlet { .. } | Balance::Conga { .. }) {
            let reason = "the switch of the testbed has no table of flowlets; legal: \"flow\", \"packet\", or `world = \"sim\"`";
            refuse("topology.balance", reason.into());
        }
        let count = hosts(network).len();
        if count > MOST_HOSTS {
            refuse("topology", format!("there are {count} hosts; legal in real time: at most {MOST_HOSTS}"));
        }
        if let Some(group) = experiment.groups.iter().find(|group| group.tcp.txrehash) {
            let reason = format!(
                "the switch of the testbed does not see the hash of a socket of `{}`; legal: false, or `world = \"linux\"`",
                group.name
            );
            refuse("transport.txrehash", reason);
        }
        for (_, reason) in experiment.two_way_conflicts() {
            refuse("workload.two-way", reason);
        }
        for group in shared_by_both_kinds(experiment) {
            let reason = format!(
                "`{group}` has the shim `proboscis` and connections with `two-way = true` and without, and its program has one setting of `answers` for \
                 all; legal: a transport for each, or `answers = false`"
            );
            refuse("transport.shim", reason);
        }
        if let Some(w) = experiment.workloads.iter().find(|w| w.writes != Writes::ONE) {
            let reason = format!(
                "the hosts of the testbed write each message of `{}` with one call; legal: `writes = 1`, or `world = \"linux\"`",
                w.class
            );
            refuse("workload.writes", reason);
        }
        if let Some(w) = experiment.workloads.iter().find(|w| w.listen.is_some()) {
            let reason = format!(
                "the hosts of the testbed accept every connection of `{}` at once; legal: `listen-backlog` left out, or `world = \"sim\"`",
                w.class
            );
            refuse("workload.listen-backlog", reason);
        }
        for group in &experiment.groups {
            let asked = shim(&group.tcp).ok().filter(|shim| *shim != [0; SHIM]);
            if let Some(why) = asked.and_then(|shim| unavailable().or_else(|| config(&shim).err())) {
                refuse("transport.shim", why);
            }
        }
        cannot
    }

    fn explain(&self, experiment: &Experiment) -> Vec<String> {
        let mut all = Linux.explain(experiment);
        for (_, group) in experiment.groups.enumerate().filter(|(_, g)| g.tcp.gro.is_some()) {
            all.push(format!("`{}`: `gro`: the hosts of the testbed merge no segments", group.name));
        }
        for (id, group) in experiment.groups.enumerate() {
            if let Ok(Some(cc)) = guest_cc(&group.tcp, route(experiment, id).as_ref()) {
                let own = cc.name.trim_start_matches("forebay_");
                all.push(format!(
                    "`{}`: needs the BPF program `{own}` in the running kernel; attach it first: `forebay attach {own} --name {} --default{}`, with \
                     its parameters as --param; those of the scenario do not reach it",
                    group.name,
                    cc.name,
                    trim_params(&cc)
                ));
            }
        }
        all
    }

    fn run(
        &self,
        experiment: CheckedExperiment<'_>,
        seed: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> Result<Report, RunError> {
        self.refuse(&experiment)?;
        let fib = Fib::with_seed(&experiment.network, seed).map_err(|e| RunError::Unroutable(e.to_string()))?;
        permitted().map_err(RunError::World)?;
        let (mut report, how) = in_real_time(&experiment, seed, &fib, progress)?;
        let tolerance = tolerance(&experiment, &fib);
        judge(&how, tolerance).map_err(RunError::World)?;
        report.remark = format!("{}; tolerated: {tolerance} (99 %)", how.misses);
        let counted: Vec<String> = how.counters.iter().map(|(name, n)| format!("{name} {n}")).collect();
        if !counted.is_empty() {
            report.remark += &format!("; counted by BPF programs: {}", counted.join(", "));
        }
        Ok(report)
    }
}

/// Checks whether namespaces can be created; the error names the fix.
fn permitted() -> Result<(), String> {
    let Err(e) = Namespace::create() else { return Ok(()) };
    Err(format!("no right to make network namespaces ({e}): run it as root, or behind `unshare --user --map-root-user`"))
}

fn in_real_time(
    experiment: &Experiment,
    seed: u64,
    fib: &Fib,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
) -> Result<(Report, Timing), RunError> {
    let broken = |e: io::Error| RunError::World(format!("the testbed failed: {e}"));
    let (from_guest, to_us) = io::pipe().map_err(broken)?;
    let (from_us, to_guest) = io::pipe().map_err(broken)?;
    std::thread::scope(|scope| {
        let there = Link::new(to_us, from_us);
        let guest = scope.spawn(|| guest::serve(there, &experiment.network, seed));
        let mut link = Link::new(to_guest, from_guest);
        // Decisions of applications, and new routes after a link failure, must also be in time.
        let _urgent = RealTimeScope::from_now(guest::PRIORITY);
        let ran = run_guest(experiment, seed, fib, &Plan::new(experiment), &mut link, PATIENCE, progress);
        // The other end notices that this one is gone, if it has not ended.
        drop(link);
        let served = guest.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (ran, served) {
            (Err(Failed::Interrupted), _) => Err(RunError::Interrupted),
            // The kernel's error is more specific than the end of the conversation.
            (Err(Failed::Guest(_)), Err(e)) => Err(broken(e)),
            (Err(Failed::Guest(why)), Ok(_)) => Err(RunError::World(why)),
            (Ok(_), Err(e)) => Err(broken(e)),
            (Ok(report), Ok(how)) => Ok((report, how)),
        }
    })
}
