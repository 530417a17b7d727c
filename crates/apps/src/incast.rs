//! Barrier-synchronised blocks: the receiver requests a block from every sender, and the next blocks when all have arrived.
//!
//! Requests are events, not packets: they have a fixed latency (by default that of a small packet without queueing) and are never lost, as in the
//! incast literature.

use crate::query_ids::QuerySource;
use crate::{Host, InitialData, Job, Notice, OpenSpec, QueryStart, Wake};
use forebay_experiment::assign::Assign;
use forebay_experiment::traffic::{Deadline, Workload, WorkloadKind};
use forebay_types::{AppId, ConnSlot, NodeId, QueryId, Rng, Time};

/// Tag of the receiver's own timer.
const REQUEST: u64 = u64::MAX;

/// Runtime of an `incast` workload.
pub(crate) struct Incast {
    senders: Vec<NodeId>,
    receiver: NodeId,
    block: u64,
    rounds: u32,
    start: Time,
    gap: Time,
    latency: Option<Time>,
    jitter: Time,
    deadline: Option<Deadline>,
    transport: Assign,
    rng: Rng,
    conns: Vec<ConnSlot>,
    latencies: Vec<Time>,
    /// Rounds begun.
    round: u32,
    missing: u32,
    ids: QuerySource,
    /// The current round.
    query: Option<QueryId>,
    /// Deadline of its blocks.
    due: Time,
}

impl Incast {
    pub(crate) fn new(w: &Workload, rng: Rng, ids: QuerySource) -> Incast {
        let WorkloadKind::Incast { senders, receiver, block, rounds, start, gap, request_latency, jitter, deadline } = &w.kind
        else {
            unreachable!("kind checked by the caller")
        };
        Incast {
            senders: senders.clone(),
            receiver: *receiver,
            block: *block,
            rounds: rounds.unwrap_or(u32::MAX),
            start: *start,
            gap: *gap,
            latency: *request_latency,
            jitter: *jitter,
            deadline: *deadline,
            transport: w.transport.clone(),
            rng,
            conns: Vec::new(),
            latencies: Vec::new(),
            round: 0,
            missing: 0,
            ids,
            query: None,
            due: Time::NEVER,
        }
    }

    pub(crate) fn start(&mut self, host: &mut impl Host, id: AppId) {
        for (i, &src) in self.senders.iter().enumerate() {
            let group = self.transport.pick(src);
            let spec = OpenSpec { src, dst: self.receiver, group, app: id, tag: i as u64, first: InitialData::Nothing };
            self.conns.push(host.open(Time::ZERO, spec));
            let latency = self.latency.unwrap_or_else(|| host.request_latency(self.receiver, src, group));
            self.latencies.push(latency);
        }
        host.wake(Wake { app: id, tag: REQUEST, origin: self.receiver, host: self.receiver, time: self.start });
    }

    pub(crate) fn on_wake(&mut self, host: &mut impl Host, id: AppId, now: Time, tag: u64) {
        if tag == REQUEST {
            return self.request(host, id, now);
        }
        host.write(self.conns[tag as usize], now, Job { query: self.query, deadline: self.due, ..Job::of(self.block) });
    }

    fn request(&mut self, host: &mut impl Host, id: AppId, now: Time) {
        let query = self.ids.next();
        self.query = Some(query);
        self.due = Deadline::due(self.deadline, now, self.block);
        self.missing = self.senders.len() as u32;
        host.begin_query(QueryStart { query, start: now, app: id, parts: self.missing });
        self.round += 1;
        for (i, &src) in self.senders.iter().enumerate() {
            let at = now + self.latencies[i] + Time(self.rng.below(self.jitter.0 + 1));
            host.wake(Wake { app: id, tag: i as u64, origin: self.receiver, host: src, time: at });
        }
    }

    pub(crate) fn on_notice(&mut self, host: &mut impl Host, id: AppId, now: Time, notice: Notice) {
        if !matches!(notice, Notice::Delivered { .. }) {
            return;
        }
        self.missing -= 1;
        if self.missing > 0 || self.round >= self.rounds {
            return;
        }
        if self.gap == Time::ZERO {
            self.request(host, id, now);
        } else {
            host.wake(Wake { app: id, tag: REQUEST, origin: self.receiver, host: self.receiver, time: now + self.gap });
        }
    }

    pub(crate) fn remaining(&self) -> u64 {
        u64::from(self.rounds.saturating_sub(self.round)) + u64::from(self.missing)
    }

    /// Connection and message of the sender's timer `tag`.
    pub(crate) fn export_timer(&self, tag: u64) -> Option<(ConnSlot, Job)> {
        let job = Job { query: self.query, deadline: self.due, ..Job::of(self.block) };
        (tag != REQUEST).then(|| (self.conns[tag as usize], job))
    }

    /// Notes that the receiver, in another process, began the round of this block.
    pub(crate) fn import_timer(&mut self, job: &Job) {
        (self.query, self.due) = (job.query, job.deadline);
    }

    pub(crate) fn expected(&self) -> u64 {
        if self.rounds == u32::MAX { 0 } else { u64::from(self.rounds) * self.senders.len() as u64 }
    }
}
