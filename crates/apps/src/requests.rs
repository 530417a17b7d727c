//! Closed loop: a client sends a request as data to the server, which responds; after a think time the client sends the next.

use crate::application::Application;
use crate::query_ids::{QueryIds, QuerySource};
use crate::{Host, InitialData, Job, Notice, OpenSpec, QueryStart, Wake};
use forebay_experiment::assign::Assign;
use forebay_experiment::traffic::{Deadline, Workload, WorkloadKind};
use forebay_types::{AppId, ConnSlot, NodeId, QueryId, Rng, SizeDist, Time, TimeDist};

/// Bit of a connection's tag for the direction from server to client.
const RESPONSE: u64 = 1 << 63;

struct Pair {
    client: NodeId,
    server: NodeId,
    /// Connections of the two directions.
    up: ConnSlot,
    down: ConnSlot,
    remaining: u32,
    ids: QuerySource,
    /// Time of its last request.
    requested_at: Time,
    client_rng: Rng,
    server_rng: Rng,
}

/// Runtime of a `requests` workload.
pub(crate) struct Requests {
    pairs: Vec<Pair>,
    request: SizeDist,
    response: SizeDist,
    think: TimeDist,
    start: Time,
    deadline: Option<Deadline>,
    /// Both directions are one TCP connection.
    two_way: bool,
    transport: Assign,
    /// Requests still to be sent; `u64::MAX` without limit.
    remaining: u64,
    total: u64,
    /// Responses still to arrive.
    outstanding: u64,
}

impl Requests {
    pub(crate) fn new(w: &Workload, rng: &dyn Fn(u64) -> Rng, ids: &mut QueryIds) -> Requests {
        let WorkloadKind::Requests { pairs, request, response, think, count, start, deadline, two_way } = &w.kind else {
            unreachable!("kind checked by the caller")
        };
        let pair = |(i, &(client, server)): (usize, &(NodeId, NodeId))| Pair {
            client,
            server,
            up: ConnSlot::new(0),
            down: ConnSlot::new(0),
            remaining: count.unwrap_or(u32::MAX),
            ids: ids.source(),
            requested_at: Time::ZERO,
            client_rng: rng(2 * i as u64),
            server_rng: rng(2 * i as u64 + 1),
        };
        let remaining = count.map_or(u64::MAX, |n| u64::from(n) * pairs.len() as u64);
        Requests {
            pairs: pairs.iter().enumerate().map(pair).collect(),
            request: request.clone(),
            response: response.clone(),
            think: think.clone(),
            start: *start,
            deadline: *deadline,
            two_way: *two_way,
            transport: w.transport.clone(),
            remaining,
            total: if remaining == u64::MAX { 0 } else { 2 * remaining },
            outstanding: 0,
        }
    }
}

impl Application for Requests {
    fn start(&mut self, host: &mut impl Host, id: AppId) {
        for i in 0..self.pairs.len() {
            let Pair { client, server, .. } = self.pairs[i];
            let (there, back) = self.transport.pick_pair(client, server);
            let spec = |src, dst, group, tag| OpenSpec {
                src,
                dst,
                group,
                app: id,
                tag,
                first: InitialData::Nothing,
                reverse_of: None,
                window: None,
            };
            let (up, down) = (spec(client, server, there, i as u64), spec(server, client, back, i as u64 | RESPONSE));
            if self.two_way {
                self.pairs[i].down = host.open(Time::ZERO, OpenSpec { group: there, ..down });
                self.pairs[i].up = host.open(Time::ZERO, OpenSpec { reverse_of: Some(self.pairs[i].down), ..up });
            } else {
                self.pairs[i].up = host.open(Time::ZERO, up);
                self.pairs[i].down = host.open(Time::ZERO, down);
            }
            host.wake(Wake { app: id, tag: i as u64, origin: client, host: client, time: self.start });
        }
    }

    fn on_wake(&mut self, host: &mut impl Host, id: AppId, now: Time, tag: u64) {
        let p = &mut self.pairs[tag as usize];
        if p.remaining != u32::MAX {
            p.remaining -= 1;
            self.remaining -= 1;
        }
        self.outstanding += 1;
        let query = p.ids.next();
        p.requested_at = now;
        host.begin_query(QueryStart { query, start: now, app: id, parts: 2, client: p.client });
        let bytes = self.request.sample(&mut p.client_rng);
        host.write(p.up, now, Job { query: Some(query), ..Job::of(bytes) });
    }

    fn on_notice(&mut self, host: &mut impl Host, id: AppId, now: Time, notice: Notice) {
        let Notice::Delivered { tag, query } = notice else { return };
        let i = (tag & !RESPONSE) as usize;
        let p = &mut self.pairs[i];
        if tag & RESPONSE == 0 {
            let bytes = self.response.sample(&mut p.server_rng);
            let deadline = Deadline::due(self.deadline, p.requested_at, bytes);
            return host.write(p.down, now, Job { query, deadline, ..Job::of(bytes) });
        }
        self.outstanding -= 1;
        if p.remaining > 0 {
            let at = now.saturating_add(self.think.sample(&mut p.client_rng));
            host.wake(Wake { app: id, tag: i as u64, origin: p.client, host: p.client, time: at });
        }
    }

    fn remaining(&self) -> u64 {
        self.remaining.saturating_add(self.outstanding)
    }

    fn expected(&self) -> u64 {
        self.total
    }

    /// Handles a message that a client in another process wrote at `start`: a request if the connection `tag` carries those.
    fn on_remote_write(&mut self, tag: u64, _query: Option<QueryId>, start: Time) {
        if tag & RESPONSE == 0 {
            self.pairs[tag as usize].requested_at = start;
        }
    }
}
