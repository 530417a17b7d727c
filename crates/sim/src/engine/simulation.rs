//! The main loop: window by window, node by node.

pub(crate) mod driven_run;

use super::fabric::Fabric;
#[cfg(debug_assertions)]
use super::node_set::NodeSet;
use super::partition::Partitions;
use super::partition::tuning::ThreadTuning;
use super::partition_state::PartitionState;
use super::processes::{Processes, WindowReport};
use super::progress_timer::ProgressTimer;
use super::ranks::Ranks;
use super::recorder::Recorder;
use super::schedule::{Schedule, Scheduled};
use super::state::{Apps, SimState, lock_app};
use super::tiers::Tier;
use crate::cores::Cores;
use crate::exchange::Exchange;
use crate::net::arena::Sharing;
use crate::tcp::config::TcpConfig;
use forebay_apps::{App, QueryIds};
use forebay_experiment::Experiment;
use forebay_experiment::check::CheckedExperiment;
use forebay_experiment::decisions::{Decisions, RunSnapshot};
use forebay_experiment::occupancy::Occupancy;
use forebay_experiment::report::{EarlyEnd, Progress, Report, RunError};
use forebay_experiment::topology::Fib;
use forebay_types::{IndexVec, NodeId, Time, TimeOrNever, WorkloadId};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

/// Maximum node activations between two progress reports, some ten milliseconds in most networks; [`ProgressTimer`] bounds the time.
const ACTIVATIONS_PER_REPORT: u64 = 100_000;

/// Activations before the first report, which only measures the load of the run.
const FIRST_REPORT: u64 = ACTIVATIONS_PER_REPORT / 10;

/// Transmissions per window from which on several cores are faster than one.
const BUSY_HOPS: u64 = 200;

/// A simulation ready to run.
pub(crate) struct Simulation<'a> {
    /// Everything but the applications.
    state: SimState,
    apps: Arc<Apps>,
    duration: Option<Time>,
    /// Events of the whole run.
    schedule: Schedule,
    activations: u64,
    /// Time of the next flows of open-loop workloads.
    injection: TimeOrNever,
    /// Time of the next injection or scheduled event.
    next_due: TimeOrNever,
    /// Time of the next injection, or scheduled event across which idle time is not skipped.
    next_stop: TimeOrNever,
    /// End of the previous window.
    last_end: Time,
    /// Time of the last scheduled event, up to which its window has been run.
    handled: Time,
    /// Timer of progress reports; activations at the next report by count; transmissions at the last report, and windows since.
    progress_timer: ProgressTimer,
    next_report: u64,
    hops_at_report: u64,
    windows: u64,
    /// Transmissions per window, as of the last report.
    hops_per_window: u64,
    /// Cores in use.
    cores: usize,
    /// The processes of the run, if there are several, and how the last progress callback of this one would end the run.
    processes: Option<Processes>,
    requested_cut: Option<EarlyEnd>,
    /// Tiers of a network so large that its nodes run in groups.
    tiers: Option<IndexVec<NodeId, Tier>>,
    /// Decisions about the end, and the time of the next one, a multiple of the length of a window; [`Time::NEVER`] without decisions.
    decisions: Option<&'a mut dyn Decisions>,
    next_decision: Time,
    #[cfg(debug_assertions)]
    backwards: bool,
}

