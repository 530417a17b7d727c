//! One flow per pair, finite or endless.

use super::super::core::{Core, First, Job, Notice, OpenSpec};
use super::super::hosts::Wake;
use crate::config::{Assign, Workload, WorkloadKind};
use forebay_sampling::Rng;
use forebay_units::{AppId, ConnSlot, NodeId};

/// Runtime of a `long` workload.
pub(crate) struct Long {
    flows: Vec<(u64, NodeId, NodeId)>,
    first: First,
    stop_after: Option<u64>,
    transport: Assign,
    unstarted: usize,
    unstopped: usize,
}

impl Long {
    pub(super) fn new(w: &Workload, mut rng: Rng) -> Long {
        let WorkloadKind::Long { pairs, size, start, stagger, jitter, stop_after } = &w.kind else {
            unreachable!("kind checked by the caller")
        };
        let flow = |(i, &(src, dst)): (usize, &(NodeId, NodeId))| {
            let time = start.0 + stagger.0 * i as u64 + rng.below(jitter.0 + 1);
            (time, src, dst)
        };
        Long {
            flows: pairs.iter().enumerate().map(flow).collect(),
            first: size.map_or(First::Endless, |b| First::Only(Job::of(b))),
            stop_after: stop_after.map(|t| t.0),
            transport: w.transport.clone(),
            unstarted: pairs.len(),
            unstopped: if stop_after.is_some() { pairs.len() } else { 0 },
        }
    }

    pub(super) fn start(&mut self, core: &mut Core, id: AppId) {
        for &(time, src, dst) in &self.flows {
            let group = self.transport.pick(src);
            let conn = core.connect(time, OpenSpec { src, dst, group, app: id, tag: 0, first: self.first });
            // The application is told when the flow starts, and stops it if it is to stop.
            core.wake(src, src, time, Wake::App { app: id, tag: u64::MAX });
            if let (Some(after), First::Endless) = (self.stop_after, self.first) {
                core.wake(src, src, time.saturating_add(after), Wake::App { app: id, tag: u64::from(conn.get()) });
            }
        }
    }

    pub(super) fn on_wake(&mut self, core: &mut Core, _id: AppId, now: u64, tag: u64) {
        if tag == u64::MAX {
            self.unstarted -= 1;
        } else {
            self.unstopped -= 1;
            core.stop(ConnSlot::new(tag as u32), now);
        }
    }

    pub(super) fn on_notice(&mut self, _core: &mut Core, _id: AppId, _now: u64, _notice: Notice) {}

    pub(super) fn finished(&self) -> bool {
        self.unstarted == 0 && self.unstopped == 0
    }

    pub(super) fn expected(&self) -> u64 {
        if self.first == First::Endless { 0 } else { self.flows.len() as u64 }
    }
}
