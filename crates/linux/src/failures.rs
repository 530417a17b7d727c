//! Link failures: the times at which the guest's ports go down and come back, the paths of its connections from then on, and the cost. The rules are
//! the simulator's (`engine/failures.rs`); here they apply at the nanosecond at which the guest is notified.

use crate::link::Frames;
use crate::protocol::{HOPS, LinkChange, Packet, Route, reason, what};
use crate::routes::Routes;
use forebay_experiment::faults::Failure;
use forebay_experiment::network::Network;
use forebay_experiment::rows::{EventKind, EventRow};
use forebay_experiment::streams::RngStream;
use forebay_experiment::topology::{Fib, reverse};
use forebay_types::{IndexVec, NodeId, PortId, Time};

/// Step of a failure, in the order of execution at equal times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Down,
    Up,
    /// The tables avoid the link from now on,
    Avoid,
    /// and stop to avoid it.
    Use,
}

/// A failure in progress.
struct Failing {
    /// Both directions, where there are two.
    ports: Vec<PortId>,
    plan: Failure,
    lost: u64,
    begun: bool,
    over: bool,
    /// Connections that it moved when it became known, and when its end did.
    moved: [Option<u64>; 2],
    /// Pairs of hosts without a way while it lasted.
    pairs: Option<u64>,
}

/// All failures of a run.
pub(crate) struct Failures<'a> {
    network: &'a Network,
    intact: &'a Fib,
    seed: u64,
    list: Vec<Failing>,
    /// Latest first.
    steps: Vec<(Time, Step, usize)>,
    /// Number of failures for which a port is dead, and for which the tables avoid it.
    dead: IndexVec<PortId, u32>,
    avoided: IndexVec<PortId, u32>,
    /// Number of times that each port has come back.
    returns: IndexVec<PortId, u64>,
}

/// New tables, and the failures that they follow from.
pub(crate) struct Rerouted {
    pub(crate) fib: Fib,
    of: Vec<usize>,
}

