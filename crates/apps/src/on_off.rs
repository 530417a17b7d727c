//! Trains of data with pauses in between, and optionally a last train at a given time, on one persistent connection or each on a new one.

use crate::application::Application;
use crate::{Host, InitialData, Job, Notice, OpenSpec, Wake};
use forebay_experiment::assign::Assign;
use forebay_experiment::traffic::{Deadline, LastTrain, Workload, WorkloadKind};
use forebay_types::{AppId, ConnSlot, GroupId, NodeId, Rng, SizeDist, Time, TimeDist, split};

/// Bit of a tag that identifies the last train.
const LAST_TRAIN: u64 = 1 << 63;

struct Source {
    src: NodeId,
    dst: NodeId,
    group: GroupId,
    conn: ConnSlot,
    remaining: u32,
    /// Bytes written so far.
    written: u64,
    rng: Rng,
}

/// Runtime of an `on-off` workload.
pub(crate) struct OnOff {
    sources: Vec<Source>,
    /// Sizes drawn at the start for each source, in reverse order; empty if they are drawn for each train.
    presized: Vec<Vec<u64>>,
    sizes: SizeDist,
    gaps: TimeDist,
    after_completion: bool,
    fresh: bool,
    start: Time,
    jitter: Time,
    last: Option<(Time, LastTrain)>,
    deadline: Option<Deadline>,
    transport: Assign,
    /// Trains still to be written; `u64::MAX` without limit.
    remaining: u64,
    total: u64,
}

impl OnOff {
    pub(crate) fn new(w: &Workload, rng: &dyn Fn(u64) -> Rng) -> OnOff {
        let WorkloadKind::OnOff { pairs, sizes, gaps, after_completion, trains, start, last, total, fresh, jitter, deadline } =
            &w.kind
        else {
            unreachable!("kind checked by the caller")
        };
        let mut presized = Vec::new();
        let source = |(i, &(src, dst)): (usize, &(NodeId, NodeId))| {
            let mut rng = rng(i as u64);
            let remaining = trains.unwrap_or(u32::MAX);
            if let Some((total, min)) = *total {
                let drawn: Vec<u64> = (0..remaining).map(|_| sizes.sample(&mut rng)).collect();
                let mut of_source = split(total, &drawn, min);
                of_source.reverse();
                presized.push(of_source);
            }
            Source { src, dst, group: GroupId::new(0), conn: ConnSlot::new(0), remaining, written: 0, rng }
        };
        let each = u64::from(trains.unwrap_or(0)) + u64::from(last.is_some());
        let total = each * pairs.len() as u64;
        OnOff {
            sources: pairs.iter().enumerate().map(source).collect(),
            presized,
            sizes: sizes.clone(),
            gaps: gaps.clone(),
            after_completion: *after_completion,
            fresh: *fresh,
            start: *start,
            jitter: *jitter,
            last: *last,
            deadline: *deadline,
            transport: w.transport.clone(),
            remaining: if total > 0 { total } else { u64::MAX },
            total: if trains.is_some() { total } else { 0 },
        }
    }

    fn spec(&self, app: AppId, i: usize, first: InitialData) -> OpenSpec {
        let Source { src, dst, group, .. } = self.sources[i];
        OpenSpec { src, dst, group, app, tag: i as u64, first, reverse_of: None, window: None }
    }

    fn job(&self, now: Time, bytes: u64) -> Job {
        Job { deadline: Deadline::due(self.deadline, now, bytes), ..Job::of(bytes) }
    }

    /// Schedules the first train of source `i` at the start of the run, when connections can be opened for any time.
    fn begin(&mut self, host: &mut impl Host, id: AppId, now: Time, i: usize) {
        if let Some(at) = self.after_gap(now, i) {
            self.schedule(host, id, at, i, Self::open_at_start);
        }
    }

    fn open_at_start(host: &mut impl Host, at: Time, spec: OpenSpec) {
        host.open(at, spec);
    }

    /// Schedules the next train of source `i`.
    fn pause(&mut self, host: &mut impl Host, id: AppId, now: Time, i: usize) {
        if let Some(at) = self.after_gap(now, i) {
            // The connection is created now, because none can be created inside a window. A pause shorter than a link's delay may grow to that.
            let at = if self.fresh { at.max(host.earliest_open()) } else { at };
            self.schedule(host, id, at, i, Host::open_later);
        }
    }

