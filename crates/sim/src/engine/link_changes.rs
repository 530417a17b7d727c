//! Changes of links during a run. They take effect at the exact times of the scenario, as failures do (`schedule.rs`).

use super::fabric::Fabric;
use super::partition_state::PartitionState;
use forebay_experiment::faults::{Change, Faults};
use forebay_experiment::rows::{EventKind, EventRow};
use forebay_types::{Time, TimeOrNever};

/// The changes of a run, in order of time.
pub(super) struct LinkChanges {
    list: Vec<Change>,
    /// Number of those that have happened.
    done: usize,
}

impl LinkChanges {
    /// The changes in `faults`; changes at the same time take effect in the order of the scenario.
    pub(super) fn new(faults: &Faults) -> LinkChanges {
        let mut list = faults.changes.clone();
        list.sort_by_key(|c| c.at);
        LinkChanges { list, done: 0 }
    }

    /// Time of the next change.
    pub(super) fn next(&self) -> TimeOrNever {
        self.list.get(self.done).map(|c| c.at).into()
    }

    /// Applies the changes that are due at `now`, after all earlier events and before all later ones.
    pub(super) fn advance(&mut self, fabric: &mut Fabric, partition: &mut PartitionState, now: Time) {
        while let Some(change) = self.list.get(self.done).filter(|c| c.at <= now) {
            fabric.change(partition, change);
            self.done += 1;
        }
    }

    /// Returns the rows of all changes of a run that ends at `end`.
    pub(super) fn rows(&self, end: Time) -> impl Iterator<Item = EventRow> {
        let happened = self.list.iter().filter(move |c| c.at < end);
        happened.map(|c| EventRow::of(c.at, EventKind::LinkChange, Some(c.port), None))
    }
}
