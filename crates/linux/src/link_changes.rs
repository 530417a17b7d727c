//! Changes of links during a run. The rules are the simulator's (`engine/link_changes.rs`); here they apply at the nanosecond at which the guest is
//! notified.

use crate::link::Frames;
use crate::loss::bound;
use crate::protocol::{Retune, number};
use forebay_experiment::faults::{Change, Faults};
use forebay_experiment::rows::{EventKind, EventRow};
use forebay_experiment::streams::RngStream;
use forebay_types::Time;

/// The changes of a run, in order of time.
pub(crate) struct LinkChanges {
    list: Vec<Change>,
    /// Number of those that have happened.
    done: usize,
    seed: u64,
}

impl LinkChanges {
    /// The changes in `faults`; changes at the same time take effect in the order of the scenario.
    pub(crate) fn new(faults: &Faults, seed: u64) -> LinkChanges {
        let mut list = faults.changes.clone();
        list.sort_by_key(|c| c.at);
        LinkChanges { list, done: 0, seed }
    }

    /// Time of the next change.
    pub(crate) fn next(&self) -> Option<Time> {
        self.list.get(self.done).map(|c| c.at)
    }

    /// Sends the changes that are due at `now`.
    pub(crate) fn advance(&mut self, now: Time, frames: &mut Frames) {
        while let Some(change) = self.list.get(self.done).filter(|c| c.at <= now) {
            frames.put(self.record(change));
            self.done += 1;
        }
    }

    fn record(&self, change: &Change) -> Retune {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        // The stream of a loss that begins during the run (`crates/experiment/src/link_errors.rs`).
        let random = RngStream::LinkLoss.stream(self.seed, &[change.port.index() as u64, 1]);
        Retune {
            port: change.port.get(),
            flags: flag(change.rate.is_some(), number::RETUNE_RATE)
                | flag(change.delay.is_some(), number::RETUNE_DELAY)
                | flag(change.loss.is_some(), number::RETUNE_LOSS),
            rate: change.rate.map_or(0, |r| r.0),
            delay: change.delay.map_or(0, |d| d.0),
            loss_below: change.loss.map_or(0, bound),
            loss_random: random.state(),
        }
    }

    /// Returns the rows of all changes of a run that ends at `end`.
    pub(crate) fn rows(&self, end: Time) -> impl Iterator<Item = EventRow> {
        let happened = self.list.iter().filter(move |c| c.at < end);
        happened.map(|c| EventRow::of(c.at, EventKind::LinkChange, Some(c.port), None))
    }
}
