//! A list of messages of which some wait for others, each on a connection of its own: the communication of a job.

use crate::application::Application;
use crate::{Host, InitialData, Job, Notice, OpenSpec, Wake};
use forebay_experiment::assign::Assign;
use forebay_experiment::traffic::{FlowDependency, ReplayFlow, Workload, WorkloadKind};
use forebay_types::{AppId, GroupId, Time};

/// Runtime of a `replay` workload with flows that wait for others.
pub(crate) struct DependentMessages {
    /// The start of a flow that waits for others is a pause after the last of them.
    flows: Vec<ReplayFlow>,
    transport: Assign,
    groups: Vec<GroupId>,
    /// Number of flows that each flow still waits for. Only events at its source change it.
    waits: Vec<u32>,
    /// End of the last event, with its pause, that each flow has waited for so far. Only events at its source change it.
    ready: Vec<Time>,
    /// Ends of flows that others wait for, sorted by the flow that ends.
    after: Vec<(u32, FlowDependency)>,
    unstarted: u64,
}

impl DependentMessages {
    pub(crate) fn new(w: &Workload) -> DependentMessages {
        let WorkloadKind::Replay { flows, after } = &w.kind else { unreachable!("kind checked by the caller") };
        let (mut waits, mut ready) = (vec![0; flows.len()], vec![Time::ZERO; flows.len()]);
        for d in after {
            match d.first {
                Some(_) => waits[d.waiting as usize] += 1,
                None => ready[d.waiting as usize] = ready[d.waiting as usize].max(d.pause),
            }
        }
        let mut after: Vec<(u32, FlowDependency)> = after.iter().filter_map(|d| Some((d.first?, *d))).collect();
        after.sort_unstable();
        let unstarted = flows.len() as u64;
        DependentMessages {
            flows: flows.clone(),
            transport: w.transport.clone(),
            groups: Vec::new(),
            waits,
            ready,
            after,
            unstarted,
        }
    }

    /// The connection of flow `i`, which begins at `start`.
    fn spec(&self, app: AppId, i: usize, start: Time) -> OpenSpec {
        let f = &self.flows[i];
        let deadline = if f.deadline == Time::NEVER { Time::NEVER } else { start.saturating_add(f.deadline - f.start) };
        let first = InitialData::Only(Job { deadline, ..Job::of(f.bytes) });
        OpenSpec { src: f.src, dst: f.dst, group: self.groups[i], app, tag: i as u64, first, reverse_of: None, window: None }
    }

    /// Lets the application be called at the start of flow `i`.
    fn note_start(&self, host: &mut impl Host, app: AppId, i: usize, time: Time) {
        let src = self.flows[i].src;
        host.wake(Wake { app, tag: i as u64, origin: src, host: src, time });
    }
}

impl Application for DependentMessages {
    fn start(&mut self, host: &mut impl Host, id: AppId) {
        // In the order of the list, whatever the order in which flows begin.
        self.groups = self.flows.iter().map(|f| self.transport.pick(f.src)).collect();
        for i in 0..self.flows.len() {
            if self.waits[i] == 0 {
                let start = self.ready[i].saturating_add(self.flows[i].start);
                host.open(start, self.spec(id, i, start));
                self.note_start(host, id, i, start);
            }
        }
    }

    fn on_wake(&mut self, _host: &mut impl Host, _id: AppId, _now: Time, _tag: u64) {
        self.unstarted -= 1;
    }

    /// A flow has ended for a host when it has received it, or when everything that it has sent is acknowledged.
    fn on_notice(&mut self, host: &mut impl Host, id: AppId, now: Time, notice: Notice) {
        let (tag, at) = match notice {
            Notice::Delivered { tag, .. } => (tag, self.flows[tag as usize].dst),
            Notice::Acked { tag, .. } => (tag, self.flows[tag as usize].src),
        };
        let flow = tag as u32;
        let from = self.after.partition_point(|(first, _)| *first < flow);
        for place in from..self.after.partition_point(|(first, _)| *first <= flow) {
            let FlowDependency { waiting, pause, .. } = self.after[place].1;
            let i = waiting as usize;
            if self.flows[i].src != at {
                continue;
            }
            self.waits[i] -= 1;
            self.ready[i] = self.ready[i].max(now.saturating_add(pause));
            if self.waits[i] == 0 {
                // A pause shorter than a link's delay may grow to that, because no connection can be created inside a window.
                let start = self.ready[i].saturating_add(self.flows[i].start).max(host.earliest_open());
                host.open_later(start, self.spec(id, i, start));
                self.note_start(host, id, i, start);
            }
        }
    }

    fn remaining(&self) -> u64 {
        self.unstarted
    }

    fn expected(&self) -> u64 {
        self.flows.len() as u64
    }
}
