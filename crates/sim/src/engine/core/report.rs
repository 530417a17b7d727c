//! From the final state of a simulation to the rows of the result tables.

use super::Core;
use crate::engine::hosts::Host;
use forebay_experiment::numbering::number_by_start;
use forebay_experiment::report::Report;
use forebay_experiment::rows::{FlowRow, PortRow};
use forebay_experiment::series::Series;
use forebay_experiment::timeouts::attribute;
use forebay_traffic::query_rows;
use forebay_units::Time;

impl Core {
    /// Ends the simulation: conservation is checked, unfinished messages get their rows, everything is numbered by time.
    pub(in crate::engine) fn into_report(mut self) -> Report {
        let end = self.lane.wheel.end;
        self.audit();
        let mut flows = self.flows();
        self.attribute_waits(&mut flows);
        let arrived = self.arrived_by_group().iter().zip(&self.arrived_before).map(|(now, before)| now - before).collect();
        let delivered = self.delivered();
        let deliveries = std::mem::take(&mut self.deliveries).rows(end, &delivered, &|port| self.network.ports[port].rate);
        // Rows and numbers are all that is left to do: what follows needs the memory of the connections.
        self.forget_endpoints();
        number_by_start(&mut flows);
        if !self.measuring {
            // A run that ends before its warm-up is measured as a whole.
            flows.iter_mut().for_each(|flow| flow.bytes_measured = flow.bytes_acked);
        }
        let queries = query_rows(self.recorder.take_queries(), &mut flows);
        let mut timeouts = self.recorder.take_timeouts();
        timeouts.sort();
        let timeouts = attribute(&timeouts, &flows);
        let measured = end.saturating_sub(self.measured_from).max(Time(1));
        let ports = self.ports(end, measured);
        let mut queue = Series::default();
        self.fabric.ports.iter_mut().filter_map(|p| p.observer_mut()).for_each(|o| queue.append(o.take_samples()));
        queue.sort();
        let mut tcp = self.recorder.take_samples();
        tcp.sort();
        let mut packets = self.recorder.take_packets();
        packets.sort();
        let events = self.events(end, self.measured_from);
        let fold = |h: u64, host: &Host| (h.rotate_left(7) ^ host.fingerprint).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let fingerprint = self.hosts.iter().fold(self.fabric.hops(), fold);
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
            packet_hops: self.fabric.hops(),
            fingerprint,
            peak_connections: self.slots.peak(),
            packets,
            events,
            remark: String::new(),
            predicted: None,
        }
    }

    fn flows(&mut self) -> Vec<FlowRow> {
        for conn in self.streams.ids() {
            if self.streams[conn].live {
                self.note_silence(conn);
            }
            while self.streams[conn].live && !self.outgoing[conn].messages.is_empty() {
                self.emit_unfinished(conn);
                self.outgoing[conn].messages.pop_front();
                self.senders[conn].next_message(None);
            }
        }
        self.recorder.take_messages()
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
