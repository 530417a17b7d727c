//! Statistics of the ports, from what happened to packets there: the same as the simulator's, by the same definitions.

use crate::protocol::{HostDrops, Leave, Packet, reason, what};
use forebay_experiment::Experiment;
use forebay_experiment::faults::{Balance, Faults};
use forebay_experiment::network::Network;
use forebay_experiment::occupancy::{Counters, Occupancy};
use forebay_experiment::rows::{EventKind, EventRow, PortRow, QueueRow};
use forebay_experiment::series::Series;
use forebay_queues::Queue;
use forebay_types::{IndexVec, PortId, Rate, Time};
use std::collections::BTreeSet;

/// The ECN field of a packet that was marked (RFC 3168 section 5).
const CE: u8 = 3;

/// A port.
#[derive(Debug)]
struct Port {
    /// Of a host.
    host: bool,
    rate: Rate,
    /// Packets in the queue, where some can be dropped from it; `None` for a FIFO.
    inside: Option<BTreeSet<u64>>,
    /// Waiting and in service.
    packets: u32,
    bytes: u64,
    /// Integral of the queue over time, packets times ps, up to `since`.
    integral: u128,
    since: u64,
    sent_pkts: u64,
    sent_bytes: u64,
    dropped: [u64; 3],
    dropped_bytes: u64,
    /// Packets that its dead link has cost before they left, with their bytes, and on the wire.
    cut: (u64, u64),
    cut_flying: u64,
    /// Packets that its link has damaged, and all of them since the start.
    damaged: u64,
    ever_damaged: u64,
    marked: u64,
    max_pkts: u32,
    observer: Option<Occupancy>,
}

/// All ports.
#[derive(Debug)]
pub(crate) struct Ports {
    list: IndexVec<PortId, Port>,
    hops: u64,
}

impl Ports {
    /// Idle ports.
    pub(crate) fn new(experiment: &Experiment) -> Ports {
        let port = |p: &forebay_experiment::network::PortConfig| Port {
            host: experiment.network.nodes[p.from].host,
            rate: p.rate,
            inside: matches!(p.queue, Queue::Buffered(_)).then(BTreeSet::new),
            packets: 0,
            bytes: 0,
            integral: 0,
            since: 0,
            sent_pkts: 0,
            sent_bytes: 0,
            dropped: [0; 3],
            dropped_bytes: 0,
            cut: (0, 0),
            cut_flying: 0,
            damaged: 0,
            ever_damaged: 0,
            marked: 0,
            max_pkts: 0,
            observer: None,
        };
        let mut list: IndexVec<PortId, Port> = experiment.network.ports.iter().map(port).collect();
        for &id in &experiment.observe.occupancy {
            list[id].observer = Some(Occupancy::new(id));
        }
        for series in Occupancy::of_series(&experiment.observe.queue_series) {
            let id = series.port();
            list[id].observer = Some(series);
        }
        Ports { list, hops: 0 }
    }

    /// Packets that have joined a queue so far, on every port.
    pub(crate) fn hops(&self) -> u64 {
        self.hops
    }

    /// Something happened to a packet.
    pub(crate) fn packet(&mut self, r: &Packet) {
        if r.what == what::DELIVERED {
            return;
        }
        let Some(p) = self.list.get_mut(PortId::new(r.port)) else { return };
        p.pass(r.time);
        match r.what {
            what::ARRIVED | what::MARKED => {
                self.hops += 1;
                // A sender's packets have no CE but from its own host's queue.
                p.marked += u64::from(r.what == what::MARKED || (p.host && r.ecn == CE));
                p.packets += 1;
                p.bytes += u64::from(r.wire);
                p.sent_pkts += 1;
                p.sent_bytes += u64::from(r.wire);
                p.max_pkts = p.max_pkts.max(p.packets);
                if let Some(inside) = &mut p.inside {
                    inside.insert(r.id);
                }
            }
            what::DROPPED if r.reason == reason::LOST => p.cut_flying += 1,
            what::DROPPED if r.reason == reason::DAMAGED => {
                p.damaged += 1;
                p.ever_damaged += 1;
            }
            what::DROPPED if matches!(r.reason, reason::DEAD | reason::CUT) => {
                if r.reason == reason::CUT {
                    p.leave(r.wire);
                    p.sent_pkts = p.sent_pkts.saturating_sub(1);
                    p.sent_bytes = p.sent_bytes.saturating_sub(u64::from(r.wire));
                    if let Some(inside) = &mut p.inside {
                        inside.remove(&r.id);
                    }
                }
                p.cut = (p.cut.0 + 1, p.cut.1 + u64::from(r.wire));
            }
            what::DROPPED => {
                if p.inside.as_mut().is_some_and(|inside| inside.remove(&r.id)) {
                    // It had been queued, and is thrown out.
                    p.leave(r.wire);
                    p.sent_pkts -= 1;
                    p.sent_bytes -= u64::from(r.wire);
                }
                p.dropped[match r.reason {
                    reason::OVERFLOW => 0,
                    reason::SHARED => 1,
                    _ => 2,
                }] += 1;
                p.dropped_bytes += u64::from(r.wire);
            }
            what::MARKED_LATER => p.marked += 1,
            _ => {}
        }
    }

