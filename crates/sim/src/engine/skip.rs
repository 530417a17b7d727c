//! Skipping, where the state of a run comes back: the same is going to happen again and again, until something happens that is set for an instant.
//! So whole periods can be jumped over, when what they count is added as often, and the rows that they leave behind are written as often, at their
//! times. Nothing is approximate: a state has come back when every value is the same that anything depends on (`state.rs`).
//!
//! States are compared between windows, by Brent's rule: one is kept, and those that follow are compared with it; a younger one takes its place
//! after twice as many windows as the one before was kept for. Of most states two or three numbers tell that they are others. When one has come
//! back, the next period is run and written down (`tape.rs`); when the state is there a third time, whole periods are skipped.

use super::core::{Apps, Core, Period};
use super::recorder::Begun;
use super::state::{Gains, State};
use super::tape::Tape;
use forebay_types::{ConnSlot, Time};

/// Looks for which the first state is kept.
const FIRST: u64 = 64;
/// Packets that reach a host in a period that is written down: 40 bytes each.
const MOST_NOTES: usize = 20_000_000;
/// Parts of the time in which a state came back that are tried.
const MOST_PARTS: u64 = 64;
/// Nothing is known.
const SEARCH: Phase = Phase::Searching { kept: None, stays: FIRST, looks: 0 };

/// Where a run is with it.
enum Phase {
    /// No state has come back. How many looks the one that is kept stays for, and how many there have been.
    Searching { kept: Option<Kept>, stays: u64, looks: u64 },
    /// A state has come back: what happens until it does so again is written down. It may come back earlier than the first time, which is seen at
    /// instants that part that time evenly: the last of these is first.
    Writing { first: Box<State>, ends: Vec<Time>, begun: Begun },
    /// What happens is known from `later` to `next`, a period later, and so on.
    Skipping { period: Box<Period>, later: Box<State>, next: Time },
    /// It will never come back.
    Never,
}

/// A state, and what tells most others from it.
struct Kept {
    state: Box<State>,
    of: ConnSlot,
    signature: [u64; 4],
}

/// What is known of an instant.
pub(super) struct Ahead {
    pub at: Time,
    /// What is not skipped: the end of the run, and the window of the next scheduled event.
    pub limit: Time,
    /// How often deliveries are noted.
    pub every: Time,
    /// How long windows are.
    pub window: Time,
}

/// Skips periods of a run.
pub(super) struct Skip {
    phase: Phase,
    clock: Time,
    /// Time that has been skipped, and the last period.
    skipped: Time,
    period: Option<Time>,
    /// Why nothing more is.
    why: Option<String>,
    /// A state came back after something that depends on the time of day.
    doubtful: bool,
    /// There were windows in which nothing happened while a period was written down.
    gaps: bool,
}

impl Skip {
    /// Nothing is known yet.
    pub(super) fn new(core: &mut Core) -> Skip {
        let phase = Phase::Searching { kept: None, stays: FIRST, looks: 0 };
        Skip { phase, clock: core.clock_step(), skipped: Time::ZERO, period: None, why: None, doubtful: false, gaps: false }
    }

    /// Between two windows: whether there would have been others in between.
    pub(super) fn note_gap(&mut self, gap: bool) {
        self.gaps |= gap;
    }

    /// When in the window from `start` to `end`, which begins, the state is to be looked at.
    pub(super) fn wants(&mut self, core: &Core, (start, end): (Time, Time)) -> Option<Time> {
        let inside = |time: &Time| start <= *time && *time < end;
        match &mut self.phase {
            Phase::Never => None,
            // Where nothing happened at that instant, something else has come of it.
            Phase::Writing { ends, .. } => ends.last().map(|at| (*at).max(start)).filter(inside),
            Phase::Skipping { next, .. } => Some((*next).max(start)).filter(inside),
            Phase::Searching { kept: None, .. } => {
                let of = core.last_active()?;
                core.next_arrival(of).get().filter(inside)
            }
            Phase::Searching { kept: Some(kept), stays, looks } => {
                let at = core.next_arrival(kept.of).get().filter(inside)?;
                *looks += 1;
                (*looks > *stays || core.signature(kept.of, at) == kept.signature).then_some(at)
            }
        }
    }

    /// At an instant at which the state is to be looked at. If time is to go on later, when.
    pub(super) fn look(&mut self, core: &mut Core, apps: &Apps, ahead: &Ahead) -> Option<Time> {
        match std::mem::replace(&mut self.phase, Phase::Never) {
            Phase::Never => {}
            // What waits for the end of the window belongs to no state: an instant like it will come.
            other @ Phase::Searching { .. } if core.waits() => self.phase = other,
            Phase::Writing { first, ends, begun } => {
                if let Some((period, later)) = self.write(core, apps, ahead, (first, ends, begun)) {
                    return self.skip(core, apps, ahead, (period, later, ahead.at));
                }
            }
            Phase::Skipping { next, .. } if core.waits() || next != ahead.at => self.phase = SEARCH,
            Phase::Searching { kept, stays, looks } => self.search(core, apps, ahead, (kept, stays, looks)),
            Phase::Skipping { period, later, next } => return self.skip(core, apps, ahead, (period, later, next)),
        }
        None
    }

