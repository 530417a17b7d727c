//! Trains of data with pauses between them: write a train, pause, write the next; optionally one last train at a given time. All on one
//! persistent connection, or each on a new one.

use super::super::core::{Core, First, Job, Notice, OpenSpec};
use super::super::hosts::Wake;
use crate::config::{Assign, Deadline, LastTrain, Workload, WorkloadKind};
use forebay_sampling::{Rng, SizeDist, TimeDist, split};
use forebay_units::{AppId, ConnSlot, GroupId, NodeId};

/// Bit of a tag that stands for the last train.
const LAST: u64 = 1 << 63;

struct Source {
    src: NodeId,
    dst: NodeId,
    group: GroupId,
    conn: ConnSlot,
    left: u32,
    /// Bytes written so far.
    written: u64,
    /// Sizes drawn beforehand, last one first; empty when they are drawn as they come.
    pieces: Vec<u64>,
    rng: Rng,
}

/// Runtime of an `on-off` workload.
pub(crate) struct OnOff {
    sources: Vec<Source>,
    sizes: SizeDist,
    gaps: TimeDist,
    after_completion: bool,
    fresh: bool,
    start: u64,
    jitter: u64,
    last: Option<(u64, LastTrain)>,
    deadline: Option<Deadline>,
    transport: Assign,
    /// Trains still to be written, where their number is known: `u64::MAX` when there is no end.
    left: u64,
    total: u64,
}

impl OnOff {
    pub(super) fn new(w: &Workload, rng: &dyn Fn(u64) -> Rng) -> OnOff {
        let WorkloadKind::OnOff { pairs, sizes, gaps, after_completion, trains, start, last, total, fresh, jitter, deadline } =
            &w.kind
        else {
            unreachable!("kind checked by the caller")
        };
        let source = |(i, &(src, dst)): (usize, &(NodeId, NodeId))| {
            let mut rng = rng(i as u64);
            let left = trains.unwrap_or(u32::MAX);
            let pieces = total.map_or_else(Vec::new, |(total, least)| {
                let drawn: Vec<u64> = (0..left).map(|_| sizes.sample(&mut rng)).collect();
                let mut pieces = split(total, &drawn, least);
                pieces.reverse();
                pieces
            });
            Source { src, dst, group: GroupId::new(0), conn: ConnSlot::new(0), left, written: 0, pieces, rng }
        };
        let each = u64::from(trains.unwrap_or(0)) + u64::from(last.is_some());
        let total = each * pairs.len() as u64;
        OnOff {
            sources: pairs.iter().enumerate().map(source).collect(),
            sizes: sizes.clone(),
            gaps: gaps.clone(),
            after_completion: *after_completion,
            fresh: *fresh,
            start: start.0,
            jitter: jitter.0,
            last: last.map(|(t, b)| (t.0, b)),
            deadline: *deadline,
            transport: w.transport.clone(),
            left: if total > 0 { total } else { u64::MAX },
            total: if trains.is_some() { total } else { 0 },
        }
    }

    pub(super) fn start(&mut self, core: &mut Core, id: AppId) {
        if !self.fresh {
            core.make_room(self.sources.len());
        }
        for i in 0..self.sources.len() {
            // All trains of a source have the same transport, also on new connections.
            self.sources[i].group = self.transport.pick(self.sources[i].src);
            let spec = self.spec(id, i, First::Nothing);
            let late = if self.jitter > 0 { self.sources[i].rng.below(self.jitter + 1) } else { 0 };
            if !self.fresh {
                // Handshakes are spread as well: those of a thousand connections at once would overflow a switch.
                self.sources[i].conn = core.connect(late, spec);
            }
            self.pause(core, id, self.start + late, i);
            if let Some((at, last)) = self.last {
                core.wake(spec.src, spec.src, at, Wake::App { app: id, tag: LAST | i as u64 });
                if let (true, LastTrain::Bytes(bytes)) = (self.fresh, last) {
                    core.connect(at, OpenSpec { first: First::Only(self.job(at, bytes)), ..spec });
                }
            }
        }
    }

    fn spec(&self, app: AppId, i: usize, first: First) -> OpenSpec {
        let Source { src, dst, group, .. } = self.sources[i];
        OpenSpec { src, dst, group, app, tag: i as u64, first }
    }

    fn job(&self, now: u64, bytes: u64) -> Job {
        Job { deadline: Deadline::due(self.deadline, now, bytes), ..Job::of(bytes) }
    }

    /// Waits for the next train of source `i`.
    fn pause(&mut self, core: &mut Core, id: AppId, now: u64, i: usize) {
        let s = &mut self.sources[i];
        if s.left == 0 {
            return;
        }
        let mut at = now.saturating_add(self.gaps.sample(&mut s.rng).0);
        let src = s.src;
        if self.fresh {
            // The connection is prepared now: none can be inside a window. A pause shorter than a link's delay may grow to that.
            at = at.max(core.soonest());
        }
        if self.last.is_some_and(|(last, _)| at >= last) {
            return;
        }
        if self.fresh {
            let bytes = self.draw(i);
            core.ask(at, self.spec(id, i, First::Only(self.job(at, bytes))));
        }
        core.wake(src, src, at, Wake::App { app: id, tag: i as u64 });
    }

    /// Size of the next train of source `i`.
    fn draw(&mut self, i: usize) -> u64 {
        let s = &mut self.sources[i];
        s.pieces.pop().unwrap_or_else(|| self.sizes.sample(&mut s.rng))
    }

    /// A train begins.
    pub(super) fn on_wake(&mut self, core: &mut Core, id: AppId, now: u64, tag: u64) {
        let i = (tag & !LAST) as usize;
        if tag & LAST != 0 {
            return self.write_last(core, now, i);
        }
        let s = &mut self.sources[i];
        if s.left != u32::MAX {
            s.left -= 1;
            self.left -= 1;
        }
        let conn = s.conn;
        let bytes = if self.fresh { 0 } else { self.draw(i) };
        self.sources[i].written += bytes;
        if !self.after_completion {
            self.pause(core, id, now, i);
        }
        if !self.fresh {
            core.write(conn, now, self.job(now, bytes));
        }
    }

    /// The last train of source `i`: trains that have not begun are given up.
    fn write_last(&mut self, core: &mut Core, now: u64, i: usize) {
        let s = &mut self.sources[i];
        self.left -= 1 + if s.left == u32::MAX { 0 } else { u64::from(s.left) };
        s.left = 0;
        let bytes = match self.last {
            Some((_, LastTrain::Bytes(bytes))) => bytes,
            Some((_, LastTrain::RestOf(total))) => total - s.written,
            None => return,
        };
        if !self.fresh {
            core.write(s.conn, now, self.job(now, bytes));
        }
    }

    pub(super) fn on_notice(&mut self, core: &mut Core, id: AppId, now: u64, notice: Notice) {
        if let Notice::Acked { conn, .. } = notice
            && self.after_completion
        {
            let i = core.streams[conn].tag as usize;
            self.pause(core, id, now, i);
        }
    }

    pub(super) fn finished(&self) -> bool {
        self.left == 0
    }

    pub(super) fn expected(&self) -> u64 {
        self.total
    }
}
