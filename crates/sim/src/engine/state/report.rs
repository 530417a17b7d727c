//! From the final state of a simulation to the rows of the result tables.

use super::SimState;
use super::gather::RunResults;
use crate::engine::ranks::Ranks;
use forebay_experiment::numbering::number_by_start;
use forebay_experiment::report::Report;
use forebay_experiment::rows::PortRow;
use forebay_experiment::series::Series;
use forebay_experiment::timeouts::attribute;
use forebay_traffic::query_rows;
use forebay_units::Time;
use std::mem;

impl SimState {
    /// Ends the simulation: conservation is checked, unfinished messages get their rows, everything is numbered by time. Of several processes, which
    /// `ranks` reaches, the first one gets the report; `None`: this is another one.
    pub(in crate::engine) fn into_report(mut self, mut ranks: Option<&mut Ranks>) -> Option<Report> {
        if let Some(ranks) = &mut ranks {
            self.exchange_receivers(ranks);
        }
        let mut differences = self.audit();
        if let Some(ranks) = &mut ranks {
            ranks.sum(&mut differences);
        }
        self.check_balance(&differences);
        let mut remains = self.remains(ranks.as_deref_mut());
        if let Some(ranks) = ranks
            && !ranks.gather(&mut remains, |port| self.is_local(self.network.ports[port].from))
        {
            return None;
        }
        Some(self.complete(remains))
    }

    /// What this process knows at the end of the run. Rows and numbers are all that is left to do then: the memory of the connections is given back.
    fn remains(&mut self, ranks: Option<&mut Ranks>) -> RunResults {
        let end = self.partition.calendar.end;
        let measured = end.saturating_sub(self.measured_from).max(Time(1));
        if let Some(ranks) = ranks {
            let mut longest: Vec<u64> = self.fabric.ports.iter().map(|p| u64::from(p.events.max_pkts)).collect();
            ranks.sum(&mut longest);
            self.fabric.ports.iter_mut().zip(longest).for_each(|(p, longest)| p.events.max_pkts = longest as u32);
        }
        self.record_unfinished();
        let waits = self.mean_waits();
        let arrived = self.arrived_by_group().iter().zip(&self.arrived_before).map(|(now, before)| now - before).collect();
        let delivered = self.delivered();
        self.forget_endpoints();
        let flows = self.recorder.take_messages();
        let (ports, mut queue) = (self.ports(end, measured), Series::default());
        for (id, port) in self.network.ports.enumerate() {
            // Each process has all ports, but valid samples only of its own.
            if self.is_local(port.from)
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
            hops: self.fabric.hops(),
            fingerprints: self.hosts.iter().map(|host| host.fingerprint).collect(),
        }
    }

    /// The report, from what all processes know.
    fn complete(mut self, mut remains: RunResults) -> Report {
        let end = self.partition.calendar.end;
        self.attribute_waits(&mut remains.flows, mem::take(&mut remains.stalled), &remains.waits);
        let RunResults { mut flows, arrived, delivered, ports, queries, mut timeouts, mut tcp, mut queue, hops, .. } = remains;
        let deliveries = mem::take(&mut self.deliveries).rows(end, &delivered, &|port| self.network.ports[port].rate);
        number_by_start(&mut flows);
        if !self.measuring {
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
        let events = self.events(end, self.measured_from, &ports);
        let fold = |h: u64, host: &u64| (h.rotate_left(7) ^ host).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let fingerprint = remains.fingerprints.iter().fold(hops, fold);
        Report {
            measured_from: self.measured_from,
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
            peak_connections: self.slots.peak(),
            packets,
            events,
            remark: String::new(),
            predicted: None,
        }
    }

    /// Messages that are not acknowledged get their rows.
    fn record_unfinished(&mut self) {
        for conn in self.streams.ids() {
            if !self.is_local(self.streams[conn].src) {
                continue;
            }
            if self.streams[conn].live {
                self.note_silence(conn);
            }
            while self.streams[conn].live && !self.outgoing[conn].is_empty() {
                self.emit_unfinished(conn);
                self.outgoing[conn].pop_front(&mut self.partition.spare);
                self.senders[conn].next_message(None);
            }
        }
    }

    fn ports(&mut self, end: Time, measured: Time) -> Vec<PortRow> {
        let network = self.network.clone();
        let mut rows = Vec::with_capacity(network.ports.len());
        for (id, port) in network.ports.ids().zip(self.fabric.ports.iter_mut()) {
            let future = port.close(end);
            let (s, e) = (port.stats(), port.events);
            let dropped: u64 = e.dropped.iter().sum();
            let busy_ps = network.ports[id].rate.tx_time(s.sent_bytes).0;
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
                busy: (busy_ps as f64 / measured.0 as f64).min(1.0),
            });
        }
        rows
    }
}
