//! The simulator as a backend ([`World`]).

use crate::cc::{self, Cc};
use crate::engine::path::empty_path;
use crate::run::Cores;
use crate::shim;
use crate::tcp::config::TcpConfig;
use forebay_experiment::Experiment;
use forebay_experiment::check::CheckedExperiment;
use forebay_experiment::decisions::Decisions;
use forebay_experiment::registry::{CcEntry, ShimEntry};
use forebay_experiment::report::{EarlyEnd, Progress, Report, RunError};
use forebay_experiment::topology::{BuildError, Fib, hosts};
use forebay_experiment::traffic::WorkloadKind;
use forebay_experiment::transport::{Chosen, Recovery, RtoRule, SlowStart, Stack};
use forebay_experiment::world::{Unsupported, World};
use forebay_types::{NodeId, Rate, Rng};
use std::ops::ControlFlow;

/// Refuses a retransmission timeout that never grows above the transmission time of the smallest packet: such a run does not end.
fn period_of_timeouts(stack: &Stack, fastest: Rate) -> Option<Unsupported> {
    let least = fastest.tx_time(u64::from(stack.ack_size.min(stack.header + 1)));
    let (key, longest, rule) = match stack.rto_rule {
        RtoRule::Fixed => ("transport.rto-min", stack.rto_min, ", and with `rto-rule = \"fixed\"` a timeout never grows"),
        RtoRule::Rfc6298 | RtoRule::Linux => ("transport.rto-max", stack.rto_max, ""),
    };
    if longest >= least {
        return None;
    }
    let name = key.trim_start_matches("transport.");
    let legal = format!("legal: {least} or longer, the time of the smallest packet on the fastest link of a host");
    Some(Unsupported { key, reason: format!("`{name}` is {longest}{rule}; {legal}") })
}

/// Refuses messages whose receiver acknowledges data ahead of its arrival: they would end before they arrive, or never.
fn messages_without_end(experiment: &Experiment) -> Option<Unsupported> {
    let is_ahead = |tcp: &TcpConfig| tcp.shims.endpoint.as_ref().is_some_and(|shim| shim.acknowledges_ahead());
    let ahead = experiment.groups.enumerate().filter(|(_, group)| TcpConfig::of(&group.tcp).is_ok_and(|tcp| is_ahead(&tcp)));
    let endless = |kind: &WorkloadKind| matches!(kind, WorkloadKind::Long { size: None, stop_after: None, .. });
    let mut ended = ahead.flat_map(|(id, _)| experiment.workloads.iter().filter(move |w| w.uses(id) && !endless(&w.kind)));
    let reason = format!(
        "receivers of `{}` acknowledge data ahead of its arrival (`ack-ahead`), so its messages have no end; legal: \"0B\", or workloads of kind `long` \
         without `size`",
        ended.next()?.class
    );
    Some(Unsupported { key: "transport.shim", reason })
}

/// Packets over links, queues and switches, in simulated time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Simulator;

impl World for Simulator {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn summary(&self) -> &'static str {
        "the packet-level simulator"
    }

    fn has_host_queues(&self) -> bool {
        true
    }

    fn congestion_controls(&self) -> Vec<CcEntry<()>> {
        cc::REGISTRY.iter().map(|e| e.without_builder()).collect()
    }

    fn shims(&self) -> Vec<ShimEntry<()>> {
        shim::REGISTRY.iter().map(|e| e.without_builder()).collect()
    }

    fn check_shim(&self, shim: &Chosen) -> Result<(), BuildError> {
        shim::build(shim).map(|_| ())
    }

    fn supports(&self, experiment: &Experiment) -> Vec<Unsupported> {
        let conflicts = experiment.two_way_conflicts();
        let mut cannot: Vec<_> = conflicts.map(|(_, reason)| Unsupported { key: "workload.two-way", reason }).collect();
        let network = &experiment.network;
        let fastest = network.ports.iter().filter(|p| network.nodes[p.from].host).map(|p| p.rate).max().unwrap_or(Rate::MAX);
        cannot.extend(messages_without_end(experiment));
        for group in &experiment.groups {
            cannot.extend(period_of_timeouts(&group.tcp, fastest));
            match TcpConfig::of(&group.tcp) {
                Ok(tcp) if tcp.cc.hooks().records() && !matches!(tcp.recovery, Recovery::Sack | Recovery::Rack) => {
                    let reason = format!(
                        "`{}` records every outstanding segment, for which it needs SACK; legal with this congestion control: \"sack\", \"rack\"",
                        group.tcp.cc.name
                    );
                    cannot.push(Unsupported { key: "transport.recovery", reason });
                }
                Err(e) if e.key == "shim" => cannot.push(Unsupported { key: "transport.shim", reason: e.message }),
                Err(e) => cannot.push(Unsupported { key: "transport.cc", reason: e.message }),
                Ok(tcp) if tcp.slow_start != SlowStart::Standard && tcp.cc.hooks().own_slow_start() => {
                    let name = tcp.slow_start.name();
                    let reason = format!(
                        "`slow-start` is \"{name}\" for a congestion control with its own slow start; legal with this congestion control: \"standard\""
                    );
                    cannot.push(Unsupported { key: "transport.slow-start", reason });
                }
                Ok(_) => {}
            }
        }
        cannot
    }

    /// Describes what congestion controls derive from the path between the first host and the last.
    fn explain(&self, experiment: &Experiment) -> Vec<String> {
        let network = &experiment.network;
        let hosts = hosts(network);
        let (Some(&from), Some(&to), Ok(fib)) = (hosts.first(), hosts.last(), Fib::new(network)) else { return Vec::new() };
        let mut lines = Vec::new();
        for group in &experiment.groups {
            let Ok(tcp) = TcpConfig::of(&group.tcp) else { continue };
            if !tcp.cc.hooks().path() {
                continue;
            }
            let mut cc = tcp.cc.start();
            cc.path(empty_path(network, &fib, from, to, (0, 0), &tcp, Rng::stream(0, &[])));
            if let Cc::Trim(trim) = &cc {
                let node = |id: NodeId| network.nodes.get(id).map_or("?", |n| n.name.as_str());
                lines.push(format!("`{}` from {} to {}: {}", group.name, node(from), node(to), trim.summary()));
            }
        }
        lines
    }

    fn run(
        &self,
        experiment: CheckedExperiment<'_>,
        seed: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> Result<Report, RunError> {
        self.run_on(1, experiment, seed, progress)
    }

    fn run_on(
        &self,
        cores: usize,
        experiment: CheckedExperiment<'_>,
        seed: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> Result<Report, RunError> {
        crate::run::run_seeded(experiment, seed, Cores::up_to(cores), progress)
    }

    fn decides(&self) -> bool {
        true
    }

    fn run_with_decisions(
        &self,
        cores: usize,
        experiment: CheckedExperiment<'_>,
        seed: u64,
        decisions: &mut dyn Decisions,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> Result<Report, RunError> {
        crate::run::run_with_decisions(experiment, seed, Cores::up_to(cores), decisions, progress)
    }
}
