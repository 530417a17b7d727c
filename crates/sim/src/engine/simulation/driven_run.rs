//! A simulation whose messages a program sends while it runs.
//!
//! The program gets control at the end of a window, and at its timers. A message that it sends at a time up to which all nodes have run begins at that
//! time. All others begin with the next window, as messages of applications do that are caused inside a window.

use super::Simulation;
use crate::engine::state::lock_app;
use forebay_apps::{InitialData, Job, OpenSpec};
use forebay_experiment::check::CheckedExperiment;
use forebay_experiment::report::RunError;
use forebay_types::{AppId, NodeId, Time, TimeOrNever, WorkloadId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The next event for the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The receiver has the complete message with this number.
    Delivered(u64),
    /// The timer with this number is due.
    Due(u64),
    /// The permitted number of windows has been run.
    Paused,
    /// All messages have been delivered, and no timer is set.
    Idle,
    /// The time of the experiment is over, or no event is left that could deliver the other messages.
    Ended,
}

/// A simulation whose messages a program sends.
pub(crate) struct DrivenRun {
    simulation: Simulation<'static>,
    app: AppId,
    /// Time of the last event that the program got.
    now: Time,
    /// All nodes have run up to this time.
    reached: Time,
    /// End of the current window, while it has been run in part only.
    part: Option<Time>,
    /// Delivered messages that the program does not have yet, in order of time.
    delivered: VecDeque<(Time, u64)>,
    /// Scratch memory for them.
    found: Vec<(Time, u64)>,
    timers: BinaryHeap<Reverse<(Time, u64)>>,
    timers_set: u64,
    sent: u64,
    /// Messages that the program does not have yet.
    open: u64,
    ended: bool,
}

impl DrivenRun {
    /// Builds the network. A program sends the messages of `workload`; the other workloads run by themselves.
    ///
    /// # Errors
    /// The memory or the address space of the machine does not suffice for the network.
    pub(crate) fn new(config: CheckedExperiment<'_>, seed: u64, workload: WorkloadId) -> Result<DrivenRun, RunError> {
        Ok(DrivenRun {
            simulation: Simulation::with_program(config, seed, Some(workload))?,
            app: AppId::new(workload.get()),
            now: Time::ZERO,
            reached: Time::ZERO,
            part: None,
            delivered: VecDeque::new(),
            found: Vec::new(),
            timers: BinaryHeap::new(),
            timers_set: 0,
            sent: 0,
            open: 0,
            ended: false,
        })
    }

    /// Time of the last event that the program got.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Messages that have not been delivered.
    pub(crate) fn open(&self) -> u64 {
        self.open
    }

    /// Packet transmissions so far.
    pub(crate) fn packet_hops(&self) -> u64 {
        self.simulation.state.hops()
    }

    /// Sends a message of `bytes` bytes, at least one, from host `src` to host `dst`, another one. Returns its number, counted from 0, and the time at
    /// which it begins; `None` if no transport is assigned to the host.
    pub(crate) fn send(&mut self, src: NodeId, dst: NodeId, bytes: u64) -> Option<(u64, Time)> {
        let group = lock_app(&self.simulation.apps[self.app]).pick_transport(src)?;
        let tag = self.sent;
        let first = InitialData::Only(Job::of(bytes));
        let spec = OpenSpec { src, dst, group, app: self.app, tag, first, reverse_of: None, window: None };
        let state = &mut self.simulation.state;
        let start = if self.now >= self.reached {
            state.connect(self.now, spec);
            state.opening_time(src, self.now)
        } else {
            let start = state.earliest_request();
            state.request_connection(start, spec);
            start
        };
        self.sent += 1;
        self.open += 1;
        Some((tag, start))
    }

    /// Sets a timer for `time`, or for now if that is earlier. Returns its number, counted from 0. Timers of one time are due in the order in which they
    /// were set.
    pub(crate) fn schedule(&mut self, time: Time) -> u64 {
        let number = self.timers_set;
        self.timers_set += 1;
        self.timers.push(Reverse((time.max(self.now), number)));
        number
    }

    /// Runs to the next event for the program, at most `windows` windows or parts of them.
    pub(crate) fn step(&mut self, windows: u32) -> Step {
        for _ in 0..windows.max(1) {
            if let Some((time, message)) = self.delivered.pop_front() {
                self.now = time;
                self.open -= 1;
                return Step::Delivered(message);
            }
            if let Some(&Reverse((time, number))) = self.timers.peek().filter(|t| t.0.0 <= self.reached) {
                self.timers.pop();
                self.now = self.now.max(time);
                return Step::Due(number);
            }
            if self.part.is_none() {
                // Opens the connections of messages that were sent since.
                self.simulation.state.end_window();
                if self.open == 0 && self.timers.is_empty() {
                    return Step::Idle;
                }
                if self.ended || !self.simulation.begin_window(self.next_timer(), &mut Simulation::window) {
                    return self.end();
                }
                let calendar = self.simulation.state.calendar();
                let (start, end) = (calendar.start, calendar.end);
                (self.reached, self.part) = (start.max(self.simulation.handled), Some(end));
            }
            self.run_part();
        }
        Step::Paused
    }

    fn next_timer(&self) -> TimeOrNever {
        self.timers.peek().map(|t| t.0.0).into()
    }

    /// Runs the current window up to the next timer in it, or to its end.
    fn run_part(&mut self) {
        let Some(end) = self.part else { return };
        let stop = self.next_timer().min(end.into()).or_never();
        let calendar = self.simulation.state.calendar();
        if stop < end {
            if stop > self.reached {
                calendar.shorten_window(stop);
                self.simulation.window();
            }
        } else {
            calendar.resume_window(end);
            self.simulation.window();
            self.part = None;
        }
        self.reached = self.reached.max(stop);
        lock_app(&self.simulation.apps[self.app]).take_delivered(&mut self.found);
        // Hosts run in any order within a window.
        self.found.sort_unstable();
        self.delivered.extend(self.found.drain(..));
    }

    /// No event is left. With a duration the clock stands at its end.
    fn end(&mut self) -> Step {
        self.ended |= self.simulation.duration.is_some();
        if let Some(duration) = self.simulation.duration {
            self.now = self.now.max(duration);
        }
        Step::Ended
    }
}
