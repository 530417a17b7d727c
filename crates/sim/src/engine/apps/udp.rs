//! Unresponsive sources: datagrams at a rate, all the time or on and off.

use super::super::core::{Core, First, Notice, OpenSpec};
use super::super::hosts::Wake;
use crate::config::{Assign, Workload, WorkloadKind};
use crate::tcp::datagram::Datagram;
use forebay_sampling::{Rng, TimeDist};
use forebay_units::{AppId, ConnSlot, NodeId};

struct Source {
    src: NodeId,
    dst: NodeId,
    conn: ConnSlot,
    /// When the next packet is due, before the jitter.
    due: u64,
    /// End of the current on period.
    on_until: u64,
    rng: Rng,
}

/// Runtime of a `udp` workload.
pub(crate) struct Udp {
    sources: Vec<Source>,
    datagram: Datagram,
    /// Time from packet to packet, ps.
    gap: u64,
    packet_jitter: u64,
    /// Lengths of on and off periods; `None`: always on.
    periods: Option<(TimeDist, TimeDist)>,
    start: u64,
    jitter: u64,
    stop: u64,
    transport: Assign,
    /// Sources that will send again.
    running: usize,
}

impl Udp {
    pub(super) fn new(w: &Workload, rng: &dyn Fn(u64) -> Rng) -> Udp {
        let WorkloadKind::Udp { pairs, datagram, rate, packet_jitter, periods, start, jitter, stop } = &w.kind else {
            unreachable!("kind checked by the caller")
        };
        let source = |(i, &(src, dst)): (usize, &(NodeId, NodeId))| {
            let rng = rng(i as u64);
            Source { src, dst, conn: ConnSlot::new(0), due: 0, on_until: u64::MAX, rng }
        };
        Udp {
            sources: pairs.iter().enumerate().map(source).collect(),
            datagram: *datagram,
            gap: rate.tx_time(u64::from(datagram.wire)).0,
            packet_jitter: packet_jitter.0,
            periods: periods.clone(),
            start: start.0,
            jitter: jitter.0,
            stop: stop.map_or(u64::MAX, |t| t.0),
            transport: w.transport.clone(),
            running: pairs.len(),
        }
    }

    pub(super) fn start(&mut self, core: &mut Core, id: AppId) {
        for i in 0..self.sources.len() {
            let s = &mut self.sources[i];
            let group = self.transport.pick(s.src);
            let spec = OpenSpec { src: s.src, dst: s.dst, group, app: id, tag: i as u64, first: First::Nothing };
            s.conn = core.source(spec, self.datagram);
            s.due = self.start + if self.jitter > 0 { s.rng.below(self.jitter + 1) } else { 0 };
            if let Some((on, _)) = &self.periods {
                s.on_until = s.due.saturating_add(on.sample(&mut s.rng).0);
            }
            self.schedule(core, id, i, 0);
        }
    }

    /// Waits for the packet of source `i` that is due next; `now` is when it sent its last.
    fn schedule(&mut self, core: &mut Core, id: AppId, i: usize, now: u64) {
        let s = &mut self.sources[i];
        if s.due >= self.stop {
            self.running -= 1;
            return;
        }
        let late = if self.packet_jitter > 0 { s.rng.below(self.packet_jitter + 1) } else { 0 };
        core.wake(s.src, s.src, (s.due + late).max(now), Wake::App { app: id, tag: i as u64 });
    }

    pub(super) fn on_wake(&mut self, core: &mut Core, id: AppId, now: u64, tag: u64) {
        let i = tag as usize;
        let s = &mut self.sources[i];
        core.datagram(s.conn, now);
        // On the grid of the rate, so that the jitter does not add up.
        s.due = s.due.saturating_add(self.gap);
        while let Some((on, off)) = self.periods.as_ref().filter(|_| s.due >= s.on_until) {
            s.due = s.on_until.saturating_add(off.sample(&mut s.rng).0).max(s.due);
            s.on_until = s.due.saturating_add(on.sample(&mut s.rng).0.max(1));
        }
        self.schedule(core, id, i, now);
    }

    pub(super) fn on_notice(&mut self, _core: &mut Core, _id: AppId, _now: u64, _notice: Notice) {}

    /// A source without end is background: it does not keep a run going that has nothing else to do.
    pub(super) fn finished(&self) -> bool {
        self.running == 0 || self.stop == u64::MAX
    }

    pub(super) fn expected(&self) -> u64 {
        0
    }
}
