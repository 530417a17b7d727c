//! Barrier-synchronized blocks: the receiver requests a block from every sender, and the next blocks when all have arrived.

use crate::application::Application;
use crate::exchange::{Exchange, REQUESTS, processing};
use crate::query_ids::QuerySource;
use crate::{Host, Job, Notice, QueryStart, Wake};
use forebay_experiment::assign::Assign;
use forebay_experiment::traffic::{Deadline, Request, Workload, WorkloadKind};
use forebay_types::{AppId, ConnSlot, NodeId, QueryId, Rng, Time};

/// Tag of the receiver's own timer.
const ROUND: u64 = u64::MAX;

/// Runtime of an `incast` workload.
pub(crate) struct Incast {
    senders: Vec<NodeId>,
    receiver: NodeId,
    block: u64,
    rounds: u32,
    start: Time,
    gap: Time,
    request: Request,
    jitter: Time,
    deadline: Option<Deadline>,
    transport: Assign,
    /// Processing times of requests out of band, and the streams of the senders for others.
    rng: Rng,
    sender_rngs: Vec<Rng>,
    /// One for each sender, in their order.
    exchanges: Vec<Exchange>,
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
    pub(crate) fn new(w: &Workload, rng: &dyn Fn(u64) -> Rng, ids: QuerySource) -> Incast {
        let WorkloadKind::Incast { senders, receiver, block, rounds, start, gap, request, jitter, deadline } = &w.kind else {
            unreachable!("kind checked by the caller")
        };
        Incast {
            senders: senders.clone(),
            receiver: *receiver,
            block: *block,
            rounds: rounds.unwrap_or(u32::MAX),
            start: *start,
            gap: *gap,
            request: *request,
            jitter: *jitter,
            deadline: *deadline,
            transport: w.transport.clone(),
            rng: rng(0),
            sender_rngs: match request {
                Request::Packets { .. } => (1..=senders.len() as u64).map(rng).collect(),
                Request::OutOfBand(_) => Vec::new(),
            },
            exchanges: Vec::new(),
            round: 0,
            missing: 0,
            ids,
            query: None,
            due: Time::NEVER,
        }
    }

    /// A block of the current round.
    fn job(&self) -> Job {
        Job { query: self.query, deadline: self.due, ..Job::of(self.block) }
    }

    /// The receiver requests the blocks of the next round.
    fn start_round(&mut self, host: &mut impl Host, id: AppId, now: Time) {
        let query = self.ids.next();
        self.begin(Some(query), now);
        self.missing = self.senders.len() as u32;
        self.round += 1;
        let parts = self.missing * if matches!(self.request, Request::Packets { .. }) { 2 } else { 1 };
        host.begin_query(QueryStart { query, start: now, app: id, parts, client: self.receiver });
        for (i, exchange) in self.exchanges.iter().enumerate() {
            if let Some(latency) = exchange.send_request(host, now, query) {
                // One draw even without jitter.
                let time = now + latency + Time(self.rng.below(self.jitter.0 + 1));
                host.wake(Wake { app: id, tag: i as u64, origin: self.receiver, host: exchange.server(), time });
            }
        }
    }

    /// Notes that round `query` began at `start`.
    fn begin(&mut self, query: Option<QueryId>, start: Time) {
        (self.query, self.due) = (query, Deadline::due(self.deadline, start, self.block));
    }

    /// Sender `i` has a request.
    fn answer(&mut self, host: &mut impl Host, id: AppId, now: Time, i: u64) {
        let exchange = &mut self.exchanges[i as usize];
        let server = exchange.server();
        match exchange.server_rng().map_or(Time::ZERO, |rng| processing(self.jitter, rng)) {
            Time::ZERO => host.write(exchange.answers(), now, self.job()),
            late => host.wake(Wake { app: id, tag: i, origin: server, host: server, time: now + late }),
        }
    }
}

impl Application for Incast {
    fn start(&mut self, host: &mut impl Host, id: AppId) {
        for (i, &sender) in self.senders.iter().enumerate() {
            let group = self.transport.pick(sender);
            self.exchanges.push(Exchange::open(host, id, (self.receiver, sender, group), self.request, i as u64));
        }
        if let Request::Packets { bytes, two_way } = self.request {
            for (i, rng) in std::mem::take(&mut self.sender_rngs).into_iter().enumerate() {
                self.exchanges[i].open_requests(host, id, (bytes, two_way), i as u64, rng);
            }
        }
        host.wake(Wake { app: id, tag: ROUND, origin: self.receiver, host: self.receiver, time: self.start });
    }

    fn on_wake(&mut self, host: &mut impl Host, id: AppId, now: Time, tag: u64) {
        if tag == ROUND {
            return self.start_round(host, id, now);
        }
        host.write(self.exchanges[tag as usize].answers(), now, self.job());
    }

    fn on_notice(&mut self, host: &mut impl Host, id: AppId, now: Time, notice: Notice) {
        let Notice::Delivered { tag, .. } = notice else { return };
        if tag & REQUESTS != 0 {
            return self.answer(host, id, now, tag & !REQUESTS);
        }
        self.missing -= 1;
        if self.missing > 0 || self.round >= self.rounds {
            return;
        }
        if self.gap == Time::ZERO {
            self.start_round(host, id, now);
        } else {
            host.wake(Wake { app: id, tag: ROUND, origin: self.receiver, host: self.receiver, time: now + self.gap });
        }
    }

    fn remaining(&self) -> u64 {
        u64::from(self.rounds.saturating_sub(self.round)) + u64::from(self.missing)
    }

    fn expected(&self) -> u64 {
        let messages = if matches!(self.request, Request::Packets { .. }) { 2 } else { 1 };
        if self.rounds == u32::MAX { 0 } else { messages * u64::from(self.rounds) * self.senders.len() as u64 }
    }

    /// Connection and message of the sender's timer `tag`.
    fn export_timer(&mut self, tag: u64) -> Option<(ConnSlot, Job)> {
        (tag != ROUND).then(|| (self.exchanges[tag as usize].answers(), self.job()))
    }

    /// Notes that the receiver, in another process, began the round of this block.
    fn import_timer(&mut self, tag: u64, (_, job): (ConnSlot, Job)) -> u64 {
        (self.query, self.due) = (job.query, job.deadline);
        tag
    }

    /// Handles a request that the receiver, in another process, wrote at `start` on the connection `tag`.
    fn on_remote_write(&mut self, tag: u64, query: Option<QueryId>, start: Time) {
        if tag & REQUESTS != 0 {
            self.begin(query, start);
        }
    }
}