    /// Time of the next train of source `i`, a gap after `now`; `None` if there is none.
    fn after_gap(&mut self, now: Time, i: usize) -> Option<Time> {
        let s = &mut self.sources[i];
        (s.remaining > 0).then(|| now.saturating_add(self.gaps.sample(&mut s.rng)))
    }

    /// Schedules a train of source `i`, and its connection with `open`.
    fn schedule<H: Host>(&mut self, host: &mut H, id: AppId, at: Time, i: usize, open: fn(&mut H, Time, OpenSpec)) {
        if self.last.is_some_and(|(last, _)| at >= last) {
            return;
        }
        let src = self.sources[i].src;
        if self.fresh {
            let bytes = self.draw(i);
            open(host, at, self.spec(id, i, InitialData::Only(self.job(at, bytes))));
        }
        host.wake(Wake { app: id, tag: i as u64, origin: src, host: src, time: at });
    }

    /// Size of the next train of source `i`.
    fn draw(&mut self, i: usize) -> u64 {
        let s = &mut self.sources[i];
        let drawn = self.presized.get_mut(i).and_then(Vec::pop);
        drawn.unwrap_or_else(|| self.sizes.sample(&mut s.rng))
    }

    /// Writes the last train of source `i` and cancels those that have not begun.
    fn write_last(&mut self, host: &mut impl Host, now: Time, i: usize) {
        let s = &mut self.sources[i];
        self.remaining -= 1 + if s.remaining == u32::MAX { 0 } else { u64::from(s.remaining) };
        s.remaining = 0;
        let bytes = match self.last {
            Some((_, LastTrain::Bytes(bytes))) => bytes,
            Some((_, LastTrain::UpToTotal(total))) => total - s.written,
            None => return,
        };
        if !self.fresh {
            host.write(s.conn, now, self.job(now, bytes));
        }
    }
}

impl Application for OnOff {
    fn start(&mut self, host: &mut impl Host, id: AppId) {
        if !self.fresh {
            host.reserve(self.sources.len());
        }
        for i in 0..self.sources.len() {
            // All trains of a source have the same transport, also on new connections.
            self.sources[i].group = self.transport.pick(self.sources[i].src);
            let spec = self.spec(id, i, InitialData::Nothing);
            let late = Time(if self.jitter > Time::ZERO { self.sources[i].rng.below(self.jitter.0 + 1) } else { 0 });
            if !self.fresh {
                // Handshakes are spread too: those of a thousand connections at the same time would overflow a switch.
                self.sources[i].conn = host.open(late, spec);
            }
            self.begin(host, id, self.start + late, i);
            if let Some((at, last)) = self.last {
                host.wake(Wake { app: id, tag: LAST_TRAIN | i as u64, origin: spec.src, host: spec.src, time: at });
                if let (true, LastTrain::Bytes(bytes)) = (self.fresh, last) {
                    host.open(at, OpenSpec { first: InitialData::Only(self.job(at, bytes)), ..spec });
                }
            }
        }
    }

    /// Begins a train.
    fn on_wake(&mut self, host: &mut impl Host, id: AppId, now: Time, tag: u64) {
        let i = (tag & !LAST_TRAIN) as usize;
        if tag & LAST_TRAIN != 0 {
            return self.write_last(host, now, i);
        }
        let s = &mut self.sources[i];
        if s.remaining != u32::MAX {
            s.remaining -= 1;
            self.remaining -= 1;
        }
        let conn = s.conn;
        let bytes = if self.fresh { 0 } else { self.draw(i) };
        self.sources[i].written += bytes;
        if !self.after_completion {
            self.pause(host, id, now, i);
        }
        if !self.fresh {
            host.write(conn, now, self.job(now, bytes));
        }
    }

    fn on_notice(&mut self, host: &mut impl Host, id: AppId, now: Time, notice: Notice) {
        if let Notice::Acked { tag, .. } = notice
            && self.after_completion
        {
            self.pause(host, id, now, tag as usize);
        }
    }

    fn remaining(&self) -> u64 {
        self.remaining
    }

    fn expected(&self) -> u64 {
        self.total
    }
}
