//! Runs of several variants that end together: each waits at the times of the decisions until all have arrived, and the last one decides.
//!
//! Each run has a thread of its own, of which a limited number is active. The decision depends on the messages of all runs only, so that it is the same
//! with any number of active threads.

use forebay_experiment::decisions::{Decisions, RunSnapshot, WorkItem};
use forebay_experiment::stopping::comparison::Comparison;
use forebay_experiment::stopping::rule::{due_work, next_time};
use forebay_experiment::stopping::sampling::Sampling;
use forebay_types::{Time, TimeOrNever};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Runs the twins of all variants until a time. `None` if it was interrupted.
pub(crate) type RunTwins<'a> = dyn Fn(Time) -> Option<Vec<Vec<WorkItem>>> + Sync + 'a;

/// State that the runs share.
pub(crate) struct Lockstep<'a> {
    run_twins: &'a RunTwins<'a>,
    state: Mutex<State<'a>>,
    changed: Condvar,
}

struct State<'a> {
    rule: Comparison<'a>,
    /// Number of threads that may become active.
    free: usize,
    /// Time and messages of the runs that have arrived at the current decision.
    arrived: Vec<Option<(Time, Vec<WorkItem>)>>,
    /// Number of decisions so far, and the last one.
    decisions: usize,
    ends: bool,
    /// True once a run has ended: without it there are no more decisions.
    incomplete: bool,
}

impl<'a> Lockstep<'a> {
    /// For `variants` runs, of which `active` at a time are active.
    pub(crate) fn new(rule: Comparison<'a>, variants: usize, active: usize, run_twins: &'a RunTwins<'a>) -> Lockstep<'a> {
        let arrived = vec![None; variants];
        let state = State { rule, free: active.max(1), arrived, decisions: 0, ends: false, incomplete: false };
        Lockstep { run_twins, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits until the calling thread may be active, as the run of a variant.
    pub(crate) fn enter(&self, variant: usize, sampling: Option<Sampling>) -> Member<'_, 'a> {
        let times = self.activate(self.lock()).rule.times().to_vec();
        Member { lockstep: self, variant, times, sampling }
    }

    /// The rule, when all runs have ended.
    pub(crate) fn into_rule(self) -> Comparison<'a> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).rule
    }

    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State<'a>>) -> MutexGuard<'g, State<'a>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn activate<'g>(&self, mut state: MutexGuard<'g, State<'a>>) -> MutexGuard<'g, State<'a>> {
        while state.free == 0 {
            state = self.wait(state);
        }
        state.free -= 1;
        state
    }

    fn release(&self, state: &mut State<'a>) {
        state.free += 1;
        self.changed.notify_all();
    }
}

/// One of the runs.
pub(crate) struct Member<'l, 'a> {
    lockstep: &'l Lockstep<'a>,
    variant: usize,
    /// Times of the decisions that are left, latest first.
    times: Vec<Time>,
    /// Payload over time, if a figure needs it.
    sampling: Option<Sampling>,
}

impl Member<'_, '_> {
    /// Intervals with the payload so far, if a figure needs them.
    pub(crate) fn intervals(&self) -> Vec<WorkItem> {
        self.sampling.iter().flat_map(Sampling::items).collect()
    }
}

impl Decisions for Member<'_, '_> {
    fn next(&self) -> TimeOrNever {
        next_time(&self.times, self.sampling.as_ref())
    }

    fn ends(&mut self, now: Time, so_far: &RunSnapshot<'_>) -> bool {
        let Some(work) = due_work(&mut self.times, self.sampling.as_mut(), now, so_far) else { return false };
        let mut guard = self.lockstep.lock();
        let round = guard.decisions;
        guard.arrived[self.variant] = Some((now, work));
        let state = &mut *guard;
        if !state.incomplete && state.arrived.iter().all(Option::is_some) {
            let all: Vec<(Time, Vec<WorkItem>)> = state.arrived.iter_mut().filter_map(Option::take).collect();
            let at = all.iter().map(|a| a.0).min().unwrap_or(now);
            let work: Vec<Vec<WorkItem>> = all.into_iter().map(|a| a.1).collect();
            state.ends = state.rule.ends(at, &work, &mut |until| (self.lockstep.run_twins)(until));
            state.decisions += 1;
            self.lockstep.changed.notify_all();
            return state.ends;
        }
        self.lockstep.release(state);
        while guard.decisions == round && !guard.incomplete {
            guard = self.lockstep.wait(guard);
        }
        let ends = guard.decisions > round && guard.ends;
        drop(self.lockstep.activate(guard));
        ends
    }
}

impl Drop for Member<'_, '_> {
    /// Also after an error or a panic, so that the other runs do not wait for this one.
    fn drop(&mut self) {
        let mut state = self.lockstep.lock();
        state.incomplete = true;
        self.lockstep.release(&mut state);
    }
}
