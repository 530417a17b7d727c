//! Applications at run time: who writes what, when. One file a kind; configuration kinds map to them in [`App::new`].

mod arrivals;
mod incast;
mod long;
mod on_off;
mod queries;
mod requests;
mod udp;

use super::core::{Core, Notice};
use super::query_ids::QueryIds;
use crate::config::{SimConfig, WorkloadKind};
use crate::streams::Draws;
use forebay_units::AppId;

/// One workload at run time.
pub(super) enum App {
    /// One flow per pair.
    Long(long::Long),
    /// Barrier-synchronised blocks.
    Incast(incast::Incast),
    /// Flows that arrive on their own: Poisson or replayed.
    Arrivals(arrivals::Arrivals),
    /// Trains on persistent connections.
    OnOff(on_off::OnOff),
    /// Requests and responses.
    Requests(requests::Requests),
    /// Datagrams at a rate.
    Udp(udp::Udp),
    /// Partition and aggregate.
    Queries(queries::Queries),
}

/// Forwards a call to the application in the enum.
macro_rules! each {
    ($self:ident, $app:ident => $call:expr) => {
        match $self {
            App::Long($app) => $call,
            App::Incast($app) => $call,
            App::Arrivals($app) => $call,
            App::OnOff($app) => $call,
            App::Requests($app) => $call,
            App::Queries($app) => $call,
            App::Udp($app) => $call,
        }
    };
}

impl App {
    /// The application of workload number `index`; its queries get their numbers from `ids`.
    pub(super) fn new(config: &SimConfig, seed: u64, index: usize, ids: &mut QueryIds) -> App {
        let w = &config.workloads[index];
        let rng = |tag: u64| Draws::Workload.stream(seed, &[index as u64, tag]);
        match &w.kind {
            WorkloadKind::Long { .. } => App::Long(long::Long::new(w, rng(0))),
            WorkloadKind::Incast { .. } => App::Incast(incast::Incast::new(w, rng(0), ids.source())),
            WorkloadKind::Poisson { .. } | WorkloadKind::Replay { .. } => {
                App::Arrivals(arrivals::Arrivals::new(w, config.duration.map(|d| d.0), rng(0)))
            }
            WorkloadKind::OnOff { .. } => App::OnOff(on_off::OnOff::new(w, &rng)),
            WorkloadKind::Requests { .. } => App::Requests(requests::Requests::new(w, &rng, ids)),
            WorkloadKind::Udp { .. } => App::Udp(udp::Udp::new(w, &rng)),
            WorkloadKind::Queries { .. } => App::Queries(queries::Queries::new(w, &rng, ids)),
        }
    }

    /// Opens what exists from the beginning.
    pub(super) fn start(&mut self, core: &mut Core, id: AppId) {
        each!(self, a => a.start(core, id));
    }

    /// A timer of this application came due.
    pub(super) fn on_wake(&mut self, core: &mut Core, id: AppId, now: u64, tag: u64) {
        each!(self, a => a.on_wake(core, id, now, tag));
    }

    /// Something happened on one of its connections.
    pub(super) fn on_notice(&mut self, core: &mut Core, id: AppId, now: u64, notice: Notice) {
        each!(self, a => a.on_notice(core, id, now, notice));
    }

    /// Time of the next flow that arrives on its own; `u64::MAX` for none.
    pub(super) fn next_arrival(&self) -> u64 {
        match self {
            App::Arrivals(a) => a.next_arrival(),
            _ => u64::MAX,
        }
    }

    /// Opens the flows that arrive before `until`. Called between windows.
    pub(super) fn inject(&mut self, core: &mut Core, until: u64) {
        if let App::Arrivals(a) = self {
            a.inject(core, until);
        }
    }

    /// Whether it will not write anything more by itself.
    pub(super) fn finished(&self) -> bool {
        each!(self, a => a.finished())
    }

    /// Messages it will write in all, 0 when unknown.
    pub(super) fn expected(&self) -> u64 {
        each!(self, a => a.expected())
    }
}
