//! Whether several threads are worth it: measured, as a run goes on, by running some windows with one and some with all of them. It depends on
//! how much a window holds, and on who else uses the machine.

/// Windows from one measurement to the next: of some ten milliseconds, a fortieth of which goes into measuring.
const CYCLE: usize = 2_048;
/// Windows that are looked at of each kind, and how many before them are not: threads wake up, and caches are cold.
const LOOKED_AT: usize = 16;
const BEFORE: usize = 4;
const KIND: usize = BEFORE + LOOKED_AT;

/// What is known.
pub(super) struct Pace {
    /// All windows are run by all threads, whatever it costs.
    always: bool,
    /// The place of the window in its cycle.
    at: usize,
    /// Time for a node in the windows that were looked at, of one thread and of all, in nanoseconds.
    taken: [[f64; LOOKED_AT]; 2],
    /// What pays until the next measurement.
    together: bool,
}

impl Pace {
    /// Nothing yet.
    pub(super) fn new(always: bool) -> Pace {
        Pace { always, at: 0, taken: [[0.0; LOOKED_AT]; 2], together: always }
    }

    /// Whether the next window is run by all threads.
    pub(super) fn together(&self) -> bool {
        self.always || if self.at < 2 * KIND { self.at >= KIND } else { self.together }
    }

    /// Whether that is what pays, as far as is known.
    pub(super) fn pays(&self) -> bool {
        self.together
    }

    /// A window has taken so long, in which so many nodes were run.
    pub(super) fn note(&mut self, nanos: u64, nodes: u64) {
        if self.always {
            return;
        }
        if self.at < 2 * KIND
            && let Some(place) = (self.at % KIND).checked_sub(BEFORE)
        {
            self.taken[self.at / KIND][place] = nanos as f64 / nodes.max(1) as f64;
        }
        self.at += 1;
        if self.at == 2 * KIND {
            // The median: one window in which the machine did something else says nothing.
            let [one, all] = &mut self.taken;
            let median = |taken: &mut [f64; LOOKED_AT]| {
                taken.sort_unstable_by(f64::total_cmp);
                taken[LOOKED_AT / 2]
            };
            self.together = median(all) < median(one);
        }
        self.at %= CYCLE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a cycle in which windows take so long. Returns how many of them all threads ran.
    fn cycle(pace: &mut Pace, one: u64, all: u64) -> usize {
        let mut together = 0;
        for number in 0..CYCLE {
            together += usize::from(pace.together());
            // Now and then the machine does something else.
            let late = if number % 7 == 0 { 1_000_000 } else { 0 };
            pace.note(late + if pace.together() { all } else { one }, 100);
        }
        together
    }

    #[test]
    fn what_is_faster_is_done_until_the_other_is() {
        let mut pace = Pace::new(false);
        assert_eq!(cycle(&mut pace, 30_000, 20_000), CYCLE - KIND);
        assert!(pace.pays());
        assert_eq!(cycle(&mut pace, 30_000, 40_000), KIND);
        assert!(!pace.pays());
        assert_eq!(cycle(&mut Pace::new(true), 1, 2), CYCLE);
    }
}
