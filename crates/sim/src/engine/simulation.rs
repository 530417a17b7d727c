//! The main loop: window by window, node by node.

use super::core::Core;
use super::fabric::Fabric;
use super::hosts::Wake;
use super::recorder::Recorder;
use crate::config::{SimConfig, TcpConfig};
use crate::net::packet::flag;
use crate::net::ring::Ring;
use crate::shim::endpoint::smallest_packet;
use crate::topology::Fib;
use forebay_experiment::checked::Checked;
use forebay_experiment::report::{Progress, RunError};
use forebay_traffic::{App, QueryIds};
use forebay_units::{AppId, IndexVec, NodeId, Time};
use std::ops::ControlFlow;

/// Node activations between two looks at the progress callback: some ten milliseconds.
const ACTIVATIONS_PER_LOOK: u64 = 100_000;

/// A simulation ready to run.
pub(crate) struct Simulation {
    /// Everything but the applications.
    pub core: Core,
    apps: IndexVec<AppId, App>,
    duration: Option<u64>,
    warmup: u64,
    warm: bool,
    activations: u64,
    #[cfg(debug_assertions)]
    backwards: bool,
    /// Statistics count from here, ps.
    pub measured_from: u64,
    /// Payload that had arrived before that, per transport.
    pub arrived_before: Vec<u64>,
}

/// Most rows of messages to reserve at the start.
const MAX_RESERVED: u64 = 1 << 20;

impl Simulation {
    /// Builds the network and starts the applications.
    pub(crate) fn new(config: Checked<'_>, seed: u64) -> Result<Simulation, RunError> {
        let network = &config.network;
        let fib = Fib::new(network).map_err(|e| RunError::Unroutable(e.to_string()))?;
        let tcp: Result<Vec<_>, _> = config.groups.iter().map(|g| TcpConfig::of(&g.tcp)).collect();
        let tcp = tcp.map_err(|e| RunError::Unknown(e.message))?;
        let mut fabric = Fabric::new(network, fib, lookahead(&config, &tcp), seed);
        for &port in &config.observe.occupancy {
            fabric.ports[port].observe(port, u64::MAX);
        }
        for &(port, every) in &config.observe.queue_series {
            fabric.ports[port].observe(port, every.0.max(1));
        }
        let series = config.observe.tcp_series.iter().map(|&(flow, every)| (flow, every.0)).collect();
        let recorder = Recorder::new(series, config.observe.timeouts);
        let mut core = Core::new(fabric, network, tcp, seed, recorder);
        let mut apps = IndexVec::new();
        let mut query_ids = QueryIds::default();
        for workload in 0..config.workloads.len() {
            let mut app = App::new(&config, seed, workload, &mut query_ids);
            app.start(&mut core);
            apps.push(app);
        }
        // Rows that are sure to come have their place from the start: growing by doubling leaves holes that the allocator keeps. Memory
        // that a run does not reach is never touched.
        let expected: u64 = apps.iter().map(App::expected).sum();
        core.recorder.reserve(expected.min(MAX_RESERVED) as usize);
        let (duration, groups) = (config.duration.map(|d| d.0), config.groups.len());
        core.measuring = config.observe.warmup == Time::ZERO;
        Ok(Simulation {
            apps,
            duration,
            warmup: config.observe.warmup.0,
            warm: core.measuring,
            activations: 0,
            #[cfg(debug_assertions)]
            backwards: false,
            measured_from: 0,
            arrived_before: vec![0; groups],
            core,
        })
    }

