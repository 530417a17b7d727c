//! Partition-aggregate: an aggregator sends a query to several workers and waits for all responses. Queries of an aggregator arrive as a Poisson
//! process and may overlap, or follow one another.
//!
//! Requests are events, not packets: they have a fixed latency (by default that of a small packet without queueing) and are never lost, as in the
//! incast literature. Responses travel on persistent connections.

use crate::query_ids::{QueryIds, QuerySource};
use crate::{Host, InitialData, Job, Notice, OpenSpec, QueryStart, Wake};
use forebay_experiment::assign::Assign;
use forebay_experiment::traffic::{Arrival, Deadline, ResponseSize, Workload, WorkloadKind};
use forebay_types::{AppId, ConnSlot, NodeId, QueryId, Rng, Time};

/// Bit of a tag for an aggregator's own timer.
const QUERY_TIMER: u64 = 1 << 63;

/// The connection from a worker to an aggregator.
struct Link {
    worker: NodeId,
    conn: ConnSlot,
    latency: Time,
}

struct Aggregator {
    host: NodeId,
    links: Vec<Link>,
    /// Indices of `links`; the first of them are those of the current query.
    order: Vec<u32>,
    remaining: u32,
    ids: QuerySource,
    /// Open queries with their number of missing responses.
    open: Vec<(QueryId, u32)>,
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
    latency: Option<Time>,
    jitter: Time,
    deadline: Option<Deadline>,
    transport: Assign,
    /// Responses requested and not yet written, by tag.
    pending_responses: PendingResponses,
    /// Queries that are scheduled or open.
    pending: u64,
    total: u64,
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
            request_latency,
            jitter,
            deadline,
        } = &w.kind
        else {
            unreachable!("kind checked by the caller")
        };
        let aggregator = |(i, &host): (usize, &NodeId)| {
            let links = workers.iter().filter(|&&w| w != host).map(|&worker| Link {
                worker,
                conn: ConnSlot::new(0),
                latency: Time::ZERO,
            });
            let links: Vec<Link> = links.collect();
            let order = (0..links.len() as u32).collect();
            let remaining = count.unwrap_or(u32::MAX);
            Aggregator { host, links, order, remaining, ids: ids.source(), open: Vec::new(), rng: rng(i as u64) }
        };
        Queries {
            aggregators: aggregators.iter().enumerate().map(aggregator).collect(),
            fan_out: *fan_out,
            response: response.clone(),
            arrival: arrival.clone(),
            start: *start,
            stop: stop.unwrap_or(Time::NEVER),
            latency: *request_latency,
            jitter: *jitter,
            deadline: *deadline,
            transport: w.transport.clone(),
            pending_responses: PendingResponses::default(),
            pending: 0,
            total: count.map_or(0, |n| u64::from(n) * u64::from(*fan_out) * aggregators.len() as u64),
        }
    }

    pub(crate) fn start(&mut self, host: &mut impl Host, id: AppId) {
        for i in 0..self.aggregators.len() {
            let a = &mut self.aggregators[i];
            for link in &mut a.links {
                let first = InitialData::Nothing;
                let group = self.transport.pick(link.worker);
                let spec = OpenSpec { src: link.worker, dst: a.host, group, app: id, tag: i as u64, first };
                link.conn = host.open(Time::ZERO, spec);
                link.latency = self.latency.unwrap_or_else(|| host.request_latency(a.host, link.worker, group));
            }
            let first = match &self.arrival {
                Arrival::Rate(per_sec) => self.start.saturating_add(Time((a.rng.exponential() * 1e12 / per_sec) as u64)),
                Arrival::Gap(_) => self.start,
            };
            self.schedule(host, id, i, first);
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

    pub(crate) fn on_wake(&mut self, host: &mut impl Host, id: AppId, now: Time, tag: u64) {
        if tag & QUERY_TIMER != 0 {
            return self.start_query(host, id, now, (tag & !QUERY_TIMER) as usize);
        }
        let PendingResponse { conn, job } = self.pending_responses.take(tag);
        host.write(conn, now, job);
    }

    /// Aggregator `i` sends a query to its workers.
    fn start_query(&mut self, host: &mut impl Host, id: AppId, now: Time, i: usize) {
        let a = &mut self.aggregators[i];
        if a.remaining != u32::MAX {
            a.remaining -= 1;
        }
        let query = a.ids.next();
        a.open.push((query, self.fan_out));
        host.begin_query(QueryStart { query, start: now, app: id, parts: self.fan_out });
        for k in 0..self.fan_out as usize {
            // The first steps of a Fisher-Yates shuffle draw a set without repetition from any initial order.
            let rest = (a.order.len() - k) as u64;
            if (self.fan_out as usize) < a.order.len() {
                let drawn = k + a.rng.below(rest) as usize;
                a.order.swap(k, drawn);
            }
            let link = &a.links[a.order[k] as usize];
            let bytes = match &self.response {
                ResponseSize::Each(sizes) => sizes.sample(&mut a.rng),
                ResponseSize::Shared(total) => total.div_ceil(u64::from(self.fan_out)),
            };
            let late = Time(if self.jitter > Time::ZERO { a.rng.below(self.jitter.0 + 1) } else { 0 });
            let deadline = Deadline::due(self.deadline, now, bytes);
            let response = PendingResponse { conn: link.conn, job: Job { query: Some(query), deadline, ..Job::of(bytes) } };
            let slot = self.pending_responses.insert(response);
            host.wake(Wake { app: id, tag: u64::from(slot), origin: a.host, host: link.worker, time: now + link.latency + late });
        }
        if let Arrival::Rate(per_sec) = self.arrival {
            let next = now.saturating_add(Time((a.rng.exponential() * 1e12 / per_sec) as u64));
            self.schedule(host, id, i, next);
        }
    }

    pub(crate) fn on_notice(&mut self, host: &mut impl Host, id: AppId, now: Time, notice: Notice) {
        let Notice::Delivered { tag, query } = notice else { return };
        let i = tag as usize;
        let a = &mut self.aggregators[i];
        let Some(at) = a.open.iter().position(|q| Some(q.0) == query) else { return };
        a.open[at].1 -= 1;
        if a.open[at].1 > 0 {
            return;
        }
        a.open.swap_remove(at);
        self.pending -= 1;
        if let Arrival::Gap(gap) = &self.arrival {
            let next = now.saturating_add(gap.sample(&mut a.rng));
            self.schedule(host, id, i, next);
        }
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.pending
    }

    /// Removes the response of timer `tag`, which is set for a worker in another process.
    pub(crate) fn export_timer(&mut self, tag: u64) -> Option<(ConnSlot, Job)> {
        if tag & QUERY_TIMER != 0 {
            return None;
        }
        let PendingResponse { conn, job } = self.pending_responses.take(tag);
        Some((conn, job))
    }

    /// Stores a response for an aggregator in another process. Returns the tag of its timer.
    pub(crate) fn import_timer(&mut self, (conn, job): (ConnSlot, Job)) -> u64 {
        u64::from(self.pending_responses.insert(PendingResponse { conn, job }))
    }

    pub(crate) fn expected(&self) -> u64 {
        self.total
    }
}
