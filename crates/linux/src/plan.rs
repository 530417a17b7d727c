//! Translates an experiment to the set-up of a guest: ports, namespaces with their settings and interfaces, transports.

use crate::host_queue::HostQueue;
use crate::link::Frames;
use crate::loss;
use crate::protocol::{self, NEVER, NONE, number, text};
use crate::stack::{Settings, datagram_settings, settings, sockets};
use forebay_experiment::Experiment;
use forebay_experiment::faults::Balance;
use forebay_experiment::host_timing::HostTiming;
use forebay_experiment::streams::RngStream;
use forebay_experiment::topology::{Fib, Route};
use forebay_experiment::traffic::{Workload, WorkloadKind};
use forebay_experiment::transport::{Chosen, Transport};
use forebay_kernel::shims::{SHIM, clear_answers, rules_of};
use forebay_kernel::tags::TAGS;
use forebay_queues::{QueueConfig, SharedBuffer, SharedPolicy};
use forebay_types::{AppId, GroupId, NodeId, QueueLen, Time, WorkloadId};
use std::collections::BTreeMap;

/// Path from which TRIM computes the threshold of transport `id`. All connections of a transport in the guest have the same threshold: that of its
/// first sender, to the last host that it sends to.
pub fn route(experiment: &Experiment, id: GroupId) -> Option<Route> {
    let tcp = &experiment.groups[id].tcp;
    if tcp.cc.name != "trim" {
        return None;
    }
    let mut hosts = Vec::new();
    for workload in experiment.workloads.iter().filter(|w| w.uses(id)) {
        workload.kind.each_host(|host| hosts.push(host));
    }
    let (src, dst) = (*hosts.first()?, *hosts.last()?);
    let fib = Fib::new(&experiment.network).ok()?;
    (src != dst).then(|| Route::of(&experiment.network, &fib, (src, dst), (0, 0), tcp))
}

/// Low bits of a time that the draw among packets of the same instant does not see: as the simulator's (`engine/arrival_order.rs`).
const TIES_SHIFT: u64 = 33;
/// 10.0.0.1 is the address of the first interface.
const FIRST_ADDRESS: u32 = 0x0A00_0001;

/// Namespaces and transports of a guest, by the guest's numbers.
#[derive(Debug)]
pub struct Plan {
    profiles: Vec<Settings>,
    /// Host and profile of each interface.
    interfaces: Vec<(NodeId, usize)>,
    by_place: BTreeMap<(NodeId, usize), u32>,
    groups: Vec<protocol::Group>,
    /// The guest's transport of each workload of datagrams.
    datagrams: BTreeMap<WorkloadId, u32>,
    /// The states of sockets are recorded.
    states: bool,
}

impl Plan {
    /// Plan for `experiment`, which [`supports`](forebay_experiment::world::World::supports) has accepted.
    pub fn new(experiment: &Experiment) -> Plan {
        let mut plan = Plan {
            profiles: Vec::new(),
            interfaces: Vec::new(),
            by_place: BTreeMap::new(),
            groups: Vec::new(),
            datagrams: BTreeMap::new(),
            states: false,
        };
        // Transports keep their numbers; that of datagrams is not used, as each workload of them has its own.
        for (id, group) in experiment.groups.enumerate() {
            let options = sockets(&group.tcp, route(experiment, id).as_ref());
            let profile = plan.profile(settings(&group.tcp)) as u32;
            let mut shim = options.shim;
            if !experiment.workloads.iter().any(|w| w.kind.two_way() && w.uses(id)) {
                clear_answers(&mut shim);
            }
            plan.groups.push(protocol::Group {
                cc: text(options.cc),
                profile,
                flags: options.flags,
                rcvbuf: options.rcvbuf,
                sndbuf: options.sndbuf,
                max_pacing_rate: options.max_pacing_rate,
                header: group.tcp.header,
                ack_size: group.tcp.ack_size,
                send_jitter: group.tcp.send_jitter.0,
                param: options.param,
                tag: options.tag,
                shim,
            });
        }
        for (id, workload) in experiment.workloads.enumerate() {
            if let WorkloadKind::Udp { datagram, .. } = &workload.kind {
                let profile = plan.datagram_profile(experiment, datagram_settings(u32::from(datagram.payload)));
                plan.datagrams.insert(id, plan.groups.len() as u32);
                let like = plan.groups[0];
                let flags = if datagram.ect { number::GROUP_ECN } else { 0 };
                plan.groups.push(protocol::Group {
                    cc: [0; 16],
                    profile: profile as u32,
                    flags,
                    header: u32::from(datagram.wire) - u32::from(datagram.payload),
                    max_pacing_rate: 0,
                    send_jitter: 0,
                    tag: [0; TAGS],
                    shim: [0; SHIM],
                    ..like
                });
                plan.join(workload, profile);
                continue;
            }
            for (g, group) in experiment.groups.enumerate() {
                if group.tcp.cc != Chosen::NONE && workload.uses(g) {
                    let profile = plan.groups[g.index()].profile as usize;
                    plan.join(workload, profile);
                }
            }
        }
        plan
    }

