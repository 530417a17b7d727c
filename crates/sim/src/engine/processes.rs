//! One run on several processes, on one machine or on several (MPI).
//!
//! Each process runs some of the partitions (`partition/mod.rs`), builds the same network, and repeats all changes between windows. At the end of
//! each window every process sends one message to each other process: packets, effects on remote hosts, and the time of its next activation. So all
//! processes agree on the next window and apply the same changes in the same order. At the end the first process collects all rows and makes the
//! report (`state/gather.rs`).

use super::encoding::Encode;
use super::partition::Partitions;
use super::ranks::Ranks;
use super::state::{Apps, SimState, lock_app};
use forebay_experiment::report::EarlyEnd;
use forebay_types::{Time, TimeOrNever};

/// The processes of a run, and their progress.
pub(super) struct Processes {
    ranks: Ranks,
    /// Remaining work of each application ([`forebay_apps::App::remaining`]): when the run was divided, and now, over all processes.
    undivided: Vec<u64>,
    left: Vec<u64>,
    /// Packet transmissions of the other processes, as of their last report.
    hops: u64,
}

/// A process's report about a window that it has run.
pub(super) struct WindowReport {
    /// Time of its next activation.
    pub next: TimeOrNever,
    /// Messages begun less messages acknowledged, and messages finished.
    pub open: i64,
    pub done: u64,
    /// Packet transmissions, as of its last progress report.
    pub hops: u64,
    /// End of the run that its progress callback requested.
    pub requested_cut: Option<EarlyEnd>,
}

impl Processes {
    /// Creates the state of a run that is not divided yet.
    pub(super) fn new(ranks: Ranks) -> Processes {
        Processes { ranks, undivided: Vec::new(), left: Vec::new(), hops: 0 }
    }

    /// Communication with the other processes.
    pub(super) fn ranks(&mut self) -> &mut Ranks {
        &mut self.ranks
    }

    /// The number of this process, and how many there are.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.ranks.own(), self.ranks.count())
    }

    /// Divides the run.
    pub(super) fn divide(&mut self, state: &mut SimState, partitions: &Partitions<'_>, apps: &Apps) {
        state.set_ranks(self.ranks.own(), partitions.rank_of());
        self.undivided = apps.iter().map(|a| lock_app(a).remaining()).collect();
        self.left = self.undivided.clone();
    }

    /// Returns true if no application will write anything more on its own.
    pub(super) fn finished(&self, apps: &Apps) -> bool {
        self.left.iter().all(|left| *left == 0) && apps.iter().all(|a| lock_app(a).next_arrival().is_none())
    }

    /// Packet transmissions of the other processes, as of their last report.
    pub(super) fn hops(&self) -> u64 {
        self.hops
    }

    /// Exchanges the results of a window, which `sim` has merged from the partitions of this process. Returns the time of the next activation of
    /// any process, and how the run ends, if a callback has ended it.
    pub(super) fn end_window(
        &mut self,
        sim: &mut SimState,
        partitions: &Partitions<'_>,
        apps: &Apps,
        own: &WindowReport,
    ) -> (TimeOrNever, Option<EarlyEnd>) {
        let WindowReport { mut next, open, done, hops, requested_cut } = *own;
        let worked = sim.worked();
        let changes = apps.iter().zip(&self.undivided).map(|(a, then)| lock_app(a).remaining().wrapping_sub(*then));
        let changes: Vec<u64> = changes.collect();
        let timers = sim.export_timers(apps);
        self.ranks.send(|rank, to| {
            (next, (open, done)).put(to);
            worked.put(to);
            (hops, requested_cut.map(|cut| cut == EarlyEnd::WithReport)).put(to);
            changes.iter().for_each(|change| change.put(to));
            sim.encode_effects(rank, &timers, to);
            partitions.encode_batches(rank, to);
        });
        partitions.clear_batches();
        self.left = self.undivided.iter().zip(&changes).map(|(then, change)| then.wrapping_add(*change)).collect();
        self.hops = 0;
        let mut requested_cuts: Vec<EarlyEnd> = requested_cut.into_iter().collect();
        self.ranks.receive(|rank, from| {
            let (theirs, counts): (TimeOrNever, (i64, u64)) = Encode::get(from);
            let worked: Time = Encode::get(from);
            let (hops, requested_cut): (u64, Option<bool>) = Encode::get(from);
            next = next.min(theirs);
            sim.count(counts, worked);
            self.hops += hops;
            requested_cuts.extend(requested_cut.map(|keep| if keep { EarlyEnd::WithReport } else { EarlyEnd::Discard }));
            self.left.iter_mut().for_each(|left| *left = left.wrapping_add(u64::get(from)));
            sim.decode_effects(apps, from);
            partitions.decode_batches(rank, from);
        });
        let cut =
            if requested_cuts.contains(&EarlyEnd::Discard) { Some(EarlyEnd::Discard) } else { requested_cuts.first().copied() };
        (next, cut)
    }
}