    fn search(&mut self, core: &mut Core, apps: &Apps, ahead: &Ahead, (kept, stays, looks): (Option<Kept>, u64, u64)) {
        let now = ahead.at;
        let state = Box::new(core.state(apps, now, self.clock));
        if let Some(why) = &state.never {
            self.why = Some(why.clone());
            return;
        }
        if let Some(before) = &kept
            && before.state.recurs(&state).is_some()
        {
            if self.is_sure(&before.state, &state, ahead.window) {
                let length = now - before.state.now;
                let parts = (1..=MOST_PARTS).filter(|part| length.0.is_multiple_of(*part));
                self.gaps = false;
                let ends = parts.map(|part| now + length / part).collect();
                self.phase = Phase::Writing { first: state, ends, begun: core.begin_tape() };
                return;
            }
            self.doubtful = true;
        }
        let again = kept.is_some();
        if again && looks <= stays {
            self.phase = Phase::Searching { kept, stays, looks };
            return;
        }
        let Some(of) = core.last_active() else { return self.phase = SEARCH };
        let kept = Some(Kept { state, of, signature: core.signature(of, now) });
        self.phase = Phase::Searching { kept, stays: if again { 2 * stays } else { stays }, looks: 0 };
    }

    /// Whether nothing has happened between two states that would be different at another time of day, or in other windows.
    fn is_sure(&self, before: &State, state: &State, window: Time) -> bool {
        let aligned = (state.now - before.now) % window == Time::ZERO;
        before.doubts == state.doubts && (aligned || before.held_up == state.held_up)
    }

    /// At an instant at which a state that came back once may be there again. If it is, the period, and that state.
    fn write(
        &mut self,
        core: &mut Core,
        apps: &Apps,
        ahead: &Ahead,
        (first, mut ends, begun): (Box<State>, Vec<Time>, Begun),
    ) -> Option<(Box<Period>, Box<State>)> {
        let missed = ends.pop() != Some(ahead.at);
        let later = (!core.waits() && !missed).then(|| core.state(apps, ahead.at, self.clock));
        match later.filter(|later| first.recurs(later).is_some()) {
            Some(later) if self.is_sure(&first, &later, ahead.window) => {
                let tape = core.end_tape(begun);
                let length = later.now - first.now;
                self.why = self.unfit(length, &tape, ahead);
                if self.why.is_some() {
                    return None;
                }
                self.period = Some(length);
                return Some((
                    Box::new(Period::new((first.now, later.now), Gains::between(&first, &later), tape, core)),
                    Box::new(later),
                ));
            }
            None if !ends.is_empty() => self.phase = Phase::Writing { first, ends, begun },
            other => {
                core.end_tape(begun);
                self.doubtful |= other.is_some();
                self.phase = SEARCH;
            }
        }
        None
    }

    /// Why a period is not skipped, if so.
    fn unfit(&self, length: Time, tape: &Tape, ahead: &Ahead) -> Option<String> {
        if tape.blurred {
            Some("a window of time holds several cuts of one connection".to_owned())
        } else if length >= ahead.every {
            Some(format!("a period of {length} is longer than the intervals of the table deliveries"))
        } else if self.gaps && ahead.every % ahead.window != Time::ZERO {
            Some("the intervals of the table deliveries end inside windows of the engine".to_owned())
        } else {
            None
        }
    }

    fn skip(
        &mut self,
        core: &mut Core,
        apps: &Apps,
        ahead: &Ahead,
        (period, later, next): (Box<Period>, Box<State>, Time),
    ) -> Option<Time> {
        let length = period.length();
        let whole = |limit: Time| limit.saturating_sub(next + Time(1)) / length;
        if whole(ahead.limit) == 0 {
            self.phase = Phase::Skipping { period, later, next: next + length };
            return None;
        }
        let state = core.state(apps, next, self.clock);
        let Some(standing) = later.recurs(&state) else {
            self.phase = SEARCH;
            return None;
        };
        let timers = standing.iter().map(|t| t.time).min().unwrap_or(Time::NEVER);
        let n = whole(ahead.limit.min(timers)).min(period.room(&state));
        if n == 0 {
            self.phase = Phase::Skipping { period, later, next: next + length };
            return None;
        }
        let by = core.advance(apps, &state, &standing, &period, n);
        self.skipped += by;
        self.phase = Phase::Skipping { period, later, next: next + by + length };
        Some(next + by)
    }

    /// Whether what happens in windows is written down.
    pub(super) fn writes(&self) -> bool {
        matches!(self.phase, Phase::Writing { .. })
    }

    /// A window is over that was written down: gives up where that is too much.
    pub(super) fn give_way(&mut self, core: &mut Core) {
        if core.notes() > MOST_NOTES {
            self.stop(core);
            self.why = Some(format!("a period holds more than {MOST_NOTES} packets"));
        }
    }

    /// The run is over, or goes on without this.
    pub(super) fn stop(&mut self, core: &mut Core) {
        if let Phase::Writing { begun, .. } = std::mem::replace(&mut self.phase, Phase::Never) {
            core.end_tape(begun);
        }
    }

    /// What was skipped of a run that ended at `end`, and why no more, in words.
    pub(super) fn remark(&self, end: Time) -> String {
        let why = match &self.why {
            Some(why) => why.clone(),
            None if self.doubtful => {
                "the state came back, but who goes first of what comes at one instant is drawn anew every 9 ms".to_owned()
            }
            None => "no state came back".to_owned(),
        };
        match self.period {
            Some(period) if self.skipped > Time::ZERO => {
                format!("skipped {} of {end}: periods of {period}", self.skipped)
            }
            _ => format!("skipped nothing: {why}"),
        }
    }
}