impl<'a> Simulation<'a> {
    /// Builds the network and starts the applications.
    pub(crate) fn new(config: CheckedExperiment<'_>, seed: u64) -> Result<Simulation<'a>, RunError> {
        Simulation::with_program(config, seed, None)
    }

    /// As [`Simulation::new`]; a program sends the messages of workload `program`.
    fn with_program(config: CheckedExperiment<'_>, seed: u64, program: Option<WorkloadId>) -> Result<Simulation<'a>, RunError> {
        let network = &config.network;
        let fib = Fib::with_seed(network, seed).map_err(|e| RunError::Unroutable(e.to_string()))?;
        let tcp: Result<Vec<_>, _> = config.groups.iter().map(|g| TcpConfig::of(&g.tcp)).collect();
        let tcp = tcp.map_err(|e| RunError::Unknown(e.message))?;
        let mut fabric = Fabric::new(network, fib, seed);
        for &port in &config.observe.occupancy {
            fabric.ports[port].observe(Occupancy::new(port));
        }
        for series in Occupancy::of_series(&config.observe.queue_series) {
            fabric.ports[series.port()].observe(series);
        }
        fabric.capture(network, &config.observe.capture, seed);
        let recorder = Recorder::new(&config.observe);
        let partition = PartitionState::new(network.nodes.len(), lookahead(&config, &tcp));
        let mut state = SimState::new(fabric, partition, &config, tcp, seed, recorder);
        let mut apps = IndexVec::new();
        let mut query_ids = QueryIds::default();
        for workload in config.workloads.ids() {
            let mut app = match program {
                Some(driven) if driven == workload => App::driven(&config, workload),
                _ => App::new(&config, seed, workload, &mut query_ids),
            };
            app.start(&mut state);
            apps.push(Mutex::new(app));
        }
        // Requests made before the first window are applied when it begins.
        state.end_window();
        let duration = config.duration;
        let mut schedule = Schedule::new();
        if config.observe.warmup == Time::ZERO {
            state.begin_measuring(Time::ZERO);
        } else {
            schedule.set(Scheduled::EndOfWarmup, config.observe.warmup.into());
        }
        schedule.set(Scheduled::NoteDeliveries, state.deliveries_due().into());
        schedule.set(Scheduled::ChangeLinks, state.next_link_event());
        let mut simulation = Simulation {
            apps: Arc::new(apps),
            duration,
            schedule,
            injection: TimeOrNever::NEVER,
            next_due: TimeOrNever::NEVER,
            next_stop: TimeOrNever::NEVER,
            last_end: Time::ZERO,
            handled: Time::ZERO,
            progress_timer: ProgressTimer::new(FIRST_REPORT),
            next_report: FIRST_REPORT,
            windows: 0,
            hops_at_report: 0,
            hops_per_window: 0,
            cores: 1,
            activations: 0,
            processes: None,
            requested_cut: None,
            tiers: state.tiers(),
            decisions: None,
            next_decision: Time::NEVER,
            #[cfg(debug_assertions)]
            backwards: false,
            state,
        };
        simulation.injection = simulation.next_injection();
        simulation.update_due();
        Ok(simulation)
    }

    /// Lets `decisions` end the run.
    pub(crate) fn decide_with(&mut self, decisions: &'a mut dyn Decisions) {
        self.decisions = Some(decisions);
        self.state.merge_rows_each_window();
        self.update_decision();
    }

    /// Sets the time of the next decision. Windows begin at multiples of their length, so the state at this time is complete when the first window
    /// from there on begins, whichever windows have events.
    fn update_decision(&mut self) {
        let length = self.state.calendar().length();
        let next = self.decisions.as_ref().and_then(|d| d.next().get());
        self.next_decision = next.map_or(Time::NEVER, |t| t.round_up(length));
    }

    /// Makes the decisions that are due at the start of the current window. Returns true if one ends the run, whose duration then ends there.
    #[cold]
    #[inline(never)]
    fn decides_to_end(&mut self) -> bool {
        while self.state.now() >= self.next_decision {
            let now = self.next_decision;
            let Some(decisions) = &mut self.decisions else { return false };
            let state = &self.state;
            let so_far = RunSnapshot {
                work: &|| state.work_so_far(),
                delivered: &|| state.delivered_so_far(),
                ports: &|ports| state.ports_so_far(ports, now),
            };
            if decisions.ends(now, &so_far) {
                self.duration = Some(now);
                return true;
            }
            self.update_decision();
        }
        false
    }

    /// Makes this one of several processes that run the simulation together.
    ///
    /// # Errors
    /// The reason why it cannot be divided.
    pub(crate) fn join(&mut self, exchange: Arc<dyn Exchange>) -> Result<(), RunError> {
        let reason = self
            .state
            .reason_for_one_process()
            .or(self.apps.iter().any(|a| lock_app(a).shares_connections()).then_some("flows share persistent connections in it"))
            .or((!self.state.calendar().is_exact()).then_some("every link has a delay of 268 us or more"));
        if let Some(reason) = reason {
            return Err(RunError::World(format!(
                "this run cannot be divided among processes: {reason}; start it without mpirun"
            )));
        }
        self.processes = Some(Processes::new(Ranks::new(exchange)));
        Ok(())
    }

    /// Runs to the end, or to the end of the window in which `progress` ends the run.
    pub(crate) fn run(
        &mut self,
        cores: Cores,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> ControlFlow<EarlyEnd> {
        if self.processes.is_some() {
            self.run_partitioned(cores.most(), ThreadTuning::new(cores.at_once()), progress)?;
            return self.ended();
        }
        let most = if self.can_be_divided() { cores.most() } else { 1 };
        let mut over = false;
        while !over && !(most > 1 && (cores.at_once() || self.is_busy())) {
            if !self.begin_window(TimeOrNever::NEVER, &mut Simulation::window) {
                over = true;
                break;
            }
            self.window();
            over = self.end_window(progress)?;
        }
        if !over {
            self.run_partitioned(most, ThreadTuning::new(cores.at_once()), progress)?;
        }
        self.ended()
    }

    /// Sets the end of a run that was not cut short: its duration, or the time at which the last work ended.
    fn ended(&mut self) -> ControlFlow<EarlyEnd> {
        match self.duration {
            Some(d) => self.state.calendar().end = d,
            None if self.state.all_acknowledged() && self.are_finished() => self.state.end_with_work(),
            // No event is left that could finish the work.
            None => {}
        }
        ControlFlow::Continue(())
    }

    /// As `run`, from here on with partitions.
    fn run_partitioned(
        &mut self,
        threads: usize,
        mut tuning: ThreadTuning,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>,
    ) -> ControlFlow<EarlyEnd> {
        let (apps, tiers) = (self.apps.clone(), self.tiers.take());
        let place = self.processes.as_ref().map_or((0, 1), Processes::place);
        // SAFETY: until the partitions are joined, `self.state` is used by this thread only, between windows, and items are added then only. Nodes of
        // two partitions share no items.
        let sharing = unsafe { Sharing::new() };
        let partitions = Partitions::divide(&mut self.state, sharing, threads, place, &apps, tiers.as_ref());
        if let Some(processes) = &mut self.processes {
            processes.divide(&mut self.state, &partitions, &apps);
        }
        let flow = thread::scope(|scope| {
            let _end = partitions.stop_guard();
            // If the system refuses a thread, this thread runs its partition and those after it.
            let mut running = 1;
            while running < threads {
                let partitions = &partitions;
                let rounds = move || partitions.run_rounds(running);
                if thread::Builder::new().spawn_scoped(scope, rounds).is_err() {
                    break;
                }
                running += 1;
            }
            let mut next = TimeOrNever::NEVER;
            let run = |simulation: &mut Simulation<'a>, together: bool| {
                partitions.follow(&mut simulation.state);
                partitions.distribute_marks(&mut simulation.state);
                let own = partitions.run(&mut simulation.state, if together { running } else { 1 });
                simulation.activations += own.activations;
                own
            };
            loop {
                let together = tuning.together();
                // Sums over the parts of the window.
                let (mut open, mut done) = (0, 0);
                let mut part = |simulation: &mut Simulation<'a>| {
                    let own = run(simulation, together);
                    (open, done) = (open + own.open, done + own.done);
                };
                if !self.begin_window(next, &mut part) {
                    return ControlFlow::Continue(());
                }
                let clock = Instant::now();
                let own = run(self, together);
                next = own.next;
                tuning.note(clock.elapsed().as_nanos() as u64, own.activations);
                let mut cut = None;
                if let Some(processes) = &mut self.processes {
                    let (open, done) = (open + own.open, done + own.done);
                    let ended = WindowReport { next, open, done, hops: self.hops_at_report, requested_cut: self.requested_cut };
                    (next, cut) = processes.end_window(&mut self.state, &partitions, &apps, &ended);
                }
                self.cores = place.1 * if tuning.is_faster_together() { running } else { 1 };
                let over = self.end_window(progress)?;
                if let Some(cut) = cut {
                    return ControlFlow::Break(cut);
                }
                if over {
                    return ControlFlow::Continue(());
                }
            }
        });
        partitions.join(&mut self.state);
        flow
    }

    /// Returns true if results are the same on several cores.
    fn can_be_divided(&mut self) -> bool {
        self.state.can_be_divided() && self.state.calendar().is_exact()
    }

    /// Returns true if windows hold enough work for several cores.
    fn is_busy(&self) -> bool {
        self.hops_per_window >= BUSY_HOPS
    }

    /// Moves to the next window; false if there is none. `others` is the time of the next event outside the calendar. If events are scheduled inside
    /// the window, `run` runs it up to the last of them.
    #[inline(always)]
    fn begin_window(&mut self, others: TimeOrNever, run: &mut dyn FnMut(&mut Simulation<'a>)) -> bool {
        let calendar = self.state.calendar();
        if !calendar.advance(self.next_stop.min(others)) {
            return false;
        }
        if calendar.start >= self.next_decision && self.decides_to_end() {
            self.next_decision = Time::NEVER;
        }
        let calendar = self.state.calendar();
        if let Some(d) = self.duration {
            if calendar.start >= d {
                calendar.start = d;
                calendar.end = d;
                return false;
            }
            calendar.end = calendar.end.min(d);
        }
        let end = calendar.end;
        if self.next_due < end.into() && !self.handle_due_events(others, run) {
            return false;
        }
        self.last_end = end;
        true
    }

    /// Handles injections of the window that begins, and scheduled events: `run` runs the window up to the time of each event. Returns false if there
    /// are no other events and the run has no duration: it ended with the previous window.
    #[cold]
    #[inline(never)]
    fn handle_due_events(&mut self, others: TimeOrNever, run: &mut dyn FnMut(&mut Simulation<'a>)) -> bool {
        let calendar = self.state.calendar();
        let end = calendar.end;
        if self.duration.is_none() && self.injection.min(others).min(calendar.next()).is_never() {
            (calendar.start, calendar.end) = (self.last_end, self.last_end);
            return false;
        }
        let mut reached = self.state.now();
        // Deliveries that were due in idle time are added up before this window opens connections: in which window that happens has no effect.
        if let Some((_, event @ Scheduled::NoteDeliveries)) = self.schedule.before(Time(reached.0 + 1)) {
            self.apply_event(event, reached);
        }
        if self.injection < end.into() {
            for app in self.apps.iter() {
                lock_app(app).inject(&mut self.state, end);
            }
            self.injection = self.next_injection();
        }
        while let Some((time, event)) = self.schedule.before(end) {
            if time > reached {
                self.state.calendar().shorten_window(time);
                run(self);
                reached = time;
            }
            self.apply_event(event, reached);
        }
        self.handled = reached;
        self.state.calendar().resume_window(end);
        self.update_due();
        true
    }

    /// Applies a scheduled event at `now`, after all earlier events and before all later ones. Deliveries may have been due earlier if no packet has
    /// moved since.
    fn apply_event(&mut self, event: Scheduled, now: Time) {
        let processes = &mut self.processes;
        let next = match event {
            Scheduled::EndOfWarmup => {
                if let Some(processes) = processes {
                    self.state.exchange_receivers(processes.ranks());
                }
                self.state.begin_measuring(now);
                TimeOrNever::NEVER
            }
            Scheduled::NoteDeliveries => {
                self.state.note_deliveries(now, |numbers| {
                    if let Some(processes) = processes {
                        processes.ranks().sum(numbers);
                    }
                });
                self.state.deliveries_due().into()
            }
            Scheduled::ChangeLinks => {
                self.state.change_links(now);
                self.state.next_link_event()
            }
        };
        self.schedule.set(event, next);
    }

    /// Updates the times of the next events outside the calendar.
    fn update_due(&mut self) {
        // Nothing takes effect at or after the end of the run. The last window is cut short there: with an event in the part cut off it would be run
        // forever.
        let in_time = |time: TimeOrNever| if self.duration.is_some_and(|d| time >= d.into()) { TimeOrNever::NEVER } else { time };
        self.next_due = in_time(self.injection.min(self.schedule.next()));
        self.next_stop = in_time(self.injection.min(self.schedule.next_stop()));
    }

    /// Ends the window. Returns true if it was the last one.
    #[inline(always)]
    fn end_window(&mut self, progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>) -> ControlFlow<EarlyEnd, bool> {
        self.state.end_window();
        self.windows += 1;
        if self.progress_timer.is_due(self.activations) {
            let flow = self.report_progress(progress);
            if self.processes.is_some() {
                // All processes end with the same window, the next one.
                self.requested_cut = flow.break_value();
            } else {
                flow?;
            }
        }
        let over = self.state.all_acknowledged() && self.duration.is_none() && self.are_finished();
        ControlFlow::Continue(over)
    }

    fn are_finished(&self) -> bool {
        match &self.processes {
            Some(processes) => processes.finished(&self.apps),
            None => self.apps.iter().all(|a| lock_app(a).finished()),
        }
    }

    /// Reports progress.
    #[cold]
    #[inline(never)]
    fn report_progress(&mut self, progress: &mut dyn FnMut(Progress) -> ControlFlow<EarlyEnd>) -> ControlFlow<EarlyEnd> {
        let now = self.progress();
        if self.activations < self.next_report {
            // Due by time alone, which must not influence the run.
            self.progress_timer.set(self.next_report);
            return progress(now);
        }
        let own = now.packet_hops - self.processes.as_ref().map_or(0, Processes::hops);
        self.hops_per_window = (own - self.hops_at_report) / self.windows;
        (self.hops_at_report, self.windows) = (own, 0);
        if self.activations < ACTIVATIONS_PER_REPORT {
            self.next_report = ACTIVATIONS_PER_REPORT;
            self.progress_timer.set(self.next_report);
            return ControlFlow::Continue(());
        }
        self.next_report = self.activations + ACTIVATIONS_PER_REPORT;
        self.progress_timer.set(self.next_report);
        progress(now)
    }

    /// Time of the next flows of open-loop workloads; only [`App::inject`] changes it.
    fn next_injection(&self) -> TimeOrNever {
        self.apps.iter().filter_map(|a| lock_app(a).next_arrival()).min().into()
    }

    /// Ends the run and returns its report. Of several processes only the first one returns it.
    ///
    /// # Panics
    /// If packets or bytes do not add up. That is a bug in the simulator: the results must not be used.
    pub(crate) fn into_report(self) -> Option<Report> {
        let Simulation { state, mut processes, .. } = self;
        state.into_report(processes.as_mut().map(Processes::ranks))
    }

    /// Progress of the run.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            now: self.state.now(),
            end: self.duration,
            packet_hops: self.state.hops() + self.processes.as_ref().map_or(0, Processes::hops),
            done: self.state.messages_done(),
            total: self.apps.iter().map(|a| lock_app(a).expected()).sum(),
            cores: self.cores,
            to_report: self.state.bytes_to_report(),
        }
    }

    #[inline(always)]
    fn window(&mut self) {
        #[cfg(debug_assertions)]
        if self.backwards {
            return self.window_backwards();
        }
        let words = self.state.calendar().words();
        self.activations += self.state.run_marked(&self.apps, words, self.tiers.as_ref());
    }

    /// Runs the nodes of every window from the last to the first.
    #[cfg(debug_assertions)]
    pub(crate) fn backwards(&mut self) {
        self.backwards = true;
    }

    /// Hands each segment of a burst to the interface of its host by itself.
    #[cfg(debug_assertions)]
    pub(crate) fn offer_by_segment(&mut self) {
        self.state.offer_by_segment();
    }

    #[cfg(debug_assertions)]
    fn window_backwards(&mut self) {
        for word in (0..self.state.calendar().words()).rev() {
            let bits = self.state.calendar().take(word);
            for bit in (0..64).rev().filter(|bit| bits >> bit & 1 == 1) {
                self.activations += 1;
                let node = NodeId::new((word as u32) << 6 | bit);
                match &self.tiers {
                    Some(tiers) => self.state.run_group(&self.apps, NodeSet::one(node), tiers[node]),
                    None => self.state.run_one(&self.apps, node),
                }
            }
        }
        self.state.calendar().finish();
        self.state.set_running(None);
    }
}

/// Length of a window.
fn lookahead(config: &Experiment, tcp: &[TcpConfig]) -> Time {
    let shims = tcp.iter().filter_map(|c| c.shims.endpoint.as_ref().map(|s| s.smallest_packet(c)));
    forebay_apps::window_length(config, shims.min())
}
