//! The measured part of a run: the end of the warm-up, and the points in time of the table `deliveries`.

use super::SimState;
use crate::engine::connection::ReceivedRanges;
use forebay_experiment::Experiment;
use forebay_experiment::decisions::{Delivered, PortSnapshot};
use forebay_experiment::deliveries::Deliveries;
use forebay_types::{GroupId, IndexVec, PortId, Time};

/// Start of the measurement, and the payload delivered over time.
pub(super) struct Measurement {
    /// True if the warm-up is over.
    pub(super) active: bool,
    /// Start of the statistics.
    pub(super) since: Time,
    /// Payload that had arrived before, per transport.
    arrived_before: IndexVec<GroupId, u64>,
    pub(super) deliveries: Deliveries,
}

impl Measurement {
    /// Creates the measurement of an experiment with this many transports, in windows of this length; the warm-up is not over.
    pub(super) fn new(config: &Experiment, groups: usize, window: Time) -> Measurement {
        Measurement {
            active: false,
            since: Time::ZERO,
            arrived_before: IndexVec::repeat(0, groups),
            deliveries: Deliveries::new(&config.workloads, groups, config.duration, window),
        }
    }

    /// The part of the measurement that a partition of a run needs.
    pub(super) fn for_partition(&self) -> Measurement {
        Measurement { active: self.active, since: self.since, arrived_before: IndexVec::new(), deliveries: Deliveries::default() }
    }

    /// Payload that arrived after the warm-up, per transport; `arrived` is the total.
    pub(super) fn measured(&self, arrived: &IndexVec<GroupId, u64>) -> IndexVec<GroupId, u64> {
        arrived.iter().zip(&self.arrived_before).map(|(now, before)| now - before).collect()
    }
}

impl SimState {
    /// Ends the warm-up at `start`, after all earlier events and before all later ones: later arrivals are measured.
    pub(in crate::engine) fn begin_measuring(&mut self, start: Time) {
        self.changed = true;
        self.fabric.ports.iter_mut().for_each(|p| p.restart_stats(start));
        let m = &mut self.measurement;
        (m.active, m.since) = (true, start);
        m.arrived_before = self.connections.arrived_by_group(|host| self.remote.is_local(host));
        for conn in self.connections.ids() {
            let received = self.received(conn);
            self.connections.get_mut(conn).before = (received != ReceivedRanges::default()).then(|| Box::new(received));
        }
    }

    /// Payload that has arrived so far, in one process.
    pub(in crate::engine) fn delivered_so_far(&self) -> Delivered {
        let deliveries = &self.measurement.deliveries;
        deliveries.by_workload(&self.connections.arrived_by_sum(deliveries.zeros(), |_| true))
    }

    /// These ports at `now`, between two windows.
    pub(in crate::engine) fn ports_so_far(&self, ports: &[PortId], now: Time) -> Vec<PortSnapshot> {
        let one = |id: &PortId| {
            let port = &self.fabric.ports[*id];
            PortSnapshot { queue: port.queue_integral(now), sent_bytes: port.stats().sent_bytes }
        };
        ports.iter().map(one).collect()
    }

    /// Time of the next point of the table `deliveries`.
    pub(in crate::engine) fn deliveries_due(&self) -> Time {
        self.measurement.deliveries.due()
    }

    /// Adds the points that are due. No packet has moved since then, and none moves before `now`. `sum` adds the numbers of the other processes
    /// of the run.
    pub(in crate::engine) fn note_deliveries(&mut self, now: Time, mut sum: impl FnMut(&mut [u64])) {
        let mut hops = [self.fabric.hops()];
        sum(&mut hops);
        let deliveries = &mut self.measurement.deliveries;
        if deliveries.should_sample(now, self.connections.len(), hops[0]) {
            let mut totals = self.connections.arrived_by_sum(deliveries.zeros(), |host| self.remote.is_local(host)).into_vec();
            sum(&mut totals);
            deliveries.record(now, &totals.into());
        }
    }
}
