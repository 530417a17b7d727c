//! Link failures and repairs: dead ports, the ports that the forwarding tables avoid, and the losses.
//!
//! A packet is lost if its last bit had not arrived when the link went down. Failures, repairs and their detection by switches take effect at the
//! exact times of the scenario: a window that contains such a time is run up to it first (`schedule.rs`).

use super::connection::Connection;
use super::fabric::Fabric;
use super::partition_state::PartitionState;
use forebay_experiment::faults::Failure;
use forebay_experiment::network::Network;
use forebay_experiment::rows::{EventKind, EventRow};
use forebay_experiment::streams::RngStream;
use forebay_experiment::topology::{Fib, reverse};
use forebay_types::{IndexVec, PortId, Time, TimeOrNever};
use std::collections::VecDeque;

/// One failure.
struct Failing {
    /// Both directions, where there are two.
    ports: Vec<PortId>,
    plan: Failure,
    /// Losses of its ports by earlier failures when it began.
    before: u64,
    /// True if it has ended.
    over: bool,
    /// Rows of its beginning and its end, once they have happened.
    down: Option<EventRow>,
    up: Option<EventRow>,
}

/// A change. Changes at the same time are applied in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The link goes down.
    Down,
    /// The link is repaired.
    Up,
    /// The forwarding tables avoid the link.
    Avoid,
    /// The forwarding tables use the link again.
    Use,
}

/// All failures of a run.
pub(super) struct Failures {
    list: Vec<Failing>,
    /// Future changes, in order of time.
    steps: VecDeque<(Time, Step, usize)>,
    /// Number of failures that keep each port down, and number of failures for which the tables avoid it.
    dead: IndexVec<PortId, u32>,
    avoided: IndexVec<PortId, u32>,
    /// Number of repairs of each port.
    returns: IndexVec<PortId, u64>,
    /// Forwarding tables of the intact network.
    intact: Fib,
    seed: u64,
}

/// A change of the forwarding tables.
pub(super) struct Rerouted {
    /// Tables before the change.
    old: Fib,
    /// Failures whose links the tables now avoid or use again, by number.
    of: Vec<usize>,
}

impl Failures {
    /// Creates the failures of `network`; `None` if there are none.
    pub(super) fn new(network: &Network, fib: &Fib, seed: u64) -> Option<Box<Failures>> {
        let plans = &network.faults.failures;
        if plans.is_empty() {
            return None;
        }
        let ports = |f: &Failure| std::iter::once(f.port).chain(reverse(network, f.port)).collect();
        let failing = |f: &Failure| Failing { ports: ports(f), plan: *f, before: 0, over: false, down: None, up: None };
        let mut steps = Vec::new();
        for (i, f) in plans.iter().enumerate() {
            steps.extend([(f.down, Step::Down, i), (f.down + f.reroute, Step::Avoid, i)]);
            if let Some(up) = f.up.get() {
                steps.extend([(up, Step::Up, i), (up + f.reroute, Step::Use, i)]);
            }
        }
        steps.sort_unstable();
        let count = network.ports.len();
        Some(Box::new(Failures {
            list: plans.iter().map(failing).collect(),
            steps: steps.into(),
            dead: IndexVec::repeat(0, count),
            avoided: IndexVec::repeat(0, count),
            returns: IndexVec::repeat(0, count),
            intact: fib.clone(),
            seed,
        }))
    }

    /// Time of the next change.
    pub(super) fn next(&self) -> TimeOrNever {
        self.steps.front().map(|s| s.0).into()
    }

    /// Applies the changes that are due at `now`, after all earlier events and before all later ones. Returns the change of the tables, if any.
    pub(super) fn advance(
        &mut self,
        network: &Network,
        fabric: &mut Fabric,
        partition: &mut PartitionState,
        now: Time,
    ) -> Option<Rerouted> {
        let mut of = Vec::new();
        while let Some(&(time, step, i)) = self.steps.front().filter(|s| s.0 <= now) {
            self.steps.pop_front();
            match step {
                Step::Down => self.go_down(fabric, partition, time, i),
                Step::Up => self.come_up(network, fabric, i),
                Step::Avoid | Step::Use => {
                    for &port in &self.list[i].ports {
                        let avoided = &mut self.avoided[port];
                        *avoided = if step == Step::Avoid { *avoided + 1 } else { *avoided - 1 };
                    }
                    of.push(i);
                }
            }
        }
        if of.is_empty() {
            return None;
        }
        let old = fabric.fib().clone();
        // Tables around the failure do not fit into the address space of port sets: packets keep going into the dead link.
        let (fib, pairs) = self.intact.avoiding(network, &|port| self.avoided[port] == 0).ok()?;
        fabric.reroute(fib);
        for &i in &of {
            let failing = &mut self.list[i];
            if let Some(row) = failing.down.as_mut().filter(|_| !failing.over) {
                row.pairs = Some(pairs);
            }
        }
        Some(Rerouted { old, of })
    }

