//! Whether several threads are worth it: measured, as a run goes on, by running some windows with one and some with all of them. It depends on
//! how much a window holds, and on who else uses the machine, both of which change: so it is tried again and again, at a cost that is bounded
//! by time, because a window may take microseconds or a second.

/// Windows of a turn that are looked at, and how many before them are not: threads wake up, and caches are cold.
const MEASURED: usize = 16;
const WARM_UP: usize = 4;
/// Nanoseconds after which a turn has lasted long enough if this many windows have been looked at, and one not.
const TURN_NANOS: u64 = 5_000_000;
const MIN_MEASURED: usize = 3;
/// From one trial to the next it takes at least this many times as long as the slower kind took in the trial: so trials cost at most a sixteenth
/// of what that kind is slower by. The factor doubles whenever a trial finds what the one before did,
const FIRST_PAUSE: u64 = 16;
/// up to this.
const MAX_PAUSE: u64 = 64;

/// Some windows of one kind.
#[derive(Default)]
struct Turn {
    windows: usize,
    /// Nanoseconds that they took.
    total_nanos: u64,
    /// Nanoseconds for a node, of those that were looked at.
    nanos_per_node: Vec<f64>,
}

impl Turn {
    /// A window has taken so long, in which so many nodes were run. Whether the turn is over.
    fn note(&mut self, nanos: u64, nodes: u64) -> bool {
        if self.windows >= WARM_UP || self.total_nanos >= TURN_NANOS {
            self.nanos_per_node.push(nanos as f64 / nodes.max(1) as f64);
        }
        self.windows += 1;
        self.total_nanos += nanos;
        self.nanos_per_node.len() == MEASURED || self.nanos_per_node.len() >= MIN_MEASURED && self.total_nanos >= TURN_NANOS
    }
}

/// The median: one window in which the machine did something else says nothing.
fn median(mut nanos_per_node: Vec<f64>) -> f64 {
    nanos_per_node.sort_unstable_by(f64::total_cmp);
    nanos_per_node[nanos_per_node.len() / 2]
}

/// What is known.
pub(in crate::engine) struct ThreadTuning {
    /// All windows are run by all threads, whatever it costs.
    always: bool,
    /// What pays, as far as is known.
    together: bool,
    /// The turns of the trial that goes on: what pays, the other kind, and once more what pays, so that a load that grows or shrinks meanwhile
    /// speaks for neither.
    turns: [Turn; 3],
    turn: usize,
    /// Nanoseconds until the next trial.
    pause: u64,
    /// The factor of the next rest.
    factor: u64,
}

impl ThreadTuning {
    /// Nothing yet.
    pub(in crate::engine) fn new(always: bool) -> ThreadTuning {
        ThreadTuning { always, together: always, turns: Default::default(), turn: 0, pause: 0, factor: FIRST_PAUSE }
    }

    /// Whether the next window is run by all threads.
    pub(in crate::engine) fn together(&self) -> bool {
        self.together != (self.pause == 0 && self.turn == 1)
    }

    /// Whether that is what pays, as far as is known.
    pub(in crate::engine) fn is_faster_together(&self) -> bool {
        self.together
    }

    /// A window has taken so long, in which so many nodes were run.
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

    /// The trial is over.
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

    /// Runs windows that take so many nanoseconds by one thread and by all of them, for so long. Returns the time that all threads ran.
    fn run(pace: &mut ThreadTuning, (one, all): (u64, u64), time: u64) -> u64 {
        let (mut now, mut together) = (0, 0);
        for number in 0.. {
            if now >= time {
                break;
            }
            // Now and then the machine does something else.
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
    fn what_is_faster_is_done_and_trials_are_cheap() {
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
    fn it_follows_the_machine() {
        for window in WINDOWS {
            let mut pace = ThreadTuning::new(false);
            // Somebody has the second core while the run begins.
            run(&mut pace, (window, 2 * window), 100 * window);
            assert!(!pace.is_faster_together());
            run(&mut pace, (window, window * 2 / 3), 1_500 * window);
            assert!(pace.is_faster_together());
            run(&mut pace, (window, 2 * window), 3_500 * window);
            assert!(!pace.is_faster_together());
        }
    }

    /// A window that holds more and more, as at the start of a run, does not speak for what is tried first.
    #[test]
    fn a_growing_load_speaks_for_nobody() {
        let mut pace = ThreadTuning::new(false);
        for number in 0..100 {
            let one = 1_000 * (100 + number);
            pace.note(if pace.together() { one * 9 / 10 } else { one }, 100);
        }
        assert!(pace.is_faster_together());
    }
}
