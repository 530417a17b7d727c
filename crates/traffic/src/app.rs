//! Applications at run time: who writes what, when. One file a kind; kinds of workloads map to them in [`App::new`].

use crate::{Host, Notice, QueryIds, RemoteTimer};
use crate::{arrivals, incast, long, on_off, queries, requests, udp};
use forebay_experiment::Experiment;
use forebay_experiment::streams::Draws;
use forebay_experiment::traffic::WorkloadKind;
use forebay_units::{AppId, Time, WorkloadId};

/// One workload at run time. Its calls, and when each is due, are described at [`Host`].
pub struct App {
    id: AppId,
    kind: Kind,
}

enum Kind {
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
    ($kind:expr, $app:ident => $call:expr) => {
        match $kind {
            Kind::Long($app) => $call,
            Kind::Incast($app) => $call,
            Kind::Arrivals($app) => $call,
            Kind::OnOff($app) => $call,
            Kind::Requests($app) => $call,
            Kind::Queries($app) => $call,
            Kind::Udp($app) => $call,
        }
    };
}

impl App {
    /// The application of `workload` of an experiment that has been [checked](Experiment::check), under `seed`. Its queries get
    /// their numbers from `ids`.
    pub fn new(experiment: &Experiment, seed: u64, workload: WorkloadId, ids: &mut QueryIds) -> App {
        let w = &experiment.workloads[workload];
        let rng = |tag: u64| Draws::Workload.stream(seed, &[u64::from(workload.get()), tag]);
        let kind = match &w.kind {
            WorkloadKind::Long { .. } => Kind::Long(long::Long::new(w, rng(0))),
            WorkloadKind::Incast { .. } => Kind::Incast(incast::Incast::new(w, rng(0), ids.source())),
            WorkloadKind::Poisson { .. } | WorkloadKind::Replay { .. } => {
                Kind::Arrivals(arrivals::Arrivals::new(w, experiment.duration, arrivals::stream(seed, workload)))
            }
            WorkloadKind::OnOff { .. } => Kind::OnOff(on_off::OnOff::new(w, &rng)),
            WorkloadKind::Requests { .. } => Kind::Requests(requests::Requests::new(w, &rng, ids)),
            WorkloadKind::Udp { .. } => Kind::Udp(udp::Udp::new(w, &rng)),
            WorkloadKind::Queries { .. } => Kind::Queries(queries::Queries::new(w, &rng, ids)),
        };
        App { id: AppId::new(workload.get()), kind }
    }

    /// Opens what exists from the beginning.
    pub fn start(&mut self, host: &mut impl Host) {
        each!(&mut self.kind, a => a.start(host, self.id));
    }

    /// The timer that it set with `tag` came due.
    pub fn on_wake(&mut self, host: &mut impl Host, now: Time, tag: u64) {
        each!(&mut self.kind, a => a.on_wake(host, self.id, now, tag));
    }

    /// Something happened on one of its connections.
    pub fn on_notice(&mut self, host: &mut impl Host, now: Time, notice: Notice) {
        each!(&mut self.kind, a => a.on_notice(host, self.id, now, notice));
    }

    /// Start of the next flow that arrives on its own, if there is one.
    pub fn next_arrival(&self) -> Option<Time> {
        match &self.kind {
            Kind::Arrivals(a) => a.next_arrival(),
            Kind::Long(_) | Kind::Incast(_) | Kind::OnOff(_) | Kind::Requests(_) | Kind::Udp(_) | Kind::Queries(_) => None,
        }
    }

    /// Opens the flows that arrive before `until`.
    pub fn inject(&mut self, host: &mut impl Host, until: Time) {
        if let Kind::Arrivals(a) = &mut self.kind {
            a.inject(host, self.id, until);
        }
    }

    /// Whether it will write nothing more by itself.
    pub fn finished(&self) -> bool {
        self.remaining() == 0 && self.next_arrival().is_none()
    }

    /// What keeps it from being finished, beside flows that arrive from outside: 0 when nothing does. A call changes it by the same number wherever
    /// it is made, so that the changes add up where each of several processes makes the calls of its own hosts.
    pub fn remaining(&self) -> u64 {
        each!(&self.kind, a => a.remaining())
    }

    /// The timer that it has set with `tag`, for a host that another process has, goes there: with what the application would look up here when it
    /// comes due.
    pub fn export_timer(&mut self, tag: u64) -> RemoteTimer {
        let job = match &mut self.kind {
            Kind::Incast(a) => a.export_timer(tag),
            Kind::Queries(a) => a.export_timer(tag),
            Kind::Long(_) | Kind::Arrivals(_) | Kind::OnOff(_) | Kind::Requests(_) | Kind::Udp(_) => None,
        };
        RemoteTimer { tag, job }
    }

    /// A timer comes from another process, before it is due: the tag that it has here.
    pub fn import_timer(&mut self, timer: RemoteTimer) -> u64 {
        match (&mut self.kind, timer.job) {
            (Kind::Incast(a), Some((_, job))) => a.import_timer(&job),
            (Kind::Queries(a), Some(response)) => return a.import_timer(response),
            _ => {}
        }
        timer.tag
    }

    /// The connection that it calls `tag` leads from a host that another process has to one of this one, and a message was written to it at `start`.
    pub fn on_remote_write(&mut self, tag: u64, start: Time) {
        if let Kind::Requests(a) = &mut self.kind {
            a.on_remote_request(tag, start);
        }
    }

    /// Messages it will write in all, 0 when unknown.
    pub fn expected(&self) -> u64 {
        each!(&self.kind, a => a.expected())
    }
}
