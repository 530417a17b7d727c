//! Applications at run time, one file for each kind. [`App::new`] maps kinds of workloads to them.

use crate::application::Application;
use crate::{Host, Notice, QueryIds, RemoteTimer};
use crate::{arrivals, dependent_messages, incast, long_flows, on_off, program_messages, queries, requests, udp};
use forebay_experiment::Experiment;
use forebay_experiment::streams::RngStream;
use forebay_experiment::traffic::WorkloadKind;
use forebay_types::{AppId, GroupId, NodeId, QueryId, Time, WorkloadId};

/// A workload at run time. [`Host`] describes when each function is called.
pub struct App {
    id: AppId,
    kind: Kind,
}

enum Kind {
    /// One flow per pair.
    Long(long_flows::Long),
    /// Barrier-synchronized blocks.
    Incast(incast::Incast),
    /// Open-loop flows: Poisson or replayed.
    Arrivals(arrivals::Arrivals),
    /// A list of flows of which some wait for others.
    Dependent(dependent_messages::DependentMessages),
    /// Messages that a program sends while the run continues.
    Driven(program_messages::ProgramMessages),
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
            Kind::Dependent($app) => $call,
            Kind::Driven($app) => $call,
            Kind::OnOff($app) => $call,
            Kind::Requests($app) => $call,
            Kind::Queries($app) => $call,
            Kind::Udp($app) => $call,
        }
    };
}

impl App {
    /// The application of `workload` of a [checked](Experiment::check) experiment with `seed`. Its queries get their numbers from `ids`.
    pub fn new(experiment: &Experiment, seed: u64, workload: WorkloadId, ids: &mut QueryIds) -> App {
        let w = &experiment.workloads[workload];
        let rng = |tag: u64| RngStream::Workload.stream(seed, &[u64::from(workload.get()), tag]);
        let kind = match &w.kind {
            WorkloadKind::Long { .. } => Kind::Long(long_flows::Long::new(w, rng(0))),
            WorkloadKind::Incast { .. } => Kind::Incast(incast::Incast::new(w, &rng, ids.source())),
            WorkloadKind::Replay { after, .. } if !after.is_empty() => {
                Kind::Dependent(dependent_messages::DependentMessages::new(w))
            }
            WorkloadKind::Poisson { .. } | WorkloadKind::Replay { .. } => {
                Kind::Arrivals(arrivals::Arrivals::of_run(experiment, seed, workload))
            }
            WorkloadKind::OnOff { .. } => Kind::OnOff(on_off::OnOff::new(w, &rng)),
            WorkloadKind::Requests { .. } => Kind::Requests(requests::Requests::new(w, &rng, ids)),
            WorkloadKind::Udp { .. } => Kind::Udp(udp::Udp::new(w, &rng)),
            WorkloadKind::Queries { .. } => Kind::Queries(queries::Queries::new(w, &rng, ids)),
        };
        App { id: AppId::new(workload.get()), kind }
    }

    /// The application of `workload`, whose messages a program sends: it notes their deliveries.
    pub fn driven(experiment: &Experiment, workload: WorkloadId) -> App {
        App {
            id: AppId::new(workload.get()),
            kind: Kind::Driven(program_messages::ProgramMessages::new(&experiment.workloads[workload])),
        }
    }

    /// Transport of the next message that a program sends from `src`; `None` for a host without transport, and for other applications.
    pub fn pick_transport(&mut self, src: NodeId) -> Option<GroupId> {
        if let Kind::Driven(a) = &mut self.kind { a.pick(src) } else { None }
    }

    /// Moves the messages of a program that have been delivered since the last call to `to`: time, and tag of the connection.
    pub fn take_delivered(&mut self, to: &mut Vec<(Time, u64)>) {
        if let Kind::Driven(a) = &mut self.kind {
            a.take_delivered(to);
        }
    }

    /// Opens connections and sets timers at the start of the run.
    pub fn start(&mut self, host: &mut impl Host) {
        each!(&mut self.kind, a => a.start(host, self.id));
    }

    /// Handles the timer set with `tag`, which is due.
    pub fn on_wake(&mut self, host: &mut impl Host, now: Time, tag: u64) {
        each!(&mut self.kind, a => a.on_wake(host, self.id, now, tag));
    }

    /// Handles an event on one of its connections.
    pub fn on_notice(&mut self, host: &mut impl Host, now: Time, notice: Notice) {
        each!(&mut self.kind, a => a.on_notice(host, self.id, now, notice));
    }

    /// Start of the next open-loop flow, if there is one.
    pub fn next_arrival(&self) -> Option<Time> {
        each!(&self.kind, a => a.next_arrival())
    }

    /// Returns true if flows share persistent connections: which of them are free is known where their senders are.
    pub fn shares_connections(&self) -> bool {
        each!(&self.kind, a => a.shares_connections())
    }

    /// Opens the open-loop flows that arrive before `until`.
    pub fn inject(&mut self, host: &mut impl Host, until: Time) {
        each!(&mut self.kind, a => a.inject(host, self.id, until));
    }

    /// Returns true if it has written its last message.
    pub fn finished(&self) -> bool {
        self.remaining() == 0 && self.next_arrival().is_none()
    }

    /// Remaining work without open-loop flows; 0 when it has finished. Each call changes it by the same amount in every process, so that the changes
    /// add up when several processes make the calls of their own hosts.
    pub fn remaining(&self) -> u64 {
        each!(&self.kind, a => a.remaining())
    }

    /// Moves the timer with `tag`, set for a host in another process, to that process, with the message to write when it is due.
    pub fn export_timer(&mut self, tag: u64) -> RemoteTimer {
        RemoteTimer { tag, job: each!(&mut self.kind, a => a.export_timer(tag)) }
    }

    /// Takes over a timer from another process before it is due. Returns its tag in this process.
    pub fn import_timer(&mut self, timer: RemoteTimer) -> u64 {
        timer.job.map_or(timer.tag, |job| each!(&mut self.kind, a => a.import_timer(timer.tag, job)))
    }

    /// Handles a message of `query` that a host in another process wrote at `start` on the connection `tag`, which leads to a host in this process.
    pub fn on_remote_write(&mut self, tag: u64, query: Option<QueryId>, start: Time) {
        each!(&mut self.kind, a => a.on_remote_write(tag, query, start));
    }

    /// Total number of messages, 0 if unknown.
    pub fn expected(&self) -> u64 {
        each!(&self.kind, a => a.expected())
    }
}
