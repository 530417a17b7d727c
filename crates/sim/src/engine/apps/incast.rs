//! Barrier-synchronised blocks: the receiver asks every sender for a block, and for the next ones when all have arrived.
//!
//! Requests are messages of the simulator, not packets: they take a fixed latency (by default that of a small packet on the empty
//! path) and are never lost, as in the incast literature.

use super::super::core::{Core, First, Job, Notice, OpenSpec, QueryStart};
use super::super::hosts::Wake;
use super::super::query_ids::QuerySource;
use crate::config::{Assign, Deadline, Workload, WorkloadKind};
use forebay_sampling::Rng;
use forebay_units::{AppId, ConnSlot, NodeId, QueryId};

/// Tag of the receiver's own timer.
const REQUEST: u64 = u64::MAX;

/// Runtime of an `incast` workload.
pub(crate) struct Incast {
    senders: Vec<NodeId>,
    receiver: NodeId,
    block: u64,
    rounds: u32,
    start: u64,
    gap: u64,
    latency: Option<u64>,
    jitter: u64,
    deadline: Option<Deadline>,
    transport: Assign,
    rng: Rng,
    conns: Vec<ConnSlot>,
    latencies: Vec<u64>,
    /// Rounds begun.
    round: u32,
    missing: u32,
    ids: QuerySource,
    /// The current round.
    query: Option<QueryId>,
    /// When its blocks should have arrived.
    due: u64,
}

impl Incast {
    pub(super) fn new(w: &Workload, rng: Rng, ids: QuerySource) -> Incast {
        let WorkloadKind::Incast { senders, receiver, block, rounds, start, gap, request_latency, jitter, deadline } = &w.kind
        else {
            unreachable!("kind checked by the caller")
        };
        Incast {
            senders: senders.clone(),
            receiver: *receiver,
            block: *block,
            rounds: rounds.unwrap_or(u32::MAX),
            start: start.0,
            gap: gap.0,
            latency: request_latency.map(|l| l.0),
            jitter: jitter.0,
            deadline: *deadline,
            transport: w.transport.clone(),
            rng,
            conns: Vec::new(),
            latencies: Vec::new(),
            round: 0,
            missing: 0,
            ids,
            query: None,
            due: u64::MAX,
        }
    }

    pub(super) fn start(&mut self, core: &mut Core, id: AppId) {
        for (i, &src) in self.senders.iter().enumerate() {
            let group = self.transport.pick(src);
            let spec = OpenSpec { src, dst: self.receiver, group, app: id, tag: i as u64, first: First::Nothing };
            self.conns.push(core.connect(0, spec));
            let latency = self.latency.unwrap_or_else(|| core.small_packet_latency(self.receiver, src, group));
            self.latencies.push(latency);
        }
        core.wake(self.receiver, self.receiver, self.start, Wake::App { app: id, tag: REQUEST });
    }

    pub(super) fn on_wake(&mut self, core: &mut Core, id: AppId, now: u64, tag: u64) {
        if tag == REQUEST {
            return self.request(core, id, now);
        }
        core.write(self.conns[tag as usize], now, Job { query: self.query, deadline: self.due, ..Job::of(self.block) });
    }

    fn request(&mut self, core: &mut Core, id: AppId, now: u64) {
        let query = self.ids.next();
        self.query = Some(query);
        self.due = Deadline::due(self.deadline, now, self.block);
        self.missing = self.senders.len() as u32;
        core.begin_query(QueryStart { query, start: now, app: id, parts: self.missing });
        self.round += 1;
        for (i, &src) in self.senders.iter().enumerate() {
            let at = now + self.latencies[i] + self.rng.below(self.jitter + 1);
            core.wake(self.receiver, src, at, Wake::App { app: id, tag: i as u64 });
        }
    }

    pub(super) fn on_notice(&mut self, core: &mut Core, id: AppId, now: u64, notice: Notice) {
        if !matches!(notice, Notice::Delivered { .. }) {
            return;
        }
        self.missing -= 1;
        if self.missing > 0 || self.round >= self.rounds {
            return;
        }
        if self.gap == 0 {
            self.request(core, id, now);
        } else {
            core.wake(self.receiver, self.receiver, now + self.gap, Wake::App { app: id, tag: REQUEST });
        }
    }

    pub(super) fn finished(&self) -> bool {
        self.round >= self.rounds && self.missing == 0
    }

    pub(super) fn expected(&self) -> u64 {
        if self.rounds == u32::MAX { 0 } else { u64::from(self.rounds) * self.senders.len() as u64 }
    }
}
