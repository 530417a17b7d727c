//! Choice between one thread and all threads, by measuring some windows of each during the run.
//!
//! The better choice depends on the load of windows and on other programs on the machine, which both change. So the measurement is repeated, at a
//! cost that is bounded by time, because a window may take microseconds or a second.

/// Measured windows of a turn, and warm-up windows before them, in which threads wake up and caches are cold.
const MEASURED: usize = 16;
const WARM_UP: usize = 4;
/// Nanoseconds after which a turn ends if `MIN_MEASURED` windows have been measured after one of warm-up.
const TURN_NANOS: u64 = 5_000_000;
const MIN_MEASURED: usize = 3;
/// First pause between trials, as a multiple of the time of the slower choice in the trial: trials cost at most a sixteenth of the time that a wrong
/// choice would cost. The factor doubles whenever a trial confirms the one before.
const FIRST_PAUSE: u64 = 16;
/// Longest pause.
const MAX_PAUSE: u64 = 64;

/// Some windows with the same choice.
#[derive(Default)]
struct WindowBatch {
    windows: usize,
    /// Nanoseconds that they took.
    total_nanos: u64,
    /// Nanoseconds per node of the measured windows.
    nanos_per_node: Vec<f64>,
}

impl WindowBatch {
    /// Adds a window that took `nanos` and ran `nodes` nodes. Returns true if the turn is over.
    fn note(&mut self, nanos: u64, nodes: u64) -> bool {
        if self.windows >= WARM_UP || self.total_nanos >= TURN_NANOS {
            self.nanos_per_node.push(nanos as f64 / nodes.max(1) as f64);
        }
        self.windows += 1;
        self.total_nanos += nanos;
        self.nanos_per_node.len() == MEASURED || self.nanos_per_node.len() >= MIN_MEASURED && self.total_nanos >= TURN_NANOS
    }
}

/// The median, so that a single disturbed window has no effect.
fn median(mut nanos_per_node: Vec<f64>) -> f64 {
    nanos_per_node.sort_unstable_by(f64::total_cmp);
    nanos_per_node[nanos_per_node.len() / 2]
}

/// State of the choice.
pub(in crate::engine) struct ThreadTuning {
    /// All windows use all threads.
    always: bool,
    /// True if all threads were faster at the last measurement.
    together: bool,
    /// Turns of the current trial: the current choice, the other one, and the current one again, so that a growing or shrinking load favors neither.
    turns: [WindowBatch; 3],
    turn: usize,
    /// Nanoseconds until the next trial.
    pause: u64,
    /// Factor of the next pause.
    factor: u64,
}

impl ThreadTuning {
    /// Creates the state before any measurement.
    pub(in crate::engine) fn new(always: bool) -> ThreadTuning {
        ThreadTuning { always, together: always, turns: Default::default(), turn: 0, pause: 0, factor: FIRST_PAUSE }
    }

    /// Returns true if the next window uses all threads.
    pub(in crate::engine) fn together(&self) -> bool {
        self.together != (self.pause == 0 && self.turn == 1)
    }

    /// Returns true if all threads were faster at the last measurement.
    pub(in crate::engine) fn is_faster_together(&self) -> bool {
        self.together
    }

    /// Adds a window that took `nanos` and ran `nodes` nodes.
    pub(in crate::engine) fn note(&mut self, nanos: u64, nodes: u64) {
        if self.always {
            return;
        }
        if self.pause > 0 {
            self.pause = self.pause.saturating_sub(nanos);
        } else if self.turns[self.turn].note(nanos, nodes) {
            self.turn += 1;
            if self.turn == self.turns.len() {
                self.decide();
            }
        }
    }

    /// Ends the trial.
    fn decide(&mut self) {
        let [before, other, after] = std::mem::take(&mut self.turns);
        self.turn = 0;
        let slower = if median(other.nanos_per_node) < median([before.nanos_per_node, after.nanos_per_node].concat()) {
            self.together = !self.together;
            self.factor = FIRST_PAUSE;
            before.total_nanos + after.total_nanos
        } else {
            other.total_nanos
        };
        self.pause = (slower * self.factor).max(1);
        self.factor = (2 * self.factor).min(MAX_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs windows that take these nanoseconds with one thread and with all, for a total `time`. Returns the time that all threads ran.
    fn run(pace: &mut ThreadTuning, (one, all): (u64, u64), time: u64) -> u64 {
        let (mut now, mut together) = (0, 0);
        for number in 0.. {
            if now >= time {
                break;
            }
            // Sometimes other load takes the core.
            let late = if number % 7 == 0 { one } else { 0 };
            let nanos = late + if pace.together() { all } else { one };
            together += if pace.together() { nanos } else { 0 };
            now += nanos;
            pace.note(nanos, 100);
        }
        together
    }

    /// Windows of 30 microseconds and of 300 milliseconds.
    const WINDOWS: [u64; 2] = [30_000, 300_000_000];

    #[test]
    fn faster_choice_wins_with_cheap_trials() {
        for window in WINDOWS {
            let time = 2_000 * window;
            let mut pace = ThreadTuning::new(false);
            let together = run(&mut pace, (window, window * 2 / 3), time);
            assert!(pace.is_faster_together());
            assert!(together > time * 9 / 10, "{together} of {time}");
            let mut pace = ThreadTuning::new(false);
            let together = run(&mut pace, (window, window * 4 / 3), time);
            assert!(!pace.is_faster_together());
            assert!(together < time / 20, "{together} of {time}");
        }
        assert!(run(&mut ThreadTuning::new(true), (1, 2), 100) >= 100);
    }

    #[test]
    fn choice_follows_the_machine() {
        for window in WINDOWS {
            let mut pace = ThreadTuning::new(false);
            // Another program occupies the second core while the run begins.
            run(&mut pace, (window, 2 * window), 100 * window);
            assert!(!pace.is_faster_together());
            run(&mut pace, (window, window * 2 / 3), 1_500 * window);
            assert!(pace.is_faster_together());
            run(&mut pace, (window, 2 * window), 3_500 * window);
            assert!(!pace.is_faster_together());
        }
    }

    /// Windows of growing load, as at the start of a run, do not favor the choice that is tried first.
    #[test]
    fn growing_load_favors_neither() {
        let mut pace = ThreadTuning::new(false);
        for number in 0..100 {
            let one = 1_000 * (100 + number);
            pace.note(if pace.together() { one * 9 / 10 } else { one }, 100);
        }
        assert!(pace.is_faster_together());
    }
}
