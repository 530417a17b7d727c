//! The report of a run, from the final state to the rows of the result tables.

use super::SimState;
use super::gather::RunResults;
use crate::engine::ranks::Ranks;
use crate::net::port::Port;
use forebay_apps::query_rows;
use forebay_experiment::faults::Balance;
use forebay_experiment::network::Network;
use forebay_experiment::numbering::number_by_start;
use forebay_experiment::report::{Report, Undelivered};
use forebay_experiment::rows::{EventKind, EventRow, PortRow};
use forebay_experiment::series::Series;
use forebay_experiment::timeouts::attribute;
use forebay_types::{IndexVec, Time};
use std::{iter, mem};

impl SimState {
    /// Ends the simulation: checks conservation, records unfinished messages and numbers everything by time. Of several processes, which `ranks`
    /// connects, the first one returns the report, the others `None`.
    pub(in crate::engine) fn into_report(mut self, mut ranks: Option<&mut Ranks>) -> Option<Report> {
        if let Some(ranks) = &mut ranks {
            self.exchange_receivers(ranks);
        }
        let mut differences = self.audit();
        if let Some(ranks) = &mut ranks {
            ranks.sum(&mut differences);
        }
        self.check_balance(&differences);
        let mut results = self.results(ranks.as_deref_mut());
        if let Some(ranks) = ranks
            && !ranks.gather(&mut results, |port| self.remote.is_local(self.network.ports[port].from))
        {
            return None;
        }
        Some(self.make_report(results))
    }

    /// Collects the results of this process, and frees the memory of the connections.
    fn results(&mut self, ranks: Option<&mut Ranks>) -> RunResults {
        // Queues are counted to the end of the last window, also where the work ended inside it. Without any work that is all the time there is.
        let (end, since) = (self.partition.calendar.end, self.measurement.since);
        let measured = self.end.filter(|end| *end > since).unwrap_or(end).saturating_sub(since).max(Time(1));
        if let Some(ranks) = ranks {
            let mut longest: Vec<u64> = self.fabric.ports.iter().map(|p| u64::from(p.events.max_pkts)).collect();
            ranks.sum(&mut longest);
            self.fabric.ports.iter_mut().zip(longest).for_each(|(p, longest)| p.events.max_pkts = longest as u32);
        }
        self.record_held_frames(end);
        self.record_unfinished();
        let waits = self.mean_waits();
        let arrived = self.measurement.measured(&self.connections.arrived_by_group(|host| self.remote.is_local(host)));
        let sums = self.measurement.deliveries.zeros();
        let delivered = self.connections.arrived_by_sum(sums, |host| self.remote.is_local(host));
        self.connections.free_endpoints();
        let flows = self.recorder.take_messages();
        let (ports, mut queue) = (self.ports(end, measured), Series::default());
        for (id, port) in self.network.ports.enumerate() {
            // Each process has all ports, but valid samples of its own ones only.
            if self.remote.is_local(port.from)
                && let Some(observer) = self.fabric.ports[id].observer_mut()
            {
                queue.append(observer.take_samples());
            }
        }
        RunResults {
            flows,
            stalled: self.recorder.take_stalled(),
            waits,
            arrived,
            delivered,
            ports,
            queries: self.recorder.take_queries(),
            timeouts: self.recorder.take_timeouts(),
            tcp: self.recorder.take_samples(),
            queue,
            undelivered: self.undelivered(end),
            hops: self.fabric.hops(),
            fingerprints: self.hosts.iter().map(|host| host.fingerprint).collect(),
        }
    }

    /// Makes the report from the results of all processes.
    fn make_report(mut self, mut results: RunResults) -> Report {
        let end = self.end.unwrap_or(self.partition.calendar.end);
        self.attribute_waits(&mut results.flows, mem::take(&mut results.stalled), (&results.waits, &results.ports));
        let RunResults { mut flows, arrived, delivered, ports, queries, mut timeouts, mut tcp, mut queue, hops, .. } = results;
        let deliveries = mem::take(&mut self.measurement.deliveries).rows(end, &delivered, &|port| self.network.ports[port].rate);
        number_by_start(&mut flows);
        if !self.measurement.active {
            // A run that ends before its warm-up is measured as a whole.
            flows.iter_mut().for_each(|flow| flow.bytes_measured = flow.bytes_acked);
        }
        let queries = query_rows(queries, &mut flows);
        timeouts.sort();
        let timeouts = attribute(&timeouts, &flows);
        queue.sort();
        tcp.sort();
        let mut packets = self.recorder.take_packets();
        packets.sort();
        let captured = self.fabric.take_captured(end);
        let events = self.events(end, self.measurement.since, &ports);
        let fold = |h: u64, host: &u64| (h.rotate_left(7) ^ host).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let fingerprint = results.fingerprints.iter().fold(hops, fold);
        Report {
            measured_from: self.measurement.since,
            acked: arrived,
            flows,
            ports,
            queue,
            tcp,
            queries,
            timeouts,
            deliveries,
            end,
            cut: false,
            packet_hops: hops,
            fingerprint,
            peak_connections: self.connections.peak(),
            packets,
            captured,
            events,
            undelivered: results.undelivered,
            remark: String::new(),
            predicted: None,
        }
    }