impl<'a> Failures<'a> {
    /// Failures of `network`, whose tables are `intact`.
    pub(crate) fn new(network: &'a Network, intact: &'a Fib, seed: u64) -> Failures<'a> {
        let plans = &network.faults.failures;
        let failing = |f: &Failure| Failing {
            ports: std::iter::once(f.port).chain(reverse(network, f.port)).collect(),
            plan: *f,
            lost: 0,
            begun: false,
            over: false,
            moved: [None; 2],
            pairs: None,
        };
        let mut steps = Vec::new();
        for (i, f) in plans.iter().enumerate() {
            steps.extend([(f.down, Step::Down, i), (f.down + f.reroute, Step::Avoid, i)]);
            if let Some(up) = f.up.get() {
                steps.extend([(up, Step::Up, i), (up + f.reroute, Step::Use, i)]);
            }
        }
        steps.sort_unstable_by(|a, b| b.cmp(a));
        let count = network.ports.len();
        Failures {
            network,
            intact,
            seed,
            list: plans.iter().map(failing).collect(),
            steps,
            dead: IndexVec::repeat(0, count),
            avoided: IndexVec::repeat(0, count),
            returns: IndexVec::repeat(0, count),
        }
    }

    /// Time of the next step.
    pub(crate) fn next(&self) -> Option<Time> {
        self.steps.last().map(|s| s.0)
    }

    /// Does what is to be done by `now`; the tables, if they have changed.
    pub(crate) fn advance(&mut self, now: Time, frames: &mut Frames) -> Option<Rerouted> {
        let mut of = Vec::new();
        while let Some((_, step, i)) = self.steps.pop_if(|s| s.0 <= now) {
            match step {
                Step::Down => self.list[i].begun = true,
                Step::Up => self.list[i].over = true,
                Step::Avoid | Step::Use => of.push(i),
            }
            for port in self.list[i].ports.clone() {
                match step {
                    Step::Down | Step::Up => self.change(port, step == Step::Up, frames),
                    Step::Avoid => self.avoided[port] += 1,
                    Step::Use => self.avoided[port] -= 1,
                }
            }
        }
        if of.is_empty() {
            return None;
        }
        // The intact network has so many sets of ports that no more fit into its tables: packets go on going into the dead link.
        let (fib, pairs) = self.intact.avoiding(self.network, &|port| self.avoided[port] == 0).ok()?;
        for &i in &of {
            let failing = &mut self.list[i];
            // With per-packet load balancing connections have no path to change.
            failing.moved[usize::from(failing.over)] = (self.network.faults.balance.keeps_path()).then_some(0);
            if !failing.over {
                failing.pairs = Some(pairs);
            }
        }
        Some(Rerouted { fib, of })
    }

    fn change(&mut self, port: PortId, up: bool, frames: &mut Frames) {
        let dead = &mut self.dead[port];
        *dead = if up { *dead - 1 } else { *dead + 1 };
        if *dead != u32::from(!up) {
            return;
        }
        self.returns[port] += u64::from(up);
        let stream = RngStream::Queue.stream(self.seed, &[port.index() as u64, self.returns[port]]);
        frames.put(LinkChange { port: port.get(), up: up.into(), random: stream.state() });
    }

    /// A connection takes other ways; of every failure that the change is about, those that went over its link count.
    pub(crate) fn moved(&mut self, change: &Rerouted, before: &Routes, after: &Routes) {
        let over = |routes: &Routes, ports: &[PortId]| ports.iter().any(|p| routes.forth.contains(p) || routes.back.contains(p));
        for &i in &change.of {
            let failing = &mut self.list[i];
            let way = if failing.over { after } else { before };
            if let Some(moved) = failing.moved[usize::from(failing.over)].as_mut().filter(|_| over(way, &failing.ports)) {
                *moved += 1;
            }
        }
    }

    /// Something happened to a packet.
    pub(crate) fn packet(&mut self, p: &Packet) {
        if p.what != what::DROPPED || !matches!(p.reason, reason::DEAD | reason::CUT | reason::LOST) {
            return;
        }
        // The testbed's links fail in time, and those who are asked what to do then learn of it later.
        let (port, time) = (PortId::new(p.port), Time(p.time));
        let down = |f: &Failure| f.down <= time && f.up.get().is_none_or(|up| time < up);
        let concerned = self.list.iter_mut().filter(|f| down(&f.plan) && f.ports.contains(&port));
        concerned.for_each(|f| f.lost += 1);
    }

    /// The run ends at `end`: the rows of what has happened.
    pub(crate) fn rows(&self, end: Time) -> Vec<EventRow> {
        let row = |time: Time, kind, f: &Failing| EventRow {
            time_ps: time.0,
            kind,
            port: Some(f.plan.port),
            until_ps: None,
            packets: None,
            flows: None,
            pairs: None,
        };
        let mut rows = Vec::new();
        for f in self.list.iter().filter(|f| f.begun) {
            let until_ps = f.plan.up.ps().filter(|t| *t < end.0);
            let down = row(f.plan.down, EventKind::LinkDown, f);
            rows.push(EventRow { until_ps, packets: Some(f.lost), flows: f.moved[0], pairs: f.pairs, ..down });
            if let Some(up) = f.plan.up.get().filter(|_| f.over) {
                rows.push(EventRow { flows: f.moved[1], ..row(up, EventKind::LinkUp, f) });
            }
        }
        rows.retain(|r| r.time_ps < end.0);
        rows
    }
}

/// The guest's record of new ways for a connection, which the caller names. Packets may still be where the lists before (`known`) led: nodes of those that are not on
/// the new way follow it, with what the tables say there.
pub(crate) fn route(network: &Network, fib: &Fib, routes: &Routes, known: &mut [Vec<PortId>; 2]) -> Route {
    let mut route = Route { conn: 0, pad: 0, forth_len: 0, back_len: 0, forth: [0; HOPS], back: [0; HOPS] };
    let directions = [
        (&routes.forth, routes.hash, &mut route.forth, &mut route.forth_len),
        (&routes.back, routes.hash_back, &mut route.back, &mut route.back_len),
    ];
    for ((way, hash, list, length), known) in directions.into_iter().zip(known) {
        let mut all = way.clone();
        let end = way.last().map(|p| network.ports[*p].to);
        for &old in known.iter() {
            let mut node = network.ports[old].from;
            while let Some(next) = onward(network, fib, (node, end), hash, &all) {
                all.push(next);
                node = network.ports[next].to;
            }
        }
        all.truncate(HOPS);
        *length = all.len() as u32;
        list.iter_mut().zip(&all).for_each(|(slot, port)| *slot = port.get());
        *known = all;
    }
    route
}

/// The port by which packets leave the switch `node`, if it is not in `all` yet.
fn onward(network: &Network, fib: &Fib, (node, end): (NodeId, Option<NodeId>), hash: u16, all: &[PortId]) -> Option<PortId> {
    let end = end.filter(|end| *end != node)?;
    if network.nodes[node].host || all.iter().any(|p| network.ports[*p].from == node) {
        return None;
    }
    Some(fib.next_port(node, end, hash.into()))
}