    /// The same plan, with records of the states of all sockets.
    pub(crate) fn with_states(self) -> Plan {
        Plan { states: true, ..self }
    }

    /// The profile with these settings.
    fn profile(&mut self, settings: Settings) -> usize {
        self.profiles.iter().position(|p| *p == settings).unwrap_or_else(|| {
            self.profiles.push(settings);
            self.profiles.len() - 1
        })
    }

    /// The profile of datagrams with these settings: that of the first TCP transport whose packets are long enough, because all traffic of a host shares
    /// the queue of its interface; one of their own otherwise.
    fn datagram_profile(&mut self, experiment: &Experiment, settings: Settings) -> usize {
        let mut tcp = experiment.groups.enumerate().filter(|(_, group)| group.tcp.cc != Chosen::NONE);
        let shared = tcp.find_map(|(id, _)| {
            let profile = self.groups[id.index()].profile as usize;
            (self.profiles[profile].mtu >= settings.mtu).then_some(profile)
        });
        shared.unwrap_or_else(|| self.profile(settings))
    }

    /// Every host of `workload` gets an interface with `profile`.
    fn join(&mut self, workload: &Workload, profile: usize) {
        workload.kind.each_host(|host| {
            self.by_place.entry((host, profile)).or_insert_with(|| {
                self.interfaces.push((host, profile));
                self.interfaces.len() as u32 - 1
            });
        });
    }

    /// The guest's transport of `group`, on behalf of the application `app`.
    pub(crate) fn group(&self, app: AppId, group: GroupId) -> u32 {
        self.datagrams.get(&WorkloadId::new(app.get())).copied().unwrap_or(group.get())
    }

    /// The interface of `host` for the guest's transport `group`.
    pub(crate) fn interface(&self, host: NodeId, group: u32) -> u32 {
        let profile = self.groups[group as usize].profile as usize;
        self.by_place
            .get(&(host, profile))
            .copied()
            .unwrap_or_else(|| panic!("host {host} has no interface for transport {group}"))
    }

    /// Number of interfaces.
    pub(crate) fn interfaces(&self) -> usize {
        self.interfaces.len()
    }

    /// The frames that a guest reads first.
    pub(crate) fn frames(&self, experiment: &Experiment, seed: u64, frames: &mut Frames) {
        let network = &experiment.network;
        let headers = if experiment.observe.capture.is_off() { 0 } else { number::RECORD_HEADERS };
        let states = if self.states { number::RECORD_STATES } else { 0 };
        frames.put(protocol::World {
            protocol: protocol::PROTOCOL,
            nodes: network.nodes.len() as u32,
            ports: network.ports.len() as u32,
            interfaces: self.interfaces.len() as u32,
            groups: self.groups.len() as u32,
            profiles: self.profiles.len() as u32,
            ties: RngStream::Ties.stream(seed, &[]).next_u64(),
            ties_shift: TIES_SHIFT,
            records: number::RECORD_PACKETS | number::RECORD_TCP | headers | states,
            seed,
            flowlet_gap: match network.faults.balance {
                Balance::Flowlet { gap } => gap.0,
                Balance::Flow | Balance::Packet | Balance::Conga { .. } => NEVER,
            },
            flowlet_random: RngStream::Flowlets.stream(seed, &[]).state(),
        });
        let timing = HostTiming::of(&experiment.groups);
        for (id, port) in network.ports.enumerate() {
            let host = network.nodes[port.from].host;
            let phase = if host { timing.phase(seed, port.from) } else { Time::ZERO };
            let (jitter, jitter_state) = if host { timing.jitter(seed, port.from).parts() } else { (0, 0) };
            // A queue discipline of the kernel stands in front of its host's port.
            let kernel = host && HostQueue::of(port.queue_config.value()).is_some();
            let queue = if kernel { QueueConfig::default().words() } else { port.queue_config.words() };
            // A host's own interface has no limit.
            let limit = if host { None } else { port.buffer };
            let loss = loss::numbers(&network.faults, id, seed);
            let late = network.faults.reordering.iter().find(|r| r.port == id);
            let batch = network.faults.batching.iter().find(|b| b.port == id);
            frames.put(protocol::Port {
                from: port.from.get(),
                to: port.to.get(),
                rate: if host { timing.rate(seed, port.from, port.rate).0 } else { port.rate.0 },
                delay: (port.delay + phase).0,
                limit_bytes: if let Some(QueueLen::Bytes(bytes)) = limit { bytes } else { NEVER },
                limit_packets: if let Some(QueueLen::Packets(n)) = limit { u32::try_from(n).unwrap_or(NONE) } else { NONE },
                loss: loss.kind,
                random: RngStream::SendJitter.stream(seed, &[u64::from(port.from.get())]).state(),
                queue_random: RngStream::Queue.stream(seed, &[u64::from(id.get())]).state(),
                queue,
                jitter,
                jitter_state,
                loss_below: loss.below,
                loss_random: loss.random,
                loss_from: loss.acts.0,
                loss_until: loss.acts.1,
                late_below: late.map_or(0, |r| loss::bound(r.p)),
                late_by: late.map_or(0, |r| r.by.0),
                late_random: RngStream::Reordering.stream(seed, &[u64::from(id.get())]).state(),
                batch: batch.map_or(0, |b| b.every.0),
            });
        }
        loss::listed(&network.faults).for_each(|l| frames.put(l));
        for (id, node) in network.nodes.enumerate() {
            if let Some(shared) = &node.shared_buffer {
                frames.put(protocol::Switch { node: id.get(), pad: 0, param: shared_numbers(shared) });
            }
        }
        for p in &self.profiles {
            // The receive window is the socket's affair.
            let (rto_min_ms, quickack) = (p.rto_min_ms, u32::from(p.quickack));
            let hold_ns = timing.interrupt_delay.map_or(0, |delay| u32::try_from(delay.as_ns()).unwrap_or(u32::MAX));
            frames.put(protocol::Profile { init_cwnd: p.init_cwnd, init_rwnd: 0, rto_min_ms, quickack, burst: p.burst, hold_ns });
        }
        for (profile, p) in self.profiles.iter().enumerate() {
            for (key, value) in &p.sysctls {
                frames.put(protocol::Sysctl { profile: profile as u32, key: text(key), value: text(value) });
            }
        }
        self.groups.iter().for_each(|g| frames.put(*g));
        for (i, &(host, profile)) in self.interfaces.iter().enumerate() {
            let (address, mtu) = (FIRST_ADDRESS + i as u32, self.profiles[profile].mtu);
            frames.put(protocol::Interface { node: host.get(), profile: profile as u32, address, mtu });
        }
        for (id, group) in experiment.groups.enumerate() {
            Plan::shim_hosts(experiment, seed, (id, &group.tcp), frames);
        }
        let limits = experiment.groups.iter().any(|g| g.tcp.byte_queue_limits);
        for (i, &(host, _)) in self.interfaces.iter().enumerate() {
            let port = network.ports.iter().find(|p| p.from == host);
            if let Some(queue) = port.and_then(|p| HostQueue::of(p.queue_config.value())) {
                frames.put(queue.record(i as u32, limits));
            }
        }
        frames.put_bare(protocol::SETUP_END);
    }

