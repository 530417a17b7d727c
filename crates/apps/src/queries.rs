//! Partition-aggregate: an aggregator sends a query to several workers and waits for all responses. Queries of an aggregator arrive as a Poisson
//! process and may overlap, or follow one another. Responses travel on persistent connections.

use crate::application::Application;
use crate::exchange::{Exchange, REQUESTS, processing};
use crate::query_ids::{QueryIds, QuerySource};
use crate::{Host, Job, Notice, QueryStart, Wake};
use forebay_experiment::assign::Assign;
use forebay_experiment::traffic::{Arrival, Deadline, Request, ResponseSize, Workload, WorkloadKind};
use forebay_types::{AppId, ConnSlot, NodeId, QueryId, Rng, Time};
use std::collections::VecDeque;

/// Bit of a tag for an aggregator's own timer.
const QUERY_TIMER: u64 = 1 << 63;

/// Position of the aggregator's index in the tag of a connection for requests, above that of the worker.
const AGGREGATOR: u32 = 32;

/// A worker of an aggregator.
struct Link {
    exchange: Exchange,
    /// Start times of the queries whose requests are on their way from an aggregator in another process.
    remote: VecDeque<Time>,
}

/// A query without all of its responses.
struct OpenQuery {
    id: QueryId,
    start: Time,
    missing: u32,
}

struct Aggregator {
    host: NodeId,
    workers: Vec<NodeId>,
    /// One for each worker, in their order.
    links: Vec<Link>,
    /// Indices of `links`; the first of them are those of the current query.
    order: Vec<u32>,
    remaining: u32,
    ids: QuerySource,
    open: Vec<OpenQuery>,
    rng: Rng,
}

/// A response that a worker will write.
#[derive(Clone, Copy)]
struct PendingResponse {
    conn: ConnSlot,
    job: Job,
}

/// Slab of pending responses.
#[derive(Default)]
struct PendingResponses {
    slots: Vec<PendingResponse>,
    free: Vec<u32>,
}

impl PendingResponses {
    /// Stores a response until it is written. Returns its slot.
    fn insert(&mut self, response: PendingResponse) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = response;
            return slot;
        }
        self.slots.push(response);
        self.slots.len() as u32 - 1
    }

    /// Removes the response at slot `tag`.
    fn take(&mut self, tag: u64) -> PendingResponse {
        self.free.push(tag as u32);
        self.slots[tag as usize]
    }
}

/// Runtime of a `queries` workload.
pub(crate) struct Queries {
    aggregators: Vec<Aggregator>,
    fan_out: u32,
    response: ResponseSize,
    arrival: Arrival,
    start: Time,
    stop: Time,
    request: Request,
    jitter: Time,
    deadline: Option<Deadline>,
    transport: Assign,
    /// Responses requested and not yet written, by tag.
    pending_responses: PendingResponses,
    /// Queries that are scheduled or open.
    pending: u64,
    total: u64,
    /// Streams of the workers, in the order of aggregators and workers, until their connections are open.
    worker_rngs: Vec<Rng>,
}

impl Queries {
    pub(crate) fn new(w: &Workload, rng: &dyn Fn(u64) -> Rng, ids: &mut QueryIds) -> Queries {
        let WorkloadKind::Queries {
            aggregators,
            workers,
            fan_out,
            response,
            arrival,
            count,
            start,
            stop,
            request,
            jitter,
            deadline,
        } = &w.kind
        else {
            unreachable!("kind checked by the caller")
        };
        let aggregator = |(i, &host): (usize, &NodeId)| {
            let workers: Vec<NodeId> = workers.iter().copied().filter(|&w| w != host).collect();
            let order = (0..workers.len() as u32).collect();
            let remaining = count.unwrap_or(u32::MAX);
            let links = Vec::with_capacity(workers.len());
            Aggregator { host, workers, links, order, remaining, ids: ids.source(), open: Vec::new(), rng: rng(i as u64) }
        };
        let aggregators: Vec<Aggregator> = aggregators.iter().enumerate().map(aggregator).collect();
        let links: usize = aggregators.iter().map(|a| a.workers.len()).sum();
        let messages = match request {
            Request::Packets { .. } => 2 * u64::from(*fan_out),
            Request::OutOfBand(_) => u64::from(*fan_out),
        };
        let first = aggregators.len();
        Queries {
            worker_rngs: match request {
                Request::Packets { .. } => (first..first + links).map(|i| rng(i as u64)).collect(),
                Request::OutOfBand(_) => Vec::new(),
            },
            total: count.map_or(0, |n| u64::from(n) * messages * aggregators.len() as u64),
            aggregators,
            fan_out: *fan_out,
            response: response.clone(),
            arrival: arrival.clone(),
            start: *start,
            stop: stop.unwrap_or(Time::NEVER),
            request: *request,
            jitter: *jitter,
            deadline: *deadline,
            transport: w.transport.clone(),
            pending_responses: PendingResponses::default(),
            pending: 0,
        }
    }

