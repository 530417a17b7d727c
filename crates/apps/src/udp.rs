//! Unresponsive sources: datagrams at a constant rate, or on and off.

use crate::application::Application;
use crate::{Host, InitialData, OpenSpec, Wake};
use forebay_experiment::assign::Assign;
use forebay_experiment::traffic::{Datagram, Workload, WorkloadKind};
use forebay_types::{AppId, ConnSlot, NodeId, Rng, Time, TimeDist};

struct Source {
    src: NodeId,
    dst: NodeId,
    conn: ConnSlot,
    /// Time of the next packet, without jitter.
    due: Time,
    /// End of the current on period.
    on_until: Time,
    rng: Rng,
}

/// Runtime of a `udp` workload.
pub(crate) struct Udp {
    sources: Vec<Source>,
    datagram: Datagram,
    /// Time from packet to packet.
    gap: Time,
    packet_jitter: Time,
    /// Lengths of on and off periods; `None`: always on.
    periods: Option<(TimeDist, TimeDist)>,
    start: Time,
    jitter: Time,
    stop: Time,
    transport: Assign,
    /// Sources that will send again.
    running: usize,
}

impl Udp {
    pub(crate) fn new(w: &Workload, rng: &dyn Fn(u64) -> Rng) -> Udp {
        let WorkloadKind::Udp { pairs, datagram, rate, packet_jitter, periods, start, jitter, stop } = &w.kind else {
            unreachable!("kind checked by the caller")
        };
        let source = |(i, &(src, dst)): (usize, &(NodeId, NodeId))| {
            let rng = rng(i as u64);
            Source { src, dst, conn: ConnSlot::new(0), due: Time::ZERO, on_until: Time::NEVER, rng }
        };
        Udp {
            sources: pairs.iter().enumerate().map(source).collect(),
            datagram: *datagram,
            gap: rate.tx_time(u64::from(datagram.wire)),
            packet_jitter: *packet_jitter,
            periods: periods.clone(),
            start: *start,
            jitter: *jitter,
            stop: stop.unwrap_or(Time::NEVER),
            transport: w.transport.clone(),
            running: pairs.len(),
        }
    }

    /// Schedules the next packet of source `i`, which sent its last at `now`.
    fn schedule(&mut self, host: &mut impl Host, id: AppId, i: usize, now: Time) {
        let s = &mut self.sources[i];
        if s.due >= self.stop {
            self.running -= 1;
            return;
        }
        let late = Time(if self.packet_jitter > Time::ZERO { s.rng.below(self.packet_jitter.0 + 1) } else { 0 });
        host.wake(Wake { app: id, tag: i as u64, origin: s.src, host: s.src, time: (s.due + late).max(now) });
    }
}

impl Application for Udp {
    fn start(&mut self, host: &mut impl Host, id: AppId) {
        for i in 0..self.sources.len() {
            let s = &mut self.sources[i];
            let group = self.transport.pick(s.src);
            let spec = OpenSpec {
                src: s.src,
                dst: s.dst,
                group,
                app: id,
                tag: i as u64,
                first: InitialData::Nothing,
                reverse_of: None,
                window: None,
            };
            s.conn = host.open_datagrams(spec, self.datagram);
            s.due = self.start + Time(if self.jitter > Time::ZERO { s.rng.below(self.jitter.0 + 1) } else { 0 });
            if let Some((on, _)) = &self.periods {
                s.on_until = s.due.saturating_add(on.sample(&mut s.rng));
            }
            self.schedule(host, id, i, Time::ZERO);
        }
    }

    fn on_wake(&mut self, host: &mut impl Host, id: AppId, now: Time, tag: u64) {
        let i = tag as usize;
        let s = &mut self.sources[i];
        host.send_datagram(s.conn, now);
        // On the grid of the rate, so that jitter does not accumulate.
        s.due = s.due.saturating_add(self.gap);
        // Pauses interrupt the time between two packets: the rest of it passes in the following sending periods. So the rate while sending is that of
        // the scenario for periods of any length, also below the time between packets.
        while let Some((on, off)) = self.periods.as_ref().filter(|_| s.due >= s.on_until && s.due < self.stop) {
            let rest = s.due.saturating_sub(s.on_until);
            let begin = s.on_until.saturating_add(off.sample(&mut s.rng));
            s.due = begin.saturating_add(rest);
            s.on_until = begin.saturating_add(on.sample(&mut s.rng));
        }
        self.schedule(host, id, i, now);
    }

    /// An endless source is background traffic, which does not prolong a run.
    fn remaining(&self) -> u64 {
        if self.stop == Time::NEVER { 0 } else { self.running as u64 }
    }

    fn expected(&self) -> u64 {
        0
    }
}
