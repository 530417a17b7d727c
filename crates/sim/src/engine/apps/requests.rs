//! Closed loop: a client's request travels as data to the server, which answers; the client thinks and asks again.

use super::super::core::{Core, First, Job, Notice, OpenSpec, QueryStart};
use super::super::hosts::Wake;
use super::super::query_ids::{QueryIds, QuerySource};
use crate::config::{Assign, Deadline, Workload, WorkloadKind};
use forebay_sampling::{Rng, SizeDist, TimeDist};
use forebay_units::{AppId, ConnSlot, NodeId};

/// Bit of a connection's tag that stands for the direction from server to client.
const ANSWER: u64 = 1 << 63;

struct Pair {
    client: NodeId,
    server: NodeId,
    /// Connections of the two directions.
    up: ConnSlot,
    down: ConnSlot,
    left: u32,
    ids: QuerySource,
    /// When it asked last, ps.
    asked_at: u64,
    client_rng: Rng,
    server_rng: Rng,
}

/// Runtime of a `requests` workload.
pub(crate) struct Requests {
    pairs: Vec<Pair>,
    request: SizeDist,
    response: SizeDist,
    think: TimeDist,
    start: u64,
    deadline: Option<Deadline>,
    transport: Assign,
    /// Requests still to be sent; `u64::MAX` for no end.
    left: u64,
    total: u64,
    /// Answers still to come.
    waiting: u64,
}

impl Requests {
    pub(super) fn new(w: &Workload, rng: &dyn Fn(u64) -> Rng, ids: &mut QueryIds) -> Requests {
        let WorkloadKind::Requests { pairs, request, response, think, count, start, deadline } = &w.kind else {
            unreachable!("kind checked by the caller")
        };
        let pair = |(i, &(client, server)): (usize, &(NodeId, NodeId))| Pair {
            client,
            server,
            up: ConnSlot::new(0),
            down: ConnSlot::new(0),
            left: count.unwrap_or(u32::MAX),
            ids: ids.source(),
            asked_at: 0,
            client_rng: rng(2 * i as u64),
            server_rng: rng(2 * i as u64 + 1),
        };
        let left = count.map_or(u64::MAX, |n| u64::from(n) * pairs.len() as u64);
        Requests {
            pairs: pairs.iter().enumerate().map(pair).collect(),
            request: request.clone(),
            response: response.clone(),
            think: think.clone(),
            start: start.0,
            deadline: *deadline,
            transport: w.transport.clone(),
            left,
            total: if left == u64::MAX { 0 } else { 2 * left },
            waiting: 0,
        }
    }

    pub(super) fn start(&mut self, core: &mut Core, id: AppId) {
        for i in 0..self.pairs.len() {
            let Pair { client, server, .. } = self.pairs[i];
            let (there, back) = self.transport.pick_pair(client, server);
            let spec = |src, dst, group, tag| OpenSpec { src, dst, group, app: id, tag, first: First::Nothing };
            self.pairs[i].up = core.connect(0, spec(client, server, there, i as u64));
            self.pairs[i].down = core.connect(0, spec(server, client, back, i as u64 | ANSWER));
            core.wake(client, client, self.start, Wake::App { app: id, tag: i as u64 });
        }
    }

    pub(super) fn on_wake(&mut self, core: &mut Core, id: AppId, now: u64, tag: u64) {
        let p = &mut self.pairs[tag as usize];
        if p.left != u32::MAX {
            p.left -= 1;
            self.left -= 1;
        }
        self.waiting += 1;
        let query = p.ids.next();
        p.asked_at = now;
        core.begin_query(QueryStart { query, start: now, app: id, parts: 2 });
        let bytes = self.request.sample(&mut p.client_rng);
        core.write(p.up, now, Job { query: Some(query), ..Job::of(bytes) });
    }

    pub(super) fn on_notice(&mut self, core: &mut Core, id: AppId, now: u64, notice: Notice) {
        let Notice::Delivered { conn, query } = notice else { return };
        let tag = core.streams[conn].tag;
        let i = (tag & !ANSWER) as usize;
        let p = &mut self.pairs[i];
        if tag & ANSWER == 0 {
            let bytes = self.response.sample(&mut p.server_rng);
            let deadline = Deadline::due(self.deadline, p.asked_at, bytes);
            return core.write(p.down, now, Job { query, deadline, ..Job::of(bytes) });
        }
        self.waiting -= 1;
        if p.left > 0 {
            let at = now.saturating_add(self.think.sample(&mut p.client_rng).0);
            core.wake(p.client, p.client, at, Wake::App { app: id, tag: i as u64 });
        }
    }

    pub(super) fn finished(&self) -> bool {
        self.left == 0 && self.waiting == 0
    }

    pub(super) fn expected(&self) -> u64 {
        self.total
    }
}
