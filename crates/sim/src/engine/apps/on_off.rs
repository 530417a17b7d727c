//! Trains on persistent connections: write a train, pause, write the next; optionally one last, large train at a given time.

use super::super::core::{Core, First, Job, Notice, OpenSpec};
use super::super::hosts::Wake;
use crate::config::{Assign, Workload, WorkloadKind};
use forebay_sampling::{Rng, SizeDist, TimeDist};

/// Bit of a tag that stands for the last train.
const LAST: u64 = 1 << 63;

struct Source {
    src: u32,
    dst: u32,
    conn: u32,
    left: u32,
    rng: Rng,
}

/// Runtime of an `on-off` workload.
pub struct OnOff {
    sources: Vec<Source>,
    sizes: SizeDist,
    gaps: TimeDist,
    after_completion: bool,
    start: u64,
    last: Option<(u64, u64)>,
    transport: Assign,
    /// Trains still to be written; `u64::MAX` for no end.
    left: u64,
}

impl OnOff {
    pub(super) fn new(w: &Workload, rng: &dyn Fn(u64) -> Rng) -> OnOff {
        let WorkloadKind::OnOff { pairs, sizes, gaps, after_completion, trains, start, last } = &w.kind else {
            unreachable!("kind checked by the caller")
        };
        let source = |(i, &(src, dst)): (usize, &(u32, u32))| Source {
            src,
            dst,
            conn: 0,
            left: trains.unwrap_or(u32::MAX),
            rng: rng(i as u64),
        };
        let each = trains.map(|n| u64::from(n) + u64::from(last.is_some()));
        OnOff {
            sources: pairs.iter().enumerate().map(source).collect(),
            sizes: sizes.clone(),
            gaps: gaps.clone(),
            after_completion: *after_completion,
            start: start.0,
            last: last.map(|(t, b)| (t.0, b)),
            transport: w.transport.clone(),
            left: each.map_or(u64::MAX, |n| n * pairs.len() as u64),
        }
    }

    pub(super) fn start(&mut self, core: &mut Core, id: u32) {
        for i in 0..self.sources.len() {
            let Source { src, dst, .. } = self.sources[i];
            let group = self.transport.pick(src);
            let spec = OpenSpec { src, dst, group, app: id, tag: i as u64, first: First::Nothing };
            self.sources[i].conn = core.connect(0, spec);
            self.pause(core, id, self.start, i);
            if let Some((at, _)) = self.last {
                core.wake(src, src, at, Wake::App { app: id, tag: LAST | i as u64 });
            }
        }
    }

    /// Waits for the next train of connection `i`.
    fn pause(&mut self, core: &mut Core, id: u32, now: u64, i: usize) {
        let s = &mut self.sources[i];
        if s.left > 0 {
            let at = now.saturating_add(self.gaps.sample(&mut s.rng).0);
            core.wake(s.src, s.src, at, Wake::App { app: id, tag: i as u64 });
        }
    }

    pub(super) fn on_wake(&mut self, core: &mut Core, id: u32, now: u64, tag: u64) {
        let i = (tag & !LAST) as usize;
        let s = &mut self.sources[i];
        let bytes = if tag & LAST != 0 {
            self.last.map_or(1, |l| l.1)
        } else {
            if s.left != u32::MAX {
                s.left -= 1;
            }
            self.sizes.sample(&mut s.rng)
        };
        if self.left != u64::MAX {
            self.left -= 1;
        }
        let conn = s.conn;
        if tag & LAST == 0 && !self.after_completion {
            self.pause(core, id, now, i);
        }
        core.write(conn, now, Job::of(bytes));
    }

    pub(super) fn on_notice(&mut self, core: &mut Core, id: u32, now: u64, notice: Notice) {
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
        if self.left == u64::MAX { 0 } else { self.left }
    }
}