    fn go_down(&mut self, fabric: &mut Fabric, partition: &mut PartitionState, time: Time, i: usize) {
        let failing = &mut self.list[i];
        failing.before = failing.ports.iter().map(|p| fabric.ports[*p].lost()).sum();
        for &port in &failing.ports {
            if self.dead[port] == 0 {
                fabric.cut(partition, port, time);
            }
            self.dead[port] += 1;
        }
        let (port, until_ps) = (Some(failing.plan.port), failing.plan.up.ps());
        let row =
            EventRow { time_ps: time.0, kind: EventKind::LinkDown, port, until_ps, packets: None, flows: None, pairs: None };
        failing.down = Some(row);
    }

    fn come_up(&mut self, network: &Network, fabric: &mut Fabric, i: usize) {
        self.count(fabric, i);
        let ports = self.list[i].ports.clone();
        for &port in &ports {
            self.dead[port] -= 1;
            if self.dead[port] == 0 {
                self.returns[port] += 1;
                let config = &network.ports[port];
                let mut queue = config.queue.clone();
                // An interface that comes up begins with an empty queue (Linux dev_activate).
                queue.start(config.rate, RngStream::Queue.stream(self.seed, &[port.index() as u64, self.returns[port]]));
                fabric.ports[port].join(queue);
            }
        }
        // The next failure of the link may have begun at the same time; earlier losses do not belong to it.
        for other in self.list.iter_mut().filter(|o| !o.over && o.down.is_some() && o.ports.contains(&ports[0])) {
            other.before = other.ports.iter().map(|p| fabric.ports[*p].lost()).sum();
        }
    }

    /// Records the losses of failure `i`, which has ended.
    fn count(&mut self, fabric: &Fabric, i: usize) {
        let failing = &mut self.list[i];
        let lost: u64 = failing.ports.iter().map(|p| fabric.ports[*p].lost()).sum();
        failing.over = true;
        if let Some(row) = &mut failing.down {
            row.packets = Some(lost - failing.before);
        }
        if let Some(up) = failing.plan.up.get() {
            let port = Some(failing.plan.port);
            failing.up = Some(EventRow {
                time_ps: up.0,
                kind: EventKind::LinkUp,
                port,
                until_ps: None,
                packets: None,
                flows: None,
                pairs: None,
            });
        }
    }

    /// Counts the connections that a change of the tables, now `fib`, has rerouted.
    pub(super) fn count_rerouted<'a>(
        &mut self,
        change: &Rerouted,
        connections: impl Iterator<Item = &'a Connection>,
        network: &Network,
        fib: &Fib,
    ) {
        for &i in &change.of {
            let failing = &mut self.list[i];
            let row = if failing.over { &mut failing.up } else { &mut failing.down };
            row.iter_mut().for_each(|row| row.flows = Some(0));
        }
        for c in connections {
            let back = u32::from(fib.flow_hash(c.conn_id, c.dst, c.src));
            let both_ways = |fib: &Fib| {
                let mut route = fib.path(network, c.src, c.dst, u32::from(c.hash));
                route.extend(fib.path(network, c.dst, c.src, back));
                route
            };
            let (before, after) = (both_ways(&change.old), both_ways(fib));
            if before == after {
                continue;
            }
            for &i in &change.of {
                let failing = &mut self.list[i];
                let (row, route) = if failing.over { (&mut failing.up, &after) } else { (&mut failing.down, &before) };
                if let Some(flows) = row.as_mut().and_then(|r| r.flows.as_mut())
                    && failing.ports.iter().any(|p| route.contains(p))
                {
                    *flows += 1;
                }
            }
        }
    }

    /// Returns the rows of all events of a run that ends at `end`.
    pub(super) fn rows(&mut self, fabric: &Fabric, end: Time) -> Vec<EventRow> {
        for i in 0..self.list.len() {
            if self.list[i].down.is_some() && !self.list[i].over {
                self.count(fabric, i);
            }
        }
        let rows = self.list.iter().flat_map(|f| f.down.into_iter().chain(f.up));
        // A failure at the end counts if packets were lost by it: a run of a single datagram can end when it begins.
        let happened = |r: &EventRow| r.time_ps < end.0 || r.packets.is_some_and(|lost| lost > 0);
        let mut rows: Vec<EventRow> = rows.filter(happened).collect();
        rows.iter_mut().for_each(|r| r.until_ps = r.until_ps.filter(|t| *t < end.0));
        rows
    }
}
