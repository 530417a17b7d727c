//! Link failures and bit errors: changes of links, and their rows in the report.

use super::SimState;
use crate::engine::failures::Rerouted;
use forebay_experiment::faults::Balance;
use forebay_experiment::rows::{EventKind, EventRow, PortRow};
use forebay_units::{Time, TimeOrNever};

impl SimState {
    /// Whether the run can be divided among several cores: links that fail or damage packets are looked at from both of their ends, and in the rows
    /// of packets a connection's numbers count from the first packet that any host sees.
    pub(in crate::engine) fn can_be_divided(&self) -> bool {
        self.failures.is_none() && self.network.faults.corruption.is_empty() && !self.recorder.wants_packets()
    }

    /// The reason why the run is not divided among several processes, if there is one: those above, and shims whose rows of messages both ends fill.
    pub(in crate::engine) fn why_in_one_process(&self) -> Option<&'static str> {
        let shims = self.tcp.ids().any(|group| self.tcp[group].shims.endpoint.is_some());
        match self {
            _ if self.failures.is_some() => Some("links fail in it"),
            _ if !self.network.faults.corruption.is_empty() => Some("links damage packets in it"),
            _ if self.recorder.wants_packets() => Some("it records every packet"),
            _ if shims => Some("both ends of a shim fill its rows"),
            _ => None,
        }
    }

    /// Time of the next failure, repair, or change of forwarding tables.
    pub(in crate::engine) fn next_failure(&self) -> TimeOrNever {
        self.failures.as_ref().map_or(TimeOrNever::NEVER, |f| f.next())
    }

    /// Changes the links that fail or are repaired at `now`, after all earlier events and before all later ones.
    pub(in crate::engine) fn change_links(&mut self, now: Time) {
        let Some(failures) = &mut self.failures else { return };
        if let Some(change) = failures.advance(&self.network, &mut self.fabric, &mut self.partition, now) {
            self.count_moved(&change);
        }
    }

    /// Books the connections that take another way since the tables have changed. Where each packet takes its own there is nothing to count.
    fn count_moved(&mut self, change: &Rerouted) {
        if self.network.faults.balance == Balance::Packet {
            return;
        }
        let (network, fib) = (&self.network, self.fabric.fib());
        let live = self.streams.iter().filter(|s| s.live);
        let routes = live.map(|s| {
            let back = u32::from(fib.flow_hash(s.conn_id, s.dst, s.src));
            let both = |fib: &forebay_experiment::topology::Fib| {
                let mut route = fib.path(network, s.src, s.dst, u32::from(s.hash));
                route.extend(fib.path(network, s.dst, s.src, back));
                route
            };
            (both(&change.old), both(fib))
        });
        if let Some(failures) = &mut self.failures {
            failures.count_rerouted(change, routes);
        }
    }

    /// What happened to the network, whose `ports` these are, in order of time. Statistics count from `measured` on.
    pub(super) fn events(&mut self, end: Time, measured: Time, ports: &[PortRow]) -> Vec<EventRow> {
        let mut rows = Vec::new();
        if self.network.faults.balance == Balance::Packet {
            rows.push(EventRow::of(Time::ZERO, EventKind::Spraying, None, None));
        }
        for ((id, port), numbers) in self.network.ports.ids().zip(self.fabric.ports.iter()).zip(ports) {
            if let Some(errors) = port.errors() {
                rows.push(EventRow::of(Time::ZERO, EventKind::Corruption, Some(id), Some(errors.damaged())));
            }
            if self.network.ports[id].queue.loses() && numbers.dropped_early > 0 {
                rows.push(EventRow::of(measured, EventKind::RandomLoss, Some(id), Some(numbers.dropped_early)));
            }
        }
        if let Some(failures) = &mut self.failures {
            rows.extend(failures.rows(&self.fabric, end));
        }
        rows.sort_by_key(|r| (r.time_ps, r.kind, r.port));
        rows
    }
}