    /// Schedules the next query of aggregator `i` at `time`, unless it was the last.
    fn schedule(&mut self, host: &mut impl Host, id: AppId, i: usize, time: Time) {
        let a = &self.aggregators[i];
        if a.remaining > 0 && time < self.stop {
            self.pending += 1;
            host.wake(Wake { app: id, tag: QUERY_TIMER | i as u64, origin: a.host, host: a.host, time });
        }
    }

    /// Aggregator `i` sends a query to its workers.
    fn start_query(&mut self, host: &mut impl Host, id: AppId, now: Time, i: usize) {
        let a = &mut self.aggregators[i];
        if a.remaining != u32::MAX {
            a.remaining -= 1;
        }
        let query = a.ids.next();
        a.open.push(OpenQuery { id: query, start: now, missing: self.fan_out });
        let parts = self.fan_out * if matches!(self.request, Request::Packets { .. }) { 2 } else { 1 };
        host.begin_query(QueryStart { query, start: now, app: id, parts, client: a.host });
        for k in 0..self.fan_out as usize {
            // The first steps of a Fisher-Yates shuffle draw a set without repetition from any initial order.
            let rest = (a.order.len() - k) as u64;
            if (self.fan_out as usize) < a.order.len() {
                let drawn = k + a.rng.below(rest) as usize;
                a.order.swap(k, drawn);
            }
            let exchange = &a.links[a.order[k] as usize].exchange;
            let Some(latency) = exchange.send_request(host, now, query) else { continue };
            let bytes = response_bytes(&self.response, self.fan_out, &mut a.rng);
            let late = processing(self.jitter, &mut a.rng);
            let deadline = Deadline::due(self.deadline, now, bytes);
            let job = Job { query: Some(query), deadline, ..Job::of(bytes) };
            let slot = self.pending_responses.insert(PendingResponse { conn: exchange.answers(), job });
            let worker = exchange.server();
            host.wake(Wake { app: id, tag: u64::from(slot), origin: a.host, host: worker, time: now + latency + late });
        }
        if let Arrival::Rate(per_sec) = self.arrival {
            let next = now.saturating_add(Time((a.rng.exponential() * 1e12 / per_sec) as u64));
            self.schedule(host, id, i, next);
        }
    }

    /// The worker of connection `tag` has the request of `query`.
    fn answer(&mut self, host: &mut impl Host, id: AppId, now: Time, tag: u64, query: Option<QueryId>) {
        let (i, k) = place(tag);
        let a = &mut self.aggregators[i];
        let Link { exchange, remote } = &mut a.links[k];
        let (conn, worker) = (exchange.answers(), exchange.server());
        // A query is open until its last response has arrived.
        let known = || a.open.iter().find(|q| Some(q.id) == query).map_or(now, |q| q.start);
        let start = remote.pop_front().unwrap_or_else(known);
        let Some(rng) = exchange.server_rng() else { return };
        let bytes = response_bytes(&self.response, self.fan_out, rng);
        let late = processing(self.jitter, rng);
        let job = Job { query, deadline: Deadline::due(self.deadline, start, bytes), ..Job::of(bytes) };
        if late == Time::ZERO {
            return host.write(conn, now, job);
        }
        let slot = self.pending_responses.insert(PendingResponse { conn, job });
        host.wake(Wake { app: id, tag: u64::from(slot), origin: worker, host: worker, time: now + late });
    }
}