    /// Runs to the end. Returns false if `progress` stopped it.
    pub(crate) fn run(&mut self, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> bool {
        let mut next_look = self.activations + ACTIVATIONS_PER_LOOK;
        loop {
            let injection = self.apps.iter().filter_map(App::next_arrival).min().map_or(u64::MAX, |t| t.0);
            if !self.core.fabric.wheel.advance(injection) {
                break;
            }
            let wheel = &mut self.core.fabric.wheel;
            if let Some(d) = self.duration {
                if wheel.start >= d {
                    wheel.start = d;
                    wheel.end = d;
                    break;
                }
                wheel.end = wheel.end.min(d);
            }
            let (start, end) = (wheel.start, wheel.end);
            if !self.warm && start >= self.warmup {
                self.warm = true;
                self.measured_from = start;
                self.core.fabric.ports.iter_mut().for_each(|p| p.restart_stats(start));
                self.arrived_before = self.core.arrived_by_group();
                self.core.begin_measuring();
            }
            if injection < end {
                for app in &mut self.apps {
                    app.inject(&mut self.core, Time(end));
                }
            }
            self.window();
            if self.activations >= next_look {
                next_look = self.activations + ACTIVATIONS_PER_LOOK;
                if progress(self.progress()).is_break() {
                    return false;
                }
            }
            if self.core.lane.open == 0 && self.duration.is_none() && self.apps.iter().all(App::finished) {
                break;
            }
        }
        if let Some(d) = self.duration {
            self.core.fabric.wheel.end = d;
        }
        true
    }

    /// How far the run is.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            now: Time(self.core.fabric.wheel.start),
            end: self.duration.map(Time),
            packet_hops: self.core.fabric.hops(),
            done: self.core.lane.done,
            total: self.apps.iter().map(App::expected).sum(),
        }
    }

    fn window(&mut self) {
        #[cfg(debug_assertions)]
        if self.backwards {
            return self.window_backwards();
        }
        let mut word = 0;
        while let Some(mut bits) = self.core.fabric.wheel.take(word) {
            if bits == 0 {
                word += 1;
                continue;
            }
            while bits != 0 {
                let node = NodeId::new((word as u32) << 6 | bits.trailing_zeros());
                bits &= bits - 1;
                self.run_node(node);
            }
        }
        self.end_window();
    }

    /// Works off what node `node` has in the current window.
    #[inline(always)]
    fn run_node(&mut self, node: NodeId) {
        self.activations += 1;
        if self.core.is_host(node) {
            self.run_host(node);
        } else {
            self.core.fabric.forward(node);
        }
    }

    #[inline(always)]
    fn end_window(&mut self) {
        self.core.fabric.wheel.finish();
        // A connection that was asked for before the first window may open in the one that ends here, which is then run again.
        self.core.end_window();
    }

    /// Runs the nodes of every window from the last to the first.
    #[cfg(debug_assertions)]
    pub(crate) fn backwards(&mut self) {
        self.backwards = true;
    }

    #[cfg(debug_assertions)]
    fn window_backwards(&mut self) {
        loop {
            let words = (0..).map_while(|word| self.core.fabric.wheel.take(word).map(|bits| (word as u32, bits)));
            let nodes =
                words.flat_map(|(word, bits)| (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word << 6 | bit));
            let nodes: Vec<u32> = nodes.collect();
            if nodes.is_empty() {
                return self.end_window();
            }
            nodes.into_iter().rev().for_each(|node| self.run_node(NodeId::new(node)));
        }
    }

    /// Works off a host's packets and timers of the current window, in order of time; at the same time packets come first.
    #[inline(never)]
    fn run_host(&mut self, node: NodeId) {
        let core = &mut self.core;
        core.run_by(Some(node));
        let end = core.fabric.wheel.end;
        let input = core.hosts[node].input;
        loop {
            let timer = core.hosts[node].next_timer();
            let ring = &mut core.fabric.ports[input].ring;
            let packet = if ring.is_empty() { u64::MAX } else { ring.packet(ring.head()).arrival };
            let next = packet.min(timer);
            if next >= end {
                if next != u64::MAX {
                    core.fabric.wheel.mark(node, next);
                }
                return;
            }
            if packet <= timer {
                let packet = ring.place(ring.head());
                // SAFETY: the ring lets the packet go but keeps it until packets are added to it, which only the node at its other end does.
                let (p, blocks) = unsafe { (&*packet, Ring::sack_behind(packet)) };
                ring.advance(ring.next(ring.head()));
                if p.has(flag::ACK) {
                    core.deliver_ack(node, p, blocks);
                } else {
                    core.deliver_data(node, p);
                }
            } else {
                Self::run_timer(core, &mut self.apps, node);
            }
            if !core.lane.notices.is_empty() {
                Self::notify(core, &mut self.apps, next);
            }
        }
    }

    /// Works off the host's earliest timer.
    #[inline(never)]
    fn run_timer(core: &mut Core, apps: &mut IndexVec<AppId, App>, node: NodeId) {
        match core.hosts[node].pop() {
            Some((now, Wake::App { app, tag })) => apps[app].on_wake(core, Time(now), tag),
            Some((now, wake)) => core.on_wake(node, now, wake),
            None => {}
        }
    }

    #[inline(never)]
    fn notify(core: &mut Core, apps: &mut IndexVec<AppId, App>, now: u64) {
        // An application's reaction may raise further notices.
        let mut next = 0;
        while let Some(&(app, notice)) = core.lane.notices.get(next) {
            next += 1;
            apps[app].on_notice(core, Time(now), notice);
        }
        core.lane.notices.clear();
    }
}

/// The shortest time in which one node can affect another: the smallest link delay (where a link has none, the time to send the
/// smallest packet), or a shorter request latency.
fn lookahead(config: &SimConfig, tcp: &[TcpConfig]) -> u64 {
    let shim = |c: &TcpConfig| smallest_packet(c).unwrap_or(u32::MAX);
    let segments = tcp.iter().map(|c| c.ack_size.min(c.header + 1).min(shim(c)));
    let datagrams = config.workloads.iter().filter_map(|w| w.kind.smallest_datagram());
    let smallest = segments.chain(datagrams).min().unwrap_or(40);
    let link =
        |p: &crate::config::PortConfig| if p.delay == Time::ZERO { p.rate.tx_time(u64::from(smallest)).0 } else { p.delay.0 };
    let links = config.network.ports.iter().map(link).min().unwrap_or(1);
    let requests = config.workloads.iter().filter_map(|w| w.kind.request_latency().map(|l| l.0));
    // Keys of gathered packets hold 40 bits of time inside a window.
    requests.min().unwrap_or(u64::MAX).min(links).clamp(1, 1 << 39)
}
