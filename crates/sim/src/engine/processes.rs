//! One run on several processes, on one machine or on several: each has some of the parts of the run (`parts.rs`), builds the same network and keeps up
//! all that changes between windows. At the end of each window it tells each other one in one message what crosses over: packets, what hosts do to others,
//! when it has something to do next. So all know which window comes next, and what is between windows is done by each for itself, in the same order. At the
//! end the first one gets all rows and makes the report (`core/remains.rs`).

use super::encoding::Encode;
use super::partition::Partitions;
use super::ranks::Ranks;
use super::state::{Apps, SimState, lock_app};
use forebay_experiment::report::Cut;
use forebay_units::TimeOrNever;

/// The processes of a run, and what this one knows of it.
pub(super) struct Processes {
    ranks: Ranks,
    /// What keeps each application from being finished ([`forebay_traffic::App::left`]): when the run was divided, and now, by all processes together.
    undivided: Vec<u64>,
    left: Vec<u64>,
    /// Packet transmissions of the other processes, as of their last look.
    hops: u64,
}

/// What a process says of a window that it has run.
pub(super) struct WindowReport {
    /// When it has something to do next.
    pub next: TimeOrNever,
    /// Messages begun less messages acknowledged, and messages finished.
    pub open: i64,
    pub done: u64,
    /// Packet transmissions, as of its last look.
    pub hops: u64,
    /// How it wants to end the run.
    pub wish: Option<Cut>,
}

impl Processes {
    /// Nothing is divided yet among the processes that `ranks` reaches.
    pub(super) fn new(ranks: Ranks) -> Processes {
        Processes { ranks, undivided: Vec::new(), left: Vec::new(), hops: 0 }
    }

    /// How they reach each other.
    pub(super) fn ranks(&mut self) -> &mut Ranks {
        &mut self.ranks
    }

    /// The number of this process, and how many there are.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.ranks.own(), self.ranks.count())
    }

    /// The run has been divided.
    pub(super) fn divide(&mut self, core: &mut SimState, parts: &Partitions<'_>, apps: &Apps) {
        core.set_ranks(self.ranks.own(), parts.rank_of());
        self.undivided = apps.iter().map(|a| lock_app(a).left()).collect();
        self.left = self.undivided.clone();
    }

    /// Whether no application will write anything more by itself.
    pub(super) fn finished(&self, apps: &Apps) -> bool {
        self.left.iter().all(|left| *left == 0) && apps.iter().all(|a| lock_app(a).next_arrival().is_none())
    }

    /// Packet transmissions of the other processes, as of their last look.
    pub(super) fn hops(&self) -> u64 {
        self.hops
    }

    /// The parts of this process have run a window, and `whole` has what they produced: all tell each other. Returns when anybody has something to do
    /// next, and how the run is to end, if somebody wants that.
    pub(super) fn end_window(
        &mut self,
        whole: &mut SimState,
        parts: &Partitions<'_>,
        apps: &Apps,
        own: &WindowReport,
    ) -> (TimeOrNever, Option<Cut>) {
        let WindowReport { mut next, open, done, hops, wish } = *own;
        let changes = apps.iter().zip(&self.undivided).map(|(a, then)| lock_app(a).left().wrapping_sub(*then));
        let changes: Vec<u64> = changes.collect();
        let errands = whole.pack_errands(apps);
        self.ranks.tell(|rank, to| {
            (next, (open, done)).put(to);
            (hops, wish.map(|cut| cut == Cut::Keep)).put(to);
            changes.iter().for_each(|change| change.put(to));
            whole.encode_effects(rank, &errands, to);
            parts.encode_batches(rank, to);
        });
        parts.clear_batches();
        self.left = self.undivided.iter().zip(&changes).map(|(then, change)| then.wrapping_add(*change)).collect();
        self.hops = 0;
        let mut wishes: Vec<Cut> = wish.into_iter().collect();
        self.ranks.hear(|rank, from| {
            let (theirs, counts): (TimeOrNever, (i64, u64)) = Encode::get(from);
            let (hops, wish): (u64, Option<bool>) = Encode::get(from);
            next = next.min(theirs);
            whole.count(counts);
            self.hops += hops;
            wishes.extend(wish.map(|keep| if keep { Cut::Keep } else { Cut::Abandon }));
            self.left.iter_mut().for_each(|left| *left = left.wrapping_add(u64::get(from)));
            whole.decode_effects(apps, from);
            parts.decode_batches(rank, from);
        });
        let cut = if wishes.contains(&Cut::Abandon) { Some(Cut::Abandon) } else { wishes.first().copied() };
        (next, cut)
    }
}