    /// Shim configuration of the hosts of a transport: the timer's phase is that of the simulator (`engine/endpoint_shim.rs`).
    fn shim_hosts(experiment: &Experiment, seed: u64, (id, tcp): (GroupId, &Transport), frames: &mut Frames) {
        let Some(rules) = rules_of(tcp) else { return };
        let network = &experiment.network;
        for (node, _) in network.nodes.enumerate().filter(|(_, n)| n.host) {
            let Some(port) = network.ports.iter().find(|p| p.from == node) else { continue };
            let owner = [u64::from(id.get()), u64::from(node.get())];
            let phase = RngStream::ShimPhase.stream(seed, &owner).below(rules.c.tick.0);
            let cost = rules.cost_of_probe(port.rate.tx_time(u64::from(rules.probe_size))).0;
            frames.put(protocol::ShimHost { group: id.get(), node: node.get(), phase, cost });
        }
    }
}

/// `param` of `struct fb_switch`.
fn shared_numbers(buffer: &SharedBuffer) -> [u64; 6] {
    let (policy, number) = match buffer.policy {
        SharedPolicy::Static { per_port } => (0, per_port),
        SharedPolicy::Dynamic { alpha } => (1, alpha.to_bits()),
    };
    [buffer.total, policy, number, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{experiment, group};
    use forebay_experiment::assign::Assign;
    use forebay_experiment::transport::Profile;
    use forebay_experiment::writes::Writes;

    fn long(pairs: &[(u32, u32)], transport: Assign) -> Workload {
        let pairs: Vec<_> = pairs.iter().map(|&(a, b)| (NodeId::new(a), NodeId::new(b))).collect();
        let (start, stagger, jitter) = (Time::ZERO, Time::ZERO, Time::ZERO);
        Workload {
            class: "long".into(),
            transport,
            writes: Writes::ONE,
            listen: None,
            kind: WorkloadKind::Long { pairs: pairs.into(), size: None, start, stagger, jitter, stop_after: None },
        }
    }

    #[test]
    fn hosts_have_one_interface_per_stack() {
        let mut e = experiment(3);
        e.groups = vec![group(Profile::Ns2, "reno"), group(Profile::Ns2, "cubic"), group(Profile::Linux, "reno")].into();
        e.workloads = vec![
            long(&[(0, 3), (1, 3)], Assign::share([(GroupId::new(0), 0.5), (GroupId::new(1), 0.5)])),
            long(&[(1, 2)], Assign::One(GroupId::new(2))),
        ]
        .into();
        let plan = Plan::new(&e);
        // The first two have equal stacks: their congestion controls are a matter of sockets.
        let places: Vec<(u32, usize)> = plan.interfaces.iter().map(|p| (p.0.get(), p.1)).collect();
        assert_eq!(places, [(0, 0), (1, 0), (3, 0), (1, 1), (2, 1)]);
        assert_eq!(plan.interface(NodeId::new(1), 1), 1);
        assert_eq!(plan.interface(NodeId::new(1), 2), 3);
    }
}