    /// A packet has left.
    pub(crate) fn leave(&mut self, r: &Leave) {
        let Some(p) = self.list.get_mut(PortId::new(r.port)) else { return };
        p.pass(r.time);
        p.leave(r.wire);
        if let Some(inside) = &mut p.inside {
            inside.remove(&r.id);
        }
    }

    /// The queue discipline of a host has dropped packets. Its port is the first of the host.
    pub(crate) fn host_drops(&mut self, network: &Network, r: &HostDrops) {
        let Some((id, port)) = network.ports.enumerate().find(|(_, p)| p.from.get() == r.node) else { return };
        let early = port.queue_config.value().is_some_and(|q| q.kind == "fq-codel");
        self.list[id].pass(r.time);
        self.list[id].dropped[if early { usize::from(reason::EARLY) } else { usize::from(reason::OVERFLOW) }] +=
            u64::from(r.drops);
    }

    /// The warm-up ends: everything counts from here.
    pub(crate) fn restart(&mut self, now: Time) {
        for (_, p) in self.list.enumerate_mut() {
            p.pass(now.0);
            p.integral = 0;
            (p.sent_pkts, p.sent_bytes) = (0, 0);
            (p.dropped, p.dropped_bytes, p.marked) = ([0; 3], 0, 0);
            (p.cut, p.cut_flying, p.damaged) = ((0, 0), 0, 0);
            p.max_pkts = p.packets;
            if let Some(o) = &mut p.observer {
                o.restart(now);
            }
        }
    }

    /// Network events of the whole run, as rows of events like the simulator's (`engine/failures.rs`). Statistics count from `measured` on.
    pub(crate) fn events(&self, network: &Network, measured: Time) -> Vec<EventRow> {
        let mut rows = Vec::new();
        if network.faults.balance == Balance::Packet {
            rows.push(EventRow::of(Time::ZERO, EventKind::Spraying, None, None));
        }
        rows.extend(network.faults.delay_events());
        for c in &network.faults.corruption {
            rows.push(EventRow::of(Time::ZERO, EventKind::Corruption, Some(c.port), Some(self.list[c.port].ever_damaged)));
        }
        for port in network.faults.losing_ports() {
            let lost = self.list[port].ever_damaged;
            rows.extend((lost > 0).then(|| EventRow::of(Time::ZERO, EventKind::LinkLoss, Some(port), Some(lost))));
        }
        for (id, port) in network.ports.enumerate() {
            let lost = self.list[id].dropped[2];
            if port.queue.has_random_loss() && lost > 0 {
                rows.push(EventRow::of(measured, EventKind::RandomLoss, Some(id), Some(lost)));
            }
        }
        rows
    }

