//! From the final state of a simulation to the rows of the result tables.

use super::simulation::Simulation;
use super::timeouts::attribute;
use crate::run::Report;
use forebay_experiment::rows::{FlowRow, PortRow, QueryRow};
use forebay_experiment::series::Series;
use forebay_traffic::QueryStart;
use forebay_units::{QueryId, Time, WorkloadId};
use std::collections::BTreeMap;

impl Simulation {
    /// Ends the simulation: conservation is checked, unfinished messages get their rows, everything is numbered by time.
    pub(crate) fn into_report(mut self) -> Report {
        let end = self.core.lane.wheel.end;
        self.core.audit();
        let mut flows = self.flows();
        self.core.attribute_waits(&mut flows);
        let arrived = self.core.arrived_by_group().iter().zip(&self.arrived_before).map(|(now, before)| now - before).collect();
        // Rows and numbers are all that is left to do: what follows needs the memory of the connections.
        self.core.forget_endpoints();
        // Order of completion depends on nothing but the trajectory, but order of start is what a reader expects.
        flows.sort_by_cached_key(|f| (f.start_ps, f.conn_id));
        for (id, flow) in flows.iter_mut().enumerate() {
            flow.flow_id = id as u64;
            // A run that ends before its warm-up is measured as a whole.
            if !self.core.measuring {
                flow.bytes_measured = flow.bytes_acked;
            }
        }
        let queries = self.queries(&mut flows);
        let mut timeouts = self.core.recorder.take_timeouts();
        attribute(&mut timeouts, &flows);
        let measured = end.saturating_sub(self.measured_from).max(Time(1));
        let ports = self.ports(end, measured);
        let mut queue = Series::default();
        self.core.fabric.ports.iter_mut().filter_map(|p| p.observer_mut()).for_each(|o| queue.append(o.take_samples()));
        queue.sort();
        let mut tcp = self.core.recorder.take_samples();
        tcp.sort();
        let fold = |h: u64, host: &super::hosts::Host| (h.rotate_left(7) ^ host.fingerprint).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let fingerprint = self.core.hosts.iter().fold(self.core.fabric.hops(), fold);
        Report {
            measured_from: self.measured_from,
            acked: arrived,
            flows,
            ports,
            queue,
            tcp,
            queries,
            timeouts,
            end,
            cut: false,
            packet_hops: self.core.fabric.hops(),
            fingerprint,
            peak_connections: self.core.slots.peak(),
            predicted: None,
        }
    }

    fn flows(&mut self) -> Vec<FlowRow> {
        for conn in self.core.streams.ids() {
            while self.core.streams[conn].live && !self.core.outgoing[conn].messages.is_empty() {
                self.core.emit_unfinished(conn);
                self.core.outgoing[conn].messages.pop_front();
                self.core.senders[conn].next_message(None);
            }
        }
        self.core.recorder.take_messages()
    }

    /// Queries from the messages that belong to them; renumbers both by start.
    fn queries(&mut self, flows: &mut [FlowRow]) -> Vec<QueryRow> {
        let mut starts = self.core.recorder.take_queries();
        starts.sort_by_key(|s| (s.start, s.query));
        let number: BTreeMap<QueryId, QueryId> =
            starts.iter().enumerate().map(|(i, s)| (s.query, QueryId::new(i as u64))).collect();
        let row = |(i, s): (usize, &QueryStart)| QueryRow {
            query_id: QueryId::new(i as u64),
            workload: WorkloadId::new(s.app.get()),
            start_ps: s.start.0,
            end_ps: 0,
            fan_in: 0,
            bytes: 0,
            rtos: 0,
            senders_with_rto: 0,
            rtos_max: 0,
            syn_rtos: 0,
            slowest: None,
            waited: None,
        };
        let mut rows: Vec<QueryRow> = starts.iter().enumerate().map(row).collect();
        for flow in flows.iter_mut() {
            let Some(query) = flow.query_id else { continue };
            let number = number[&query];
            flow.query_id = Some(number);
            let q = &mut rows[number.index()];
            if q.slowest.is_none() || flow.end_ps > q.end_ps {
                (q.slowest, q.waited) = (Some(flow.flow_id), flow.waited);
            }
            q.end_ps = q.end_ps.max(flow.end_ps);
            q.fan_in += 1;
            q.bytes += flow.size_bytes;
            q.rtos += flow.rtos;
            q.senders_with_rto += u32::from(flow.rtos > 0);
            q.rtos_max = q.rtos_max.max(flow.rtos);
            q.syn_rtos += flow.syn_rtos;
        }
        // Some of its messages were never written: it is not complete, although those that were may be.
        for (q, _) in rows.iter_mut().zip(&starts).filter(|(q, s)| q.fan_in < s.parts) {
            q.end_ps = u64::MAX;
        }
        rows
    }

    fn ports(&mut self, end: Time, measured: Time) -> Vec<PortRow> {
        let network = self.core.network().clone();
        let mut rows = Vec::with_capacity(network.ports.len());
        for (id, port) in network.ports.ids().zip(self.core.fabric.ports.iter_mut()) {
            let future = port.close(end);
            let (s, e) = (port.stats, port.events);
            let dropped: u64 = e.dropped.iter().sum();
            let busy_ps = network.ports[id].rate.tx_time(s.sent_bytes).0;
            rows.push(PortRow {
                port: id,
                arrived_pkts: s.sent_pkts + dropped,
                arrived_bytes: s.sent_bytes + e.dropped_bytes,
                sent_pkts: s.sent_pkts,
                sent_bytes: s.sent_bytes,
                dropped_overflow: e.dropped[0],
                dropped_shared: e.dropped[1],
                dropped_early: e.dropped[2],
                marked: e.marked,
                queue_mean_pkts: s.sojourn.saturating_sub(future) as f64 / measured.0 as f64,
                queue_max_pkts: e.max_pkts,
                queue_percentiles: port.observer().map(|o| [0.5, 0.95, 0.99].map(|p| o.percentile(p))),
                busy: (busy_ps as f64 / measured.0 as f64).min(1.0),
            });
        }
        rows
    }
}
