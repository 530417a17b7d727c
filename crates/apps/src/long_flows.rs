//! One flow per pair, finite or endless.

use crate::application::Application;
use crate::{Host, InitialData, Job, OpenSpec, Wake};
use forebay_experiment::assign::Assign;
use forebay_experiment::traffic::{Workload, WorkloadKind};
use forebay_types::{AppId, ConnSlot, NodeId, Rng, Time};

/// Runtime of a `long` workload.
pub(crate) struct Long {
    flows: Vec<(Time, NodeId, NodeId)>,
    first: InitialData,
    stop_after: Option<Time>,
    transport: Assign,
    unstarted: usize,
    unstopped: usize,
}

impl Long {
    pub(crate) fn new(w: &Workload, mut rng: Rng) -> Long {
        let WorkloadKind::Long { pairs, size, start, stagger, jitter, stop_after } = &w.kind else {
            unreachable!("kind checked by the caller")
        };
        let flow = |(i, &(src, dst)): (usize, &(NodeId, NodeId))| {
            let time = *start + *stagger * i as u64 + Time(rng.below(jitter.0 + 1));
            (time, src, dst)
        };
        Long {
            flows: pairs.iter().enumerate().map(flow).collect(),
            first: size.map_or(InitialData::Endless, |b| InitialData::Only(Job::of(b))),
            stop_after: *stop_after,
            transport: w.transport.clone(),
            unstarted: pairs.len(),
            unstopped: if stop_after.is_some() { pairs.len() } else { 0 },
        }
    }
}

impl Application for Long {
    fn start(&mut self, host: &mut impl Host, id: AppId) {
        for &(time, src, dst) in &self.flows {
            let group = self.transport.pick(src);
            let conn =
                host.open(time, OpenSpec { src, dst, group, app: id, tag: 0, first: self.first, reverse_of: None, window: None });
            // The application is called at the start of the flow, and at its end if it has one.
            host.wake(Wake { app: id, tag: u64::MAX, origin: src, host: src, time });
            if let (Some(after), InitialData::Endless) = (self.stop_after, self.first) {
                host.wake(Wake { app: id, tag: u64::from(conn.get()), origin: src, host: src, time: time.saturating_add(after) });
            }
        }
    }

    fn on_wake(&mut self, host: &mut impl Host, _id: AppId, now: Time, tag: u64) {
        if tag == u64::MAX {
            self.unstarted -= 1;
        } else {
            self.unstopped -= 1;
            host.stop(ConnSlot::new(tag as u32), now);
        }
    }

    fn remaining(&self) -> u64 {
        (self.unstarted + self.unstopped) as u64
    }

    fn expected(&self) -> u64 {
        if self.first == InitialData::Endless { 0 } else { self.flows.len() as u64 }
    }
}