    /// The rows, with means over `measured`, and the series of queues.
    pub(crate) fn rows(mut self, end: Time, measured: Time, faults: &Faults) -> (Vec<PortRow>, Series<QueueRow>) {
        let (mut rows, mut series) = (Vec::with_capacity(self.list.len()), Series::default());
        for (id, p) in self.list.enumerate_mut() {
            p.pass(end.0);
            let dropped: u64 = p.dropped.iter().sum();
            rows.push(PortRow {
                port: id,
                arrived_pkts: p.sent_pkts + dropped + p.cut.0,
                arrived_bytes: p.sent_bytes + p.dropped_bytes + p.cut.1,
                sent_pkts: p.sent_pkts,
                sent_bytes: p.sent_bytes,
                dropped_overflow: p.dropped[0],
                dropped_shared: p.dropped[1],
                dropped_early: p.dropped[2],
                marked: p.marked,
                queue_mean_pkts: p.integral as f64 / measured.0 as f64,
                queue_max_pkts: p.max_pkts,
                queue_percentiles: p.observer.as_ref().map(|o| [0.5, 0.95, 0.99].map(|q| o.percentile(q))),
                busy: faults.utilization(id, p.rate, p.sent_bytes, (end.saturating_sub(measured), end)),
                cut_waiting: p.cut.0,
                cut_flying: p.cut_flying,
                corrupted: p.damaged,
            });
            if let Some(o) = &mut p.observer {
                series.append(o.take_samples());
            }
        }
        series.sort();
        (rows, series)
    }
}

impl Port {
    /// The queue has been as it is until `now`.
    fn pass(&mut self, now: u64) {
        let now = now.max(self.since);
        self.integral += u128::from(self.packets) * u128::from(now - self.since);
        self.since = now;
        if let Some(o) = &mut self.observer {
            let drops = self.dropped.iter().sum();
            o.until(Time(now), Counters { packets: self.packets, bytes: self.bytes, drops, marks: self.marked });
        }
    }

    fn leave(&mut self, wire: u32) {
        self.packets = self.packets.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(u64::from(wire));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{data, experiment};

    #[test]
    fn means_percentiles_and_counts_from_events() {
        let mut e = experiment(1);
        let port = PortId::new(0);
        e.observe.occupancy = vec![port];
        let mut ports = Ports::new(&e);
        let at = |id, time, what| Packet { id, time, what, wire: 1_500, ..data(0, 1_460, time) };
        let leave = |id, time| Leave { time, id, port: 0, wire: 1_500 };
        ports.packet(&at(1, 100, what::ARRIVED));
        ports.packet(&at(2, 200, what::MARKED));
        ports.packet(&at(3, 250, what::DROPPED));
        ports.leave(&leave(1, 300));
        ports.restart(Time(300));
        ports.leave(&leave(2, 400));
        ports.packet(&at(4, 900, what::ARRIVED));
        ports.packet(&at(4, 950, what::DELIVERED));
        assert_eq!(ports.hops(), 3);
        let (rows, series) = ports.rows(Time(1_000), Time(700), &Faults::default());
        let row = &rows[0];
        // One packet from 300 to 400 and from 900 on.
        assert_eq!(row.queue_mean_pkts, 200.0 / 700.0);
        assert_eq!((row.sent_pkts, row.arrived_pkts, row.marked, row.queue_max_pkts), (1, 1, 0, 1));
        assert_eq!((row.queue_percentiles, series.len()), (Some([0, 1, 1]), 0));
    }

    #[test]
    fn pushed_out_packet_is_not_sent() {
        let mut e = experiment(1);
        let queue = forebay_queues::find("pushout").unwrap();
        let params = forebay_types::param::Values(vec![
            ("high", forebay_types::param::Value::Int(4)),
            ("k", forebay_types::param::Value::Unset),
        ]);
        let Ok(built) = (queue.build)(&params, Some(forebay_types::QueueLen::Packets(2))) else { panic!("it can be built") };
        e.network.ports[PortId::new(0)].queue = built;
        let mut ports = Ports::new(&e);
        let at = |id, what| Packet { id, time: id * 10, what, wire: 1_500, ..data(0, 1_460, 0) };
        (1..=2).for_each(|id| ports.packet(&at(id, what::ARRIVED)));
        ports.packet(&Packet { time: 30, ..at(2, what::DROPPED) });
        ports.packet(&at(3, what::ARRIVED));
        ports.packet(&at(4, what::DROPPED));
        let (rows, _) = ports.rows(Time(100), Time(100), &Faults::default());
        assert_eq!((rows[0].arrived_pkts, rows[0].sent_pkts, rows[0].dropped_overflow), (4, 2, 2));
        // 1 from 10 on, 2 from 20 to 30, 3 from 30 on.
        assert_eq!(rows[0].queue_mean_pkts, (90.0 + 10.0 + 70.0) / 100.0);
    }
}