    /// Records the messages that are not acknowledged.
    fn record_unfinished(&mut self) {
        let waiting = self.waiting();
        for conn in self.connections.ids() {
            if !self.remote.is_local(self.connections.get(conn).src) {
                continue;
            }
            if self.connections.get(conn).live {
                self.note_silence(conn, &waiting);
            }
            while self.connections.get(conn).live && !self.connections.outgoing(conn).is_empty() {
                self.record_unfinished_message(conn);
                self.connections.outgoing_mut(conn).pop_front(&mut self.partition.spare);
                self.connections.sender_mut(conn).next_message(None);
            }
        }
    }

    fn ports(&mut self, end: Time, measured: Time) -> Vec<PortRow> {
        let (network, from) = (self.network.clone(), self.measurement.since);
        let mut rows = Vec::with_capacity(network.ports.len());
        for (id, port) in network.ports.ids().zip(self.fabric.ports.iter_mut()) {
            let future = port.close(end);
            let (s, e) = (port.stats(), port.events);
            let dropped: u64 = e.dropped.iter().sum();
            rows.push(PortRow {
                port: id,
                arrived_pkts: s.sent_pkts + dropped + e.cut_waiting,
                arrived_bytes: s.sent_bytes + e.dropped_bytes + e.cut_bytes,
                sent_pkts: s.sent_pkts,
                sent_bytes: s.sent_bytes,
                dropped_overflow: e.dropped[0],
                dropped_shared: e.dropped[1],
                dropped_early: e.dropped[2],
                marked: e.marked,
                cut_waiting: e.cut_waiting,
                cut_flying: e.cut_flying,
                corrupted: e.damaged,
                queue_mean_pkts: s.sojourn.saturating_sub(future) as f64 / measured.0 as f64,
                queue_max_pkts: e.max_pkts,
                queue_percentiles: port.observer().map(|o| [0.5, 0.95, 0.99].map(|p| o.percentile(p))),
                busy: network.faults.utilization(id, network.ports[id].rate, s.sent_bytes, (from, from + measured)),
            });
        }
        rows
    }

    /// Packets that have not arrived, after all ports have counted to `until`.
    fn undelivered(&self, until: Time) -> Undelivered {
        let Network { ports, nodes, .. } = &*self.network;
        let mut found = Undelivered {
            until,
            queued_bytes: self.fabric.ports.iter().take(ports.len()).map(Port::queued_bytes).collect(),
            packets: IndexVec::repeat(0, nodes.len()),
            bytes: IndexVec::repeat(0, nodes.len()),
        };
        // Behind the ports of the network are inputs that hold late packets, and the far ends of links between processes.
        let ends = ports.iter().map(|p| Some(p.to)).chain(iter::repeat(None));
        for (port, end) in self.fabric.ports.iter().zip(ends) {
            let to = end.unwrap_or(port.to);
            for packet in port.undelivered() {
                found.packets[to] += 1;
                found.bytes[to] += u64::from(packet.wire);
            }
        }
        found
    }

    /// Events of the network, whose `ports` these are, in order of time. Statistics count from `measured` on.
    pub(super) fn events(&mut self, end: Time, measured: Time, ports: &[PortRow]) -> Vec<EventRow> {
        let mut rows = Vec::new();
        if self.network.faults.balance == Balance::Packet {
            rows.push(EventRow::of(Time::ZERO, EventKind::Spraying, None, None));
        }
        rows.extend(self.network.faults.delay_events());
        for ((id, port), numbers) in self.network.ports.ids().zip(self.fabric.ports.iter()).zip(ports) {
            if let Some(errors) = port.errors() {
                let of = |kind, count| EventRow::of(Time::ZERO, kind, Some(id), Some(count));
                rows.extend(errors.damaged().map(|count| of(EventKind::Corruption, count)));
                rows.extend(errors.lost().filter(|count| *count > 0).map(|count| of(EventKind::LinkLoss, count)));
            }
            if self.network.ports[id].queue.has_random_loss() && numbers.dropped_early > 0 {
                rows.push(EventRow::of(measured, EventKind::RandomLoss, Some(id), Some(numbers.dropped_early)));
            }
        }
        for (host, packets) in self.accept_queues.dropped() {
            rows.push(EventRow::of(Time::ZERO, EventKind::ListenOverflow, Some(self.hosts[host].nic), Some(packets)));
        }
        if let Some(failures) = &mut self.failures {
            rows.extend(failures.rows(&self.fabric, end));
        }
        rows.extend(self.link_changes.rows(end));
        rows.sort_by_key(|r| (r.time_ps, r.kind, r.port));
        rows
    }
}
