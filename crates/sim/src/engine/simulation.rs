//! The main loop: window by window, node by node.

use super::core::{Apps, Core};
use super::fabric::Fabric;
use super::lane::Lane;
use super::recorder::Recorder;
use super::tiers::{GROUP, Tier, take_group};
use crate::tcp::config::TcpConfig;
use forebay_experiment::Experiment;
use forebay_experiment::checked::Checked;
use forebay_experiment::network::PortConfig;
use forebay_experiment::report::{Cut, Progress, Report, RunError};
use forebay_experiment::topology::Fib;
use forebay_traffic::{App, QueryIds};
use forebay_units::{IndexVec, NodeId, Time, TimeOrNever};
use std::ops::ControlFlow;

/// Node activations between two looks at the progress callback: some ten milliseconds.
const ACTIVATIONS_PER_LOOK: u64 = 100_000;

/// A simulation ready to run.
pub(crate) struct Simulation {
    /// Everything but the applications.
    core: Core,
    apps: Apps,
    duration: Option<Time>,
    /// When measuring begins, unless it has,
    warmup: TimeOrNever,
    /// and when deliveries are to be noted.
    noting: Time,
    /// When something other than packets and timers is to be done next, in the window that this is in: one of those, or a link fails.
    due: Time,
    activations: u64,
    /// For a network so large that its nodes are run in groups.
    tiers: Option<IndexVec<NodeId, Tier>>,
    #[cfg(debug_assertions)]
    backwards: bool,
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
        let mut fabric = Fabric::new(network, fib, seed);
        for &port in &config.observe.occupancy {
            fabric.ports[port].observe(port, None);
        }
        for &(port, every) in &config.observe.queue_series {
            fabric.ports[port].observe(port, Some(every.max(Time(1))));
        }
        let recorder = Recorder::new(&config.observe);
        let lane = Lane::new(network.nodes.len(), lookahead(&config, &tcp));
        let mut core = Core::new(fabric, lane, &config, tcp, seed, recorder);
        let mut apps = IndexVec::new();
        let mut query_ids = QueryIds::default();
        for workload in config.workloads.ids() {
            let mut app = App::new(&config, seed, workload, &mut query_ids);
            app.start(&mut core);
            apps.push(app);
        }
        // Rows that are sure to come have their place from the start: growing by doubling leaves holes that the allocator keeps. Memory
        // that a run does not reach is never touched.
        let expected: u64 = apps.iter().map(App::expected).sum();
        core.reserve_rows(expected.min(MAX_RESERVED) as usize);
        let duration = config.duration;
        let mut warmup = TimeOrNever::at(config.observe.warmup);
        if config.observe.warmup == Time::ZERO {
            core.begin_measuring(Time::ZERO);
            warmup = TimeOrNever::NEVER;
        }
        Ok(Simulation {
            apps,
            duration,
            warmup,
            noting: Time::ZERO,
            due: Time::ZERO,
            activations: 0,
            tiers: core.tiers(),
            #[cfg(debug_assertions)]
            backwards: false,
            core,
        })
    }

    /// Runs to the end, or to that of the window in which `progress` ends it.
    pub(crate) fn run(&mut self, progress: &mut dyn FnMut(Progress) -> ControlFlow<Cut>) -> ControlFlow<Cut> {
        let mut injection = self.next_injection();
        let mut next_look = self.activations + ACTIVATIONS_PER_LOOK;
        // End of the window before.
        let mut passed = Time::ZERO;
        loop {
            if !self.core.calendar().advance(injection) {
                break;
            }
            let wheel = self.core.calendar();
            if let Some(d) = self.duration {
                if wheel.start >= d {
                    wheel.start = d;
                    wheel.end = d;
                    break;
                }
                wheel.end = wheel.end.min(d);
            }
            let (start, end) = (wheel.start, wheel.end);
            if end > self.due {
                self.on_due(passed, (start, end));
            }
            passed = end;
            if injection < end.into() {
                for app in &mut self.apps {
                    app.inject(&mut self.core, end);
                }
                injection = self.next_injection();
            }
            self.window();
            if self.activations >= next_look {
                next_look = self.activations + ACTIVATIONS_PER_LOOK;
                progress(self.progress())?;
            }
            if self.core.all_acknowledged() && self.duration.is_none() && self.apps.iter().all(App::finished) {
                break;
            }
        }
        if let Some(d) = self.duration {
            self.core.calendar().end = d;
        }
        ControlFlow::Continue(())
    }

    /// Time comes to a window from `start` to `end`, after one that ended at `passed`: ends the warm-up, notes deliveries, and lets links fail
    /// and come back.
    #[cold]
    #[inline(never)]
    fn on_due(&mut self, passed: Time, (start, end): (Time, Time)) {
        if self.warmup.has_come(start) {
            self.warmup = TimeOrNever::NEVER;
            self.core.begin_measuring(start);
        }
        if start >= self.noting {
            self.noting = self.core.note_deliveries(passed, start);
        }
        self.core.fail((start, end));
        self.due = self.noting.min(self.warmup.min(self.core.next_failure()).or_never());
    }

    /// When the next flows arrive that come from outside; only [`App::inject`] changes it.
    fn next_injection(&self) -> TimeOrNever {
        self.apps.iter().filter_map(App::next_arrival).min().into()
    }

    /// What the run leaves behind.
    ///
    /// # Panics
    /// When packets or bytes do not add up: a bug in the simulator, whose results must not be used.
    pub(crate) fn into_report(self) -> Report {
        self.core.into_report()
    }

    /// How far the run is.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            now: self.core.now(),
            end: self.duration,
            packet_hops: self.core.hops(),
            done: self.core.messages_done(),
            total: self.apps.iter().map(App::expected).sum(),
        }
    }

    fn window(&mut self) {
        #[cfg(debug_assertions)]
        if self.backwards {
            return self.window_backwards();
        }
        if self.tiers.is_some() {
            self.window_in_groups();
            return self.end_window();
        }
        for word in 0..self.core.calendar().words() {
            let mut bits = self.core.calendar().take(word);
            while bits != 0 {
                let node = NodeId::new((word as u32) << 6 | bits.trailing_zeros());
                bits &= bits - 1;
                self.run_node(node);
            }
        }
        self.end_window();
    }

    /// As `window`, of a large network.
    fn window_in_groups(&mut self) {
        let Some(tiers) = &self.tiers else { return };
        let mut group = [NodeId::new(0); GROUP];
        for word in 0..self.core.calendar().words() {
            let mut bits = self.core.calendar().take(word);
            while bits != 0 {
                let (count, tier) = take_group(tiers, word, &mut bits, &mut group);
                self.activations += count as u64;
                self.core.run_group(&mut self.apps, &group[..count], tier);
            }
        }
    }

    /// Works off what node `node` has in the current window.
    #[inline(always)]
    fn run_node(&mut self, node: NodeId) {
        self.activations += 1;
        if self.core.is_host(node) {
            self.core.run_host(&mut self.apps, node);
        } else {
            self.core.forward(node);
        }
    }

    #[inline(always)]
    fn end_window(&mut self) {
        self.core.calendar().finish();
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
        for word in (0..self.core.calendar().words()).rev() {
            let bits = self.core.calendar().take(word);
            for bit in (0..64).rev().filter(|bit| bits >> bit & 1 == 1) {
                self.run_node(NodeId::new((word as u32) << 6 | bit));
            }
        }
        self.end_window();
    }
}

/// The shortest time in which one node can affect another: the smallest link delay (where a link has none, the time to send the
/// smallest packet), or a shorter request latency.
fn lookahead(config: &Experiment, tcp: &[TcpConfig]) -> Time {
    let shim = |c: &TcpConfig| c.shims.endpoint.as_ref().map_or(u32::MAX, |s| s.smallest_packet(c));
    let segments = tcp.iter().map(|c| c.ack_size.min(c.header + 1).min(shim(c)));
    let datagrams = config.workloads.iter().filter_map(|w| w.kind.smallest_datagram());
    let smallest = segments.chain(datagrams).min().unwrap_or(40);
    let link = |p: &PortConfig| if p.delay == Time::ZERO { p.rate.tx_time(u64::from(smallest)) } else { p.delay };
    let links = config.network.ports.iter().map(link).min();
    let requests = config.workloads.iter().filter_map(|w| w.kind.request_latency()).min();
    // Keys of gathered packets hold 40 bits of time inside a window.
    links.into_iter().chain(requests).min().unwrap_or(Time(1)).clamp(Time(1), Time(1 << 39))
}