impl Application for Queries {
    fn start(&mut self, host: &mut impl Host, id: AppId) {
        for i in 0..self.aggregators.len() {
            let a = &mut self.aggregators[i];
            for &worker in &a.workers {
                let group = self.transport.pick(worker);
                let exchange = Exchange::open(host, id, (a.host, worker, group), self.request, i as u64);
                a.links.push(Link { exchange, remote: VecDeque::new() });
            }
            let first = match &self.arrival {
                Arrival::Rate(per_sec) => self.start.saturating_add(Time((a.rng.exponential() * 1e12 / per_sec) as u64)),
                Arrival::Gap(_) => self.start,
            };
            self.schedule(host, id, i, first);
        }
        let Request::Packets { bytes, two_way } = self.request else { return };
        let mut rngs = std::mem::take(&mut self.worker_rngs).into_iter();
        for (i, a) in (0_u64..).zip(&mut self.aggregators) {
            for ((k, link), rng) in (0_u64..).zip(&mut a.links).zip(&mut rngs) {
                link.exchange.open_requests(host, id, (bytes, two_way), i << AGGREGATOR | k, rng);
            }
        }
    }

    fn on_wake(&mut self, host: &mut impl Host, id: AppId, now: Time, tag: u64) {
        if tag & QUERY_TIMER != 0 {
            return self.start_query(host, id, now, (tag & !QUERY_TIMER) as usize);
        }
        let PendingResponse { conn, job } = self.pending_responses.take(tag);
        host.write(conn, now, job);
    }

    fn on_notice(&mut self, host: &mut impl Host, id: AppId, now: Time, notice: Notice) {
        let Notice::Delivered { tag, query } = notice else { return };
        if tag & REQUESTS != 0 {
            return self.answer(host, id, now, tag, query);
        }
        let i = tag as usize;
        let a = &mut self.aggregators[i];
        let Some(at) = a.open.iter().position(|q| Some(q.id) == query) else { return };
        a.open[at].missing -= 1;
        if a.open[at].missing > 0 {
            return;
        }
        a.open.swap_remove(at);
        self.pending -= 1;
        if let Arrival::Gap(gap) = &self.arrival {
            let next = now.saturating_add(gap.sample(&mut a.rng));
            self.schedule(host, id, i, next);
        }
    }

    fn remaining(&self) -> u64 {
        self.pending
    }

    fn expected(&self) -> u64 {
        self.total
    }

    /// Removes the response of timer `tag`, which is set for a worker in another process.
    fn export_timer(&mut self, tag: u64) -> Option<(ConnSlot, Job)> {
        if tag & QUERY_TIMER != 0 {
            return None;
        }
        let PendingResponse { conn, job } = self.pending_responses.take(tag);
        Some((conn, job))
    }

    /// Stores a response for an aggregator in another process. Returns the tag of its timer.
    fn import_timer(&mut self, _tag: u64, (conn, job): (ConnSlot, Job)) -> u64 {
        u64::from(self.pending_responses.insert(PendingResponse { conn, job }))
    }

    /// Handles a request that an aggregator in another process wrote at `start`, if the connection `tag` carries those.
    fn on_remote_write(&mut self, tag: u64, _query: Option<QueryId>, start: Time) {
        if tag & REQUESTS != 0 {
            let (i, k) = place(tag);
            self.aggregators[i].links[k].remote.push_back(start);
        }
    }
}

/// Aggregator and worker of the connection `tag` for requests.
fn place(tag: u64) -> (usize, usize) {
    let tag = tag & !REQUESTS;
    ((tag >> AGGREGATOR) as usize, (tag & ((1 << AGGREGATOR) - 1)) as usize)
}

/// Bytes of the next response, one of `fan_out` to a query.
fn response_bytes(size: &ResponseSize, fan_out: u32, rng: &mut Rng) -> u64 {
    match size {
        ResponseSize::Each(sizes) => sizes.sample(rng),
        ResponseSize::Shared(total) => total.div_ceil(u64::from(fan_out)),
    }
}
